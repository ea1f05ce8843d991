//! Two sets of runs compared: which tests pass more or less often, whether that can be chance, and what else changed.
//!
//! Runs are paired where both sides have the same IDs, else only their numbers are compared. Every p-value is exact.

mod lines;
mod side;

use std::collections::{BTreeMap, BTreeSet};

pub use lines::{LinesError, ScoreLines};
pub use side::{RunFacts, Side, TestRuns};

use crate::eval::reliability::{Confidence, wilson_interval};
use crate::report::RowVerdict;
use crate::stats::{Stratum, fisher, holm, mcnemar, newcombe, pooled, pooled_difference};
use crate::trace::{self, Price, words};

/// A difference counts when its p-value is below this.
pub const LEVEL: f64 = 0.05;

words! {
    Outcome {
        /// Nothing changed, or no more than the margin allows.
        Same = "same",
        /// Passes less often, and chance does not explain it.
        Regressed = "regressed",
        /// Passes more often, and chance does not explain it.
        Improved = "improved",
        /// There is a difference, and chance may explain it.
        Inconclusive = "inconclusive",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CompareOptions {
    /// Rates that differ by no more than this, from 0 to 1, count as the same if the interval of the difference shows it.
    pub margin: Option<f64>,
    /// Price of a million input and output tokens.
    pub price: Option<Price>,
    /// Also compare each model separately, if both sides have several.
    pub by_model: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes {
    pub passed: u64,
    /// Runs that could be judged.
    pub runs: u64,
}

impl Passes {
    /// Those of two tests together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, runs: self.runs + other.runs }
    }

    /// The Wilson interval at 95 %, from 0 to 1.
    pub fn interval(self) -> (f64, f64) {
        wilson_interval(self.passed, self.runs, Confidence::P95.exact_z())
    }
}

/// A number per run, as a mean over the runs that have it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    pub name: &'static str,
    pub old: f64,
    pub new: f64,
}

/// Something that is counted on both sides, such as a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shift {
    pub name: String,
    pub old: u64,
    pub new: u64,
}

/// What changed in the behavior of a test, other than whether it passes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drift {
    /// Paths that only one side took.
    pub paths: Vec<Shift>,
    /// Tools that only one side called.
    pub tools: Vec<Shift>,
    /// Shapes of arguments that only one side used.
    pub shapes: Vec<Shift>,
    /// Refusals, where their number changed.
    pub refusals: Option<(u64, u64)>,
    /// Gates over all runs whose verdict changed.
    pub gates: Vec<GateShift>,
}

/// A gate over all runs whose verdict changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateShift {
    pub name: String,
    pub old: RowVerdict,
    pub new: RowVerdict,
}

impl GateShift {
    /// Whether it passed before and does not any more.
    pub fn is_worse(&self) -> bool {
        self.old == RowVerdict::Pass && self.new.is_bad()
    }
}

impl Drift {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One test on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct TestComparison {
    /// The suite; empty where there is none.
    pub suite: String,
    /// The test, with its model where the test has several.
    pub name: String,
    /// The models, where they differ.
    pub models: Option<(String, String)>,
    pub old: Passes,
    pub new: Passes,
    /// IDs of runs that passed only before and only after; none where runs are not paired.
    pub flips: Option<(Vec<String>, Vec<String>)>,
    /// Its own p-value; none if a side has no run that could be judged.
    pub p_value: Option<f64>,
    /// The same adjusted by Holm for the number of tests.
    pub adjusted: Option<f64>,
    /// The 90 % interval of the difference of the rates, from -1 to 1.
    pub difference: Option<(f64, f64)>,
    pub outcome: Outcome,
    /// Tokens, cost, time and calls per run.
    pub measures: Vec<Measure>,
    pub drift: Drift,
    /// Things to know about it.
    pub notes: Vec<String>,
}

impl TestComparison {
    /// Whether no run of either side has a verdict.
    pub fn is_unjudged(&self) -> bool {
        self.old.runs == 0 && self.new.runs == 0
    }
}

/// The tests of one model on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelComparison {
    pub model: String,
    /// How many tests both sides have.
    pub tests: usize,
    pub old: Passes,
    pub new: Passes,
    /// The p-value over its tests; none if no test can be compared.
    pub p_value: Option<f64>,
    /// The same adjusted by Holm for the number of models.
    pub adjusted: Option<f64>,
    pub outcome: Outcome,
    /// Whether its paths, tools, arguments, refusals or gates over runs changed.
    pub has_drift: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What it says over all.
    pub outcome: Outcome,
    /// The p-value over all tests, stratified by test; none if no test can be compared.
    pub pooled: Option<f64>,
    /// The difference of the rates over all tests, with its 90 % interval.
    pub difference: Option<(f64, f64, f64)>,
    /// Each model separately, if requested and there are several.
    pub models: Vec<ModelComparison>,
    /// Every test of both sides, in the order of the new one.
    pub tests: Vec<TestComparison>,
    /// Tests that only the old side has.
    pub gone: Vec<String>,
    /// Tests that only the new side has.
    pub added: Vec<String>,
    /// Means per run over all tests of both sides.
    pub measures: Vec<Measure>,
    pub notes: Vec<String>,
}

