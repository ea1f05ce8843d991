//! Documentation of each gate, for its page and for `mcptest explain`. One file per gate.
//!
//! Texts are plain: names are in backticks, and only `example` and `formula` have line breaks.

mod golden_path;
mod narrative;
mod recovery;
mod reliability;
mod stability;
mod trajectory;
mod trajectory_axes;

use super::gate::GateKind;

/// The documentation of a gate beyond its row in the table.
#[derive(Debug, Clone, Copy)]
pub struct GateGuide {
    /// What the gate measures, in a few sentences.
    pub measures: &'static str,
    /// A gates file that uses the gate; also valid as part of an agent test.
    pub example: &'static str,
    /// How to read its output, one point each.
    pub reading: &'static [&'static str],
    /// How its metrics are computed, with a worked example. Shown with its line breaks.
    pub formula: &'static str,
    /// Its limits, one point each.
    pub limits: &'static [&'static str],
    /// Where the method comes from.
    pub source: &'static str,
}

impl GateKind {
    /// The documentation of the gate.
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
