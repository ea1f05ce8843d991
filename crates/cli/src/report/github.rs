//! Annotations for GitHub Actions: the totals, then what did not pass, each at its line of the suite.
//!
//! A step shows ten errors and ten notices and silently drops the rest. So rows of the same test share an annotation, and the
//! last of the ten counts those that are left out.

use mcptest_core::diag::printable;
use mcptest_core::json;
use mcptest_core::report::{Report, Row, SuiteReport};

use super::comparison::{self, Compared};
use super::detail::{Line, explain, reason};
use super::style::WIDTH;
use super::summary;
use super::text::many;

/// Most annotations of a kind that a step shows.
const MOST: usize = 10;

/// Most characters of an annotation and of its title.
const MAX_MESSAGE: usize = 4000;
const MAX_TITLE: usize = 200;

/// An annotation at one place of a suite.
struct Annotation {
    file: String,
    place: Option<(usize, usize)>,
    title: String,
    message: String,
}

pub(super) fn text(report: &Report, compared: Option<&Compared>) -> String {
    let mut out = String::new();
    let totals = summary::totals(report);
    let origins = summary::origins(report);
    let origins = if origins.is_empty() { origins } else { format!("; {origins}") };
    let changes = compared
        .map(|compared| format!("; since {}: {}", printable(&compared.old), comparison::headline(&compared.found)));
    let is_fine = report.exit_code() == 0 && !compared.is_some_and(Compared::has_regressed);
    let kind = if is_fine { "notice" } else { "error" };
    command(&mut out, kind, None, "mcptest", &format!("{totals}{origins}{}", changes.unwrap_or_default()));
    let notes = report.notes.iter().take(MOST - 1);
    for note in notes {
        command(&mut out, if note.is_stop { "warning" } else { "notice" }, None, "mcptest", &note.text);
    }
    let all: Vec<Annotation> = report.suites.iter().flat_map(annotations).collect();
    // The totals are one of the ten if something failed.
    let room = MOST - usize::from(kind == "error");
    let shown = if all.len() > room { room - 1 } else { all.len() };
    for found in &all[..shown] {
        command(&mut out, "error", Some(found), &found.title, &found.message);
    }
    if all.len() > shown {
        let more = format!("{} without an annotation", many(all.len() - shown, "more test"));
        command(&mut out, "error", None, "mcptest", &format!("{more}: the summary of the step has them"));
    }
    out
}

/// One annotation for all failures of a test on a model.
fn annotations(suite: &SuiteReport) -> Vec<Annotation> {
    let mut out: Vec<(Annotation, &str, &str, usize)> = Vec::new();
    if let Some(why) = &suite.refused {
        let place = refused_at(why, &suite.file);
        let message = why.trim_end().to_owned();
        out.push((
            Annotation { file: suite.file.clone(), place, title: "the suite could not be used".into(), message },
            "",
            "",
            0,
        ));
    }
    for row in suite.rows.iter().filter(|row| row.verdict.is_bad()) {
        if let Some((_, test, model, more)) = out.last_mut()
            && (*test, *model) == (&*row.test, &*row.model)
        {
            *more += 1;
            continue;
        }
        out.push((annotation(row, &suite.file), &row.test, &row.model, 0));
    }
    let annotations = out.into_iter().map(|(mut found, _, _, more)| {
        if more > 0 {
            found.message.push_str(&format!("\nand {} of this test", many(more, "more failure")));
        }
        found
    });
    annotations.collect()
}

fn annotation(row: &Row, file: &str) -> Annotation {
    // The explanation of an error begins with its message.
    let first = row.error.is_none().then(|| reason(row));
    let lines: Vec<String> = first.into_iter().chain(explain(row, file, WIDTH).iter().map(Line::plain)).collect();
    let place = match &row.mark {
        Some(mark) => Some((mark.line, mark.column)),
        None => Some((row.line, 0)).filter(|(line, _)| *line > 0),
    };
    let source = if row.source().is_empty() { String::new() } else { format!(" ({})", row.source()) };
    Annotation {
        file: file.to_owned(),
        place,
        title: json::cut(&row.name, MAX_TITLE) + &source,
        message: json::cut(&lines.join("\n"), MAX_MESSAGE),
    }
}

/// The place at the start of an error about a suite, as in `suite.yml:4:5: error: ..`.
fn refused_at(why: &str, file: &str) -> Option<(usize, usize)> {
    let rest = why.strip_prefix(&*printable(file))?.strip_prefix(':')?;
    let mut numbers = rest.splitn(3, ':');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// One command to the server that runs the step.
fn command(out: &mut String, kind: &str, at: Option<&Annotation>, title: &str, message: &str) {
    out.push_str(&format!("::{kind} "));
    if let Some(Annotation { file, place, .. }) = at {
        out.push_str(&format!("file={},", property(file)));
        if let Some((line, column)) = place {
            out.push_str(&format!("line={line},"));
            if *column > 0 {
                out.push_str(&format!("col={column},"));
            }
        }
    }
    out.push_str(&format!("title={}::{}\n", property(title), data(message)));
}

/// Text escaped so that nothing in it ends the command. Line breaks are kept; other control characters are escaped.
fn data(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| printable(line).replace('%', "%25")).collect();
    lines.join("%0A")
}

fn property(text: &str) -> String {
    printable(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_ends_a_command() {
        let mut out = String::new();
        let at =
            Annotation { file: "a,b:c%.yml".into(), place: Some((3, 0)), title: String::new(), message: String::new() };
        command(&mut out, "error", Some(&at), "t\n::x", "100 %\r\n::error::y\u{1b}");
        assert_eq!(out, "::error file=a%2Cb%3Ac%25.yml,line=3,title=t\\n%3A%3Ax::100 %25%0A::error::y\\u{1b}\n");
    }

    #[test]
    fn a_message_about_a_suite_has_its_place() {
        assert_eq!(refused_at("a.yml:4:5: error: x", "a.yml"), Some((4, 5)));
        assert_eq!(refused_at("error: a.yml: gone", "a.yml"), None);
    }
}
