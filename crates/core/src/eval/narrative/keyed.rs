//! Values that a message states next to the name of an argument: "with title \"Login bug\"", "Location: Room 2".
//!
//! Only arguments of tools that back a claim are looked for: the message says what was done, and this is how.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::backing::Evidence;
use super::beginnings::Beginnings;
use super::objects::each_text;
use super::tokens::{Kind, Token};
use super::tools::Tool;
use super::{ClaimResult, Item, words};
use crate::json;
use crate::trace::ToolCall;

/// Argument names too common as words to be looked for.
const STOP_KEYS: [&str; 6] = ["to", "from", "in", "by", "for", "on"];
/// Most values stated for one argument that are looked at.
const MAX_STATED: usize = 100;
/// Words that may be between an argument's name and its value; so may a colon.
const LINKS: [&str; 4] = ["is", "to", "as", "of"];
/// Signs that open or close a quote.
const QUOTES: [char; 10] = ['"', '\'', '`', '“', '”', '„', '‘', '’', '«', '»'];

/// Every value that is stated for an argument of a tool and that none of its calls was given. `claims` leads from tools to
/// the first claim that a call of them backs.
pub(super) fn mismatches(
    claims: &BTreeMap<usize, usize>,
    results: &[ClaimResult],
    message: &str,
    tokens: &[Token<'_>],
    calls: &[ToolCall],
    evidence: &Evidence<'_>,
) -> Vec<Item> {
    debug_assert!(claims.values().all(|claim| *claim < results.len()));
    let tools = claims.iter().map(|(place, claim)| (&evidence.tools.list[*place], *claim));
    let arguments: Vec<(&Tool<'_>, usize, &str)> = tools
        .flat_map(|(tool, claim)| scalar_keys(calls, tool).into_iter().map(move |key| (tool, claim, key)))
        .collect();
    let first_words: BTreeSet<Cow<'_, str>> =
        arguments.iter().flat_map(|(_, _, key)| words::each_word(key).next().into_iter().chain([lower(key)])).collect();
    if first_words.is_empty() {
        return Vec::new();
    }
    let stated_arguments = StatedArguments::new(message, tokens, &first_words);
    let all = std::cell::LazyCell::new(|| all_given(calls));
    let lower_message = std::cell::LazyCell::new(|| plain(message));
    let mut out = Vec::new();
    for (tool, claim, argument) in arguments {
        // Few messages state values, so what was given is put together when one is.
        let given = std::cell::LazyCell::new(|| given(calls, tool, argument));
        // A value that was given to any call may refer to that call. If the message also states the value of this call, the
        // other value is about something else.
        let doubt = |value: &str| agrees(value, &given) || all.contains(value) || is_other_kind(value, &given);
        if let Some(stated) = stated_arguments.contradicts(argument, doubt) {
            if given.iter().any(|given| has_words(&lower_message, given)) {
                continue;
            }
            let of = |call: &usize| calls[*call].args.as_ref().and_then(|args| args.get(argument));
            let Some((call, value)) = tool.calls.iter().find_map(|call| Some((*call, of(call)?))) else { continue };
            let (tool, argument, given) = (tool.name.to_owned(), argument.to_owned(), json::excerpt(value, 40));
            out.push(Item::ArgMismatch { claim, stated, tool, call, argument, given });
        }
    }
    out
}

/// The tokens of a message, with the positions of words that may be arguments.
struct StatedArguments<'a> {
    message: &'a str,
    tokens: &'a [Token<'a>],
    /// Where each word or name is that may be an argument.
    places: BTreeMap<Cow<'a, str>, Vec<usize>>,
}

