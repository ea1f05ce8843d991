//! The one table of gates: name, scope, parameters, metrics, default assertion.
//!
//! A gate that is not here does not exist; tests walk the table and hold every row against the code.

use std::fmt;

use crate::diag::{Problem, did_you_mean};
use crate::keys::{Block, Key, Takes, key};
use crate::target::Target;

/// Every gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateKind {
    /// The calls against a reference.
    Trajectory,
    /// Data flow and order between calls.
    TrajectoryAxes,
    /// Wasted calls.
    GoldenPath,
    /// Steadiness inside and across runs.
    Stability,
    /// Pass rates over runs.
    Reliability,
    /// Behaviour after an injected fault.
    Recovery,
    /// The closing story against the deeds.
    Narrative,
}

/// Whether a gate reads one run or all runs of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunScope {
    /// One run at a time.
    PerRun,
    /// All runs together.
    OverRuns,
}

/// What a metric's number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// 1 or 0.
    Flag,
    /// A whole number of at least 0.
    Count,
    /// 0 to 1.
    Ratio,
    /// 0 to 100.
    Percent,
    /// Milliseconds of virtual time.
    Millis,
    /// A list of percents.
    Percents,
}

/// One metric of a gate.
#[derive(Debug, Clone, Copy)]
pub struct MetricInfo {
    /// Name below the gate's prefix.
    pub name: &'static str,
    /// What its number is.
    pub kind: MetricKind,
    /// What it says.
    pub meaning: &'static str,
}

/// A default assertion: the metric is at least this.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The metric, below the gate's prefix.
    pub metric: &'static str,
    /// The least value that passes.
    pub at_least: f64,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct GateInfo {
    /// The gate.
    pub kind: GateKind,
    /// The first part of its targets.
    pub prefix: &'static str,
    /// What it reads.
    pub scope: RunScope,
    /// The question it answers.
    pub question: &'static str,
    /// Its parameters, without `expect`.
    pub params: &'static [Key],
    /// Its metrics.
    pub metrics: &'static [MetricInfo],
    /// What it asserts when `expect` is left out.
    pub default: &'static [Bound],
}

impl fmt::Display for GateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl serde::Serialize for GateKind {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.name())
    }
}

impl GateKind {
    /// The key of the gate's block.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trajectory => "trajectory",
            Self::TrajectoryAxes => "trajectory_axes",
            Self::GoldenPath => "golden_path",
            Self::Stability => "stability",
            Self::Reliability => "reliability",
            Self::Recovery => "recovery",
            Self::Narrative => "narrative",
        }
    }

    /// The gate's row.
    pub fn info(self) -> &'static GateInfo {
        // The table is in the order of the enum; a test holds it to that.
        &GATES[self as usize]
    }
}

impl MetricKind {
    /// What the number is, in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Flag => "1 or 0",
            Self::Count => "count",
            Self::Ratio => "0 to 1",
            Self::Percent => "percent",
            Self::Millis => "ms of virtual time",
            Self::Percents => "list of percents",
        }
    }
}

impl GateInfo {
    /// Checks that a target names a metric of this gate.
    pub(crate) fn check_target(&self, target: &Target) -> Result<(), Problem> {
        let (prefix, kind) = (self.prefix, self.kind);
        let wrong = |message: String| Problem::new("/target", message);
        let names = || self.metrics.iter().map(|metric| metric.name);
        if target.root() != prefix {
            let problem = wrong(format!("`{target}` is not a metric of `{kind}`"));
            let elsewhere = GATES.iter().find(|gate| {
                let has = target.second_key().is_some_and(|name| gate.metrics.iter().any(|m| m.name == name));
                gate.prefix == target.root() && has
            });
            return Err(match elsewhere {
                Some(gate) => problem.hint(format!("it belongs in the `expect:` of `{}:`", gate.kind)),
                None => problem.hint(format!("its targets start with `{prefix}.`")),
            });
        }
        let Some(name) = target.second_key() else {
            let problem = wrong(format!("`{target}` names no metric"));
            return Err(problem.hint(format!("one of: {}", names().collect::<Vec<_>>().join(", "))));
        };
        let Some(metric) = self.metrics.iter().find(|metric| metric.name == name) else {
            let problem = wrong(format!("`{kind}` has no metric `{name}`"));
            let elsewhere =
                GATES.iter().find(|gate| gate.prefix == prefix && gate.metrics.iter().any(|m| m.name == name));
            return Err(match (elsewhere, did_you_mean(name, names())) {
                (Some(gate), _) => problem.hint(format!("it belongs in the `expect:` of `{}:`", gate.kind)),
                (None, Some(near)) => problem.hint(format!("did you mean `{prefix}.{near}`?")),
                (None, None) => problem.hint(format!("one of: {}", names().collect::<Vec<_>>().join(", "))),
            });
        };
        match metric.kind {
            MetricKind::Percents if target.key_below_metric() => Err(wrong(format!("`{prefix}.{name}` is a list"))
                .hint(format!("write `{prefix}.{name}[0]` or `{prefix}.{name}[*]`"))),
            MetricKind::Percents => Ok(()),
            _ if target.has_more_than_two_steps() => {
                Err(wrong(format!("`{prefix}.{name}` is a number and has nothing below it")))
            }
            _ => Ok(()),
        }
    }
}

