//! Values found by word: one table for what is known of words and for where a message has them.

/// Values by word. Words are not ordered.
#[derive(Debug)]
pub(super) struct Index<K, V> {
    entries: Vec<Entry<K, V>>,
    /// How many entries there were when the latest of each slot was added, 0 for none; as many slots as a power of two
    /// has.
    latest: Vec<usize>,
}

#[derive(Debug)]
struct Entry<K, V> {
    word: K,
    value: V,
    /// The same for the entry of that slot that came before; it may belong to another word.
    earlier: usize,
}

impl<K: AsRef<str>, V> Index<K, V> {
    /// An empty index, sized for about this number of words.
    pub(super) fn with_room(words: usize) -> Self {
        Self { entries: Vec::with_capacity(words), latest: vec![0; (words * 2).next_power_of_two()] }
    }

    pub(super) fn add(&mut self, word: K, value: V) {
        let slot = slot(word.as_ref(), self.latest.len());
        let earlier = std::mem::replace(&mut self.latest[slot], self.entries.len() + 1);
        self.entries.push(Entry { word, value, earlier });
    }

    /// The latest value of a word.
    pub(super) fn get(&self, word: &str) -> Option<&V> {
        let mut count = self.latest[slot(word, self.latest.len())];
        while let Some(entry) = count.checked_sub(1).and_then(|place| self.entries.get(place)) {
            if entry.word.as_ref() == word {
                return Some(&entry.value);
            }
            count = entry.earlier;
        }
        None
    }
}

/// Where a word belongs among a power of two of slots.
fn slot(word: &str, slots: usize) -> usize {
    let (fours, rest) = word.as_bytes().as_chunks::<4>();
    let sum = fours.iter().fold(word.len() as u64, |sum, four| join(sum, u32::from_le_bytes(*four)));
    let sum = match word.as_bytes().last_chunk::<4>() {
        // Some letters again: one step instead of up to three.
        Some(last) => join(sum, u32::from_le_bytes(*last)),
        None => rest.iter().fold(sum, |sum, letter| join(sum, u32::from(*letter))),
    };
    // The upper bits of the product depend on every letter.
    (sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (slots - 1)
}

fn join(sum: u64, letters: u32) -> u64 {
    sum.wrapping_mul(31).wrapping_add(u64::from(letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_one_slot_are_distinguished_and_the_latest_value_counts() {
        // A step of the first letter weighs as much as 31 of the second: these two share a slot at any size.
        assert_eq!(slot("bb", 1 << 20), slot("cC", 1 << 20));
        let mut index = Index::with_room(2);
        for (word, value) in [("bb", 1), ("cC", 2), ("bb", 3), ("x", 4), ("cC", 5)] {
            index.add(word, value);
        }
        let get = |word| index.get(word).copied();
        assert_eq!((get("bb"), get("cC"), get("x"), get("y"), get("")), (Some(3), Some(5), Some(4), None, None));
    }

    #[test]
    fn an_empty_index_has_no_values() {
        let index: Index<&str, ()> = Index::with_room(0);
        assert_eq!(index.get("word"), None);
    }
}
