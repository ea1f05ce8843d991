//! Values found by word: one table for what is known of words and for where a message has them.

use super::scan;

/// A word in a form that is compared at once: its first and its last letters, and how many it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    head: u64,
    tail: u64,
    length: usize,
}

/// Most bytes of a word that its key has in full.
const WHOLE: usize = 16;

impl Key {
    pub(super) fn of(word: &str) -> Self {
        let bytes = word.as_bytes();
        let length = bytes.len();
        let (head, tail) = match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) => {
                // What both have is left to the first. That may be all bits, so half of them go at a time.
                let half = 4 * WHOLE.saturating_sub(length);
                (u64::from_le_bytes(*first), u64::from_le_bytes(*last) >> half >> half)
            }
            _ => (scan::few(bytes), 0),
        };
        Self { head, tail, length }
    }

    /// The key of a word of at most 16 bytes, given as two numbers that are zero where it has ended.
    pub(super) fn new(head: u64, tail: u64, length: usize) -> Self {
        Self { head, tail, length }
    }

    /// Where it belongs among a power of two of slots.
    fn slot(self, slots: usize) -> usize {
        let sum = (self.head ^ self.tail.wrapping_mul(0xff51_afd7_ed55_8ccd)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The upper bits of the product depend on every letter.
        (sum >> 32) as usize & (slots - 1)
    }
}

/// Values by word. Words are not ordered.
#[derive(Debug)]
pub(super) struct Index<K, V> {
    entries: Vec<Entry<K, V>>,
    /// How many entries there were when the latest of each slot was added, 0 for none; as many slots as a power of two
    /// has.
    latest: Vec<u32>,
}

#[derive(Debug)]
struct Entry<K, V> {
    key: Key,
    word: K,
    value: V,
    /// The same for the entry of that slot that came before; it may belong to another word.
    earlier: u32,
}

impl<K: AsRef<str>, V> Index<K, V> {
    /// An empty index, sized for about this number of words.
    pub(super) fn with_room(words: usize) -> Self {
        Self { entries: Vec::with_capacity(words), latest: vec![0; (words * 2).next_power_of_two()] }
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn add(&mut self, word: K, value: V) {
        let key = Key::of(word.as_ref());
        let slot = key.slot(self.latest.len());
        let count = u32::try_from(self.entries.len() + 1).unwrap_or(u32::MAX);
        let earlier = std::mem::replace(&mut self.latest[slot], count);
        self.entries.push(Entry { key, word, value, earlier });
    }

    /// Every word that was added, with its value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.entries.iter().map(|entry| (entry.word.as_ref(), &entry.value))
    }

    /// The latest value of a word.
    pub(super) fn get(&self, word: &str) -> Option<&V> {
        self.find(Key::of(word), word)
    }

    /// The same for a word whose key is known.
    #[inline]
    pub(super) fn find(&self, key: Key, word: &str) -> Option<&V> {
        let mut count = self.latest[key.slot(self.latest.len())] as usize;
        while let Some(entry) = count.checked_sub(1).and_then(|place| self.entries.get(place)) {
            if entry.key == key && (key.length <= WHOLE || entry.word.as_ref() == word) {
                return Some(&entry.value);
            }
            count = entry.earlier as usize;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_one_slot_are_distinguished_and_the_latest_value_counts() {
        // More words than slots.
        let mut index = Index::with_room(1);
        for (word, value) in [("bb", 1), ("cC", 2), ("bb", 3), ("x", 4), ("cC", 5)] {
            index.add(word, value);
        }
        let get = |word| index.get(word).copied();
        assert_eq!((get("bb"), get("cC"), get("x"), get("y"), get("")), (Some(3), Some(5), Some(4), None, None));
    }

    #[test]
    fn words_of_every_length_differ_by_every_letter_and_by_length() {
        let words: Vec<String> = (0..40).map(|length| "a".repeat(length)).collect();
        let mut index = Index::with_room(words.len());
        for (value, word) in words.iter().enumerate() {
            index.add(word.as_str(), value);
        }
        for (value, word) in words.iter().enumerate() {
            assert_eq!(index.get(word), Some(&value));
            for at in 0..word.len() {
                let other = [&word[..at], "\0", &word[at + 1..]].concat();
                assert_eq!(index.get(&other), None, "{other:?}");
            }
        }
    }

    #[test]
    fn a_key_is_its_letters_in_two_numbers() {
        for word in ["", "a", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghijklmnop"] {
            let (head, tail) = scan::first(word.as_bytes());
            assert_eq!(Key::of(word), Key::new(head, tail, word.len()), "{word}");
        }
    }

    #[test]
    fn an_empty_index_has_no_values() {
        let index: Index<&str, ()> = Index::with_room(0);
        assert_eq!(index.get("word"), None);
    }
}
