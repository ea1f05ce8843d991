//! The data in a group line that makes it possible to merge the parts of a group run by run.
//!
//! Nothing is averaged twice: a line has a summary of each run, and merging judges all runs of all parts again. The result
//! is the line that one process would have written for the concatenated parts.

use std::fmt::Write as _;

use serde::ser::{SerializeMap as _, Serializer};
use serde::{Deserialize, Serialize};

use super::groups::{CallSequences, Groups, Kept, MergeState};
use super::line::{LineError, ScoreLine};
use super::store::{Call, Ended};
use super::tasks::OverRuns;
use crate::eval::stability::{ArgsKey, SessionFold};
use crate::report::RowVerdict;

/// What a line was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// A group, or a part of one.
    Group {
        group: String,
        /// How many runs of it the line carries.
        runs: u64,
        /// How many of its records could not be read.
        unread: u64,
        /// By which rules they were judged.
        rules: Option<String>,
    },
    Trace {
        /// The group it belongs to.
        group: Option<String>,
        /// The tasks it belongs to.
        tasks: Vec<u32>,
        /// By which rules it was judged; none if it was not, or if the line does not say.
        rules: Option<String>,
        /// None if it was not judged.
        verdict: Option<RowVerdict>,
    },
    /// A record that could not be read.
    Unread {
        /// The group it belongs to, if that is known.
        group: Option<String>,
    },
}

/// A line that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error(transparent)]
    Line(#[from] LineError),
    /// A group line without everything that merging needs.
    #[error("the group {0:?} carries {1} for {2} runs")]
    Short(String, String, u64),
    /// A call that cannot be read.
    #[error("the group {0:?} has {1:?}, which is not a call")]
    Call(String, String),
}

/// What a group line carries.
#[derive(Debug, Deserialize)]
pub(crate) struct Carried {
    #[serde(default)]
    pub(crate) rules: Option<String>,
    #[serde(default)]
    tasks: OverRuns,
    #[serde(default)]
    mixed: bool,
    /// How many records of the group could not be read.
    #[serde(default)]
    unread: u64,
    #[serde(default)]
    within: Option<SessionFold>,
    /// The weakest score of each run.
    #[serde(default)]
    weakest: Option<Vec<Option<f64>>>,
    /// For each run `1` for passed, `0` for failed, `?` for unknown.
    #[serde(default)]
    pub(crate) outcomes: Option<String>,
    #[serde(default)]
    pub(crate) tools: Vec<String>,
    /// For each run its calls as `tool:args`, the place of the tool and the key of the arguments; `-` for no key.
    #[serde(default)]
    pub(crate) calls: Option<Vec<Option<String>>>,
}

impl Carried {
    /// Whether a run passed, if that is known.
    pub(crate) fn outcome(&self, run: usize) -> Option<bool> {
        match self.outcomes.as_ref()?.as_bytes().get(run)? {
            b'1' => Some(true),
            b'0' => Some(false),
            _ => None,
        }
    }

    /// The calls of a run, if they are known.
    pub(crate) fn calls(&self, run: usize) -> Option<&str> {
        self.calls.as_ref()?.get(run)?.as_deref()
    }
}

impl Serialize for MergeState<'_> {
    /// Writes what [`Carried`] reads.
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        if let Some(rules) = self.rules {
            map.serialize_entry("rules", rules)?;
        }
        if self.over != OverRuns::default() {
            map.serialize_entry("tasks", &self.over)?;
        }
        if self.is_mixed {
            map.serialize_entry("mixed", &true)?;
        }
        if self.unread > 0 {
            map.serialize_entry("unread", &self.unread)?;
        }
        if let Some(within) = self.within {
            map.serialize_entry("within", within)?;
            map.serialize_entry("weakest", &self.ended.iter().map(|run| run.weakest).collect::<Vec<_>>())?;
        }
        if self.has_outcomes {
            let outcome = |run: &Ended| match run.outcome {
                Some(true) => '1',
                Some(false) => '0',
                None => '?',
            };
            map.serialize_entry("outcomes", &self.ended.iter().map(outcome).collect::<String>())?;
        }
        if self.within.is_some() {
            if !self.calls.names.is_empty() {
                map.serialize_entry("tools", &self.calls.names)?;
            }
            map.serialize_entry("calls", &self.calls)?;
        }
        map.end()
    }
}

