//! Which tools a message mentions.

use std::borrow::Cow;
use std::cell::Cell;

use super::backing::{Tool, Word};
use super::index::Index;
use super::lexicon::known;
use super::tokens::{Kind, Token};
use super::words;

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
pub(super) struct MentionedWords<'a> {
    /// The root of every word of the tools, and whether the message has it.
    roots: Index<&'a str, Cell<bool>>,
}

impl<'a> MentionedWords<'a> {
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
                && let Some(is_mentioned) = roots.get(root)
            {
                is_mentioned.set(true);
            }
        };
        let hear_word = |word: &str, root: Option<&str>| match root {
            Some(root) => hear(root),
            // The root of a word in no table is empty or begins like the word.
            None if initials.may_have(word) => hear(&words::regular_root(word)),
            None => {}
        };
        for token in tokens {
            match (token.kind, &token.text, &token.known.root) {
                (Kind::Word(_), _, Some(root)) => hear(root),
                (Kind::Word(_), Cow::Borrowed(word), None) => hear_word(word, None),
                (Kind::Word(_) | Kind::Number | Kind::Mention, text, _) => {
                    words::each_word(text).for_each(|word| hear_word(&word, known(&word).root.as_deref()));
                }
                _ => {}
            }
        }
        Self { roots }
    }

    /// Whether every significant word of a tool's name occurs.
    pub(super) fn mentions(&self, tool: &Tool<'_>) -> bool {
        let significant = |word: &Word<'_>| word.plain.chars().nth(2).is_some();
        let any_significant = tool.words.iter().any(significant);
        let mut needed = tool.words.iter().filter(|word| !any_significant || significant(word));
        !tool.words.is_empty() && needed.all(|word| self.roots.get(&word.root).is_some_and(Cell::get))
    }
}
