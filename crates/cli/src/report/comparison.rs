//! Two sets of runs side by side, as every output shows them: `mcptest compare` alone, and reports of `--compare` below
//! the totals.

mod html;
mod json;
mod markdown;
mod text;

use mcptest_core::compare::{CompareOptions, Comparison, Outcome, Side, compare};
use mcptest_core::report::Report;

pub(super) use self::markdown::section;
pub(super) use self::text::{headline, since};

/// A side and what it was read from.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) side: Side,
}

/// Two sides and how they differ.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) found: Comparison,
}

impl Compared {
    pub(crate) fn new(old: &Named, new: &Named, options: &CompareOptions) -> Self {
        let found = compare(&old.side, &new.side, options);
        Self { old: old.name.clone(), new: new.name.clone(), found }
    }

    /// A run compared with an older one.
    pub(crate) fn with_run(old: &Named, report: &Report) -> Self {
        let new = Named { name: "this run".to_owned(), side: Side::of_report(report) };
        Self::new(old, &new, &CompareOptions::default())
    }

    /// Whether tests pass less often, and chance does not explain it.
    pub(crate) fn has_regressed(&self) -> bool {
        self.found.outcome == Outcome::Regressed
    }

    pub(crate) fn pretty(&self, verbose: bool) -> String {
        text::pretty(self, verbose)
    }

    pub(crate) fn json(&self) -> String {
        json::text(self)
    }

    pub(crate) fn markdown(&self) -> String {
        markdown::text(self)
    }

    pub(crate) fn html(&self) -> String {
        html::page(self)
    }
}