impl Comparison {
    /// Whether something that passed does not pass any more.
    pub fn has_flips(&self) -> bool {
        let flipped = |test: &TestComparison| match &test.flips {
            Some((lost, _)) => !lost.is_empty(),
            None => test.old.runs > 0 && test.old.passed == test.old.runs && test.new.passed < test.new.runs,
        };
        self.tests.iter().any(|test| flipped(test) || test.drift.gates.iter().any(GateShift::is_worse))
    }

    /// Whether anything changed except numbers per run.
    pub fn has_drift(&self) -> bool {
        let drifted = |test: &TestComparison| {
            let (old, new) = (test.old, test.new);
            !test.drift.is_empty()
                || old.passed * new.runs != new.passed * old.runs
                || test.flips.as_ref().is_some_and(|(lost, gained)| !lost.is_empty() || !gained.is_empty())
        };
        self.outcome == Outcome::Regressed
            || !(self.gone.is_empty() && self.added.is_empty())
            || self.tests.iter().any(drifted)
    }
}

pub fn compare(old: &Side, new: &Side, options: &CompareOptions) -> Comparison {
    let mut notes: Vec<String> = Vec::new();
    for (name, side) in [("OLD", old), ("NEW", new)] {
        notes.extend(side.notes.iter().map(|note| format!("{name}: {note}")));
    }
    let (pairs, gone, added) = matched(old, new, &mut notes);
    // A test is identified by its name, unless it runs on several models.
    let mut models: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for test in old.tests.iter().chain(&new.tests) {
        models.entry((&test.suite, &test.test)).or_default().insert(&test.model);
    }
    let is_matrix = |side: &Side, test: &TestRuns| {
        let same = side.tests.iter().filter(|other| (&other.suite, &other.test) == (&test.suite, &test.test));
        models.get(&(&*test.suite, &*test.test)).is_some_and(|models| models.len() > 1) && same.count() > 1
    };
    let full = |side: &Side, test: &TestRuns| shown_name(test, is_matrix(side, test));
    let mut tests: Vec<TestComparison> =
        pairs.iter().map(|(before, after)| one(before, after, full(new, after), options)).collect();
    let known: Vec<usize> = (0..tests.len()).filter(|at| tests[*at].p_value.is_some()).collect();
    let p_values: Vec<f64> = known.iter().filter_map(|at| tests[*at].p_value).collect();
    for (at, adjusted) in known.iter().zip(holm(&p_values)) {
        tests[*at].adjusted = Some(adjusted);
    }
    for test in &mut tests {
        test.outcome = outcome(test, options.margin);
    }
    let strata: Vec<Stratum> = known.iter().map(|at| stratum(&tests[*at])).collect();
    let p_value = (!strata.is_empty()).then(|| pooled(&strata));
    let rates: Vec<_> = tests.iter().map(|test| (counts(test.old), counts(test.new))).collect();
    let difference = pooled_difference(&rates, Confidence::P90.exact_z());
    let models = if options.by_model { by_model(old, new, options) } else { Vec::new() };
    let outcome = match overall(&tests, p_value, difference, options.margin) {
        // Models that did not change do not outweigh one that did.
        _ if models.iter().any(|model| model.outcome == Outcome::Regressed) => Outcome::Regressed,
        outcome => outcome,
    };
    let all = |side: fn(&(&TestRuns, &TestRuns)) -> Vec<RunFacts>| pairs.iter().flat_map(side).collect::<Vec<_>>();
    let measures = measures(&all(|(old, _)| old.runs.clone()), &all(|(_, new)| new.runs.clone()), options);
    Comparison {
        outcome,
        pooled: p_value,
        difference,
        models,
        tests,
        gone: gone.iter().map(|test| full(old, test)).collect(),
        added: added.iter().map(|test| full(new, test)).collect(),
        measures,
        notes,
    }
}

