//! Which words may be among those that are looked for, by their first two letters.

use std::sync::LazyLock;

use super::words;

/// With which two letters the words begin that are looked for: most words of a message need no closer look.
pub(super) struct Beginnings([u32; 32]);

impl Beginnings {
    pub(super) fn none() -> Self {
        Self([0; 32])
    }

    /// Those of irregular words, which may begin otherwise than their roots.
    pub(super) fn of_irregular() -> Self {
        static IRREGULAR: LazyLock<[u32; 32]> = LazyLock::new(|| {
            let mut beginnings = Beginnings::none();
            for (_, past, participle) in words::IRREGULAR {
                beginnings.add(past);
                beginnings.add(participle);
            }
            beginnings.0
        });
        Self(*IRREGULAR)
    }

    /// Adds a root. A regular word begins like its root, but a last letter may differ: "pies" has the root "py".
    pub(super) fn add(&mut self, root: &str) {
        match *root.as_bytes() {
            [] => self.0 = [u32::MAX; 32],
            [first] | [first, b'y'] => self.0[usize::from(first & 31)] = u32::MAX,
            [first, second, ..] => self.0[usize::from(first & 31)] |= 1 << (second & 31),
        }
    }

    /// Whether a word may have one of the roots that were added, in any case of letters. Several letters share a bit.
    pub(super) fn may_have(&self, word: &str) -> bool {
        let (first, second) = match *word.as_bytes() {
            [] => (0, 0),
            [first] => (first, 0),
            [first, second, ..] => (first, second),
        };
        // The lower case of other letters may be anything.
        !(first | second).is_ascii() || self.0[usize::from(first & 31)] & 1 << (second & 31) != 0
    }
}
