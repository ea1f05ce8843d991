//! What a message says of tools and their arguments: which are mentioned, which values are stated.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::backing::Tool;
use super::words;
use crate::json;
use crate::trace::ToolCall;

/// Argument names too common as words to be looked for.
const STOP_KEYS: [&str; 6] = ["to", "from", "in", "by", "for", "on"];
/// What may stand between an argument's name and its value.
const LINKS: [&str; 6] = ["is", "=", ":", "to", "as", "of"];

/// A message as a row of plain pieces, quotes and signs included.
pub(super) struct Said<'a> {
    pieces: Vec<Piece<'a>>,
    /// Where each lower-case word stands.
    places: BTreeMap<String, Vec<usize>>,
    roots: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    /// A run of letters, figures and what joins them.
    Word(&'a str),
    /// Text in quotes.
    Quoted(&'a str),
    /// A sign.
    Sign(char),
}

impl<'a> Said<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let pieces = pieces(text);
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut roots = BTreeSet::new();
        for (at, piece) in pieces.iter().enumerate() {
            let (Piece::Word(word) | Piece::Quoted(word)) = piece else { continue };
            for part in words::name_words(&word.replace(['\'', '’'], " ")) {
                roots.insert(words::root(&part));
            }
            if let Piece::Word(word) = piece {
                places.entry(word.to_lowercase()).or_default().push(at);
            }
        }
        Self { pieces, places, roots }
    }

    /// Whether every telling word of a tool's name occurs, in any inflection.
    pub(super) fn mentions(&self, tool: &Tool) -> bool {
        let telling = |word: &&String| word.chars().count() >= 3;
        let any_telling = tool.plain.iter().any(|word| telling(&word));
        let mut needed = tool.plain.iter().filter(|word| !any_telling || telling(word)).peekable();
        needed.peek().is_some() && needed.all(|word| self.roots.contains(&words::root(word)))
    }

    /// The first value the message states for an argument that no call of the tool was given.
    pub(super) fn contradicts(&self, key: &str, given: &[&Value]) -> Option<String> {
        let names = words::name_words(key);
        if names.is_empty() || STOP_KEYS.contains(&key) {
            return None;
        }
        let starts = self.places.get(&names[0]).map_or(&[][..], Vec::as_slice);
        let whole = |start: usize| {
            names.iter().enumerate().all(|(offset, name)| {
                matches!(self.pieces.get(start + offset), Some(Piece::Word(word)) if word.to_lowercase() == *name)
            })
        };
        // The key may also be written as in the arguments.
        let spelt = self.places.get(&key.to_lowercase()).map_or(&[][..], Vec::as_slice);
        let after_words = starts.iter().filter(|start| whole(**start)).map(|start| start + names.len());
        let after_key = spelt.iter().filter(|_| names.len() > 1).map(|start| start + 1);
        after_words
            .chain(after_key)
            .filter_map(|after| self.stated(after))
            .find(|value| !given.iter().any(|given| agrees(value, given)))
    }

    /// The value stated from a place on, if one is.
    fn stated(&self, mut at: usize) -> Option<String> {
        let link = |piece: &Piece<'_>| match piece {
            Piece::Word(word) => LINKS.contains(&word.to_lowercase().as_str()),
            Piece::Sign(sign) => matches!(sign, ':' | '='),
            Piece::Quoted(_) => false,
        };
        while matches!(self.pieces.get(at), Some(Piece::Sign('*' | '_'))) {
            at += 1;
        }
        if self.pieces.get(at).is_some_and(link) {
            at += 1;
        }
        while matches!(self.pieces.get(at), Some(Piece::Sign('*' | '_' | '$' | '€' | '£' | '#'))) {
            at += 1;
        }
        match self.pieces.get(at)? {
            Piece::Quoted(text) => Some((*text).to_owned()),
            Piece::Sign(_) => None,
            Piece::Word(word) => {
                if word.chars().any(|c| c.is_ascii_digit()) || word.contains(['_', '-', '.', '/', '@', '#']) {
                    return Some((*word).to_owned());
                }
                let capitalised =
                    |piece: &&Piece<'a>| matches!(piece, Piece::Word(word) if word.starts_with(char::is_uppercase));
                let run: Vec<&str> = self.pieces[at..]
                    .iter()
                    .take(12)
                    .take_while(capitalised)
                    .filter_map(|piece| if let Piece::Word(word) = piece { Some(*word) } else { None })
                    .collect();
                (!run.is_empty() && run != ["I"]).then(|| run.join(" "))
            }
        }
    }
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    const REACH: usize = 600;
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let close = match c {
            '"' => Some('"'),
            '“' => Some('”'),
            '`' => Some('`'),
            '«' => Some('»'),
            '\'' | '‘' if !text[..at].ends_with(char::is_alphanumeric) => Some(if c == '‘' { '’' } else { '\'' }),
            _ => None,
        };
        let start = at + c.len_utf8();
        let closed = close.and_then(|close| {
            let mut window = text[start..].char_indices().take_while(|(at, c)| *at < REACH && *c != '\n');
            let single = matches!(close, '\'' | '’');
            let found = window.find(|(at, c)| {
                let after = text[start + at + c.len_utf8()..].chars().next();
                *c == close && !(single && after.is_some_and(char::is_alphanumeric))
            });
            found.map(|(at, _)| (start + at, close.len_utf8()))
        });
        if let Some((end, width)) = closed {
            out.push(Piece::Quoted(&text[start..end]));
            at = end + width;
        } else if c.is_alphanumeric() {
            let rest = &text[at..];
            let mut end = 0;
            let mut letters = rest.char_indices().peekable();
            while let Some((place, c)) = letters.next() {
                let next = letters.peek().map(|(_, next)| *next);
                let joins = matches!(c, '_' | '.' | '/' | '@' | '#' | '-' | '\'' | '’' | ':' | ',')
                    && next.is_some_and(char::is_alphanumeric)
                    && (c != ',' || rest[..place].ends_with(|c: char| c.is_ascii_digit()));
                if !joins && !c.is_alphanumeric() {
                    break;
                }
                end = place + c.len_utf8();
            }
            out.push(Piece::Word(&rest[..end]));
            at += end;
        } else {
            if !c.is_whitespace() || c == '\n' {
                out.push(Piece::Sign(c));
            }
            at = start;
        }
    }
    out
}