/// Compares the tests of each model that both sides have, if there are several.
fn by_model(old: &Side, new: &Side, options: &CompareOptions) -> Vec<ModelComparison> {
    let models = |side: &Side| side.tests.iter().map(|test| test.model.clone()).collect::<BTreeSet<String>>();
    let shared: Vec<String> = models(old).intersection(&models(new)).cloned().collect();
    if shared.len() < 2 {
        return Vec::new();
    }
    let of = |side: &Side, model: &str| Side {
        tests: side.tests.iter().filter(|test| test.model == model).cloned().collect(),
        notes: Vec::new(),
    };
    let options = CompareOptions { by_model: false, ..*options };
    let alone: Vec<Comparison> =
        shared.iter().map(|model| compare(&of(old, model), &of(new, model), &options)).collect();
    let p_values: Vec<f64> = alone.iter().filter_map(|found| found.pooled).collect();
    let mut adjusted = holm(&p_values).into_iter();
    let models = shared.into_iter().zip(alone).map(|(model, found)| {
        let adjusted = found.pooled.and_then(|_| adjusted.next());
        let sum = |side: fn(&TestComparison) -> Passes| {
            found.tests.iter().map(side).fold(Passes { passed: 0, runs: 0 }, Passes::plus)
        };
        ModelComparison {
            model,
            tests: found.tests.len(),
            old: sum(|test| test.old),
            new: sum(|test| test.new),
            p_value: found.pooled,
            adjusted,
            outcome: overall(&found.tests, adjusted, found.difference, options.margin),
            has_drift: found.tests.iter().any(|test| !test.drift.is_empty()),
        }
    });
    models.collect()
}

fn counts(passes: Passes) -> (u64, u64) {
    (passes.passed, passes.runs)
}

/// A test by its name, and by its model where that matters.
fn shown_name(test: &TestRuns, with_model: bool) -> String {
    if with_model && !test.model.is_empty() { format!("{} [{}]", test.test, test.model) } else { test.test.clone() }
}

type Pairs<'a> = Vec<(&'a TestRuns, &'a TestRuns)>;

/// Finds the tests that both sides have. What has no counterpart by suite, name and model may have one by less.
fn matched<'a>(
    old: &'a Side,
    new: &'a Side,
    notes: &mut Vec<String>,
) -> (Pairs<'a>, Vec<&'a TestRuns>, Vec<&'a TestRuns>) {
    type Key<'a> = fn(&'a TestRuns) -> (&'a str, &'a str, &'a str);
    let keys: [Key<'a>; 4] = [
        |test| (&test.suite, &test.test, &test.model),
        |test| (&test.suite, &test.test, ""),
        |test| ("", &test.test, &test.model),
        |test| ("", &test.test, ""),
    ];
    let mut partner: Vec<Option<usize>> = vec![None; new.tests.len()];
    let mut is_taken = vec![false; old.tests.len()];
    let mut loosely = 0;
    for (step, key) in keys.into_iter().enumerate() {
        let mut both: BTreeMap<_, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (at, test) in old.tests.iter().enumerate().filter(|(at, _)| !is_taken[*at]) {
            both.entry(key(test)).or_default().0.push(at);
        }
        for (at, test) in new.tests.iter().enumerate().filter(|(at, _)| partner[*at].is_none()) {
            both.entry(key(test)).or_default().1.push(at);
        }
        for ((suite, name, _), (olds, news)) in both {
            // Tests of the same name match in order if both sides have the same number of them; otherwise they cannot be matched.
            if olds.len() == news.len() && (olds.len() == 1 || step == 0) {
                for (found, at) in olds.into_iter().zip(news) {
                    partner[at] = Some(found);
                    is_taken[found] = true;
                    loosely += usize::from(step >= 2);
                }
            } else if step == 0 && !olds.is_empty() && !news.is_empty() {
                let place = if suite.is_empty() { String::new() } else { format!(", in {suite}") };
                notes.push(format!(
                    "`{name}`{place} is there {} times before and {} after, so it is not compared",
                    olds.len(),
                    news.len()
                ));
            }
        }
    }
    if loosely > 0 {
        let tests = if loosely == 1 { "1 test is".to_owned() } else { format!("{loosely} tests are") };
        notes.push(format!("{tests} matched by name; the suites differ"));
    }
    let pairs =
        new.tests.iter().zip(&partner).filter_map(|(test, found)| Some((&old.tests[(*found)?], test))).collect();
    let gone: Vec<_> = old.tests.iter().zip(&is_taken).filter(|(_, taken)| !**taken).map(|(test, _)| test).collect();
    let added: Vec<_> =
        new.tests.iter().zip(&partner).filter(|(_, found)| found.is_none()).map(|(test, _)| test).collect();
    (pairs, gone, added)
}

