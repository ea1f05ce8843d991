//! What a report draws for a check: which call matches which expectation, and which call backs which claim.

use serde::{Deserialize, Serialize};

use crate::eval::narrative::{Backing, Strength};
use crate::eval::{NarrativeReport, TraceValidation, TrajectoryGate};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visual {
    /// The reference, call by call.
    Calls(Vec<VisualCall>),
    /// The claims of the final message, in order.
    Claims(Vec<VisualClaim>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisualCall {
    /// The recorded call that matches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisualClaim {
    /// Whether a call backs it; absent when that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backed: Option<bool>,
    /// The call that backs it, or may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// Where it ends in the message, in bytes.
    pub end: usize,
    /// Why it is neither backed by a call nor absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where it begins in the message, in bytes.
    pub start: usize,
    /// The claim as `verb_noun`.
    pub stem: String,
    /// Whether it is a heading, a label, a table or a background clause, which never affects the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
}

impl Visual {
    pub(super) fn calls(gate: &TrajectoryGate, found: &TraceValidation) -> Self {
        let expected = gate.reference().zip(found.matched.iter().copied().chain(std::iter::repeat(None)));
        Self::Calls(
            expected.map(|((name, optional), call)| VisualCall { call, name: name.to_owned(), optional }).collect(),
        )
    }

    pub(super) fn claims(found: &NarrativeReport) -> Self {
        let claims = found.claims.iter().map(|claim| VisualClaim {
            backed: match claim.backing {
                Backing::Backed | Backing::Delivered | Backing::Narrated => Some(true),
                Backing::Absent => Some(false),
                Backing::Unverifiable | Backing::Unrecorded => None,
            },
            call: claim.backed_by,
            end: claim.span.end,
            note: claim.note(),
            start: claim.span.start,
            stem: claim.stem.clone(),
            weak: claim.strength == Strength::Weak,
        });
        Self::Claims(claims.collect())
    }
}