impl Serialize for CallSequences<'_> {
    /// One run at a time becomes text: a group may have any number of them.
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.runs().map(|run| run.map(|(tools, args)| encode(tools, args))))
    }
}

fn encode(tools: &[u32], args: &[Option<ArgsKey>]) -> String {
    let mut out = String::with_capacity(tools.len() * 28);
    for (tool, args) in tools.iter().zip(args) {
        if !out.is_empty() {
            out.push(' ');
        }
        // Writing into a string cannot fail.
        let _ = write!(out, "{tool}:");
        match args {
            Some(key) => {
                out.extend(key.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| HEX[usize::from(digit)]));
            }
            None => out.push('-'),
        }
    }
    out
}

/// The digits of a key.
const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

impl Groups {
    /// Takes in a line that `score` wrote, and says what it was about. Of the lines of traces nothing is kept.
    pub fn merge(&mut self, line: &str) -> Result<Merged, MergeError> {
        let line = ScoreLine::parse(line)?;
        let is_unread = line.is_unread();
        match line {
            ScoreLine { group: Some(group), runs: Some(runs), carry: Some(carried), .. } => {
                let kept = self.unpack(&group, runs, &carried)?;
                let unread = carried.unread;
                if runs > 0 {
                    let over = (carried.tasks, carried.mixed);
                    self.append(&group, carried.within.unwrap_or_default(), over, kept.into_iter());
                }
                self.add_all_unread(&group, unread);
                Ok(Merged::Group { group, runs, unread, rules: carried.rules })
            }
            ScoreLine { index: None, .. } => Err(LineError::Foreign.into()),
            ScoreLine { group, .. } if is_unread => Ok(Merged::Unread { group }),
            ScoreLine { group, tasks, rules, verdict, .. } => Ok(Merged::Trace { group, tasks, rules, verdict }),
        }
    }

    fn unpack(&mut self, group: &str, runs: u64, carried: &Carried) -> Result<Vec<Kept>, MergeError> {
        let short = |what: &str, found: usize| MergeError::Short(group.to_owned(), format!("{found} {what}"), runs);
        let count = usize::try_from(runs).unwrap_or(usize::MAX);
        let check = |what: &str, found: Option<usize>| match found {
            Some(found) if found != count => Err(short(what, found)),
            _ => Ok(()),
        };
        check("scores", carried.weakest.as_ref().map(Vec::len))?;
        check("runs with calls", carried.calls.as_ref().map(Vec::len))?;
        check("outcomes", carried.outcomes.as_ref().map(String::len))?;
        if carried.weakest.is_none() && carried.outcomes.is_none() {
            return Err(short("runs", 0));
        }
        let tools: Vec<u32> = carried.tools.iter().map(|tool| self.tool(tool)).collect();
        let mut out = Vec::new();
        for run in 0..count {
            let weakest = carried.weakest.as_ref().and_then(|all| all[run]);
            let calls = carried.calls(run).map(|text| calls(group, text, &tools)).transpose()?;
            out.push(Kept { ended: Ended { weakest, outcome: carried.outcome(run) }, calls });
        }
        Ok(out)
    }
}

fn calls(group: &str, text: &str, tools: &[u32]) -> Result<Vec<Call>, MergeError> {
    let mut calls = Vec::new();
    for word in text.split_ascii_whitespace() {
        let read = || {
            let (place, key) = word.split_once(':')?;
            let tool = *tools.get(place.parse::<usize>().ok()?)?;
            if key == "-" {
                return Some((tool, None));
            }
            let mut bytes = ArgsKey::default();
            if key.len() != 2 * bytes.len() || !key.is_ascii() {
                return None;
            }
            for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
                *byte = u8::from_str_radix(&key[at..at + 2], 16).ok()?;
            }
            Some((tool, Some(bytes)))
        };
        calls.push(read().ok_or_else(|| MergeError::Call(group.to_owned(), word.to_owned()))?);
    }
    Ok(calls)
}
