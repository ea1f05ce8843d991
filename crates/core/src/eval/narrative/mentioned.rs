//! Which tools a message mentions.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::beginnings::Beginnings;
use super::index::Index;
use super::lexicon::{Known, known};
use super::tokens::{HELPERS, Kind, Token, Tokens};
use super::tools::{Tool, Word};
use super::{scan, tokens, words};

/// Which words of tools a message has, in any inflection.
pub(super) struct MentionedWords<'a> {
    /// The root of every word of the tools that the message may mention, and whether the message has it.
    roots: Option<Index<&'a str, Cell<bool>>>,
}

impl<'a> MentionedWords<'a> {
    /// Looks for the words of some tools. `lower` is the message with its ASCII letters in lower case. The message is read
    /// until all are found, and only the lines that may have them.
    pub(super) fn new(tokens: &mut Tokens<'_>, lower: &str, tools: &[&'a Tool<'_>]) -> Self {
        let is_open = |tool: &&&Tool<'_>| tools.len() > FEW || needed(tool).all(|word| may_occur(&word.root, lower));
        let open: Vec<&Tool<'_>> = tools.iter().filter(is_open).copied().collect();
        if open.is_empty() {
            return Self { roots: None };
        }
        let (mut roots, mut beginnings) = (Index::with_room(open.len() * 3), Beginnings::of_irregular());
        for word in open.iter().flat_map(|tool| needed(tool)) {
            if roots.get(&word.root).is_none() {
                roots.add(&*word.root, Cell::new(false));
                beginnings.add(&word.root);
            }
        }
        let unheard = Cell::new(roots.len());
        let hear = |root: &str| {
            if let Some(is_mentioned) = roots.get(root)
                && !is_mentioned.replace(true)
            {
                unheard.set(unheard.get() - 1);
            }
        };
        let hear_word = |word: &str, known: &Known| match &known.root {
            Some(root) => hear(root),
            None => hear(&words::regular_root(word)),
        };
        let hear_token = |token: &Token<'_>| match token.kind {
            Kind::Word(_) if token.is_plain && !beginnings.may_have(&token.text) => {}
            Kind::Word(_) if token.is_plain => hear_word(&token.text, token.known),
            Kind::Word(_) | Kind::Number | Kind::Mention => {
                let words = words::each_written(&token.text).filter(|word| beginnings.may_have(word));
                words.map(words::lower).for_each(|word| hear_word(&word, known(&word)));
            }
            _ => {}
        };
        let is_heard = || unheard.get() == 0;
        let is_by_line = roots.len() <= FEW_ROOTS && tokens.so_far().is_empty();
        if !is_by_line || !hear_by_line(&roots, tokens, lower, hear_token) {
            let mut at = 0;
            while !is_heard() && (at < tokens.so_far().len() || tokens.read_more()) {
                tokens.so_far()[at..].iter().take_while(|_| !is_heard()).for_each(hear_token);
                at = tokens.so_far().len();
            }
        }
        Self { roots: Some(roots) }
    }

    /// Whether every significant word of a tool's name occurs.
    pub(super) fn mentions(&self, tool: &Tool<'_>) -> bool {
        let Some(roots) = &self.roots else { return false };
        !tool.words.is_empty() && needed(tool).all(|word| roots.get(&word.root).is_some_and(Cell::get))
    }
}

/// The significant words of a tool's name; all, if none is.
fn needed<'a>(tool: &'a Tool<'_>) -> impl Iterator<Item = &'a Word<'a>> {
    let significant = |word: &Word<'_>| word.plain.chars().nth(2).is_some();
    let any_significant = tool.words.iter().any(significant);
    tool.words.iter().filter(move |word| !any_significant || significant(word))
}

/// Most tools whose words are each searched for in a message before its tokens are.
const FEW: usize = 8;
/// Most roots for which a message is read line by line. Each line costs a look at all of them.
const FEW_ROOTS: usize = 24;

/// Words that do not begin like their root, by root. A helper of a contraction is not written at all.
static UNLIKE: LazyLock<BTreeMap<Cow<'_, str>, Vec<&str>>> = LazyLock::new(|| {
    let irregular = words::IRREGULAR.iter().flat_map(|(base, past, participle)| [(*base, *past), (*base, *participle)]);
    let plurals = words::PLURALS.iter().map(|(plural, noun)| (*noun, *plural));
    let mut unlike: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for (word, other) in irregular.chain(plurals) {
        unlike.entry(words::regular_root(word)).or_default().push(other);
    }
    for helper in HELPERS {
        unlike.entry(words::root(helper)).or_default().push("");
    }
    unlike
});