/// Whether a given value is what was stated, or has it as a part at word borders, without case.
fn agrees(stated: &str, given: &Value) -> bool {
    let given = match given {
        Value::String(text) => text.to_lowercase(),
        Value::Number(number) => json::number_text(number),
        Value::Bool(word) => word.to_string(),
        _ => return true,
    };
    let stated = stated.trim().to_lowercase();
    if stated.is_empty() {
        return true;
    }
    let plain = stated.replace(',', "");
    if let (Ok(stated), Ok(given)) = (plain.parse::<f64>(), given.replace(',', "").parse::<f64>())
        && (stated - given).abs() < f64::EPSILON
    {
        return true;
    }
    given.match_indices(&stated).any(|(at, piece)| {
        let before = given[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let after = given[at + piece.len()..].chars().next().is_some_and(char::is_alphanumeric);
        let tied_left = before && piece.starts_with(char::is_alphanumeric);
        let tied_right = after && piece.ends_with(char::is_alphanumeric);
        !tied_left && !tied_right
    })
}

/// Scalar arguments of the calls of one tool, by name.
pub(super) fn scalar_args<'a>(calls: &'a [ToolCall], tool: &Tool) -> BTreeMap<&'a str, Vec<&'a Value>> {
    let mut out: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for (key, value) in tool.calls.iter().filter_map(|at| calls[*at].args.as_ref()?.as_object()).flatten() {
        if matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_)) {
            out.entry(key).or_default().push(value);
        }
    }
    out
}
