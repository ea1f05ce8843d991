//! Lines of `mcptest score`, read as a side of a comparison.

use std::collections::BTreeMap;

use super::{Side, TestRuns};
use crate::report::RowVerdict;
use crate::score::{Carried, LineError, ScoreLine};

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
    #[error(transparent)]
    Line(#[from] LineError),
    /// A group line whose parts do not match.
    #[error("the group {0:?} has {1} outcomes for {2} runs")]
    Outcomes(String, usize, u64),
}

impl ScoreLines {
    pub fn add(&mut self, text: &str) -> Result<(), LinesError> {
        let line = ScoreLine::parse(text)?;
        let is_unread = line.is_unread();
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
            _ => Err(LineError::Foreign.into()),
        }
    }

    fn group(&mut self, group: String, runs: u64, carried: &Carried) -> Result<(), LinesError> {
        let mut ids = self.ids.remove(&group).unwrap_or_default().into_iter();
        let count = usize::try_from(runs).unwrap_or(usize::MAX);
        let outcomes = carried.outcomes.as_deref().unwrap_or("");
        if !outcomes.is_empty() && outcomes.len() != count {
            return Err(LinesError::Outcomes(group, outcomes.len(), runs));
        }
        let mut test = TestRuns::new("", &group, "");
        for run in 0..count.min(outcomes.len().max(carried.calls.as_ref().map_or(0, Vec::len))) {
            let names: Option<Vec<&str>> = carried.calls(run).map(|calls| {
                let tool =
                    |word: &str| word.split_once(':').and_then(|(at, _)| carried.tools.get(at.parse::<usize>().ok()?));
                calls.split_ascii_whitespace().map(|word| tool(word).map_or("?", String::as_str)).collect()
            });
            test.add_calls(ids.next().flatten(), carried.outcome(run), names.as_deref());
        }
        test.rules.clone_from(&carried.rules);
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