const fn metric(name: &'static str, kind: MetricKind, meaning: &'static str) -> MetricInfo {
    MetricInfo { name, kind, meaning }
}

const fn at_least(metric: &'static str, at_least: f64) -> Bound {
    Bound { metric, at_least }
}

const MODES: &[&str] =
    &["strict", "exact-sequence", "exact_sequence", "subsequence", "unordered", "superset", "subset"];

/// One expected call of `trajectory`.
pub static CALL: Block = Block {
    name: "expected call",
    about: "A call the agent should make.",
    keys: &[
        key("name", Takes::Text, "", "tool name, without the server's prefix").required(),
        key("server", Takes::AnyText, "", "server that must own the tool; `\"\"` for a tool of no server"),
        key("args", Takes::CallArgs, "any", "what the arguments must be").example("subset: { city: Oslo }"),
        key("optional", Takes::Bool, "false", "the call may be left out"),
        key("status", Takes::Word(&["any", "ok", "error"]), "any", "how the call must have ended"),
        key("ignore_args", Takes::List(0, &Takes::Text), "[]", "JSON pointers left out of exact and subset")
            .example("[/request_id]"),
    ],
};

/// One dependency of `trajectory_axes`.
pub static DEPENDENCY: Block = Block {
    name: "dependency",
    about: "A call that needs what another call returned.",
    keys: &[
        key("producer", Takes::Text, "", "tool whose result is read").required(),
        key("consumer", Takes::Text, "", "tool that reads it").required(),
        key("via", Takes::Text, "", "path in the consumer's arguments to a value that must come from the producer")
            .example("url"),
        key("required", Takes::Bool, "false", "the consumer must have been called"),
    ],
};

/// One order of `trajectory_axes`.
pub static ORDER: Block = Block {
    name: "order",
    about: "A call that must come after another.",
    keys: &[
        key("first", Takes::Text, "", "tool that goes first").required(),
        key("second", Takes::Text, "", "tool that goes second").required(),
        key("required", Takes::Bool, "false", "the second tool must have been called"),
    ],
};

/// One assertion of an `expect` list.
pub static ASSERTION: Block = Block {
    name: "assertion",
    about: "A value and what must hold of it.",
    keys: &[
        key("target", Takes::Text, "", "path to the value").required().example("tool_calls[0].name"),
        key("matcher", Takes::Matcher, "", "what must hold of it").required().example("exact: get_invoice"),
        key("message", Takes::Text, "", "what a failure should say first"),
    ],
};

/// The key every gate shares.
pub static EXPECT: Key = key(
    "expect",
    Takes::List(1, &Takes::Block(&ASSERTION)),
    "",
    "assertions that replace the default; limits given as parameters hold all the same",
);

