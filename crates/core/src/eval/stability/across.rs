//! How similar the paths of several runs are.
//!
//! Runs with the same sequence form one class, and only classes are compared. The comparison is quadratic in classes
//! and calls, so beyond a limit it is skipped, with a reason.

use std::collections::BTreeMap;
use std::fmt;

use super::lcs;

/// Maximum number of classes to compare.
pub const MAX_CLASSES: usize = 2000;
/// Maximum number of steps for the longest common subsequences of all pairs. A step compares one call with 64 others.
pub const MAX_STEPS: u64 = 5_000_000_000;

/// Why runs are not compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotCompared {
    Unrecorded { run: u64 },
    TooFewRuns,
    TooManyClasses,
    TooManySteps { classes: usize },
    UnrecordedArgs,
}

impl fmt::Display for NotCompared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unrecorded { run } => write!(f, "the tool calls of run {} were not recorded", run + 1),
            Self::TooFewRuns => f.write_str("there are fewer than two runs"),
            Self::TooManyClasses => {
                write!(f, "there are more than {MAX_CLASSES} different paths to compare")
            }
            Self::TooManySteps { classes } => {
                write!(f, "the {classes} different paths have too many calls to compare")
            }
            Self::UnrecordedArgs => f.write_str("the args of some calls were not recorded"),
        }
    }
}

/// Distinct sequences with the number of runs that took each.
#[derive(Debug)]
struct Classes<T> {
    counts: BTreeMap<T, u64>,
    is_over: bool,
}

impl<T: Ord> Classes<T> {
    fn add(&mut self, class: T) {
        if self.is_over {
            return;
        }
        *self.counts.entry(class).or_default() += 1;
        if self.counts.len() > MAX_CLASSES {
            self.is_over = true;
            self.counts.clear();
        }
    }

    fn all(&self) -> Result<Vec<(&T, u64)>, NotCompared> {
        if self.is_over {
            return Err(NotCompared::TooManyClasses);
        }
        Ok(self.counts.iter().map(|(class, count)| (class, *count)).collect())
    }
}

/// The paths of the runs, in classes. `K` identifies arguments: equal keys mean equal arguments.
#[derive(Debug)]
pub(super) struct Paths<'a, K> {
    /// By tools.
    sequences: Classes<&'a [u32]>,
    /// By tools and arguments; arguments that were not recorded are `None`.
    detailed: Classes<(&'a [u32], &'a [Option<K>])>,
    /// The first run whose calls were not recorded.
    first_unrecorded: Option<u64>,
    runs: u64,
}

impl<'a, K: Ord + Copy> Paths<'a, K> {
    pub(super) fn new() -> Self {
        Self {
            sequences: Classes { counts: BTreeMap::new(), is_over: false },
            detailed: Classes { counts: BTreeMap::new(), is_over: false },
            first_unrecorded: None,
            runs: 0,
        }
    }

    /// Adds the next run: tools and arguments of its calls; `None` when they were not recorded.
    pub(super) fn add(&mut self, calls: Option<(&'a [u32], &'a [Option<K>])>) {
        match calls {
            Some((tools, with)) => {
                self.sequences.add(tools);
                self.detailed.add((tools, with));
            }
            None => {
                self.first_unrecorded.get_or_insert(self.runs);
            }
        }
        self.runs += 1;
    }

    /// The number of pairs of runs.
    fn pairs(&self) -> Result<f64, NotCompared> {
        match self.first_unrecorded {
            Some(run) => Err(NotCompared::Unrecorded { run }),
            None if self.runs < 2 => Err(NotCompared::TooFewRuns),
            None => Ok(pairs_among(self.runs)),
        }
    }

    /// Mean over pairs of `2 * LCS / (len_a + len_b)`.
    pub(super) fn sequence_similarity(&self) -> Result<f64, NotCompared> {
        let pairs = self.pairs()?;
        let sequences = self.sequences.all()?;
        let mut steps = 0_u64;
        for (at, (a, _)) in sequences.iter().enumerate() {
            let calls: usize = sequences[at + 1..].iter().map(|(b, _)| b.len()).sum();
            steps = steps.saturating_add(lcs::steps(a.len(), calls));
        }
        if steps > MAX_STEPS {
            return Err(NotCompared::TooManySteps { classes: sequences.len() });
        }
        let mut sum: f64 = sequences.iter().map(|(_, count)| pairs_among(*count)).sum();
        for (at, (a, count_a)) in sequences.iter().enumerate() {
            for (b, count_b) in &sequences[at + 1..] {
                let ratio = 2.0 * lcs::length(a, b) as f64 / (a.len() + b.len()) as f64;
                sum += ratio * (count_a * count_b) as f64;
            }
        }
        Ok(sum / pairs)
    }

    /// Mean over pairs of the share of same-tool positions with equal arguments.
    pub(super) fn argument_consistency(&self) -> Result<f64, NotCompared> {
        let pairs = self.pairs()?;
        let detailed = self.detailed.all()?;
        let mut sum = 0.0;
        for (at, ((tools, with), count)) in detailed.iter().enumerate() {
            if *count > 1 {
                // Runs of one class agree, unless their arguments were not recorded.
                if with.iter().any(Option::is_none) {
                    return Err(NotCompared::UnrecordedArgs);
                }
                sum += pairs_among(*count);
            }
            for ((other_tools, other_with), other_count) in &detailed[at + 1..] {
                let (mut same_tool, mut same_args, mut is_unknown) = (0_u32, 0_u32, false);
                for ((a, b), (x, y)) in tools.iter().zip(*other_tools).zip(with.iter().zip(*other_with)) {
                    same_tool += u32::from(a == b);
                    same_args += u32::from(a == b && x == y);
                    is_unknown |= a == b && (x.is_none() || y.is_none());
                }
                if is_unknown {
                    return Err(NotCompared::UnrecordedArgs);
                }
                let share = if same_tool == 0 { 1.0 } else { f64::from(same_args) / f64::from(same_tool) };
                sum += share * (count * other_count) as f64;
            }
        }
        Ok(sum / pairs)
    }

    /// Whether most pairs that diverge do so at the first or second call. A run that is a prefix of another diverges from it
    /// where it ends.
    pub(super) fn early_divergence(&self) -> Result<bool, NotCompared> {
        self.pairs()?;
        let sequences = self.sequences.all()?;
        let (mut early, mut all) = (0_u64, 0_u64);
        for (at, (a, count_a)) in sequences.iter().enumerate() {
            for (b, count_b) in &sequences[at + 1..] {
                let split = a.iter().zip(**b).take_while(|(x, y)| x == y).count();
                all += count_a * count_b;
                early += if split < 2 { count_a * count_b } else { 0 };
            }
        }
        Ok(early * 2 > all)
    }
}

fn pairs_among(count: u64) -> f64 {
    (count as f64) * (count as f64 - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_too_many_calls_are_not_compared() {
        let ways: Vec<Vec<u32>> = (0..100).map(|way| (0..60_000).map(|at| (at * (way + 1)) % 101).collect()).collect();
        let args = vec![None::<u32>; 60_000];
        let mut paths = Paths::new();
        for way in &ways {
            paths.add(Some((way.as_slice(), args.as_slice())));
        }
        let found = paths.sequence_similarity().map_err(|why| why.to_string());
        let expected = "the 100 different paths have too many calls to compare";
        assert_eq!(found, Err(expected.to_owned()));
        assert_eq!(paths.early_divergence(), Ok(true));
    }
}
