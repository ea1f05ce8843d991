//! How alike the ways of several runs are.
//!
//! Runs with the same sequence are one class, and classes, not runs, are compared.

use std::collections::BTreeMap;

use super::lcs;
use super::numbers::{Call, UNRECORDED};

/// The runs' ways, as classes.
pub(super) struct Paths {
    /// Distinct tool sequences with the number of runs that took each.
    sequences: Vec<(Vec<u32>, u64)>,
    /// Distinct tool-and-argument sequences: tools, arguments, number of runs.
    detailed: Vec<(Vec<u32>, Vec<u32>, u64)>,
    /// The first run whose calls were not recorded.
    blind: Option<usize>,
    runs: u64,
}

impl Paths {
    pub(super) fn new(runs: &[Option<Vec<Call>>]) -> Self {
        let mut detailed: BTreeMap<(Vec<u32>, Vec<u32>), u64> = BTreeMap::new();
        let mut sequences: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        for calls in runs {
            let calls = calls.as_deref().unwrap_or(&[]);
            let tools: Vec<u32> = calls.iter().map(|call| call.tool).collect();
            let with = calls.iter().map(|call| call.args).collect();
            *sequences.entry(tools.clone()).or_default() += 1;
            *detailed.entry((tools, with)).or_default() += 1;
        }
        Self {
            sequences: sequences.into_iter().collect(),
            detailed: detailed.into_iter().map(|((tools, with), count)| (tools, with, count)).collect(),
            blind: runs.iter().position(Option::is_none),
            runs: runs.len() as u64,
        }
    }

    pub(super) fn why_unknown(&self) -> String {
        match self.blind {
            Some(run) => format!("the tool calls of run {} were not recorded", run + 1),
            None if self.runs < 2 => "there are no two runs to compare".to_owned(),
            None => "the args of calls that would be compared were not recorded".to_owned(),
        }
    }

    fn pairs(&self) -> Option<f64> {
        (self.blind.is_none() && self.runs >= 2).then(|| pairs_among(self.runs))
    }

    /// Mean over pairs of `2 * LCS / (len_a + len_b)`.
    pub(super) fn sequence_similarity(&self) -> Option<f64> {
        let pairs = self.pairs()?;
        let mut sum: f64 = self.sequences.iter().map(|(_, count)| pairs_among(*count)).sum();
        for (at, (a, count_a)) in self.sequences.iter().enumerate() {
            for (b, count_b) in &self.sequences[at + 1..] {
                let ratio = 2.0 * lcs::length(a, b) as f64 / (a.len() + b.len()) as f64;
                sum += ratio * (count_a * count_b) as f64;
            }
        }
        Some(sum / pairs)
    }

    /// Mean over pairs of the share of same-tool positions with equal arguments.
    pub(super) fn argument_consistency(&self) -> Option<f64> {
        let pairs = self.pairs()?;
        let mut sum = 0.0;
        for (at, (tools, with, count)) in self.detailed.iter().enumerate() {
            if *count > 1 {
                // Runs of one class agree everywhere, unless what they agree on was never recorded.
                if with.contains(&UNRECORDED) {
                    return None;
                }
                sum += pairs_among(*count);
            }
            for (other_tools, other_with, other_count) in &self.detailed[at + 1..] {
                let (mut same_tool, mut same_args, mut blind) = (0_u32, 0_u32, false);
                for ((a, b), (x, y)) in tools.iter().zip(other_tools).zip(with.iter().zip(other_with)) {
                    same_tool += u32::from(a == b);
                    same_args += u32::from(a == b && x == y);
                    blind |= a == b && (*x == UNRECORDED || *y == UNRECORDED);
                }
                if blind {
                    return None;
                }
                let share = if same_tool == 0 { 1.0 } else { f64::from(same_args) / f64::from(same_tool) };
                sum += share * (count * other_count) as f64;
            }
        }
        Some(sum / pairs)
    }

    /// Whether most pairs that split do so at the first or second call. A run that is the beginning of another
    /// splits from it where it ends.
    pub(super) fn early_divergence(&self) -> Option<bool> {
        self.pairs()?;
        let (mut early, mut all) = (0_u64, 0_u64);
        for (at, (a, count_a)) in self.sequences.iter().enumerate() {
            for (b, count_b) in &self.sequences[at + 1..] {
                let split = a.iter().zip(b).take_while(|(x, y)| x == y).count();
                all += count_a * count_b;
                early += if split < 2 { count_a * count_b } else { 0 };
            }
        }
        Some(early * 2 > all)
    }
}

fn pairs_among(count: u64) -> f64 {
    (count as f64) * (count as f64 - 1.0) / 2.0
}
