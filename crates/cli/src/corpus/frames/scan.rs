//! Finds the end of a value by its brackets and strings, byte by byte and without recursion.
//!
//! A scan can stop at any byte and continue when more has arrived. It does not validate JSON; that is left to the parser.

use mcptest_core::json::string_end;

/// The deepest nesting. Parsers stop far earlier; this keeps endless nesting from being collected.
pub(super) const MAX_DEPTH: usize = 10_000;

/// Members whose list contains the records of the object around it: tau2 and Inspect write such files.
const CONTAINERS: [&str; 2] = ["\"simulations\"", "\"samples\""];

/// How far a scan got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// To the end of the input.
    More,
    /// To the end of the value, at this offset.
    End(usize),
    /// To a bracket that is nested too deep, which ends here.
    Deep(usize),
    /// Into a list of records.
    List {
        /// The end of the members before it.
        key: usize,
        /// The start of its first element.
        after: usize,
    },
}

/// A scan of one value.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    /// The next byte, counted from the first byte of the value.
    at: usize,
    depth: usize,
    max_depth: usize,
    place: Place,
    is_watched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Structure,
    Text,
    /// In a text, after a backslash.
    Escape,
    /// In a number or a word.
    Token,
}

impl Scan {
    /// A scan of a value that begins with this byte.
    pub(super) fn value(first: u8) -> Self {
        let place = if matches!(first, b'{' | b'[' | b'"') { Place::Structure } else { Place::Token };
        Self { at: 0, depth: 0, max_depth: MAX_DEPTH, place, is_watched: false }
    }

    /// A scan of the rest of an object, between its members.
    pub(super) fn rest_of_object() -> Self {
        Self { at: 0, depth: 1, max_depth: usize::MAX, place: Place::Structure, is_watched: false }
    }

    /// Stops at the list of records in an object.
    pub(super) fn watched(self) -> Self {
        Self { is_watched: true, ..self }
    }

    /// Continues without the scanned bytes, and only to the end. Returns how many they were.
    pub(super) fn forget(&mut self) -> usize {
        self.max_depth = usize::MAX;
        self.is_watched = false;
        std::mem::take(&mut self.at)
    }

    /// Continues. `value` is the value so far, from its first byte.
    pub(super) fn run(&mut self, value: &[u8]) -> Step {
        while self.at < value.len() {
            match self.place {
                Place::Structure => {
                    if let Some(step) = self.structure(value) {
                        return step;
                    }
                }
                Place::Text => {
                    (self.at, self.place) = text(value, self.at);
                    if self.place == Place::Structure && self.depth == 0 {
                        return Step::End(self.at);
                    }
                }
                Place::Escape => {
                    self.at += 1;
                    self.place = Place::Text;
                }
                Place::Token => {
                    let rest = &value[self.at..];
                    let Some(end) = rest.iter().position(|byte| ends_token(*byte)) else {
                        self.at = value.len();
                        break;
                    };
                    return Step::End(self.at + end);
                }
            }
        }
        Step::More
    }

    /// Scans to the end of the input, or to what ends the scan.
    fn structure(&mut self, value: &[u8]) -> Option<Step> {
        let (mut at, mut depth) = (self.at, self.depth);
        let step = loop {
            let Some(&byte) = value.get(at) else { break None };
            at += 1;
            match byte {
                b'"' => {
                    (at, self.place) = text(value, at);
                    if self.place != Place::Structure {
                        break None;
                    }
                    if depth == 0 {
                        break Some(Step::End(at));
                    }
                }
                b'{' | b'[' => {
                    depth += 1;
                    if depth > self.max_depth {
                        break Some(Step::Deep(at));
                    }
                    if depth == 2
                        && self.is_watched
                        && byte == b'['
                        && let Some(key) = list_of_records(&value[..at - 1])
                    {
                        break Some(Step::List { key, after: at });
                    }
                }
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        break Some(Step::End(at));
                    }
                }
                _ => {}
            }
        };
        (self.at, self.depth) = (at, depth);
        step
    }
}

/// Continues in a string, to its end or to the end of the input.
fn text(value: &[u8], at: usize) -> (usize, Place) {
    if let Some(end) = string_end(value, at) {
        return (end + 1, Place::Structure);
    }
    let rest = value.get(at..).unwrap_or_default();
    let backslashes = rest.iter().rev().take_while(|byte| **byte == b'\\').count();
    (value.len(), if backslashes % 2 == 0 { Place::Text } else { Place::Escape })
}

/// Whether the list that follows these bytes of an object is a list of records; then where the members before it end.
fn list_of_records(before: &[u8]) -> Option<usize> {
    let key = trim_end(trim_end(before).strip_suffix(b":")?);
    let rest = CONTAINERS.iter().find_map(|name| key.strip_suffix(name.as_bytes()))?;
    // A quotation mark inside a key is escaped, so what looks like a complete key here is one.
    matches!(trim_end(rest).last(), Some(b'{' | b',')).then_some(rest.len())
}

fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |at| at + 1);
    &bytes[..end]
}

fn ends_token(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b',' | b':' | b'[' | b']' | b'{' | b'}' | b'"')
}

/// White space of JSON.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The number of leading bytes of white space.
pub(super) fn leading_blanks(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is_blank(*byte)).unwrap_or(bytes.len())
}
