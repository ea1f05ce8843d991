//! Parts of a text that many traces are read from.
//!
//! Most of a recording is long texts. Copying each of them out of its record would cost as much as reading it, so a trace may
//! keep a part of the text it was read from. Who has that text says so with [`sharing`]; everywhere else parts are copied.

use std::cell::RefCell;
use std::collections::BTreeMap;
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

/// Texts by their address.
type Texts = BTreeMap<usize, Arc<String>>;

thread_local! {
    /// The texts to share, of each call of [`sharing`].
    static SHARED: RefCell<Vec<Texts>> = const { RefCell::new(Vec::new()) };
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
            SHARED.with_borrow_mut(Vec::pop);
        }
    }
    let mut all = Texts::new();
    for text in texts {
        all.entry(address(text)).or_insert_with(|| Arc::clone(text));
    }
    SHARED.with_borrow_mut(|shared| shared.push(all));
    let _forget = Forget;
    read()
}

/// Shares another text until the call of [`sharing`] that this is in ends.
pub(crate) fn share(text: &Arc<String>) {
    SHARED.with_borrow_mut(|shared| {
        if let Some(texts) = shared.last_mut() {
            texts.insert(address(text), Arc::clone(text));
        }
    });
}

impl SharedText {
    /// A part of a text that is shared here; `None` for any other text.
    pub(crate) fn part(text: &str) -> Option<Self> {
        SHARED.with_borrow(|shared| shared.iter().rev().find_map(|texts| Self::part_of(texts, text)))
    }

    fn part_of(texts: &Texts, text: &str) -> Option<Self> {
        let (begin, whole) = texts.range(..=address(text)).next_back()?;
        let start = address(text) - begin;
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
            // Within the inner call more is shared.
            let more = Arc::new(apart.clone());
            sharing([&one], || {
                share(&more);
                assert!([&one[1..], &other[1..], &more[1..]].iter().all(|part| SharedText::part(part).is_some()));
            });
            assert!(SharedText::part(&one[1..]).is_some() && SharedText::part(&more[1..]).is_none());
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
