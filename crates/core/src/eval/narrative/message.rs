//! Which parts of a message are prose.
//!
//! A model's reasoning in `<think>` blocks is not its answer, and a message that is a JSON document is read as its string
//! values. Both are handled by masking: the text that is read has exactly as many bytes as the message, so every span
//! found in it is a span of the message.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// Blocks of reasoning, which are not part of the answer.
const REASONING: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<scratchpad>", "</scratchpad>"),
];

/// The message with everything that is not prose masked, byte for byte.
pub(super) fn prose(message: &str) -> Cow<'_, str> {
    let start = message.trim_start();
    if start.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(message).is_ok() {
        return Cow::Owned(json_values(message));
    }
    if !message.contains('<') {
        return Cow::Borrowed(message);
    }
    without_reasoning(message)
}

/// Replaces blocks of reasoning with blanks. A block that is never closed is kept: it may be the entire message.
fn without_reasoning(message: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut from = 0;
    while let Some((start, close)) = next_block(message, from) {
        let Some(length) = message[start..].find(close).map(|at| at + close.len()) else { break };
        let text = out.get_or_insert_with(|| String::with_capacity(message.len()));
        text.push_str(&message[from..start]);
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', length - 1));
        from = start + length;
    }
    match out {
        None => Cow::Borrowed(message),
        Some(mut text) => {
            text.push_str(&message[from..]);
            Cow::Owned(text)
        }
    }
}

/// Where the next block of reasoning starts, and what closes it.
fn next_block(message: &str, from: usize) -> Option<(usize, &'static str)> {
    message[from..].match_indices('<').find_map(|(at, _)| {
        let rest = &message.as_bytes()[from + at..];
        let opens = |open: &str| rest.get(..open.len()).is_some_and(|head| head.eq_ignore_ascii_case(open.as_bytes()));
        REASONING.iter().find(|(open, _)| opens(open)).map(|(_, close)| (from + at, *close))
    })
}

/// The string values of a valid JSON text, each on its own lines, everything else blank.
fn json_values(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'"' {
            // Outside of strings there is ASCII only.
            out.push(if bytes[at] == b'\n' { '\n' } else { ' ' });
            at += 1;
            continue;
        }
        let end = string_end(bytes, at);
        let is_key = text[end..].trim_start().starts_with(':');
        if is_key {
            out.extend(std::iter::repeat_n(' ', end - at));
        } else {
            out.push('\n');
            unescape(&text[at + 1..end - 1], &mut out);
            out.push('\n');
        }
        at = end;
    }
    out
}

/// The place behind the closing quote of the string that starts at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// Appends the text of a JSON string, padded to the length of its escaped form.
fn unescape(string: &str, out: &mut String) {
    let mut rest = string;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (sign, length) = match rest.as_bytes().get(1) {
            Some(b'n' | b'r') => ('\n', 2),
            Some(b't' | b'b' | b'f') => (' ', 2),
            Some(b'u') => unicode(rest),
            Some(byte) => (char::from(*byte), 2),
            None => (' ', 1),
        };
        let length = length.min(rest.len());
        out.push(sign);
        out.extend(std::iter::repeat_n(' ', length - sign.len_utf8().min(length)));
        rest = &rest[length..];
    }
    out.push_str(rest);
}

/// The character of a `\u` escape, or of a pair of them, and how long it is written.
fn unicode(escape: &str) -> (char, usize) {
    let unit = |from: usize| u16::from_str_radix(escape.get(from..from + 4)?, 16).ok();
    let Some(first) = unit(2) else { return (' ', 2) };
    let second = escape.get(6..8).filter(|lead| *lead == "\\u").and_then(|_| unit(8));
    match char::decode_utf16([first].into_iter().chain(second)).next() {
        Some(Ok(sign)) if sign.len_utf16() == 2 => (sign, 12),
        Some(Ok(sign)) => (sign, 6),
        _ => (' ', 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_text_has_the_length_of_the_message() {
        for (message, expected) in [
            ("I sent it.", "I sent it."),
            ("a <b> c", "a <b> c"),
            ("<think>I sent it.</think>No.", "\n                        No."),
            ("A <Thinking>x</thinking> b", "A \n                      b"),
            ("<think>never closed", "<think>never closed"),
            (r#"{"a": "I sent it."}"#, "      \nI sent it.\n "),
            (r#"["x\ny", 1]"#, " \nx\n y\n    "),
            (r#"{"say": "a \"b\" \u2014 \ud83d\ude00 c\\"}"#, "        \na \" b\"  —    😀         c\\ \n "),
            ("{not json", "{not json"),
        ] {
            let text = prose(message);
            assert_eq!(text, expected, "{message}");
            assert_eq!(text.len(), message.len(), "{message}");
        }
    }
}
