//! The members of an object before its list of records.

use super::scan::{Scan, Step, leading_blanks};

/// The maximum size of a member, and of all members together.
const MAX_MEMBER: usize = 1024 * 1024;
const MAX_HEADER: usize = 8 * MAX_MEMBER;

/// The complete members in the beginning of an object, as a separate object. Large members are omitted.
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

/// The length of the member at the start of a text.
fn member(text: &str) -> Option<usize> {
    let key = value(text)?;
    let after = skip(&text[key..], b':');
    let value = value(after)?;
    Some(text.len() - after.len() + value)
}

/// The length of the value at the start of a text.
fn value(text: &str) -> Option<usize> {
    match Scan::value(*text.as_bytes().first()?).run(text.as_bytes()) {
        Step::End(end) if end > 0 => Some(end),
        _ => None,
    }
}

/// The text after white space and at most one such mark.
fn skip(text: &str, mark: u8) -> &str {
    let text = &text[leading_blanks(text.as_bytes())..];
    match text.as_bytes().first() {
        Some(first) if *first == mark => &text[1 + leading_blanks(&text.as_bytes()[1..])..],
        _ => text,
    }
}
