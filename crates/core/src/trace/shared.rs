//! Parts of a text that many traces are read from.
//!
//! Most of a recording is long texts. Copying each of them out of its record would cost as much as reading it, so a trace may
//! keep a part of the text it was read from. Who has that text says so with [`sharing`]; everywhere else parts are copied.

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A text, or a part of one that has several owners.
#[derive(Clone)]
pub struct SharedText {
    whole: Arc<String>,
    start: usize,
    end: usize,
}

thread_local! {
    /// The texts to share, of each call of [`sharing`] in the order of their addresses.
    static TEXTS: RefCell<Vec<Vec<Arc<String>>>> = const { RefCell::new(Vec::new()) };
}

/// Where a text is in memory.
fn address(text: &str) -> usize {
    text.as_ptr().addr()
}

/// Calls `read`. What it reads from these texts may be kept without a copy.
pub fn sharing<'t, T>(texts: impl IntoIterator<Item = &'t Arc<String>>, read: impl FnOnce() -> T) -> T {
    /// Forgets the texts, even after a panic.
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            TEXTS.with_borrow_mut(Vec::pop);
        }
    }
    let mut texts: Vec<&Arc<String>> = texts.into_iter().collect();
    texts.sort_unstable_by_key(|text| address(text));
    texts.dedup_by(|one, other| Arc::ptr_eq(one, other));
    TEXTS.with_borrow_mut(|known| known.push(texts.into_iter().map(Arc::clone).collect()));
    let _forget = Forget;
    read()
}

impl SharedText {
    /// A part of a text that is shared here; `None` for any other text.
    pub(crate) fn part(text: &str) -> Option<Self> {
        TEXTS.with_borrow(|known| known.iter().rev().find_map(|texts| Self::part_of(texts, text)))
    }

    fn part_of(texts: &[Arc<String>], text: &str) -> Option<Self> {
        let after = texts.partition_point(|one| address(one) <= address(text));
        let whole = texts.get(after.checked_sub(1)?)?;
        let start = address(text) - address(whole);
        let end = start.checked_add(text.len()).filter(|end| *end <= whole.len())?;
        Some(Self { whole: Arc::clone(whole), start, end })
    }

    /// The text with all its parts.
    pub fn whole(&self) -> &Arc<String> {
        &self.whole
    }

    /// Whether it is only a part of its text.
    pub fn is_part(&self) -> bool {
        self.len() < self.whole.len()
    }

    /// A copy without the rest of the text.
    #[must_use]
    pub fn alone(&self) -> Self {
        String::from(&**self).into()
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.whole[self.start..self.end]
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self { start: 0, end: text.len(), whole: Arc::new(text) }
    }
}

/// A part of a text that is shared here, or else a copy.
impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self::part(text).unwrap_or_else(|| text.to_owned().into())
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_shared_text_are_not_copied() {
        let [one, other] = ["one text", "another text"].map(|text| Arc::new(text.to_owned()));
        let apart = "one text".to_owned();
        sharing([&one, &other], || {
            for (whole, part) in [(&one, &one[4..]), (&other, &other[..7]), (&other, &other[12..]), (&one, &one[..])] {
                let shared = SharedText::from(part);
                assert!(Arc::ptr_eq(shared.whole(), whole), "{part}");
                assert_eq!(&*shared, part);
                assert!(!Arc::ptr_eq(shared.alone().whole(), whole));
            }
            assert!(SharedText::part(&apart).is_none());
            // Within the inner call the text stays shared, because the outer one shares it too.
            sharing([&one], || assert!(SharedText::part(&one[1..]).is_some()));
            assert!(SharedText::part(&one[1..]).is_some());
        });
        assert!(SharedText::part(&one).is_none());
        assert_eq!(Arc::strong_count(&one), 1);
    }

    #[test]
    fn a_part_that_is_kept_outlives_its_text() {
        let text = Arc::new("kept".to_owned());
        let kept = sharing([&text], || SharedText::from(&text[1..3]));
        drop(text);
        assert_eq!(&*kept, "ep");
    }
}
