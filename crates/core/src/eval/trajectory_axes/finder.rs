//! Finds words in text in one pass, where they are not part of a longer word, number or path.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// Searches text for words: by binary search wherever one may begin, or by an automaton.
pub(super) struct Finder {
    /// The first bytes of words.
    begins: [bool; 256],
    /// The first byte of all words, if it is the same: it is found many bytes at a time.
    only: Option<char>,
    /// The longest other word that each word begins with.
    shorter: Vec<Option<usize>>,
    /// Which words are too short: a match may be chance.
    is_too_short: Vec<bool>,
    /// Its cost does not depend on the length of words, but it is slow to build.
    automaton: Option<AhoCorasick>,
}

/// Minimum characters of a word to search for in text.
pub(super) const LEAST: usize = 3;
/// The longest word for binary search; it bounds the cost at one position of the text.
pub(super) const SHORT: usize = 64;

impl Finder {
    /// `words` are sorted, each once.
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
        let is_too_short = words.iter().map(|word| is_too_short(word)).collect();
        Self { begins, only, shorter, is_too_short, automaton: None }
    }

    /// Records `producer` for the words that are in this text and in no earlier one.
    pub(super) fn find(&self, text: &str, words: &[&str], first: &mut [Option<usize>], producer: usize) {
        let mut found = |word: usize, start: usize, end: usize| {
            if first[word].is_none() && !self.is_too_short[word] && is_whole(text, start, end) {
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
            if start > 0 && is_word(bytes[start - 1]) {
                continue;
            }
            let rest = &text[start..];
            // Words that sort between a word and a text that starts with it start with it too.
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

/// Whether a word is in text by chance too often to prove anything.
pub(super) fn is_too_short(word: &str) -> bool {
    word.chars().nth(LEAST - 1).is_none()
}

/// Whether a piece of text is not part of a longer word, number or path.
///
/// A letter or a digit directly next to it joins it to something longer, and so do `_`, `-`, `/`, an accent of its last
/// letter, and characters that hyphenate or join without being seen. A `.` or `\` before it does (`.env`, `C:\x`). After it,
/// `.`, `:` and `'` may end a sentence or a quotation: they join if the word continues after them (`report.pdf`,
/// `https://x`, `user's`). A `:` or `'` before it joins in the same way. A `,` and the spaces of long numbers join digits
/// only (`1,200`).
pub(super) fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let piece = &text[start..end];
    let is_number = (piece.starts_with(is_digit), piece.ends_with(is_digit));
    let before = Side { is_before: true, is_number: is_number.0 };
    let after = Side { is_before: false, is_number: is_number.1 };
    !before.joins(text[..start].chars().rev()) && !after.joins(text[end..].chars())
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// One end of a piece of text.
struct Side {
    is_before: bool,
    is_number: bool,
}

/// Maximum punctuation characters in a row to look past.
const SIGNS: usize = 8;

impl Side {
    /// Whether the characters from this end on join the piece to something longer.
    fn joins(&self, mut outwards: impl Iterator<Item = char>) -> bool {
        let Some(next) = outwards.next() else { return false };
        match next {
            '_' | '-' | '/' => true,
            '.' | '\\' if self.is_before => true,
            '\u{2212}' => self.is_before && self.is_number,
            '.' | ':' | '\'' | '\u{2019}' | ',' | '\u{a0}' | '\u{2009}' | '\u{202f}' => {
                let Some(beyond) = outwards.take(SIGNS).find(|c| *c != next) else { return false };
                match next {
                    '.' | ':' => beyond.is_alphanumeric() || matches!(beyond, '_' | '-' | '/' | '.' | ':'),
                    '\'' | '\u{2019}' => beyond.is_alphanumeric(),
                    _ => self.is_number && is_digit(beyond),
                }
            }
            other => other.is_alphanumeric() || is_joiner(other),
        }
    }
}

/// Whether a character belongs to the letter before it, or hyphenates or joins what is on both sides of it.
fn is_joiner(c: char) -> bool {
    let is_mark = matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}');
    is_mark || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2010}' | '\u{2011}' | '\u{2060}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The long way: every place in the text is tried.
    fn alone(text: &str, piece: &str) -> bool {
        let mut starts = text.char_indices().map(|(at, _)| at);
        !is_too_short(piece) && starts.any(|at| text[at..].starts_with(piece) && is_whole(text, at, at + piece.len()))
    }

    #[test]
    fn a_value_counts_only_where_it_is_not_part_of_something_longer() {
        for (text, piece, expected) in [
            ("flight HAT042 found", "HAT042", true),
            ("flight XHAT042", "HAT042", false),
            ("flight HAT042B", "HAT042", false),
            ("HAT042", "HAT042", true),
            ("(HAT042)", "HAT042", true),
            ("\"San José\"", "San José", true),
            ("San Joséphine", "San José", false),
            // The end of a sentence, a clause or a quotation.
            ("costs 200.", "200", true),
            ("costs 200. Then", "200", true),
            ("200, and 300", "200", true),
            ("wait...", "wait", true),
            ("HAT042: late", "HAT042", true),
            ("'HAT042'", "HAT042", true),
            ("['HAT042','HAT043']", "HAT042", true),
            ("{'id': 'HAT042'}", "HAT042", true),
            ("{'id':'HAT042'}", "HAT042", true),
            ("{\"id\":4200,\"x\":\"HAT042\"}", "4200", true),
            ("{\"id\":4200,\"x\":\"HAT042\"}", "HAT042", true),
            ("name,HAT042,open", "HAT042", true),
            ("see https://x.test/a?b=1.", "https://x.test/a?b=1", true),
            // Numbers.
            ("1,200", "200", false),
            ("200,000", "200", false),
            ("200.50", "200", false),
            ("1.200", "200", false),
            (".200", "200", false),
            ("-200", "200", false),
            ("-200", "-200", true),
            ("A-200", "-200", false),
            ("A-200", "200", false),
            ("12:200", "200", false),
            ("200:12", "200", false),
            ("1\u{2019}200", "200", false),
            ("1\u{a0}200", "200", false),
            ("1\u{202f}200", "1", false),
            ("costs\u{a0}200\u{a0}EUR", "200", true),
            ("\u{2212}200", "200", false),
            // Words.
            ("user_id", "user", false),
            ("the user's", "user", false),
            ("_user_", "user", false),
            ("--user", "user", false),
            ("user-", "user", false),
            ("std::fmt", "fmt", false),
            ("std::fmt", "std", false),
            ("urn:isbn:978", "978", false),
            ("main..next", "main", false),
            ("the user\u{2019}s", "user", false),
            ("the \u{2018}user\u{2019}", "user", true),
            ("abc\u{301}", "abc", false),
            ("abc\u{ad}def", "abc", false),
            ("abc\u{200b}def", "def", false),
            ("abc\u{2011}def", "abc", false),
            // Paths.
            ("report.pdf", "report", false),
            ("report.pdf", ".pdf", false),
            ("src/main.rs", "main.rs", false),
            ("src/main.rs", "src", false),
            ("src/main.rs", "/main.rs", false),
            ("../main.rs", "main.rs", false),
            ("/main.rs", "main.rs", false),
            ("src/ is a folder", "src", false),
            (".env", "env", false),
            ("C:\\src\\main.rs", "main.rs", false),
            ("https://x.test", "https", false),
            ("https://x.test", "://", false),
            ("https://x.test", "x.test", false),
            // Chance.
            ("id 42", "42", false),
            ("a / b", "/", false),
            ("é1", "é1", false),
            ("é12", "é12", true),
        ] {
            assert_eq!(alone(text, piece), expected, "{piece} in {text}");
        }
    }

    #[test]
    fn a_long_run_of_punctuation_is_searched_in_bounded_time() {
        let text = ":".repeat(200_000);
        let mut first = vec![None; 1];
        Finder::new(&[":::"]).find(&text, &[":::"], &mut first, 0);
        assert_eq!(first, [Some(0)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn short_words_and_long_are_found_alike(
            text in "[aé1_.,:'/ -]{0,24}",
            words in prop::collection::btree_set("[aé1_.,:'/ -]{1,5}", 1..9),
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
