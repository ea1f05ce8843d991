//! What there is to say about each gate, for its page and for `mcptest explain`. One file per gate.
//!
//! Texts are plain: names stand in backticks, lines of a paragraph are not broken, and only `example` and `formula`
//! have lines of their own.

mod golden_path;
mod narrative;
mod recovery;
mod reliability;
mod stability;
mod trajectory;
mod trajectory_axes;

use super::table::GateKind;

/// The words about a gate that its table row does not have.
#[derive(Debug, Clone, Copy)]
pub struct GateGuide {
    /// What it measures, and of what, in a few sentences.
    pub measures: &'static str,
    /// A gates file that uses it; also valid as part of an agent test.
    pub example: &'static str,
    /// How to read what it says: one point each.
    pub reading: &'static [&'static str],
    /// How its numbers are computed, with a worked example. Lines as they are to be shown.
    pub formula: &'static str,
    /// What it cannot tell: one point each.
    pub limits: &'static [&'static str],
    /// Where the measure comes from.
    pub source: &'static str,
}

impl GateKind {
    /// What there is to say about the gate.
    pub const fn guide(self) -> &'static GateGuide {
        match self {
            Self::Trajectory => &trajectory::GUIDE,
            Self::TrajectoryAxes => &trajectory_axes::GUIDE,
            Self::GoldenPath => &golden_path::GUIDE,
            Self::Stability => &stability::GUIDE,
            Self::Reliability => &reliability::GUIDE,
            Self::Recovery => &recovery::GUIDE,
            Self::Narrative => &narrative::GUIDE,
        }
    }
}
