//! What there is to say about each gate, for its page and for `mcptest explain`.

use super::table::GateKind;

/// The words about a gate that its table row does not have.
#[derive(Debug, Clone, Copy)]
pub struct GateGuide {
    /// What it measures, and of what, in a few sentences.
    pub measures: &'static str,
    /// A gates file that uses it; also valid as part of an agent test.
    pub example: &'static str,
    /// How to read what it says: one sentence per point.
    pub reading: &'static [&'static str],
    /// How its numbers are computed.
    pub formula: &'static str,
    /// What it cannot tell: one sentence per point.
    pub limits: &'static [&'static str],
    /// Where the measure comes from.
    pub source: &'static str,
}

impl GateKind {
    /// What there is to say about the gate.
    pub const fn guide(self) -> &'static GateGuide {
        let _ = self;
        &EMPTY
    }
}

const EMPTY: GateGuide = GateGuide { measures: "", example: "", reading: &[], formula: "", limits: &[], source: "" };
