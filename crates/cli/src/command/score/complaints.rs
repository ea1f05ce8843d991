//! Read errors, reported as they occur, up to a limit.

use std::io::Write;

use mcptest_core::diag::printable;
use mcptest_core::redact::by_shape;

use crate::corpus::RecordError;

/// Most errors that are reported.
const MOST: usize = 20;

#[derive(Default)]
pub(crate) struct Complaints {
    count: usize,
}

impl Complaints {
    pub(crate) fn fault(&mut self, source: &str, fault: &RecordError, err: &mut dyn Write) {
        self.count += 1;
        if self.count > MOST {
            return;
        }
        let place = fault.place.map_or_else(String::new, |offset| format!(": byte {offset}"));
        let mut error = fault.clone().moved(format!("{source}{place}"));
        // The message quotes input, which may contain secrets.
        error.message = printable(&by_shape(&error.message)).into_owned();
        // If standard error is closed, nothing can be reported.
        let _ = writeln!(err, "{error}");
    }

    /// Reports how many more there were.
    pub(crate) fn finish(&self, err: &mut dyn Write) {
        if let Some(more @ 1..) = self.count.checked_sub(MOST) {
            let _ = writeln!(err, "error: and {more} more");
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }
}
