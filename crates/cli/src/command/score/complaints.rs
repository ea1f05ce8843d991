//! Read errors, reported as they occur, up to a limit.

use mcptest_core::diag::printable;
use mcptest_core::redact::by_shape;

use crate::console::Stream;
use crate::corpus::RecordError;

/// Most errors that are reported.
const MOST: usize = 20;

#[derive(Default)]
pub(crate) struct Complaints {
    count: usize,
}

impl Complaints {
    pub(crate) fn fault(&mut self, source: &str, fault: &RecordError, err: &mut Stream<'_>) {
        self.count += 1;
        if self.count > MOST {
            return;
        }
        let place = fault.place.map_or_else(String::new, |offset| format!(": byte {offset}"));
        let mut error = fault.clone().moved(format!("{source}{place}"));
        // The message quotes input, which may contain secrets.
        error.message = printable(&by_shape(&error.message)).into_owned();
        err.complain(error);
    }

    /// Reports how many more there were.
    pub(crate) fn finish(&self, err: &mut Stream<'_>) {
        if let Some(more @ 1..) = self.count.checked_sub(MOST) {
            err.complain(format!("error: and {more} more"));
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }
}
