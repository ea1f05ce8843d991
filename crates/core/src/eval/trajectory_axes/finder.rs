//! Finding words in texts, all in one pass, where they stand as tokens of their own.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// How words are found in texts: by a search among them wherever one may begin, or by an automaton.
pub(super) struct Finder {
    /// The bytes that words begin with.
    begins: [bool; 256],
    /// What all words begin with, if that is one byte: it is found many bytes at a time.
    only: Option<char>,
    /// The longest other word that each word begins with.
    shorter: Vec<Option<usize>>,
    /// Its cost does not depend on the length of words, but it takes long to build.
    automaton: Option<AhoCorasick>,
}

/// The longest word that is searched for; a bound on what one place in a text can cost.
pub(super) const SHORT: usize = 64;

impl Finder {
    /// Words come in order and each once.
    pub(super) fn new(words: &[&str]) -> Self {
        let long = words.iter().any(|word| word.len() > SHORT);
        Self { automaton: if long { automaton(words) } else { None }, ..Self::sorted(words) }
    }

    fn sorted(words: &[&str]) -> Self {
        let mut begins = [false; 256];
        let mut shorter = Vec::with_capacity(words.len());
        // The word before, and the words that it begins with: what the next word begins with is among them.
        let mut open: Option<usize> = None;
        for (at, word) in words.iter().enumerate() {
            begins[usize::from(word.as_bytes().first().copied().unwrap_or(0))] = true;
            while let Some(other) = open.filter(|other| !word.starts_with(words[*other])) {
                open = shorter[other];
            }
            shorter.push(open);
            open = Some(at);
        }
        let first = words.first().and_then(|word| word.chars().next()).filter(char::is_ascii);
        let only = first.filter(|first| words.iter().all(|word| word.starts_with(*first)));
        Self { begins, only, shorter, automaton: None }
    }

    /// Says of words that stand in a text and in no earlier one that `producer` shows them first.
    pub(super) fn find(&self, text: &str, words: &[&str], first: &mut [Option<usize>], producer: usize) {
        let mut found = |word: usize, start: usize, end: usize| {
            if first[word].is_none() && stands_alone(text, start, end) {
                first[word] = Some(producer);
            }
        };
        if let Some(automaton) = &self.automaton {
            for hit in automaton.find_overlapping_iter(text) {
                found(hit.pattern().as_usize(), hit.start(), hit.end());
            }
            return;
        }
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let bytes = text.as_bytes();
        let mut from = 0;
        // A byte that begins a word begins a character, so a text can be cut there.
        while let Some(next) = match self.only {
            Some(only) => text[from..].find(only),
            None => bytes[from..].iter().position(|byte| self.begins[usize::from(*byte)]),
        } {
            let start = from + next;
            from = start + 1;
            if start > 0 && is_word(bytes[start - 1]) && is_word(bytes[start]) {
                continue;
            }
            let rest = &text[start..];
            // Whatever stands between a word and a text that begins with it begins with it too.
            let mut next = words.partition_point(|word| *word <= rest).checked_sub(1);
            while let Some(at) = next {
                if rest.starts_with(words[at]) {
                    found(at, start, start + words[at].len());
                }
                next = self.shorter[at];
            }
        }
    }
}

fn automaton(words: &[&str]) -> Option<AhoCorasick> {
    let builder =
        AhoCorasick::builder().match_kind(MatchKind::Standard).kind(Some(AhoCorasickKind::ContiguousNFA)).clone();
    builder.build(words).ok()
}

/// Whether a piece of text is a token of its own: no letter, digit or `_` touches it, and no `-` or `.` ties it to
/// one (`12` is not in `12.5` or `A-12`).
pub(super) fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let tied = |mut side: &mut dyn Iterator<Item = char>| {
        let next = side.next();
        match next {
            Some('-' | '.') => (&mut side).next().is_some_and(word),
            Some(c) => word(c),
            None => false,
        }
    };
    // A minus sign in front of a number changes it, whatever stands before the sign.
    let digit_first = text[start..end].starts_with(|c: char| c.is_ascii_digit());
    let negated = digit_first && text[..start].ends_with('-');
    let piece_edges_are_words = (text[start..].starts_with(word), text[..end].ends_with(word));
    let left = piece_edges_are_words.0 && (negated || tied(&mut text[..start].chars().rev()));
    let right = piece_edges_are_words.1 && tied(&mut text[end..].chars());
    !left && !right
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The long way: every place in the text is tried.
    fn alone(text: &str, piece: &str) -> bool {
        let mut starts = text.char_indices().map(|(at, _)| at);
        starts.any(|at| text[at..].starts_with(piece) && stands_alone(text, at, at + piece.len()))
    }

    #[test]
    fn a_value_counts_only_as_a_token_of_its_own() {
        for (text, piece, expected) in [
            ("flight HAT042 found", "HAT042", true),
            ("flight XHAT042", "HAT042", false),
            ("flight HAT042B", "HAT042", false),
            ("id:42, next", "42", true),
            ("costs 42.50", "42", false),
            ("costs 42.", "42", true),
            ("delta -42", "42", false),
            ("room A-42", "42", false),
            ("see https://x.test/a?b=1.", "https://x.test/a?b=1", true),
            ("user_id", "id", false),
            ("\"San José\"", "San José", true),
            ("San Joséphine", "San José", false),
            ("report.pdf", "report", false),
        ] {
            assert_eq!(alone(text, piece), expected, "{piece} in {text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn short_words_and_long_are_found_alike(
            text in "[aé1_. -]{0,24}",
            words in prop::collection::btree_set("[aé1_. -]{0,3}[aé1]", 1..9),
        ) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let found = |finder: Finder| {
                let mut first = vec![None; words.len()];
                finder.find(&text, &words, &mut first, 0);
                first.iter().map(Option::is_some).collect::<Vec<_>>()
            };
            let sorted = found(Finder::sorted(&words));
            let automaton = automaton(&words).unwrap();
            prop_assert_eq!(&sorted, &found(Finder { automaton: Some(automaton), ..Finder::sorted(&words) }));
            prop_assert_eq!(sorted, words.iter().map(|word| alone(&text, word)).collect::<Vec<_>>());
        }
    }
}
