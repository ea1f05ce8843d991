//! JSON written straight into a line, spelled as `serde_json` spells it, but that nothing in it acts on a terminal. Most of a
//! line is names that need no escape and small numbers, so no serializer stands in between.

use serde::Serialize;

use crate::json;

/// A key of an object that was opened with `{`.
pub(super) fn key(name: &'static str, out: &mut Vec<u8>) {
    separate(out);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// What stands between two members or elements.
pub(super) fn separate(out: &mut Vec<u8>) {
    // A text ends in a quote, so a bracket at the end is one that was just opened.
    if !matches!(out.last(), Some(b'{' | b'[')) {
        out.push(b',');
    }
}

/// A text, in quotes.
pub(super) fn text(text: &str, out: &mut Vec<u8>) {
    if json::is_plain(text) && text.bytes().all(|byte| byte < 0x7f) {
        out.reserve(text.len() + 2);
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        let mut shown = String::with_capacity(text.len() + 8);
        json::write_shown(text, &mut shown);
        out.extend_from_slice(shown.as_bytes());
    }
}

/// A text, or `null`.
pub(super) fn known(found: Option<&str>, out: &mut Vec<u8>) {
    match found {
        Some(found) => text(found, out),
        None => out.extend_from_slice(b"null"),
    }
}

/// A number.
pub(super) fn whole(number: u64, out: &mut Vec<u8>) {
    match u8::try_from(number) {
        // Most are flags and small counts.
        Ok(digit @ 0..10) => out.push(b'0' + digit),
        _ => value(&number, out),
    }
}

/// Any value.
pub(super) fn value(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    // Writing JSON into memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

/// Elements in brackets.
pub(super) fn list<T>(items: impl IntoIterator<Item = T>, out: &mut Vec<u8>, mut write: impl FnMut(T, &mut Vec<u8>)) {
    out.push(b'[');
    for item in items {
        separate(out);
        write(item, out);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn everything_is_spelled_as_a_serializer_spells_it() {
        for found in ["", "a", "a plain text", "\"", "a\\b \"c\"", "\n\r\t\u{0}\u{1f}", "é, and a\nline"] {
            assert_eq!(written(|out| text(found, out)), json!(found).to_string());
            assert_eq!(written(|out| known(Some(found), out)), json!(found).to_string());
        }
        assert_eq!(written(|out| text("\u{7f}é\u{9b}\u{202e}", out)), "\"\\u007fé\\u009b\\u202e\"");
        for number in [0, 9, 10, 255, 256, u64::MAX] {
            assert_eq!(written(|out| whole(number, out)), number.to_string());
        }
        let object = written(|out| {
            out.push(b'{');
            key("a", out);
            list([[0, 1], [2, 3]], out, |pair, out| list(pair, out, whole));
            key("b", out);
            list(["{", "["], out, text);
            key("c", out);
            known(None, out);
            out.push(b'}');
        });
        assert_eq!(object, r#"{"a":[[0,1],[2,3]],"b":["{","["],"c":null}"#);
    }
}
