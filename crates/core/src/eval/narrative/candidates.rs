//! Whether a message may make a claim at all. Most messages do not, and those are not split into words for their claims.

use std::sync::LazyLock;

use super::lexicon::{self, known};
use super::scan;

/// The letters that words of claims end with.
struct Endings {
    /// One bit for the last three letters, each by its lower five bits.
    letters: [u32; 1024],
    /// Most letters of such a word.
    longest: usize,
}

/// Letters of a word that its ending has.
const LETTERS: usize = 3;

static ENDINGS: LazyLock<Endings> = LazyLock::new(|| {
    let mut endings = Endings { letters: [0; 1024], longest: 0 };
    for word in lexicon::each_of_claims() {
        endings.add(word);
        // "didn't" is read as "did not".
        endings.add(&[word, "n"].concat());
    }
    endings
});

impl Endings {
    fn add(&mut self, word: &str) {
        self.longest = self.longest.max(word.len());
        // What is before a shorter word may be anything.
        for before in 0..32 {
            let padded = [&[before; LETTERS], word.as_bytes()].concat();
            if let Some(ending) = padded.last_chunk() {
                let place = place(*ending);
                self.letters[place / 32] |= 1 << (place % 32);
            }
        }
    }

    /// Whether a word of claims may end at a place of a text in lower case.
    #[inline]
    fn end_at(&self, text: &[u8], end: usize) -> bool {
        let Some(ending) = text.get(..end).and_then(<[u8]>::last_chunk) else { return true };
        let place = place(*ending);
        self.letters[place / 32] & 1 << (place % 32) != 0
    }
}

#[inline]
fn place(ending: [u8; LETTERS]) -> usize {
    ending.iter().fold(0, |place, letter| place << 5 | usize::from(letter & 31))
}

/// Whether a text has a word that may make a claim. `lower` is the text with its ASCII letters in lower case.
pub(super) fn any(lower: &str) -> bool {
    let text = lower.as_bytes();
    let endings = &*ENDINGS;
    let found = scan::each_word_end(text, |end| endings.end_at(text, end) && is_candidate(lower, end, endings.longest));
    // This is the only sign that becomes a letter of ASCII in lower case.
    found || (!lower.is_ascii() && lower.contains('\u{212a}'))
}

/// Whether the letters in front of a place are a word that may make a claim.
fn is_candidate(lower: &str, end: usize, longest: usize) -> bool {
    // A longer word is none of them.
    let near = end.saturating_sub(longest + 1);
    let letters = lower.as_bytes()[near..end].iter().rev().take_while(|byte| byte.is_ascii_lowercase()).count();
    let word = &lower[end - letters..end];
    known(word).may_claim || word.strip_suffix('n').is_some_and(|word| known(word).may_claim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::narrative::tokens::{self, HELPERS};

    #[test]
    fn words_of_claims_are_found_in_every_surrounding() {
        let endings = ["", " ", ".", "n't", "n’t", "'s", "’ve", "-", "é", "1", "_", "\n"];
        for word in lexicon::each_of_claims() {
            for before in [
                "",
                " ",
                "\"",
                "é",
                "-",
                "1",
                "it was ",
                "a longer text, longer than a block of 64 bytes, in which it ",
            ] {
                for behind in endings {
                    assert!(any(&[before, word, behind].concat()), "{before}{word}{behind}");
                }
            }
        }
        for text in
            ["", "a", "it's up to you", "the sets", "redid", "reddo", "prodeleted", "deletedly", &"deleted".repeat(9)]
        {
            assert!(!any(text), "{text}");
        }
    }

    #[test]
    fn a_text_without_candidates_has_no_token_that_may_claim() {
        let signs = ["", "n't", "n’t", "'d", "-", "_", " ", "é", "K", "\u{212a}", "1", "a"];
        for word in lexicon::each_of_claims() {
            for before in signs {
                for behind in signs {
                    let text = [before, word, behind].concat();
                    let swapped = text.replace('k', "\u{212a}");
                    for text in [text, swapped] {
                        let lower = text.to_ascii_lowercase();
                        let may_claim = tokens::read(&text, &lower).iter().any(|token| token.known.may_claim);
                        assert!(!may_claim || any(&lower), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn helpers_of_contractions_make_no_claim() {
        assert!(HELPERS.iter().all(|helper| !known(helper).may_claim));
    }
}
