//! Paths in a trace.

use mcptest_core::Target;
use mcptest_core::assertion::ENVELOPE_ROOTS;
use mcptest_core::diag::{Failure, did_you_mean};
use mcptest_core::eval::GATES;
use mcptest_core::trace::{Field, Kind, Place, locate};

use super::gate;
use super::page::{Page, capital};

/// Explains a path. Adds nothing if the text is not a path.
pub(super) fn explain(asked: &str, page: &mut Page) -> Result<(), Failure> {
    let root = asked.split(['.', '[']).next().unwrap_or(asked);
    let is_path = root.len() < asked.len();
    let roots = || ENVELOPE_ROOTS.into_iter().chain(GATES.iter().map(|gate| gate.kind.name()));
    // A name with a dot may be a file or part of a message; only one that begins like a path counts as one.
    if !is_path && !ENVELOPE_ROOTS.contains(&root) || did_you_mean(root, roots()).is_none() {
        return Ok(());
    }
    let target = Target::parse(asked).map_err(|error| {
        Failure::error((), format!("`{asked}` is not a path: {error}"))
            .hint("a path is names with `.` between them, `[0]`, `[-1]`, `[*]` and `[\"odd key\"]`")
    })?;
    let below = &asked[root.len()..].trim_start_matches('.');
    if let Some((message, hint)) = gate::refused(root, below) {
        return Err(Failure::error((), message).hint(hint));
    }
    match locate(&target) {
        Place::Field(field) => explain_field(asked, field, false, page),
        Place::Below(field) => explain_field(asked, field, true, page),
        Place::Nowhere { inside, near } => {
            let hint = match (near, inside) {
                (Some(near), _) => format!("did you mean `{}`?", near.path),
                (None, Some(inside)) => {
                    let parts: Vec<&str> = inside.parts().map(|part| part.path.as_str()).collect();
                    if parts.is_empty() {
                        format!("`{}` is {} and has nothing below it", inside.path, inside.kind)
                    } else {
                        format!("below `{}` there are {}", inside.path, parts.join(", "))
                    }
                }
                (None, None) => format!("a path begins with {}", ENVELOPE_ROOTS.join(", ")),
            };
            return Err(Failure::error((), format!("no trace has `{asked}`")).hint(hint));
        }
    }
    Ok(())
}

fn explain_field(asked: &str, field: &Field, below: bool, page: &mut Page) {
    page.subject(asked, "a target, reads the trace");
    if below {
        page.text(&format!("Below `{}`: {}. Its structure depends on the tool.", field.path, field.meaning));
    } else {
        page.text(&format!("{}.", capital(field.meaning)));
    }
    page.heading("About it");
    page.item("reads", &field.path);
    let every = asked.contains("[*]");
    let holds = match (below, every) {
        (false, false) => field.kind.to_string(),
        (false, true) => format!("a list, each item {}", field.kind),
        (true, false) => "any recorded value".to_owned(),
        (true, true) => "a list of what was recorded there".to_owned(),
    };
    page.item("value", &holds);
    if every {
        page.item("[*]", "selects from every item that has the rest; an empty list gives an empty list");
    }
    page.item("when absent", field.absent);
    page.item(
        "",
        "An assertion on a path that selects nothing fails, also under `not`, and says how far it got. Where the answer depends on \
         something that was not recorded, it is `unassessable`.",
    );
    let parts: Vec<&str> = field.parts().map(|part| part.path.as_str()).collect();
    if !parts.is_empty() && !below {
        page.item("below it", &parts.join(", "));
    }
    page.heading("An assertion on it");
    let quoted = if asked.contains(['[', '*', '"']) { format!("'{asked}'") } else { asked.to_owned() };
    let matcher = matcher(field, below, every);
    let line = format!("  - {{ target: {quoted}, matcher: {matcher} }}");
    let lines = if line.len() <= 96 { line } else { format!("  - target: {quoted}\n    matcher: {matcher}") };
    page.code(&format!("expect:\n{lines}"));
}

/// A matcher for a field, as an example.
fn matcher(field: &Field, below: bool, every: bool) -> String {
    let one = match field.kind {
        Kind::Words(words) => words[0],
        Kind::Count | Kind::Integer if every => return "{ schema: { items: { maximum: 5000 } } }".to_owned(),
        Kind::Count | Kind::Integer => return "{ schema: { maximum: 5000 } }".to_owned(),
        Kind::List(_) => return "{ schema: { minItems: 1 } }".to_owned(),
        Kind::Open(_) | Kind::Object { .. } | Kind::Nullable(Kind::Object { .. }) if !below => {
            return "{ schema: { type: [object, array] } }".to_owned();
        }
        Kind::Flag if every => return "{ not: { contains: true } }".to_owned(),
        Kind::Flag => return "{ exact: false }".to_owned(),
        _ => "Oslo",
    };
    let is_text = matches!(field.kind, Kind::Text | Kind::Nullable(Kind::Text));
    let matcher = if every || is_text || below { "contains" } else { "exact" };
    format!("{{ {matcher}: {one} }}")
}
