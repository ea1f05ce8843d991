//! Folds the sessions of several runs, run by run.

use serde::{Deserialize, Serialize};

use super::session::{Dimensions, Measures, SUB_SCORES};
use crate::eval::metrics::Metrics;

/// What is kept of the sessions besides the weakest score of each.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct SessionFold {
    /// Runs so far.
    runs: u64,
    /// The first run without any sub-score.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    blind: Option<u64>,
    /// The first run with the weakest score of all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    worst: Option<Box<Worst>>,
    /// The least value of each sub-score.
    least: [Option<f64>; 4],
    /// The first run without each sub-score, and why.
    missing: [Option<(u64, Box<str>)>; 4],
}

/// The run with the weakest score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Worst {
    run: u64,
    /// Which sub-score.
    at: usize,
    score: f64,
    reason: Box<str>,
}

impl SessionFold {
    /// Adds the next run and returns its weakest score.
    pub(crate) fn add(&mut self, session: &Measures) -> Option<f64> {
        let run = self.runs;
        self.runs += 1;
        for ((score, least), missing) in session.scores.iter().zip(&mut self.least).zip(&mut self.missing) {
            match score.value {
                Some(value) => *least = Some(least.map_or(value, |least| least.min(value))),
                None if missing.is_none() => *missing = Some((run, score.facts.to_string().into())),
                None => {}
            }
        }
        let Some((at, score)) = session.weakest() else {
            self.blind.get_or_insert(run);
            return None;
        };
        if self.worst.as_ref().is_none_or(|worst| score < worst.score) {
            let reason = session.scores[at].facts.to_string().into();
            self.worst = Some(Box::new(Worst { run, at, score, reason }));
        }
        Some(score)
    }

    /// Appends later runs that were folded separately.
    pub(crate) fn append(&mut self, later: Self) {
        let shift = self.runs;
        self.runs += later.runs;
        self.blind = self.blind.or(later.blind.map(|run| run + shift));
        if let Some(mut other) = later.worst
            && self.worst.as_ref().is_none_or(|worst| other.score < worst.score)
        {
            other.run += shift;
            self.worst = Some(other);
        }
        for (least, other) in self.least.iter_mut().zip(later.least) {
            *least = match (*least, other) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        for (missing, other) in self.missing.iter_mut().zip(later.missing) {
            if missing.is_none() {
                *missing = other.map(|(run, why)| (run + shift, why));
            }
        }
    }

    /// The metrics of the sessions, and the line that names the weakest. `weakest` has one score per run.
    pub(super) fn metrics(&self, weakest: &[f64], dimensions: Dimensions, metrics: &mut Metrics) -> String {
        let mut line = match (&self.worst, self.blind) {
            (Some(worst), None) => {
                let (score, least, variance) = super::spread(weakest);
                metrics.set("score", score);
                metrics.set("weakest_score", least);
                metrics.set("variance", variance);
                if worst.score < 1.0 {
                    format!(
                        "weakest score {least:.2} of 1.00 (run {}: {}, {})",
                        worst.run + 1,
                        SUB_SCORES[worst.at % 4],
                        worst.reason
                    )
                } else {
                    format!("weakest score {least:.2} of 1.00")
                }
            }
            (_, blind) => {
                let why = match blind {
                    Some(run) => format!("run {} recorded nothing that a sub-score reads", run + 1),
                    None => "there are no runs".to_owned(),
                };
                for name in ["score", "weakest_score", "variance"] {
                    metrics.lacks_evidence(name, why.clone());
                }
                format!("not assessable: {why}")
            }
        };
        for (at, ((name, missing), least)) in SUB_SCORES.into_iter().zip(&self.missing).zip(self.least).enumerate() {
            match (missing, least) {
                (None, Some(least)) => metrics.set(name, least),
                (None, None) => metrics.lacks_evidence(name, "there are no runs"),
                (Some((run, why)), _) => {
                    let why = format!("run {}: {why}", run + 1);
                    if dimensions.has(at) {
                        line.push_str(&format!("; without {name} ({why})"));
                    }
                    metrics.lacks_evidence(name, why);
                }
            }
        }
        line
    }
}
