//! What a report draws of a check, beyond its numbers: which call meets which expectation, which backs which claim.

use serde::{Deserialize, Serialize};

use crate::eval::narrative::{Backing, Strength};
use crate::eval::{NarrativeReport, TraceValidation, Trajectory};

/// What there is to draw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Picture {
    /// The reference, call by call.
    Calls(Vec<DrawnCall>),
    /// The claims of the closing message, in its order.
    Claims(Vec<DrawnClaim>),
}

/// An expected call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnCall {
    /// The recorded call that meets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// The tool.
    pub name: String,
    /// Whether it may be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnClaim {
    /// Whether a call backs it; absent when the results that would tell were not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backed: Option<bool>,
    /// The call that backs it, or may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// Where it ends in the message, in bytes.
    pub end: usize,
    /// Why it is neither backed by a call nor absent, where that takes words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where it begins in the message, in bytes.
    pub start: usize,
    /// What is claimed, as `verb_noun`.
    pub stem: String,
    /// Whether it is a heading, a label, a table or a background clause, which is shown and not judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
}

impl Picture {
    pub(super) fn calls(gate: &Trajectory, found: &TraceValidation) -> Self {
        let expected = gate.reference().zip(found.matched.iter().copied().chain(std::iter::repeat(None)));
        Self::Calls(
            expected.map(|((name, optional), call)| DrawnCall { call, name: name.to_owned(), optional }).collect(),
        )
    }

    pub(super) fn claims(found: &NarrativeReport) -> Self {
        let claims = found.claims.iter().map(|claim| DrawnClaim {
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