/// Compares one test; the adjustment and the outcome come when all are known.
fn one(old: &TestRuns, new: &TestRuns, name: String, options: &CompareOptions) -> TestComparison {
    let passes = |test: &TestRuns| {
        let (passed, runs) = test.rate();
        Passes { passed, runs }
    };
    let (before, after) = (passes(old), passes(new));
    let is_known = before.runs > 0 && after.runs > 0;
    let flips = is_known.then(|| flips(old, new)).flatten();
    let p_value = is_known.then(|| match &flips {
        Some((lost, gained)) => mcnemar(lost.len() as u64, gained.len() as u64),
        None => fisher(counts(before), counts(after)),
    });
    let mut notes = Vec::new();
    if old.checks != new.checks && !old.checks.is_empty() && !new.checks.is_empty() {
        let (old, new) = (old.checks.join(", "), new.checks.join(", "));
        notes.push(format!("judged by other checks: {old} before, {new} after"));
    } else if old.rules.is_some() && new.rules.is_some() && old.rules != new.rules {
        notes.push("judged by other rules: the assertions or gates were edited in between".to_owned());
    }
    if before.runs != after.runs {
        let runs = if before.runs == 1 { "run" } else { "runs" };
        notes.push(format!("{} judged {runs} before, {} after", before.runs, after.runs));
    }
    TestComparison {
        suite: new.suite.clone(),
        name,
        models: (old.model != new.model).then(|| (old.model.clone(), new.model.clone())),
        old: before,
        new: after,
        flips,
        p_value,
        adjusted: None,
        difference: is_known.then(|| newcombe(counts(before), counts(after), Confidence::P90.exact_z())),
        outcome: Outcome::Inconclusive,
        measures: measures(&old.runs, &new.runs, options),
        drift: drift(old, new),
        notes,
    }
}

/// The runs that flipped, where runs are paired: the judged runs of both sides have the same IDs, each once.
fn flips(old: &TestRuns, new: &TestRuns) -> Option<(Vec<String>, Vec<String>)> {
    let judged = |test: &'_ TestRuns| -> Option<BTreeMap<String, bool>> {
        let mut out = BTreeMap::new();
        for run in test.runs.iter().filter(|run| run.passed.is_some()) {
            if out.insert(run.id.clone()?, run.passed?).is_some() {
                return None;
            }
        }
        Some(out)
    };
    let (before, after) = (judged(old)?, judged(new)?);
    if !before.keys().eq(after.keys()) {
        return None;
    }
    let flipped = |passed: bool| {
        let ids = new.runs.iter().filter_map(|run| run.id.as_ref());
        let is_flipped = |id: &&String| before.get(*id) == Some(&!passed) && after.get(*id) == Some(&passed);
        ids.filter(is_flipped).cloned().collect::<Vec<String>>()
    };
    Some((flipped(false), flipped(true)))
}

fn stratum(test: &TestComparison) -> Stratum {
    match &test.flips {
        Some((lost, gained)) => Stratum::Paired { lost: lost.len() as u64, gained: gained.len() as u64 },
        None => Stratum::Unpaired { before: counts(test.old), after: counts(test.new) },
    }
}

fn outcome(test: &TestComparison, margin: Option<f64>) -> Outcome {
    let (old, new) = (test.old.passed * test.new.runs, test.new.passed * test.old.runs);
    let is_within = |(low, high): (f64, f64)| margin.map(|margin| -margin <= low && high <= margin);
    let within = test.difference.and_then(is_within);
    match test.adjusted {
        Some(p_value) if p_value < LEVEL && new < old => Outcome::Regressed,
        Some(p_value) if p_value < LEVEL && new > old => Outcome::Improved,
        Some(_) if within.unwrap_or(new == old) => Outcome::Same,
        _ => Outcome::Inconclusive,
    }
}

