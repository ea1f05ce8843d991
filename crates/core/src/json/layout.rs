//! JSON written piece by piece: laid out as [`super::pretty`] lays out a whole value, or on one line.
//!
//! A report holds thousands of traces. Written through here, none of them has to exist as a [`Value`] first. Whoever writes
//! an object gives its keys in their order; the keys of a [`Value`] are put in order.

use serde_json::Value;

use super::{write_number, write_string};
use crate::diag::acts;

/// JSON text that grows.
#[derive(Debug, Clone)]
pub struct Layout {
    out: String,
    /// Brackets that are open, beside those of the text around this one.
    depth: usize,
    /// Whether every item stands on a line of its own.
    is_spread: bool,
    /// Whether the innermost bracket holds nothing yet.
    is_empty: bool,
}

impl Layout {
    /// A text of many lines that stands at `depth` inside another one.
    pub fn spread(depth: usize) -> Self {
        Self { out: String::new(), depth, is_spread: true, is_empty: true }
    }

    /// A text without line breaks.
    pub fn line() -> Self {
        Self { out: String::new(), depth: 0, is_spread: false, is_empty: true }
    }

    /// What was written since the last time.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// What was written since the last time; the room it takes stays.
    pub fn text_so_far(&self) -> &str {
        &self.out
    }

    /// Forgets what was written, and keeps the room for more.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    /// An object, whose keys are written by `fill`.
    pub fn object(&mut self, fill: impl FnOnce(&mut Self)) {
        self.open('{');
        fill(self);
        self.close('}');
    }

    /// A list with an item for each of `items`, written by `write`.
    pub fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.open('[');
        for item in items {
            self.next();
            write(self, item);
        }
        self.close(']');
    }

    /// A key; its value has to follow.
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.next();
        write_shown(key, &mut self.out);
        self.out.push_str(if self.is_spread { ": " } else { ":" });
        self
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        write_shown(text, &mut self.out);
    }

    /// A number, a boolean or null, which is written as it is.
    pub fn plain(&mut self, value: impl std::fmt::Display) {
        use std::fmt::Write as _;
        // Writing into a String cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// A value, canonical but for its layout. Deep values are no danger.
    pub fn value(&mut self, value: &Value) {
        enum Open<'a> {
            List(std::slice::Iter<'a, Value>),
            Object(std::vec::IntoIter<(&'a String, &'a Value)>),
        }
        let mut stack: Vec<Open<'_>> = Vec::new();
        let mut next = Some(value);
        loop {
            match next.take() {
                Some(Value::Null) => self.out.push_str("null"),
                Some(Value::Bool(truth)) => self.out.push_str(if *truth { "true" } else { "false" }),
                Some(Value::Number(number)) => write_number(number, &mut self.out),
                Some(Value::String(text)) => write_shown(text, &mut self.out),
                Some(Value::Array(items)) => {
                    self.open('[');
                    stack.push(Open::List(items.iter()));
                }
                Some(Value::Object(map)) => {
                    self.open('{');
                    let mut entries: Vec<_> = map.iter().collect();
                    // A build of `serde_json` may keep keys in the order of insertion.
                    if !entries.is_sorted_by_key(|(key, _)| *key) {
                        entries.sort_unstable_by_key(|(key, _)| *key);
                    }
                    stack.push(Open::Object(entries.into_iter()));
                }
                None => {}
            }
            let Some(open) = stack.last_mut() else { return };
            match open {
                Open::List(items) => match items.next() {
                    Some(item) => {
                        self.next();
                        next = Some(item);
                    }
                    None => {
                        stack.pop();
                        self.close(']');
                    }
                },
                Open::Object(entries) => match entries.next() {
                    Some((key, item)) => {
                        self.key(key);
                        next = Some(item);
                    }
                    None => {
                        stack.pop();
                        self.close('}');
                    }
                },
            }
        }
    }

    fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.depth += 1;
        self.is_empty = true;
    }

    fn close(&mut self, bracket: char) {
        self.depth = self.depth.saturating_sub(1);
        if !self.is_empty {
            self.new_line();
        }
        self.out.push(bracket);
        self.is_empty = false;
    }

    /// Begins the next item of the innermost bracket.
    fn next(&mut self) {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.out.push(',');
        }
        self.new_line();
    }

    fn new_line(&mut self) {
        const INDENT: &str = "                                ";
        if !self.is_spread {
            return;
        }
        self.out.push('\n');
        let mut columns = 2 * self.depth;
        while columns > 0 {
            let some = columns.min(INDENT.len());
            self.out.push_str(&INDENT[..some]);
            columns -= some;
        }
    }
}

/// A text in which nothing acts on a terminal or hides: what JSON leaves as it is beyond ASCII is written by its code.
pub(crate) fn write_shown(text: &str, out: &mut String) {
    // Nearly every text ends here.
    if text.bytes().all(|byte| byte < 0x7f) || !text.contains(|c| c >= '\u{7f}' && acts(c)) {
        return write_string(text, out);
    }
    let mut quoted = String::new();
    write_string(text, &mut quoted);
    for c in quoted.chars() {
        if acts(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An object with all kinds of things in it.
    fn write(out: &mut Layout, inner: &Value) {
        out.object(|out| {
            out.key("a").list([1, 2], Layout::plain);
            out.key("b").list([(); 0], |_, ()| {});
            out.key("c").object(|_| {});
            out.key("d\n").value(inner);
            out.key("e").text("\"");
        });
    }

    #[test]
    fn pieces_are_laid_out_as_the_whole() {
        let inner = json!({ "z": [[], {}, [null, true]], "y": { "x": 1.0, "w": "[" } });
        let whole = json!({ "a": [1, 2], "b": [], "c": {}, "d\n": inner, "e": "\"" });
        let mut out = Layout::spread(0);
        write(&mut out, &inner);
        assert_eq!(out.take() + "\n", super::super::pretty(&whole));
        let mut out = Layout::line();
        write(&mut out, &inner);
        assert_eq!(out.take(), super::super::canonical(&whole));
        // Inside another text, every line but the first stands further in.
        let mut out = Layout::spread(20);
        out.value(&json!([1]));
        assert_eq!(out.take(), format!("[\n{0}  1\n{0}]", " ".repeat(40)));
    }

    #[test]
    fn nothing_acts_on_a_terminal_and_every_text_reads_back() {
        let text = "\u{1b}\u{7f}\u{9b}é\u{202e}\n\u{2028}😀\\\u{200b}\u{e0041}";
        let mut out = Layout::line();
        out.value(&json!(text));
        let written = out.take();
        assert_eq!(written, "\"\\u001b\\u007f\\u009bé\\u202e\\n\\u2028😀\\\\\\u200b\\udb40\\udc41\"");
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), json!(text));
    }

    #[test]
    fn deep_values_are_written_without_recursion() {
        let mut deep = json!(1);
        for _ in 0..500 {
            deep = json!([deep]);
        }
        let mut out = Layout::line();
        out.value(&deep);
        assert_eq!(out.take(), super::super::canonical(&deep));
    }
}
