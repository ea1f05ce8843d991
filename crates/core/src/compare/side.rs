//! One side of a comparison: what is kept of the runs of each test.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::report::{Family, Report, Row, RowVerdict, path_of};
use crate::trace::{StopReason, Trace};

/// Tests and their runs, from a saved report, recordings, score lines or a baseline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Side {
    /// Tests in the order of the source.
    pub tests: Vec<TestRuns>,
    /// Things to know about it.
    pub notes: Vec<String>,
}

/// The runs of one test on one model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRuns {
    /// What its runs were judged by, sorted.
    pub checks: Vec<String>,
    /// What the gates over all runs say, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gates: BTreeMap<String, RowVerdict>,
    /// The model; empty where the source does not say.
    pub model: String,
    /// The distinct paths that runs took, in the order of their first run.
    pub paths: Vec<String>,
    /// A digest of what its runs were judged by; none where the source does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    pub runs: Vec<RunFacts>,
    /// How often calls had arguments of each shape, such as `book(flight: string)`.
    pub shapes: BTreeMap<String, u64>,
    /// The suite; empty where there is none.
    pub suite: String,
    /// The test, or the group of runs.
    pub test: String,
    /// How often each tool was called.
    pub tools: BTreeMap<String, u64>,
}

/// What is kept of one run. What was not recorded is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFacts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What distinguishes it from the other runs of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Whether it passed; absent where it could not be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// The place of its path in the list of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<usize>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl TestRuns {
    pub fn new(suite: &str, test: &str, model: &str) -> Self {
        Self { suite: plain(suite), test: test.to_owned(), model: model.to_owned(), ..Self::default() }
    }

    pub fn add(&mut self, id: Option<String>, passed: Option<bool>, trace: Option<&Trace>) {
        let mut run = RunFacts { id, passed, ..RunFacts::default() };
        if let Some(trace) = trace {
            let conversation = &trace.conversation;
            run.duration_ms = conversation.duration_ms;
            (run.input, run.output) = (conversation.tokens.input, conversation.tokens.output);
            run.tokens = conversation.tokens.spent();
            run.refused = conversation.stop_reason == Some(StopReason::Refused);
            run.calls = trace.tool_calls.as_ref().map(|calls| calls.len() as u64);
            run.path = path_of(trace).map(|steps| self.path(&steps.join(" > ")));
            for call in trace.tool_calls.iter().flatten() {
                *self.tools.entry(call.name.clone()).or_default() += 1;
                *self.shapes.entry(shape(&call.name, call.args.as_ref())).or_default() += 1;
            }
        }
        self.runs.push(run);
    }

    /// Adds a run of which only the names of the called tools are known.
    pub fn add_calls(&mut self, id: Option<String>, passed: Option<bool>, calls: Option<&[&str]>) {
        let path =
            calls.map(|calls| if calls.is_empty() { self.path("no call") } else { self.path(&calls.join(" > ")) });
        for call in calls.into_iter().flatten() {
            *self.tools.entry((*call).to_owned()).or_default() += 1;
        }
        let calls = calls.map(|calls| calls.len() as u64);
        self.runs.push(RunFacts { calls, id, passed, path, ..RunFacts::default() });
    }

    fn path(&mut self, path: &str) -> usize {
        if let Some(at) = self.paths.iter().position(|known| known == path) {
            return at;
        }
        self.paths.push(path.to_owned());
        self.paths.len() - 1
    }

    pub(super) fn rate(&self) -> (u64, u64) {
        let judged = self.runs.iter().filter_map(|run| run.passed);
        judged.fold((0, 0), |(passed, runs), ok| (passed + u64::from(ok), runs + 1))
    }

    /// How many runs took each path.
    pub(super) fn path_counts(&self) -> BTreeMap<&str, u64> {
        let mut out = BTreeMap::new();
        for path in self.runs.iter().filter_map(|run| self.paths.get(run.path?)) {
            *out.entry(&**path).or_default() += 1;
        }
        out
    }
}

/// A call by the names and types of its arguments.
fn shape(name: &str, args: Option<&Value>) -> String {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    match args {
        None => format!("{name}(?)"),
        Some(Value::Object(map)) => {
            let mut keys: Vec<String> = map.iter().map(|(key, value)| format!("{key}: {}", kind(value))).collect();
            keys.sort_unstable();
            format!("{name}({})", keys.join(", "))
        }
        Some(other) => format!("{name}({})", kind(other)),
    }
}

impl Side {
    /// The runs of a report. A run passes when all of its rows do; one that could not be judged has no outcome.
    pub fn of_report(report: &Report) -> Self {
        let mut out = Self::default();
        let mut errors = 0;
        for suite in &report.suites {
            for row in &suite.rows {
                errors += usize::from(row.family == Family::Run && row.verdict == RowVerdict::Error);
                out.row(&suite.file, row);
            }
            if suite.refused.is_some() {
                out.notes.push(format!("{} could not be used", suite.file));
            }
        }
        for test in &mut out.tests {
            test.checks.sort_unstable();
            test.checks.dedup();
        }
        if errors > 0 {
            let runs =
                if errors == 1 { "run has an error and does".to_owned() } else { "runs have errors and do".to_owned() };
            out.notes.push(format!("{errors} {runs} not count"));
        }
        out
    }

    fn row(&mut self, file: &str, row: &Row) {
        let suite = plain(file);
        // Traces that were recorded elsewhere have no run; each is its own test.
        let is_trace = row.run.is_none() && row.family == Family::Run;
        let is_same = |test: &TestRuns| test.suite == suite && test.test == row.test && test.model == row.model;
        if is_trace || !self.tests.last().is_some_and(is_same) {
            if row.family == Family::Gate {
                return;
            }
            self.tests.push(TestRuns::new(&suite, &row.test, &row.model));
        }
        let Some(test) = self.tests.last_mut() else { return };
        test.rules = test.rules.take().or_else(|| row.rules.clone());
        test.checks.extend(row.checks.iter().map(|check| check.name.to_owned()));
        let passed = match row.verdict {
            RowVerdict::Pass => Some(true),
            RowVerdict::Fail | RowVerdict::Unassessable | RowVerdict::Absorbed | RowVerdict::Inconclusive => {
                Some(false)
            }
            RowVerdict::Error | RowVerdict::Skipped | RowVerdict::Unjudged => None,
        };
        match row.family {
            Family::Run if row.verdict == RowVerdict::Skipped => {}
            Family::Run => {
                let id = row.run.map_or_else(|| row.name.clone(), |run| run.to_string());
                test.add(Some(id), passed, row.trace.as_deref());
            }
            // What became of faults belongs to the run before it.
            Family::Edge => {
                if let Some(run) = test.runs.last_mut() {
                    run.passed = run.passed.zip(passed).map(|(own, edge)| own && edge);
                }
            }
            Family::Gate => {
                if let Some(gate) = row.gate.filter(|_| row.verdict != RowVerdict::Skipped) {
                    test.gates.insert(gate.name().to_owned(), row.verdict);
                }
            }
        }
    }
}

/// A path as typed, without what does not change where it leads.
fn plain(file: &str) -> String {
    let mut file = file;
    while let Some(rest) = file.strip_prefix("./") {
        file = rest.trim_start_matches('/');
    }
    file.to_owned()
}