fn overall(
    tests: &[TestComparison],
    pooled: Option<f64>,
    difference: Option<(f64, f64, f64)>,
    margin: Option<f64>,
) -> Outcome {
    let any = |wanted: Outcome| tests.iter().any(|test| test.outcome == wanted);
    let (Some(p_value), Some((change, low, high))) = (pooled, difference) else { return Outcome::Inconclusive };
    // Where runs are paired, flips say which way it went.
    let flips = |pick: fn(&(Vec<String>, Vec<String>)) -> usize| {
        tests.iter().filter_map(|test| test.flips.as_ref()).map(pick).sum::<usize>()
    };
    let (lost, gained) = (flips(|(lost, _)| lost.len()), flips(|(_, gained)| gained.len()));
    let is_worse = change < 0.0 || (change == 0.0 && lost > gained);
    if any(Outcome::Regressed) || (p_value < LEVEL && is_worse) {
        Outcome::Regressed
    } else if any(Outcome::Improved) || p_value < LEVEL {
        Outcome::Improved
    } else {
        let is_same = match margin {
            Some(margin) => -margin <= low && high <= margin,
            None => tests.iter().all(|test| test.outcome == Outcome::Same || test.is_unjudged()),
        };
        if is_same { Outcome::Same } else { Outcome::Inconclusive }
    }
}

/// What a run recorded as a number, if it did.
type Fact<'a> = dyn Fn(&RunFacts) -> Option<f64> + 'a;

/// Means per run of what both sides recorded.
fn measures(old: &[RunFacts], new: &[RunFacts], options: &CompareOptions) -> Vec<Measure> {
    let cost = |run: &RunFacts| Some(trace::cost(run.input?, run.output?, options.price?));
    let all: [(&'static str, &Fact<'_>); 4] = [
        ("calls", &|run| run.calls.map(|calls| calls as f64)),
        ("tokens", &|run| run.tokens.map(|tokens| tokens as f64)),
        ("cost", &cost),
        ("duration_ms", &|run| run.duration_ms.map(|ms| ms as f64)),
    ];
    let mean = |runs: &[RunFacts], of: &Fact<'_>| {
        let (sum, count) =
            runs.iter().filter_map(of).fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        (count > 0.0).then(|| sum / count)
    };
    let measure =
        |(name, of): &(&'static str, &Fact<'_>)| Some(Measure { name, old: mean(old, of)?, new: mean(new, of)? });
    all.iter().filter_map(measure).collect()
}

fn drift(old: &TestRuns, new: &TestRuns) -> Drift {
    let refused = |test: &TestRuns| test.runs.iter().filter(|run| run.refused).count() as u64;
    let refusals = (refused(old), refused(new));
    // What one side did not record cannot have changed.
    let knows_shapes = |test: &TestRuns| !test.shapes.is_empty() || test.tools.is_empty();
    let knows_paths = |test: &TestRuns| test.runs.iter().any(|run| run.path.is_some());
    let knows_both = knows_paths(old) && knows_paths(new);
    let gate = |(name, old): (&String, &RowVerdict)| {
        let new = *new.gates.get(name).filter(|new| *new != old)?;
        Some(GateShift { name: name.clone(), old: *old, new })
    };
    Drift {
        paths: if knows_both { shifts(&owned(old.path_counts()), &owned(new.path_counts())) } else { Vec::new() },
        tools: if knows_both { shifts(&old.tools, &new.tools) } else { Vec::new() },
        shapes: if knows_both && knows_shapes(old) && knows_shapes(new) {
            shifts(&old.shapes, &new.shapes)
        } else {
            Vec::new()
        },
        refusals: (refusals.0 != refusals.1).then_some(refusals),
        gates: old.gates.iter().filter_map(gate).collect(),
    }
}

fn owned(counts: BTreeMap<&str, u64>) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// What only one side has: most frequent first, then by name.
fn shifts(old: &BTreeMap<String, u64>, new: &BTreeMap<String, u64>) -> Vec<Shift> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let count = |side: &BTreeMap<String, u64>, name: &String| side.get(name).copied().unwrap_or(0);
    let mut out: Vec<Shift> = names
        .into_iter()
        .map(|name| Shift { name: name.clone(), old: count(old, name), new: count(new, name) })
        .filter(|shift| shift.old == 0 || shift.new == 0)
        .collect();
    out.sort_by_key(|shift| std::cmp::Reverse(shift.old.max(shift.new)));
    out
}
