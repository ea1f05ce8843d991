//! Explains YAML syntax errors.

use granit_parser::ScanError;

use super::blocks::AGENT;
use crate::diag::{Code, Diagnostic, Source};
use crate::json;

pub(super) fn too_deep() -> String {
    format!("nested deeper than {} levels", json::MAX_DEPTH)
}

/// A syntax error, with a hint where the surrounding lines show a common mistake.
pub(super) fn syntax(source: &Source, error: &ScanError) -> Diagnostic {
    let marker = error.marker();
    let line = marker.line().max(1);
    let byte = marker.byte_offset().unwrap_or_else(|| {
        let start = source.text().split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
        start + source.line(line).chars().take(marker.col()).map(char::len_utf8).sum::<usize>()
    });
    let byte = source.text().floor_char_boundary(byte);
    let info = error.info();
    let info = info.split(" at byte ").next().unwrap_or(&info).trim_end_matches('.');
    // A tab that ends a value is reported at the value. Point at the tab instead.
    let byte = if info.contains("found a tab") { tab_after(source.text(), byte).unwrap_or(byte) } else { byte };
    if info.contains("recursion limit") {
        return Diagnostic::error(byte..byte, too_deep()).code(Code::NestedTooDeep);
    }
    let found = Diagnostic::error(byte..byte, format!("invalid YAML: {info}")).code(Code::NotYaml);
    Diagnostic { hint: hint(source, line, info), ..found }
}

/// The first indenting tab from here on.
fn tab_after(text: &str, from: usize) -> Option<usize> {
    let rest = &text[from..];
    rest.match_indices('\t')
        .map(|(at, _)| at)
        .find(|at| {
            let line = rest[..*at].rfind('\n').map_or(0, |end| end + 1);
            line > 0 && rest[line..*at].trim().is_empty()
        })
        .map(|at| from + at)
}

fn hint(source: &Source, line: usize, info: &str) -> Option<String> {
    let here = source.line(line);
    let before = if line > 1 { source.line(line - 1) } else { "" };
    if info.contains("a tab") || info.contains("tabs") {
        return Some("indent with spaces, not tabs".to_owned());
    }
    if info.contains("unexpected character: `\\u") {
        return Some("remove the character, or write it as an escape in double quotes".to_owned());
    }
    if info.contains("unknown escape") {
        return Some("in double quotes `\\` starts an escape: write `\\\\`, or use single quotes".to_owned());
    }
    if info.contains("unknown anchor") {
        return Some("there is no anchor `&name` before it; put text that starts with `*` in quotes".to_owned());
    }
    if info.contains("trailing content") {
        return Some("the value ends at the closing quote: add a comma, or quote the whole value".to_owned());
    }
    if info.contains("'-' indicator") && line_hint(here).is_none() && is_key_of_a_test(here) {
        return Some(not_a_list_item(here));
    }
    // The mistake is often on the line before the reported one.
    line_hint(here).or_else(|| line_hint(before)).or_else(|| {
        if info.contains("'-' indicator") {
            Some(not_a_list_item(here))
        } else if info.contains("mapping values are not allowed") && indent(here) > indent(before) {
            Some("this line is indented deeper than the line above, which already has a value".to_owned())
        } else if info.contains("flow mapping") && here.contains(['[', ']']) {
            Some("put a value with `[` or `]` in quotes".to_owned())
        } else {
            None
        }
    })
}

fn first_key(line: &str) -> &str {
    line.trim_start().split(':').next().unwrap_or("")
}

fn is_key_of_a_test(line: &str) -> bool {
    AGENT.keys.iter().any(|known| known.name == first_key(line))
}

/// For a key in place of a list item.
fn not_a_list_item(line: &str) -> String {
    if is_key_of_a_test(line) {
        let key = first_key(line);
        format!("`{key}:` is a key of the test: indent it like `name:`, not like a list item")
    } else {
        "indent this line like its neighbors, or start it with `- ` as a list item".to_owned()
    }
}

fn indent(line: &str) -> usize {
    let body = line.trim_start_matches([' ', '-']);
    line.len() - body.len()
}

/// What is wrong with a line.
fn line_hint(line: &str) -> Option<String> {
    let body = line.trim_start();
    let indent = &line[..line.len() - body.len()];
    if indent.contains('\t') || body.starts_with("-\t") {
        return Some("indent with spaces, not tabs".to_owned());
    }
    let dashed = body.strip_prefix('-').filter(|rest| rest.starts_with(char::is_alphabetic));
    if let Some(rest) = dashed {
        return Some(format!("put a space after the dash: `- {rest}`"));
    }
    let body = body.trim_start_matches("- ");
    if let Some((key, rest)) = body.split_once(':')
        && !rest.is_empty()
        && !rest.starts_with([' ', '/'])
        && is_key(key)
    {
        let rest = rest.trim();
        // After a space, `#` would start a comment.
        let rest = if rest.starts_with('#') { format!("{rest:?}") } else { rest.to_owned() };
        return Some(format!("put a space after the colon: `{key}: {rest}`"));
    }
    let (_, value) = body.split_once(": ").unwrap_or(("", body));
    let value = value.trim();
    if body.matches('"').count() % 2 == 1 || (value.starts_with('\'') && value.matches('\'').count() % 2 == 1) {
        return Some("a quote is not closed".to_owned());
    }
    for (open, close) in [('[', ']'), ('{', '}')] {
        if value.starts_with(open) && value.matches(open).count() > value.matches(close).count() {
            return Some(format!("`{open}` is not closed: add `{close}`"));
        }
    }
    if matches!(value, "|" | "|-" | "|+" | ">" | ">-" | ">+") {
        return Some(format!("indent the text after `{value}` deeper than its key"));
    }
    let plain = !value.starts_with(['"', '\'', '[', '{', '#']);
    if value.len() < body.trim().len()
        && plain
        && (value.contains(": ") || value.starts_with(['*', '&', '!', '%', '@', '`', '|', '>']))
    {
        return Some("put the value in quotes".to_owned());
    }
    None
}

/// Whether a text looks like one of our keys.
pub(super) fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}
