//! Which tasks of a gates file a record belongs to.

use std::collections::BTreeMap;

use serde_json::Value;

use super::record_key::{RecordKey, RecordView};
use crate::diag::Code;
use crate::import::ImportError;
use crate::json;
use crate::judge::Checks;
use crate::matcher::{MatchResult, Matcher};
use crate::suite::{GateFile, Task};

/// The tasks of a gates file. Those that compare a value for equality are found by that value, so that a record costs the
/// same no matter how many there are.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    keys: Vec<RecordKey>,
    /// The conditions of each task, by the places of their keys.
    when: Vec<Vec<(usize, Matcher)>>,
    /// Tasks by the key and the canonical value of one of their conditions.
    by_value: BTreeMap<(usize, String), Vec<usize>>,
    /// Tasks without an `exact` condition.
    others: Vec<usize>,
}

impl Tasks {
    pub(super) fn new(tasks: &[Task]) -> Self {
        let mut out = Self::default();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (at, task) in tasks.iter().enumerate() {
            let mut when = Vec::with_capacity(task.when.len());
            let mut indexed = None;
            for (key, matcher) in &task.when {
                let place = *places.entry(key.to_string()).or_insert_with(|| {
                    out.keys.push(key.clone());
                    out.keys.len() - 1
                });
                if let Matcher::Exact(value) = matcher {
                    indexed = indexed.or_else(|| Some((place, json::canonical(value))));
                }
                when.push((place, matcher.clone()));
            }
            match indexed {
                Some(value) => out.by_value.entry(value).or_default().push(at),
                None => out.others.push(at),
            }
            out.when.push(when);
        }
        out
    }

    pub(super) fn is_empty(&self) -> bool {
        self.when.is_empty()
    }

    /// The tasks of a record, in the order of the file.
    fn of(&self, record: &RecordView<'_>) -> Result<Vec<usize>, ImportError> {
        let mut values: Vec<Option<Value>> = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            values.push(key.value(record).map_err(|_| {
                let message = format!("a key of `{key}` is in this record twice, so its task is ambiguous");
                ImportError::error(None, message).code(Code::TaskConflict)
            })?);
        }
        let by_value = values.iter().enumerate().filter_map(|(place, value)| {
            let value = value.as_ref()?;
            self.by_value.get(&(place, json::canonical(value)))
        });
        let mut found: Vec<usize> = by_value.flatten().chain(&self.others).copied().collect();
        found.retain(|at| {
            self.when[*at].iter().all(|(place, matcher)| {
                values[*place].as_ref().is_some_and(|value| matcher.check(value) == MatchResult::Holds)
            })
        });
        found.sort_unstable();
        Ok(found)
    }

    /// The checks for a record, and its tasks.
    pub(super) fn checks<'a>(&self, file: &'a GateFile, record: &RecordView<'_>) -> Result<Applied<'a>, ImportError> {
        let mut out =
            Applied { checks: Checks::of(&file.expect, &file.gates), tasks: Vec::new(), over: OverRuns::default() };
        if self.is_empty() {
            return Ok(out);
        }
        let mut from: BTreeMap<&'static str, usize> = BTreeMap::new();
        for at in self.of(record)? {
            let Some(task) = file.tasks.get(at) else { continue };
            let own = Checks::of(&task.expect, &task.gates);
            for name in own.names() {
                if let Some(other) = from.insert(name, at).and_then(|other| file.tasks.get(other)) {
                    let [first, second] = [other.line, task.line];
                    let message =
                        format!("two tasks of this record have `{name}`: lines {first} and {second} of the gates file");
                    let hint = "give one of them a `when:` that excludes the other";
                    return Err(ImportError::error(None, message).code(Code::TaskConflict).hint(hint));
                }
            }
            let number = u32::try_from(at).unwrap_or(u32::MAX);
            out.checks = out.checks.replaced_by(own);
            out.over.stability = own.stability.map(|_| number).or(out.over.stability);
            out.over.reliability = own.reliability.map(|_| number).or(out.over.reliability);
            out.tasks.push(number);
        }
        Ok(out)
    }
}

/// The checks for one record.
pub(super) struct Applied<'a> {
    pub(super) checks: Checks<'a>,
    /// Places of its tasks in the file.
    pub(super) tasks: Vec<u32>,
    pub(super) over: OverRuns,
}

/// The tasks whose gates over runs replace those for all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct OverRuns {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stability: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reliability: Option<u32>,
}
