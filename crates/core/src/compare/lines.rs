//! Lines of `mcptest score`, read as a side of a comparison.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Side, TestRuns};
use crate::report::RowVerdict;

#[derive(Debug, Default)]
pub struct ScoreLines {
    /// IDs of the runs of each group, in order.
    ids: BTreeMap<String, Vec<Option<String>>>,
    side: Side,
    unread: usize,
    /// Traces without a group that have no verdict.
    unjudged: usize,
}

/// Why a line cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinesError {
    #[error("it is not a line that `mcptest score` writes: {0}")]
    Foreign(String),
    /// A group line whose parts do not match.
    #[error("the group {0:?} has {1} outcomes for {2} runs")]
    Outcomes(String, usize, u64),
}

#[derive(Deserialize)]
struct Line {
    group: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    runs: Option<u64>,
    verdict: Option<RowVerdict>,
    failures: Vec<LineFailure>,
    #[serde(default)]
    carry: Option<Carry>,
    #[serde(default)]
    rules: Option<String>,
}

#[derive(Deserialize)]
struct LineFailure {
    gate: String,
}

#[derive(Deserialize)]
struct Carry {
    #[serde(default)]
    rules: Option<String>,
    #[serde(default)]
    outcomes: Option<String>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    calls: Option<Vec<Option<String>>>,
}

impl ScoreLines {
    pub fn add(&mut self, text: &str) -> Result<(), LinesError> {
        let line: Line = serde_json::from_str(text).map_err(|error| LinesError::Foreign(error.to_string()))?;
        let is_unread = line.failures.first().is_some_and(|failure| failure.gate == "input");
        match (line.group, line.runs, line.carry) {
            (Some(group), Some(runs), Some(carry)) => self.group(group, runs, &carry),
            (_, None, None) if is_unread => {
                self.unread += 1;
                Ok(())
            }
            (Some(group), None, None) => {
                self.ids.entry(group).or_default().push(line.id);
                Ok(())
            }
            (None, None, None) => {
                let passed = match line.verdict {
                    Some(RowVerdict::Pass) => Some(true),
                    Some(RowVerdict::Error | RowVerdict::Skipped) | None => None,
                    Some(_) => Some(false),
                };
                self.unjudged += usize::from(passed.is_none());
                let name = line.id.clone().unwrap_or_else(|| format!("trace {}", self.side.tests.len() + 1));
                let mut alone = TestRuns::new("", &name, "");
                alone.add_calls(line.id, passed, None);
                alone.checks = line.rules.into_iter().collect();
                self.side.tests.push(alone);
                Ok(())
            }
            _ => Err(LinesError::Foreign("it is neither about a trace nor about a group".to_owned())),
        }
    }

    fn group(&mut self, group: String, runs: u64, carry: &Carry) -> Result<(), LinesError> {
        let mut ids = self.ids.remove(&group).unwrap_or_default().into_iter();
        let count = usize::try_from(runs).unwrap_or(usize::MAX);
        let outcomes = carry.outcomes.as_deref().unwrap_or("");
        if !outcomes.is_empty() && outcomes.len() != count {
            return Err(LinesError::Outcomes(group, outcomes.len(), runs));
        }
        let mut test = TestRuns::new("", &group, "");
        for run in 0..count.min(outcomes.len().max(carry.calls.as_ref().map_or(0, Vec::len))) {
            let passed = match outcomes.as_bytes().get(run) {
                Some(b'1') => Some(true),
                Some(b'0') => Some(false),
                _ => None,
            };
            let calls = carry.calls.as_ref().and_then(|calls| calls.get(run)?.as_deref());
            let names: Option<Vec<&str>> = calls.map(|calls| {
                let tool =
                    |word: &str| word.split_once(':').and_then(|(at, _)| carry.tools.get(at.parse::<usize>().ok()?));
                calls.split_ascii_whitespace().map(|word| tool(word).map_or("?", String::as_str)).collect()
            });
            test.add_calls(ids.next().flatten(), passed, names.as_deref());
        }
        test.rules.clone_from(&carry.rules);
        self.side.tests.push(test);
        Ok(())
    }

    /// The side, when all lines are in.
    pub fn finish(mut self) -> Side {
        if self.unread > 0 {
            self.side.notes.push(format!("{} records could not be read when they were scored", self.unread));
        }
        if !self.ids.is_empty() {
            self.side.notes.push(format!("{} groups have no line; is the output cut off?", self.ids.len()));
        }
        if self.unjudged > 0 {
            self.side.notes.push(format!("{} traces have no verdict; score them with --gates", self.unjudged));
        }
        self.side
    }
}