/// Whether a message may have a word with this root. A search for a few letters is much cheaper than to read all words.
fn may_occur(root: &str, lower: &str) -> bool {
    beginning_of(root).is_none_or(|beginning| lower.contains(beginning)) || may_occur_otherwise(root, lower)
}

/// What regular words with this root begin with, if it is long enough to be searched for.
fn beginning_of(root: &str) -> Option<&str> {
    // "replies" has the root "reply".
    let beginning = root.strip_suffix('y').unwrap_or(root);
    (beginning.len() >= 3 && beginning.is_ascii()).then_some(beginning)
}

/// Whether a message may have a word with this root that does not begin like it.
fn may_occur_otherwise(root: &str, lower: &str) -> bool {
    // These two are the only signs that are not ASCII and become so in lower case.
    let has_odd = || !lower.is_ascii() && (lower.contains('\u{130}') || lower.contains('\u{212a}'));
    UNLIKE.get(root).is_some_and(|words| words.iter().any(|word| lower.contains(word))) || has_odd()
}

/// Reads the lines of a message that may have words of some roots, as long as any was not found. Whether that was enough:
/// no other line can have them.
fn hear_by_line(
    roots: &Index<&str, Cell<bool>>,
    tokens: &Tokens<'_>,
    lower: &str,
    hear_token: impl Fn(&Token<'_>),
) -> bool {
    let beginning = |(root, is_heard)| {
        let text = beginning_of(root)?;
        Some(Beginning { root, text, is_heard, next: find(lower, text, 0) })
    };
    let Some(mut beginnings) = roots.iter().map(beginning).collect::<Option<Vec<_>>>() else { return false };
    let mut from = 0;
    while let Some(line) = next_line(&mut beginnings, lower, from) {
        if tokens::may_have_fence(&lower[from..line.end]) {
            return false;
        }
        from = line.end;
        tokens.line(line).iter().for_each(&hear_token);
    }
    beginnings.iter().all(|beginning| beginning.is_heard.get() || !may_occur_otherwise(beginning.root, lower))
}

/// What words of a root begin with, and where the message has that next.
struct Beginning<'a> {
    root: &'a str,
    text: &'a str,
    /// Whether a word of the root was found.
    is_heard: &'a Cell<bool>,
    /// `None` if it has it nowhere else.
    next: Option<usize>,
}

/// The first line from a place on that may have a word that was not found yet. No line is found twice.
fn next_line(beginnings: &mut [Beginning<'_>], lower: &str, from: usize) -> Option<Range<usize>> {
    let mut first = None;
    for beginning in beginnings.iter_mut().filter(|beginning| !beginning.is_heard.get()) {
        if beginning.next.is_some_and(|next| next < from) {
            beginning.next = find(lower, beginning.text, from);
        }
        first = first.into_iter().chain(beginning.next).min();
    }
    let at = first?;
    let bytes = lower.as_bytes();
    let start = bytes[from..at].iter().rposition(|byte| *byte == b'\n').map_or(from, |before| from + before + 1);
    Some(start..at + scan::until(&bytes[at..], b'\n', b'\n'))
}

/// Where a text has a part, from a place on.
fn find(text: &str, part: &str, from: usize) -> Option<usize> {
    // To learn that it is not there is much cheaper than to find it.
    let rest = text.get(from..).filter(|rest| rest.contains(part))?;
    rest.find(part).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::narrative::lexicon;

    #[test]
    fn a_word_begins_like_its_root_or_its_root_is_listed() {
        let own = "people children indices replies replied classes boxes buses series statuses pies tied agreed";
        let listed = words::IRREGULAR.iter().flat_map(|(base, past, participle)| [*base, *past, *participle]);
        for word in lexicon::each().chain(listed).chain(own.split(' ')) {
            let root = words::root(word);
            assert!(may_occur(&root, word), "{word}: {root}");
            let mut beginnings = Beginnings::of_irregular();
            beginnings.add(&root);
            assert!(beginnings.may_have(word), "{word}: {root}");
        }
    }

    #[test]
    fn helpers_of_contractions_occur_without_being_written() {
        for helper in HELPERS {
            assert!(may_occur(&words::root(helper), ""), "{helper}");
        }
        assert!(!may_occur("weather", "whether") && !may_occur("send", "see"));
        assert!(may_occur("weather", "WEATHER".to_ascii_lowercase().as_str()));
        assert!(may_occur("tokyo", "to\u{212a}yo"));
    }
}
