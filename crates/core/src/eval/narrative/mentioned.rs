//! Which tools a message mentions.

use std::cell::Cell;
use std::sync::LazyLock;

use super::backing::{Tool, Word};
use super::index::Index;
use super::lexicon::{Known, known};
use super::tokens::{Kind, Token};
use super::words;

/// With which two letters the words begin that are looked for: most words of a message need no closer look.
struct Beginnings([u32; 32]);

impl Beginnings {
    /// Those of irregular words, which may begin otherwise than their roots.
    fn of_irregular() -> Self {
        static IRREGULAR: LazyLock<[u32; 32]> = LazyLock::new(|| {
            let mut beginnings = Beginnings([0; 32]);
            words::IRREGULAR.iter().for_each(|(_, past, participle)| {
                beginnings.add(past);
                beginnings.add(participle);
            });
            beginnings.0
        });
        Self(*IRREGULAR)
    }

    /// Adds a root. A regular word begins like its root, but a last letter may differ: "pies" has the root "py".
    fn add(&mut self, root: &str) {
        match *root.as_bytes() {
            [] => self.0 = [u32::MAX; 32],
            [first] | [first, b'y'] => self.0[usize::from(first & 31)] = u32::MAX,
            [first, second, ..] => self.0[usize::from(first & 31)] |= 1 << (second & 31),
        }
    }

    /// Whether a word may have one of the roots that were added, in any case of letters. Several letters share a bit.
    fn may_have(&self, word: &str) -> bool {
        let (first, second) = match *word.as_bytes() {
            [] => (0, 0),
            [first] => (first, 0),
            [first, second, ..] => (first, second),
        };
        // The lower case of other letters may be anything.
        !(first | second).is_ascii() || self.0[usize::from(first & 31)] & 1 << (second & 31) != 0
    }
}

/// Which words of tools a message has, in any inflection.
pub(super) struct MentionedWords<'a> {
    /// The root of every word of the tools, and whether the message has it.
    roots: Index<&'a str, Cell<bool>>,
}

impl<'a> MentionedWords<'a> {
    pub(super) fn new(tokens: &[Token<'_>], tools: &'a [Tool<'_>]) -> Self {
        let (mut roots, mut beginnings) = (Index::with_room(tools.len() * 3), Beginnings::of_irregular());
        for word in tools.iter().flat_map(|tool| &tool.words) {
            if roots.get(&word.root).is_none() {
                roots.add(&*word.root, Cell::new(false));
                beginnings.add(&word.root);
            }
        }
        let hear = |root: &str| {
            if let Some(is_mentioned) = roots.get(root) {
                is_mentioned.set(true);
            }
        };
        let hear_word = |word: &str, known: &Known| match &known.root {
            Some(root) => hear(root),
            None => hear(&words::regular_root(word)),
        };
        for token in tokens {
            match token.kind {
                Kind::Word(_) if token.is_plain => {
                    if beginnings.may_have(&token.text) {
                        hear_word(&token.text, token.known);
                    }
                }
                Kind::Word(_) | Kind::Number | Kind::Mention => {
                    let words = words::each_written(&token.text).filter(|word| beginnings.may_have(word));
                    words.map(words::lower).for_each(|word| hear_word(&word, known(&word)));
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
