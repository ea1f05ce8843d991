//! A bound on text that stands once in a record and many times in what is made of it, such as an attachment that every
//! message refers to: without one, a small file could fill the memory.

use std::cell::Cell;

use super::ImportError;

/// Bytes that copies may take in all, however short the record.
const ALWAYS: usize = 16 * 1024 * 1024;

/// How many times the length of a record its copies may take in all.
const TIMES: usize = 8;

/// What copies of parts of one record may still take.
pub(super) struct Copies {
    left: Cell<usize>,
}

impl Copies {
    pub(super) fn of(record: &str) -> Self {
        Self { left: Cell::new(record.len().saturating_mul(TIMES).max(ALWAYS)) }
    }

    /// Counts a copy of so many bytes; `what` is copied.
    pub(super) fn take(&self, bytes: usize, what: &str) -> Result<(), ImportError> {
        let left = self.left.get().checked_sub(bytes).ok_or_else(|| {
            ImportError::new(format!("{what} is needed so often that its copies would not fit into memory"))
                .hint("split the record, or leave out what is needed again and again")
        })?;
        self.left.set(left);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_record_are_bounded_by_its_length_and_never_by_less_than_what_any_record_may_take() {
        let small = Copies::of("");
        assert!(small.take(ALWAYS, "it").is_ok());
        assert!(small.take(1, "it").is_err());
        let large = " ".repeat(ALWAYS);
        let large = Copies::of(&large);
        assert!(large.take(ALWAYS * TIMES + 1, "it").is_err());
        assert!(large.take(ALWAYS * TIMES, "it").is_ok());
    }
}