impl<'a> StatedArguments<'a> {
    /// Prepares a message for questions about arguments that begin with some words.
    fn new(message: &'a str, tokens: &'a [Token<'a>], first_words: &BTreeSet<Cow<'_, str>>) -> Self {
        let mut places: BTreeMap<Cow<'a, str>, Vec<usize>> = BTreeMap::new();
        let mut beginnings = Beginnings::none();
        for word in first_words {
            beginnings.add(word);
        }
        for (at, token) in tokens.iter().enumerate() {
            if !beginnings.may_have(&token.text) {
                continue;
            }
            let word = match token.kind {
                Kind::Word(_) => Cow::from(token.text.as_ref()),
                Kind::Mention if token.text.len() <= 80 => lower(&token.text),
                _ => continue,
            };
            if first_words.contains(&word) {
                places.entry(word).or_default().push(at);
            }
        }
        Self { message, tokens, places }
    }

    fn all(&self, word: &str) -> impl Iterator<Item = &usize> {
        self.places.get(word).into_iter().flatten()
    }

    /// The first value the message states for an argument that does not agree with what calls were given.
    fn contradicts(&self, key: &str, agrees: impl Fn(&str) -> bool) -> Option<String> {
        let mut names = words::each_word(key);
        let first = names.next().filter(|_| !STOP_KEYS.contains(&key))?;
        let others = names.clone().count();
        let whole = |start: &&usize| {
            let is_at = |(at, name): (usize, Cow<'_, str>)| self.tokens.get(at).is_some_and(|token| token.text == name);
            others == 0 || (**start + 1..).zip(names.clone()).all(is_at)
        };
        let first_said = |start: &&usize| self.tokens[**start].text == first;
        let after_words = self.all(&first).filter(first_said).filter(whole).map(|start| start + 1 + others);
        // The key may also be written as in the arguments.
        let written = (others > 0).then(|| lower(key));
        let after_key = written.iter().flat_map(|key| self.all(key)).map(|start| start + 1);
        after_words
            .chain(after_key)
            .filter_map(|after| self.stated(after))
            .take(MAX_STATED)
            .find(|value| !agrees(&plain(value)))
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
                let capitalized = |token: &&Token<'_>| {
                    matches!(token.kind, Kind::Word(_))
                        && self.message[token.span.clone()].starts_with(char::is_uppercase)
                };
                let run = self.tokens[at..].iter().take(12).take_while(capitalized);
                let run: Vec<&str> = run.map(|token| &self.message[token.span.clone()]).collect();
                (!run.is_empty() && run != ["I"]).then(|| run.join(" "))
            }
            _ => None,
        }
    }
}

/// Text without case.
fn lower(text: &str) -> Cow<'_, str> {
    let is_lower = text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lower { text.into() } else { text.to_lowercase().into() }
}

/// Text without case and without signs around it, with spaces for the signs that join words in names.
fn plain(text: &str) -> String {
    text.trim().trim_end_matches(['.', ',', ';', '!']).to_lowercase().replace(['_', '-'], " ")
}

/// Whether a stated value cannot be compared: words instead of digits, or the other way around.
fn is_other_kind(stated: &str, given: &[String]) -> bool {
    let figures = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let letters = |text: &str| text.contains(char::is_alphabetic);
    given.iter().all(|given| {
        (letters(stated) && !figures(stated) && !letters(given))
            || (figures(stated) && !letters(stated) && !figures(given))
    })
}

/// Every scalar that any call was given, in plain text.
fn all_given(calls: &[ToolCall]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for args in calls.iter().filter_map(|call| call.args.as_ref()) {
        each_text(args, &mut |text| {
            if text.len() <= 200 {
                out.insert(plain(text).trim_start_matches('#').to_owned());
            }
        });
    }
    out
}

/// Whether a given value is what was stated, or has it as a part at word borders.
fn agrees(stated: &str, given: &[String]) -> bool {
    if stated.is_empty() || given.iter().any(|given| given == stated) {
        return true;
    }
    let number = |text: &str| text.replace(',', "").parse::<f64>().ok();
    let amount = number(stated);
    given.iter().any(|given| match amount.and_then(|amount| Some((amount, number(given)?))) {
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

/// The arguments of one tool that any of its calls gives a scalar value, by name.
fn scalar_keys<'a>(calls: &'a [ToolCall], tool: &Tool<'_>) -> Vec<&'a str> {
    let scalars = args(calls, tool).flatten().filter(|(_, value)| is_scalar(value));
    let mut keys: Vec<&str> = scalars.map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The scalar values that the calls of one tool were given for an argument, in plain text, each once.
fn given(calls: &[ToolCall], tool: &Tool<'_>, argument: &str) -> Vec<String> {
    let values = args(calls, tool).filter_map(|args| args.get(argument)).filter(|value| is_scalar(value));
    let mut out: Vec<String> = values
        .map(|value| match value {
            Value::String(text) => plain(text),
            // A minus sign is part of the number.
            Value::Number(number) => json::number_text(number),
            other => other.to_string(),
        })
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

fn args<'a>(calls: &'a [ToolCall], tool: &Tool<'_>) -> impl Iterator<Item = &'a Map<String, Value>> {
    tool.calls.iter().filter_map(|at| calls[*at].args.as_ref()?.as_object())
}

fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}
