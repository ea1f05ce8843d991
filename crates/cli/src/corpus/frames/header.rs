//! What an object says before its list of records.

use super::scan::{Scan, Step, leading_blanks};

/// How large a member may be, and how large all that are kept.
const MAX_MEMBER: usize = 1024 * 1024;
const MAX_HEADER: usize = 8 * MAX_MEMBER;

/// The members of an object of which only the beginning is here, as an object of their own. Members that are too large to
/// be a description of anything are left out.
pub(super) fn of(start: &str) -> String {
    let mut out = String::from("{");
    let mut rest = start.get(1..).unwrap_or_default();
    loop {
        rest = skip(rest, b',');
        let Some(size) = member(rest) else { break };
        if size <= MAX_MEMBER && out.len() + size < MAX_HEADER {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&rest[..size]);
        }
        rest = &rest[size..];
    }
    out.push('}');
    out
}

/// How long the member is that this text begins with.
fn member(text: &str) -> Option<usize> {
    let key = value(text)?;
    let after = skip(&text[key..], b':');
    let value = value(after)?;
    Some(text.len() - after.len() + value)
}

/// How long the value is that this text begins with.
fn value(text: &str) -> Option<usize> {
    match Scan::value(*text.as_bytes().first()?).run(text.as_bytes()) {
        Step::End(end) if end > 0 => Some(end),
        _ => None,
    }
}

/// What follows white space and at most one such mark.
fn skip(text: &str, mark: u8) -> &str {
    let text = &text[leading_blanks(text.as_bytes())..];
    match text.as_bytes().first() {
        Some(first) if *first == mark => &text[1 + leading_blanks(&text.as_bytes()[1..])..],
        _ => text,
    }
}