/// Every gate, in the order of [`GateKind`].
pub static GATES: [GateInfo; 7] = {
    use MetricKind::{Count, Flag, Millis, Percent, Percents, Ratio};
    [
        GateInfo {
            kind: GateKind::Trajectory,
            prefix: "trajectory",
            scope: RunScope::PerRun,
            question: "Did the right calls happen, with the right arguments, in the right order?",
            params: &[
                key("mode", Takes::Word(MODES), "strict", "how reference and recorded calls line up"),
                key(
                    "within_turn",
                    Takes::Word(&["ordered", "any_order"]),
                    "ordered",
                    "whether the order of calls made in one turn counts; for strict and subsequence",
                ),
                key(
                    "calls",
                    Takes::List(0, &Takes::Block(&CALL)),
                    "[]",
                    "the reference: name, server, args, optional, status, ignore_args",
                ),
                key(
                    "max_extra",
                    Takes::Whole(0),
                    "",
                    "most recorded calls that may be left over; not with strict or subset",
                ),
            ],
            metrics: &[
                metric("passed", Flag, "1 when the recorded calls satisfy the mode"),
                metric(
                    "mismatch_count",
                    Count,
                    "required expectations without a call, plus calls that are not allowed",
                ),
            ],
            default: &[at_least("passed", 1.0)],
        },
        GateInfo {
            kind: GateKind::TrajectoryAxes,
            prefix: "trajectory",
            scope: RunScope::PerRun,
            question: "Did each call come after the calls it depends on?",
            params: &[
                key(
                    "dependencies",
                    Takes::List(0, &Takes::Block(&DEPENDENCY)),
                    "[]",
                    "a consumer runs only after its producer; `via` demands that the value came from it",
                ),
                key("order", Takes::List(0, &Takes::Block(&ORDER)), "[]", "a second call runs only after a first one"),
            ],
            metrics: &[
                metric("dependency_satisfaction", Percent, "share of dependency edges that hold, rounded down"),
                metric("order_satisfaction", Percent, "share of order edges that hold, rounded down"),
                metric("edges_exercised", Count, "edges whose later call was recorded at all"),
            ],
            default: &[at_least("dependency_satisfaction", 100.0), at_least("order_satisfaction", 100.0)],
        },
        GateInfo {
            kind: GateKind::GoldenPath,
            prefix: "golden_path",
            scope: RunScope::PerRun,
            question: "How many calls were wasted?",
            params: &[
                key(
                    "calls",
                    Takes::List(0, &Takes::Text),
                    "[]",
                    "the ideal sequence; its length sets how many calls are due",
                ),
                key("allow_extra_steps", Takes::Bool, "false", "calls beyond the length of the path cost nothing"),
                key("penalize_backtracking", Takes::Bool, "true", "returning to an earlier tool costs"),
                key("penalize_repeated_tools", Takes::Bool, "true", "calling the same tool twice in a row costs"),
            ],
            metrics: &[
                metric("penalty", Ratio, "1 / (1 + waste / 2); 1 is no waste"),
                metric("passed", Flag, "1 when nothing that costs was wasted"),
                metric("extra_steps", Count, "recorded calls beyond the length of the path"),
                metric("backtracks", Count, "returns to a tool used before, other than the one just used"),
                metric("repeated_tools", Count, "calls of the tool that was just used"),
            ],
            default: &[at_least("passed", 1.0)],
        },
        GateInfo {
            kind: GateKind::Stability,
            prefix: "stability",
            scope: RunScope::OverRuns,
            question: "Did sessions stay steady, and did all runs take the same way?",
            params: &[],
            metrics: &[
                metric("score", Ratio, "mean over runs of each run's weakest sub-score"),
                metric("weakest_score", Ratio, "the worst run's weakest sub-score"),
                metric("variance", Ratio, "population variance over runs of the weakest sub-score"),
                metric("tool_usage_stability", Ratio, "least over runs: how few different tools were used"),
                metric("response_consistency", Ratio, "least over runs: how alike in length the answers were"),
                metric("redundancy", Ratio, "least over runs: share of calls that repeat no earlier call"),
                metric("cost_per_progress", Ratio, "least over runs: tokens against distinct calls"),
                metric(
                    "tool_sequence_similarity",
                    Ratio,
                    "mean over pairs of runs: longest common subsequence of tools",
                ),
                metric(
                    "argument_consistency",
                    Ratio,
                    "mean over pairs of runs: same tool at a position, same arguments",
                ),
                metric("early_divergence", Flag, "1 when most pairs that split do so at the first or second call"),
            ],
            default: &[at_least("weakest_score", 0.5)],
        },
        GateInfo {
            kind: GateKind::Reliability,
            prefix: "reliability",
            scope: RunScope::OverRuns,
            question: "How often does it pass, and how sure can one be?",
            params: &[key("confidence", Takes::OneOf(&[90, 95, 99]), "95", "confidence level of the Wilson interval")],
            metrics: &[
                metric("runs", Count, "number of runs"),
                metric("pass_at_k", Percent, "100 when at least one run passed, else 0"),
                metric("passhat_k", Percent, "last entry of the decay curve: 100 exactly when every run passed"),
                metric("all_passed", Flag, "1 when every run passed"),
                metric(
                    "variance_amplification",
                    Percent,
                    "spread of outcomes: 0 when all agree, 100 for an even split",
                ),
                metric("graceful_degradation", Percent, "passes weighted by position: late failures cost more"),
                metric("decay_curve", Percents, "entry i: (passes/k)^k over the first k = i + 1 runs, truncated"),
                metric("pass_rate", Percent, "passes over runs"),
                metric("wilson_low", Percent, "lower end of the Wilson interval of the pass rate"),
                metric("wilson_high", Percent, "upper end of the Wilson interval of the pass rate"),
                metric("pass_at", Percents, "entry k: unbiased chance that at least one of k runs passes"),
                metric("pass_hat", Percents, "entry k: unbiased chance that all of k runs pass"),
            ],
            default: &[at_least("passhat_k", 100.0)],
        },
        GateInfo {
            kind: GateKind::Recovery,
            prefix: "recovery",
            scope: RunScope::PerRun,
            question: "Did the agent get over a dead tool?",
            params: &[
                key("max_detection_ms", Takes::Whole(0), "3000", "time budget of one call"),
                key("max_recovery_ms", Takes::Whole(0), "", "most virtual time until the run ended well"),
                key("require_clean_timeout", Takes::Bool, "false", "the fault must be noticed within max_detection_ms"),
                key(
                    "require_hit",
                    Takes::Bool,
                    "true",
                    "a fault must have been met at all, also if only by a late answer",
                ),
                key(
                    "require_call",
                    Takes::Bool,
                    "false",
                    "a later call must have succeeded; set it where the task needs the tool",
                ),
            ],
            metrics: &[
                metric("passed", Flag, "1 when the run recovered within every limit given"),
                metric("recovered", Flag, "1 when the run ended by itself with an answer"),
                metric("recovered_by_call", Flag, "1 when a call after the first fault succeeded"),
                metric("clean_timeout", Flag, "1 when the fault was noticed within max_detection_ms"),
                metric("time_to_detection_ms", Millis, "from the first faulted call until the agent could act again"),
                metric("time_to_recovery_ms", Millis, "from the first faulted call until the run ended well"),
                metric(
                    "user_visible_hang_ms",
                    Millis,
                    "until detection or recovery, whichever is earlier; else the budget",
                ),
                metric("fault_hits", Count, "calls that were denied an answer"),
                metric("fault_delays", Count, "calls that were answered late"),
            ],
            default: &[at_least("passed", 1.0)],
        },
        GateInfo {
            kind: GateKind::Narrative,
            prefix: "narrative",
            scope: RunScope::PerRun,
            question: "Does the closing message tell the truth about what was done?",
            params: &[
                key(
                    "mutating_tools",
                    Takes::List(0, &Takes::Text),
                    "[]",
                    "tools that change something whatever their name",
                ),
                key(
                    "readonly_tools",
                    Takes::List(0, &Takes::Text),
                    "[]",
                    "tools that change nothing; wins over mutating_tools",
                ),
                key(
                    "mutating_verbs",
                    Takes::List(0, &Takes::Text),
                    "[]",
                    "further verbs that claim a change, in their base form",
                ),
                key(
                    "aliases",
                    Takes::Map(&Takes::TextOrList),
                    "{}",
                    "the tool that carries out a claim, such as add_bag",
                ),
                key("max_divergence_score", Takes::Number(0.0, 1.0), "", "most divergence that passes"),
                key(
                    "llm_assisted",
                    Takes::Bool,
                    "false",
                    "record a model's opinion beside the trace; it is never judged",
                ),
            ],
            metrics: &[
                metric("divergence_score", Ratio, "disagreements over calls and claims, at most 1"),
                metric("claimed_but_absent", Count, "actions that are claimed and that no call could have done"),
                metric("present_but_unclaimed", Count, "tools that were called and are not mentioned"),
                metric("arg_mismatch", Count, "values in a claim that the call behind it was not given"),
                metric("unclaimed_mutating", Count, "unmentioned tools that change something"),
                metric("unverifiable", Count, "claims that a call may have made true whose effect cannot be read"),
                metric(
                    "gate_passed",
                    Flag,
                    "1 when no change is claimed that did not happen, and the score is within its limit",
                ),
            ],
            default: &[at_least("gate_passed", 1.0)],
        },
    ]
};
