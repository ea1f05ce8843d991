//! The terminal report of `score`: a line per trace and per gate over runs, and what did not pass with its reasons.
//!
//! Traces are shown as they come and are not kept. A corpus may have any number of them, so after some only counts are shown.

use std::collections::BTreeMap;
use std::io::{self, Write};

use mcptest_core::event::Event;
use mcptest_core::report::RowVerdict;

use crate::report::text::many;
use crate::report::{RowList, Style};

/// Maximum passing rows, and maximum other rows, that are listed.
const MAX_LISTED: usize = 50;

pub(super) struct Listing {
    rows: RowList,
    /// How many rows of each verdict were listed.
    listed: BTreeMap<&'static str, usize>,
    /// How many were not.
    unlisted: usize,
}

impl Listing {
    pub(super) fn new(style: &Style) -> Self {
        Self { rows: RowList::new(style), listed: BTreeMap::new(), unlisted: 0 }
    }

    /// Shows an event, unless it is a row like many before it.
    pub(super) fn event(&mut self, event: &Event, out: &mut dyn Write) -> io::Result<()> {
        if let Event::RowFinished(row) = event {
            let class = match row.verdict {
                RowVerdict::Pass | RowVerdict::Unjudged | RowVerdict::Skipped => "passed",
                _ => "other",
            };
            let listed = self.listed.entry(class).or_default();
            if *listed == MAX_LISTED {
                self.unlisted += 1;
                return Ok(());
            }
            *listed += 1;
        }
        out.write_all(self.rows.event(event).as_bytes())
    }

    pub(super) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.unlisted > 0 {
            let text = format!("{} not listed; --output jsonl has a line for each", many(self.unlisted, "more row"));
            out.write_all(self.rows.event(&Event::Note(text)).as_bytes())?;
        }
        out.write_all(b"\n")?;
        out.flush()
    }
}
