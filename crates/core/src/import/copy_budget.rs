//! A limit on copies of parts of a record, such as an attachment that every message refers to. Without it a small file could
//! fill the memory.

use std::cell::Cell;

use super::ImportError;

/// Bytes that all copies may take together, even of a short record.
const ALWAYS: usize = 16 * 1024 * 1024;

/// Bytes that all copies may take together, in lengths of the record.
const TIMES: usize = 8;

pub(super) struct CopyBudget {
    left: Cell<usize>,
}

impl CopyBudget {
    pub(super) fn of(record: &str) -> Self {
        Self { left: Cell::new(record.len().saturating_mul(TIMES).max(ALWAYS)) }
    }

    /// Counts a copy of `what`.
    pub(super) fn take(&self, bytes: usize, what: &str) -> Result<(), ImportError> {
        let left = self.left.get().checked_sub(bytes).ok_or_else(|| {
            ImportError::new(format!("{what} is used so often that its copies would not fit into memory"))
                .hint("split the record, or remove what is repeated")
        })?;
        self.left.set(left);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_limited_by_the_length_of_the_record_with_a_minimum_for_short_ones() {
        let small = CopyBudget::of("");
        assert!(small.take(ALWAYS, "it").is_ok());
        assert!(small.take(1, "it").is_err());
        let large = " ".repeat(ALWAYS);
        let large = CopyBudget::of(&large);
        assert!(large.take(ALWAYS * TIMES + 1, "it").is_err());
        assert!(large.take(ALWAYS * TIMES, "it").is_ok());
    }
}
