//! The summary: counts of traces and verdicts, and means over groups.

use mcptest_core::diag::{Code, Failure};
use mcptest_core::eval::GateKind;
use mcptest_core::report::{RowVerdict, Totals};
use mcptest_core::score::GroupLine;

use crate::exit;
use crate::report::summary::verdicts;
use crate::report::text::many;

/// The largest k of pass^k in the summary.
const MOST_K: usize = 8;

/// Metrics of `stability` whose means are in the summary, with their labels.
const STABILITY: [(&str, &str); 4] = [
    ("score", "score"),
    ("weakest_score", "weakest"),
    ("tool_sequence_similarity", "similarity of paths"),
    ("argument_consistency", "consistency of arguments"),
];

/// Why a group with runs of several tasks has no verdict.
const MIXED: &str = "its runs belong to tasks with different gates over runs";

const MIXED_HINT: &str = "group the runs of one task: name the key of `when:` with --group-by";

#[derive(Default)]
pub(super) struct Summary {
    traces: Totals,
    groups: Totals,
    /// Sum and number of groups, in the order of [`STABILITY`].
    stability: [Mean; STABILITY.len()],
    /// Pass^k for k from 1.
    pass_hat: [Mean; MOST_K],
    notes: usize,
    /// The first group whose runs belong to different tasks, and how many there are.
    mixed: (Option<String>, usize),
    /// Traces of cassettes in which an edit would go unnoticed.
    pub(super) old: usize,
}

fn counted(totals: &Totals, what: &str) -> String {
    match (many(totals.rows(), what), verdicts(totals)) {
        (count, verdicts) if verdicts.is_empty() => count,
        (count, verdicts) => format!("{count}: {verdicts}"),
    }
}

#[derive(Default, Clone, Copy)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    /// The mean, and over how many groups if not all of them have it.
    fn text(self, all: usize) -> Option<String> {
        let mean = self.sum / self.count as f64;
        match self.count {
            0 => None,
            count if count == all => Some(format!("{mean:.3}")),
            count => Some(format!("{mean:.3} ({count} of {all} groups)")),
        }
    }
}

impl Summary {
    pub(super) fn trace(&mut self, verdict: Option<RowVerdict>) {
        self.traces.count(verdict.unwrap_or(RowVerdict::Unjudged));
    }

    pub(super) fn group(&mut self, line: &GroupLine<'_>) {
        self.groups.count(line.verdict.map_or(RowVerdict::Unjudged, RowVerdict::from));
        self.notes += usize::from(!line.notes().is_empty());
        if line.is_mixed() {
            self.mixed.0.get_or_insert_with(|| line.name().to_owned());
            self.mixed.1 += 1;
        }
        for check in &line.checks {
            match check.gate {
                Some(GateKind::Stability) => {
                    for ((metric, _), mean) in STABILITY.iter().zip(&mut self.stability) {
                        mean.add(check.metrics.number(metric));
                    }
                }
                Some(GateKind::Reliability) => {
                    let curve = check.metrics.get("pass_hat");
                    for (mean, k) in self.pass_hat.iter_mut().zip(1..) {
                        mean.add(
                            curve.as_ref().and_then(|curve| curve.get(k)?.as_f64()).map(|percent| percent / 100.0),
                        );
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn text(&self, faults: usize) -> String {
        let mut out = vec![counted(&self.traces, "trace")];
        let groups = self.groups.rows();
        if groups > 0 {
            out.push(counted(&self.groups, "group"));
        }
        let means = |named: &mut dyn Iterator<Item = (String, Mean)>| {
            let parts: Vec<String> =
                named.filter_map(|(name, mean)| Some(format!("{name} {}", mean.text(groups)?))).collect();
            parts.join(", ")
        };
        let stability = means(&mut STABILITY.iter().map(|(_, name)| (*name).to_owned()).zip(self.stability));
        if !stability.is_empty() {
            out.push(format!("stability, mean over groups: {stability}"));
        }
        let pass_hat = means(&mut (1..).map(|k: usize| format!("pass^{k}")).zip(self.pass_hat));
        if !pass_hat.is_empty() {
            out.push(format!("reliability, mean over groups: {pass_hat}"));
        }
        if self.notes > 0 {
            let have =
                if self.notes == 1 { "has notes (see --output jsonl)" } else { "have notes (see --output jsonl)" };
            out.push(format!("{} {have}", many(self.notes, "group")));
        }
        if faults > 0 {
            let what = if faults == 1 { "record or input" } else { "records or inputs" };
            out.push(format!("{faults} {what} could not be read"));
        }
        out.join("\n")
    }

    /// That groups cannot be judged, because no gate is for all of their runs.
    pub(super) fn mixed_groups(&self) -> Option<Failure<String>> {
        let (name, count) = (self.mixed.0.as_ref()?, self.mixed.1);
        let place = match count - 1 {
            0 => format!("group {name:?}"),
            more => format!("group {name:?} and {}", many(more, "more group")),
        };
        Some(Failure::error(place, MIXED).code(Code::TaskConflict).hint(MIXED_HINT))
    }

    /// Groups with too few runs to decide.
    pub(super) fn inconclusive(&self) -> usize {
        self.groups.inconclusive
    }

    /// Whether no trace was read.
    pub(super) fn is_empty(&self) -> bool {
        self.traces.rows() == 0
    }

    /// The exit code, apart from read errors.
    pub(super) fn exit_code(&self, allows_inconclusive: bool) -> u8 {
        let totals = [&self.traces, &self.groups];
        if totals.iter().any(|totals| totals.error > 0) {
            exit::ERROR
        } else if totals.iter().any(|totals| totals.fail + totals.unassessable > 0)
            || (totals.iter().any(|totals| totals.inconclusive > 0) && !allows_inconclusive)
        {
            exit::FAILED
        } else {
            exit::OK
        }
    }
}
