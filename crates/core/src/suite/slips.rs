//! What the reader of YAML could not read, in the words of the one who wrote it.

use granit_parser::ScanError;

use super::blocks::AGENT;
use crate::diag::{Diagnostic, Severity, Source};
use crate::json;

/// What is said of a document that nests too deep.
pub(super) fn too_deep() -> String {
    format!("nests deeper than {} levels", json::MAX_DEPTH)
}

/// A syntax error, with a hint where the lines around it show a classic slip.
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
    // A tab that ends a value is noticed at the value; the tab itself is what has to go.
    let byte = if info.contains("found a tab") { tab_after(source.text(), byte).unwrap_or(byte) } else { byte };
    let (message, hint) = if info.contains("recursion limit") {
        (too_deep(), None)
    } else {
        (format!("not YAML: {info}"), hint(source, line, info))
    };
    Diagnostic { severity: Severity::Error, span: byte..byte, message, hint }
}

/// The first tab from here on that indents.
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
        return Some("YAML indents with spaces; replace the tab".to_owned());
    }
    if info.contains("unexpected character: `\\u") {
        return Some("remove the character, or write it as an escape in double quotes".to_owned());
    }
    if info.contains("unknown escape") {
        return Some("in double quotes `\\` starts an escape: write `\\\\`, or use single quotes".to_owned());
    }
    if info.contains("unknown anchor") {
        return Some("no `&name` before this marks a value; text that starts with `*` goes in quotes".to_owned());
    }
    if info.contains("trailing content") {
        return Some("a closing quote ends the value; is a comma missing, or quotes around all of it?".to_owned());
    }
    if info.contains("'-' indicator") && slip(here).is_none() && is_key_of_a_test(here) {
        return Some(beside_a_list(here));
    }
    // The slip is often on the line before the one where the reader noticed.
    slip(here).or_else(|| slip(before)).or_else(|| {
        if info.contains("'-' indicator") {
            Some(beside_a_list(here))
        } else if info.contains("mapping values are not allowed") && indent(here) > indent(before) {
            Some("this line stands deeper than the one before it, which has a value already".to_owned())
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

/// A key that stands where an item of a list is due.
fn beside_a_list(line: &str) -> String {
    if is_key_of_a_test(line) {
        let key = first_key(line);
        format!("`{key}:` is a key of the test: indent it like `name:`, not like the items of a list")
    } else {
        "indent this line like its neighbours, or begin it with `- ` as an item of the list".to_owned()
    }
}

fn indent(line: &str) -> usize {
    let body = line.trim_start_matches([' ', '-']);
    line.len() - body.len()
}

/// What is wrong with a line that could not be read.
fn slip(line: &str) -> Option<String> {
    let body = line.trim_start();
    let indent = &line[..line.len() - body.len()];
    if indent.contains('\t') || body.starts_with("-\t") {
        return Some("YAML indents with spaces; this line has a tab".to_owned());
    }
    let dashed = body.strip_prefix('-').filter(|rest| rest.starts_with(char::is_alphabetic));
    if let Some(rest) = dashed {
        return Some(format!("put a space after the dash: `- {rest}`"));
    }
    let body = body.trim_start_matches("- ");
    if let Some((key, rest)) = body.split_once(':')
        && !rest.is_empty()
        && !rest.starts_with([' ', '/'])
        && is_word(key)
    {
        let rest = rest.trim();
        // Behind a space a `#` would begin a comment.
        let rest = if rest.starts_with('#') { format!("{rest:?}") } else { rest.to_owned() };
        return Some(format!("put a space after the colon: `{key}: {rest}`"));
    }
    let (_, value) = body.split_once(": ").unwrap_or(("", body));
    let value = value.trim();
    if body.matches('"').count() % 2 == 1 || (value.starts_with('\'') && value.matches('\'').count() % 2 == 1) {
        return Some("a quote is opened and not closed".to_owned());
    }
    for (open, close) in [('[', ']'), ('{', '}')] {
        if value.starts_with(open) && value.matches(open).count() > value.matches(close).count() {
            return Some(format!("`{open}` is opened and not closed: add `{close}`"));
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

/// Whether a key is written as our keys are.
pub(super) fn is_word(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}
