//! How many mutants were caught, missed and equivalent: by operator and by check.

use std::collections::BTreeMap;

use mcptest_core::eval::GateKind;
use mcptest_core::mutate::{Mutant, Operator, Status, Untried};
use mcptest_core::suite::Gates;

use crate::report::text::many;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) caught: usize,
    pub(super) missed: usize,
    pub(super) equivalent: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CheckCounts {
    pub(super) caught: usize,
    /// Mutants that no other check caught.
    pub(super) alone: usize,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Tests, traces or groups.
    pub(super) subjects: usize,
    /// Those that could not be changed, and inputs that could not be read.
    pub(super) errors: usize,
    pub(super) untried: Untried,
    pub(super) operators: BTreeMap<Operator, Counts>,
    /// Every check there is, also one that caught nothing.
    pub(super) checks: BTreeMap<&'static str, CheckCounts>,
}

/// The names of the checks of a test.
pub(super) fn checks(has_expect: bool, gates: &Gates) -> Vec<&'static str> {
    let kinds = [
        (gates.trajectory.is_some(), GateKind::Trajectory),
        (gates.trajectory_axes.is_some(), GateKind::TrajectoryAxes),
        (gates.golden_path.is_some(), GateKind::GoldenPath),
        (gates.stability.is_some(), GateKind::Stability),
        (gates.reliability.is_some(), GateKind::Reliability),
        (gates.recovery.is_some(), GateKind::Recovery),
        (gates.narrative.is_some(), GateKind::Narrative),
    ];
    let kinds = kinds.into_iter().filter(|(is_there, _)| *is_there).map(|(_, kind)| kind.name());
    has_expect.then_some("expect").into_iter().chain(kinds).collect()
}

impl Tally {
    pub(super) fn mutant(&mut self, mutant: &Mutant) {
        let counts = self.operators.entry(mutant.operator).or_default();
        match mutant.status {
            Status::Caught => counts.caught += 1,
            Status::Missed => counts.missed += 1,
            Status::Equivalent => counts.equivalent += 1,
        }
        if mutant.status == Status::Caught {
            for check in &mutant.by {
                let counts = self.checks.entry(check).or_default();
                counts.caught += 1;
                counts.alone += usize::from(mutant.by.len() == 1);
            }
        }
    }

    pub(super) fn untried(&mut self, more: Untried) {
        self.untried.duplicates += more.duplicates;
        self.untried.over_limit += more.over_limit;
        self.untried.absorbed_runs += more.absorbed_runs;
    }

    pub(super) fn total(&self) -> Counts {
        let add = |sum: Counts, counts: &Counts| Counts {
            caught: sum.caught + counts.caught,
            missed: sum.missed + counts.missed,
            equivalent: sum.equivalent + counts.equivalent,
        };
        self.operators.values().fold(Counts::default(), add)
    }

    pub(super) fn mutants(&self) -> usize {
        let Counts { caught, missed, equivalent } = self.total();
        caught + missed + equivalent
    }

    pub(super) fn missed(&self) -> usize {
        self.total().missed
    }

    /// One line with the totals, and one for each kind of mutant that was not tried.
    pub(super) fn summary(&self, word: &str) -> String {
        let Counts { caught, missed, equivalent } = self.total();
        let mut out = format!(
            "{} of {}: {caught} caught, {missed} missed, {equivalent} equivalent\n",
            many(self.mutants(), "mutant"),
            many(self.subjects, word)
        );
        let Untried { duplicates, over_limit, absorbed_runs } = self.untried;
        let mut note = |count: usize, text: String| {
            if count > 0 {
                out.push_str(&format!("note: {text}\n"));
            }
        };
        note(duplicates, format!("{} not tried: equal to the run or to another mutant", many(duplicates, "mutant")));
        note(
            over_limit,
            format!("{} not tried: over the limit, which --max-mutants raises", many(over_limit, "mutant")),
        );
        note(absorbed_runs, format!("{} not changed: `reliability` absorbs the failure", many(absorbed_runs, "run")));
        out
    }
}
