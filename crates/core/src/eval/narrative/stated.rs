//! What a message says of tools and their arguments: which are mentioned, which values are stated.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::backing::Tool;
use super::tokens::{Kind, Token};
use super::words;
use crate::json;
use crate::trace::ToolCall;

/// Argument names too common as words to be looked for.
const STOP_KEYS: [&str; 6] = ["to", "from", "in", "by", "for", "on"];
/// Most values stated for one argument that are looked at.
const MAX_STATED: usize = 100;
/// Words that may stand between an argument's name and its value; a colon may too.
const LINKS: [&str; 4] = ["is", "to", "as", "of"];
/// Signs that open or close a quote.
const QUOTES: [char; 10] = ['"', '\'', '`', '“', '”', '„', '‘', '’', '«', '»'];

/// A message as its tokens, with where each word stands.
pub(super) struct Said<'a> {
    message: &'a str,
    tokens: &'a [Token<'a>],
    /// Where each lower-case word or name stands.
    places: BTreeMap<String, Vec<usize>>,
    roots: BTreeSet<String>,
}

impl<'a> Said<'a> {
    pub(super) fn new(message: &'a str, tokens: &'a [Token<'a>]) -> Self {
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut roots = BTreeSet::new();
        for (at, token) in tokens.iter().enumerate() {
            words::each_word(&token.text, |word| {
                roots.insert(words::root(word));
            });
            if matches!(token.kind, Kind::Word(_) | Kind::Mention) {
                places.entry(token.text.to_lowercase()).or_default().push(at);
            }
        }
        Self { message, tokens, places, roots }
    }

    /// Whether every telling word of a tool's name occurs, in any inflection.
    pub(super) fn mentions(&self, tool: &Tool) -> bool {
        let telling = |word: &&String| word.chars().count() >= 3;
        let any_telling = tool.plain.iter().any(|word| telling(&word));
        let mut needed = tool.plain.iter().filter(|word| !any_telling || telling(word)).peekable();
        needed.peek().is_some() && needed.all(|word| self.roots.contains(&words::root(word)))
    }

    /// The first value the message states for an argument that no call of the tool was given.
    pub(super) fn contradicts(&self, key: &str, given: &BTreeSet<String>) -> Option<String> {
        let names = words::name_words(key);
        if names.is_empty() || STOP_KEYS.contains(&key) {
            return None;
        }
        let at = |word: &str| self.places.get(word).map_or(&[][..], Vec::as_slice);
        let whole = |start: usize| {
            let said =
                |offset: usize, name: &String| self.tokens.get(start + offset).is_some_and(|token| token.text == *name);
            names.iter().enumerate().all(|(offset, name)| said(offset, name))
        };
        let after_words = at(&names[0]).iter().filter(|start| whole(**start)).map(|start| start + names.len());
        // The key may also be written as in the arguments.
        let after_key = at(&key.to_lowercase()).iter().filter(|_| names.len() > 1).map(|start| start + 1);
        after_words
            .chain(after_key)
            .filter_map(|after| self.stated(after))
            .take(MAX_STATED)
            .find(|value| !agrees(&plain(value), given))
    }

    /// The value stated from a place on, if one is.
    fn stated(&self, mut at: usize) -> Option<String> {
        let link = |token: &Token<'_>| token.kind == Kind::Colon || LINKS.contains(&token.text.as_ref());
        if self.tokens.get(at).is_some_and(link) {
            at += 1;
        }
        let token = self.tokens.get(at)?;
        match token.kind {
            Kind::Number => Some(token.text.to_string()),
            Kind::Mention => Some(token.text.trim_matches(QUOTES).trim_start_matches('#').to_owned()),
            Kind::Word(_) if token.text.contains('-') => Some(self.message[token.span.clone()].to_owned()),
            Kind::Word(_) => {
                let capitalised = |token: &&Token<'_>| {
                    matches!(token.kind, Kind::Word(_))
                        && self.message[token.span.clone()].starts_with(char::is_uppercase)
                };
                let run = self.tokens[at..].iter().take(12).take_while(capitalised);
                let run: Vec<&str> = run.map(|token| &self.message[token.span.clone()]).collect();
                (!run.is_empty() && run != ["I"]).then(|| run.join(" "))
            }
            _ => None,
        }
    }
}

/// Text without case, and with spaces for the signs that join words in names.
fn plain(text: &str) -> String {
    text.trim().to_lowercase().replace(['_', '-'], " ")
}

/// Whether a given value is what was stated, or has it as a part at word borders.
fn agrees(stated: &str, given: &BTreeSet<String>) -> bool {
    if stated.is_empty() || given.contains(stated) {
        return true;
    }
    let number = |text: &str| text.replace(',', "").parse::<f64>().ok();
    let amount = number(stated);
    given.iter().any(|given| match amount.zip(number(given)) {
        Some((a, b)) => (a - b).abs() < f64::EPSILON,
        None => has_words(given, stated),
    })
}

fn has_words(text: &str, part: &str) -> bool {
    text.match_indices(part).any(|(at, _)| {
        let before = text[..at].ends_with(char::is_alphanumeric) && part.starts_with(char::is_alphanumeric);
        let after = text[at + part.len()..].starts_with(char::is_alphanumeric) && part.ends_with(char::is_alphanumeric);
        !before && !after
    })
}

/// The scalar values that the calls of one tool were given, by argument, in plain text.
pub(super) fn scalar_args<'a>(calls: &'a [ToolCall], tool: &Tool) -> BTreeMap<&'a str, BTreeSet<String>> {
    let mut out: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (key, value) in tool.calls.iter().filter_map(|at| calls[*at].args.as_ref()?.as_object()).flatten() {
        let text = match value {
            Value::String(text) => plain(text),
            // A minus sign is part of the number.
            Value::Number(number) => json::number_text(number),
            Value::Bool(word) => word.to_string(),
            _ => continue,
        };
        out.entry(key).or_default().insert(text);
    }
    out
}
