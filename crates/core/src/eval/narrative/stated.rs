//! What a message says of tools and their arguments: which are mentioned, which values are stated.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::{Map, Value};

use super::backing::{Tool, Word};
use super::index::Index;
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

/// With which signs the words begin that are looked for: most words of a message need no closer look.
#[derive(Default)]
struct Initials(u64);

impl Initials {
    fn add(&mut self, word: &str) {
        self.0 |= Self::bit(word);
    }

    /// Whether a lower-case word may be one of those added.
    fn may_have(&self, word: &str) -> bool {
        self.0 & Self::bit(word) != 0
    }

    /// Several signs share a bit; what does not begin with one of ASCII has them all.
    fn bit(word: &str) -> u64 {
        match word.as_bytes().first() {
            Some(first) if first.is_ascii() => 1 << (first.to_ascii_lowercase() & 63),
            _ => u64::MAX,
        }
    }
}

/// Which words of tools a message has, in any inflection.
pub(super) struct Heard<'a> {
    /// The root of every word of the tools, and whether the message has it.
    roots: Index<&'a str, Cell<bool>>,
}

impl<'a> Heard<'a> {
    pub(super) fn new(tokens: &[Token<'_>], tools: &'a [Tool<'_>]) -> Self {
        let (mut roots, mut initials) = (Index::with_room(tools.len() * 3), Initials::default());
        for word in tools.iter().flat_map(|tool| &tool.words) {
            if roots.get(&word.root).is_none() {
                roots.add(&*word.root, Cell::new(false));
                initials.add(&word.root);
            }
        }
        let hear = |root: &str| {
            if initials.may_have(root)
                && let Some(heard) = roots.get(root)
            {
                heard.set(true);
            }
        };
        for token in tokens {
            match (token.kind, &token.known.root) {
                (Kind::Word(_), Some(root)) => hear(root),
                (Kind::Word(_) | Kind::Number | Kind::Mention, _) => match &token.text {
                    // The root of a word in no table is empty or begins like the word.
                    Cow::Borrowed(word) if matches!(token.kind, Kind::Word(_)) => {
                        if initials.may_have(word) {
                            hear(&words::regular_root(word));
                        }
                    }
                    text => words::each_word(text).for_each(|word| hear(&words::root(&word))),
                },
                _ => {}
            }
        }
        Self { roots }
    }

    /// Whether every telling word of a tool's name occurs.
    pub(super) fn mentions(&self, tool: &Tool<'_>) -> bool {
        let telling = |word: &Word<'_>| word.plain.chars().nth(2).is_some();
        let any_telling = tool.words.iter().any(telling);
        let mut needed = tool.words.iter().filter(|word| !any_telling || telling(word));
        !tool.words.is_empty() && needed.all(|word| self.roots.get(&word.root).is_some_and(Cell::get))
    }
}

/// A message as its tokens, with where the words stand that may be arguments.
pub(super) struct Said<'a> {
    message: &'a str,
    tokens: &'a [Token<'a>],
    /// Where each lower-case word or name stands.
    places: Index<Cow<'a, str>, usize>,
}

impl<'a> Said<'a> {
    /// Prepares a message for questions about some arguments.
    pub(super) fn new<'k>(
        message: &'a str,
        tokens: &'a [Token<'a>],
        arguments: impl IntoIterator<Item = &'k str>,
    ) -> Self {
        let mut initials = Initials::default();
        for key in arguments {
            initials.add(key.trim_start_matches(|c: char| !c.is_alphanumeric()));
        }
        let mut places = Index::with_room(tokens.len() / 4);
        // From the last to the first, so that the places of a word are found from the first to the last.
        for (at, token) in tokens.iter().enumerate().rev() {
            match token.kind {
                Kind::Word(_) if initials.may_have(&token.text) => places.add(Cow::from(token.text.as_ref()), at),
                Kind::Mention => places.add(lower(&token.text), at),
                _ => {}
            }
        }
        Self { message, tokens, places }
    }

    /// The first value the message states for an argument that does not agree with what calls were given.
    pub(super) fn contradicts(&self, key: &str, agrees: impl Fn(&str) -> bool) -> Option<String> {
        let mut names = words::each_word(key);
        let first = names.next().filter(|_| !STOP_KEYS.contains(&key))?;
        let others = names.clone().count();
        let whole = |start: &&usize| {
            let said = |(at, name): (usize, Cow<'_, str>)| self.tokens.get(at).is_some_and(|token| token.text == name);
            others == 0 || (**start + 1..).zip(names.clone()).all(said)
        };
        let first_said = |start: &&usize| self.tokens[**start].text == first;
        let after_words = self.places.all(&first).filter(first_said).filter(whole).map(|start| start + 1 + others);
        // The key may also be written as in the arguments.
        let written = (others > 0).then(|| lower(key));
        let after_key = written.iter().flat_map(|key| self.places.all(key)).map(|start| start + 1);
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

/// Text without case.
fn lower(text: &str) -> Cow<'_, str> {
    let is_lower = text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lower { text.into() } else { text.to_lowercase().into() }
}

/// Text without case, and with spaces for the signs that join words in names.
fn plain(text: &str) -> String {
    text.trim().to_lowercase().replace(['_', '-'], " ")
}

/// Whether a given value is what was stated, or has it as a part at word borders.
pub(super) fn agrees(stated: &str, given: &[String]) -> bool {
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
pub(super) fn scalar_keys<'a>(calls: &'a [ToolCall], tool: &Tool<'_>) -> Vec<&'a str> {
    let scalars = args(calls, tool).flatten().filter(|(_, value)| is_scalar(value));
    let mut keys: Vec<&str> = scalars.map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The scalar values that the calls of one tool were given for an argument, in plain text, each once.
pub(super) fn given(calls: &[ToolCall], tool: &Tool<'_>, argument: &str) -> Vec<String> {
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
