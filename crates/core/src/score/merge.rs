//! What a group line carries so that parts of a group can be put together again, run by run.
//!
//! Nothing is averaged twice: a line carries its runs in short, and merging judges all runs of all parts anew. The result
//! is the line that one process would have written, had it read the parts one after the other.

use serde::Deserialize;

use super::groups::{Carry, Groups, Kept};
use super::store::{Call, Ended};
use super::text::{key, list, text, value, whole};
use crate::eval::stability::{ArgsKey, SessionFold};

/// What a line was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// A group, or a part of one.
    Group {
        /// Its name.
        group: String,
        /// How many runs of it the line carries.
        runs: u64,
        /// By which rules they were judged.
        rules: Option<String>,
    },
    /// A trace.
    Trace {
        /// The group it belongs to.
        group: Option<String>,
    },
}

/// A line that is no line of a group, or cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// No JSON, or not the JSON of a line of `score`.
    #[error("{0}")]
    Json(String),
    /// A group line without what merging takes.
    #[error("the group {0:?} carries {1} for {2} runs")]
    Short(String, String, u64),
    /// A call that cannot be read.
    #[error("the group {0:?} carries the call {1:?}, which is none")]
    Call(String, String),
}

/// The parts of a group line that are carried.
#[derive(Debug, Deserialize, Default)]
struct Parts {
    #[serde(default)]
    rules: Option<String>,
    #[serde(default)]
    within: Option<SessionFold>,
    /// The weakest score of each run.
    #[serde(default)]
    weakest: Option<Vec<Option<f64>>>,
    /// For each run `1` for passed, `0` for failed, `?` for unknown.
    #[serde(default)]
    outcomes: Option<String>,
    /// Names of the tools.
    #[serde(default)]
    tools: Vec<String>,
    /// For each run its calls as `tool:args`, the place of the tool and the key of the arguments; `-` for no key.
    #[serde(default)]
    calls: Option<Vec<Option<String>>>,
}

impl Carry<'_> {
    /// Writes what [`Parts`] reads.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        if let Some(rules) = self.rules {
            key("rules", out);
            text(rules, out);
        }
        if let Some(within) = self.within {
            key("within", out);
            value(within, out);
            key("weakest", out);
            list(&self.ended, out, |run, out| value(&run.weakest, out));
        }
        if self.has_outcomes {
            key("outcomes", out);
            out.push(b'"');
            out.extend(self.ended.iter().map(|run| match run.outcome {
                Some(true) => b'1',
                Some(false) => b'0',
                None => b'?',
            }));
            out.push(b'"');
        }
        if self.within.is_some() {
            if !self.ways.names.is_empty() {
                key("tools", out);
                list(&self.ways.names, out, |name, out| text(name, out));
            }
            key("calls", out);
            list(self.ways.runs(), out, |run, out| match run {
                Some((tools, with)) => spell(tools, with, out),
                None => out.extend_from_slice(b"null"),
            });
        }
        out.push(b'}');
    }
}

fn spell(tools: &[u32], with: &[Option<ArgsKey>], out: &mut Vec<u8>) {
    out.reserve(tools.len() * 28 + 2);
    out.push(b'"');
    for (at, (tool, args)) in tools.iter().zip(with).enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        whole((*tool).into(), out);
        out.push(b':');
        match args {
            Some(key) => {
                let digits = key.map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
                out.extend_from_slice(digits.as_flattened());
            }
            None => out.push(b'-'),
        }
    }
    out.push(b'"');
}

/// The digits of a key.
const HEX: &[u8; 16] = b"0123456789abcdef";

impl Groups {
    /// Takes in a line that `score` wrote, and says what it was about. Of the lines of traces nothing is kept.
    pub fn merge(&mut self, line: &str) -> Result<Merged, MergeError> {
        #[derive(Deserialize)]
        struct Line {
            group: Option<String>,
            runs: Option<u64>,
            carry: Option<Parts>,
            index: Option<u64>,
        }
        let line: Line = serde_json::from_str(line).map_err(|error| MergeError::Json(error.to_string()))?;
        let (Some(group), Some(runs), Some(parts)) = (line.group.clone(), line.runs, line.carry) else {
            return match line.index {
                Some(_) => Ok(Merged::Trace { group: line.group }),
                None => Err(MergeError::Json("it is not a line that `mcptest score` writes".to_owned())),
            };
        };
        let kept = self.unpack(&group, runs, &parts)?;
        self.append(&group, parts.within.unwrap_or_default(), kept.into_iter());
        Ok(Merged::Group { group, runs, rules: parts.rules })
    }

    fn unpack(&mut self, group: &str, runs: u64, parts: &Parts) -> Result<Vec<Kept>, MergeError> {
        let short = |what: &str, found: usize| MergeError::Short(group.to_owned(), format!("{found} {what}"), runs);
        let count = usize::try_from(runs).unwrap_or(usize::MAX);
        let check = |what: &str, found: Option<usize>| match found {
            Some(found) if found != count => Err(short(what, found)),
            _ => Ok(()),
        };
        check("scores", parts.weakest.as_ref().map(Vec::len))?;
        check("runs with calls", parts.calls.as_ref().map(Vec::len))?;
        check("outcomes", parts.outcomes.as_ref().map(String::len))?;
        if parts.weakest.is_none() && parts.outcomes.is_none() {
            return Err(short("runs", 0));
        }
        let tools: Vec<u32> = parts.tools.iter().map(|tool| self.tool(tool)).collect();
        let mut out = Vec::new();
        for run in 0..count {
            let outcome = parts.outcomes.as_ref().and_then(|all| match all.as_bytes()[run] {
                b'1' => Some(true),
                b'0' => Some(false),
                _ => None,
            });
            let weakest = parts.weakest.as_ref().and_then(|all| all[run]);
            let calls = match parts.calls.as_ref().and_then(|all| all[run].as_deref()) {
                Some(text) => Some(calls(group, text, &tools)?),
                None => None,
            };
            out.push(Kept { ended: Ended { weakest, outcome }, calls });
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
