//! The table of gates: name, scope, parameters, metrics, default assertion.
//!
//! A gate that is not in the table does not exist. Tests compare every row with the code.

use super::gate::GateKind;
use super::stability::SUB_SCORES;
use crate::diag::{Code, Problem, did_you_mean};
use crate::keys::ValueType::{
    AnyText, Bool, CallArgs, Integer, List, Map, Matcher, Number, Object, OneOf, Text, TextOrList, Word,
};
use crate::keys::{Block, Key, key};
use crate::target::Target;

/// Whether a gate reads one run, or all runs of a cell together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunScope {
    PerRun,
    OverRuns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// 1 or 0.
    Flag,
    Count,
    /// 0 to 1.
    Ratio,
    /// 0 to 100.
    Percent,
    /// Milliseconds of virtual time.
    Millis,
    Percents,
}

#[derive(Debug, Clone, Copy)]
pub struct MetricInfo {
    /// Name below the gate's prefix.
    pub name: &'static str,
    pub kind: MetricKind,
    pub meaning: &'static str,
}

/// A default assertion: the metric is at least this.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The metric, below the gate's prefix.
    pub metric: &'static str,
    pub at_least: f64,
}

#[derive(Debug, Clone, Copy)]
pub struct GateInfo {
    pub kind: GateKind,
    /// The first step of its targets.
    pub prefix: &'static str,
    pub scope: RunScope,
    pub question: &'static str,
    /// Its parameters, without `expect`.
    pub params: &'static [Key],
    pub metrics: &'static [MetricInfo],
    /// What it asserts without an `expect`.
    pub default: &'static [Bound],
}

impl GateKind {
    pub fn info(self) -> &'static GateInfo {
        // The table is in the order of the enum; a test checks that.
        &GATES[self as usize]
    }
}

impl MetricKind {
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
        let wrong = |message: String| Problem::new(Code::UnknownMetric, "/target", message);
        let names = || self.metrics.iter().map(|metric| metric.name);
        if target.root() != prefix {
            let problem = wrong(format!("`{target}` is not a metric of `{kind}`"));
            let elsewhere = GATES.iter().find(|gate| {
                let has = target.second_key().is_some_and(|name| gate.metrics.iter().any(|m| m.name == name));
                gate.prefix == target.root() && has
            });
            return Err(match elsewhere {
                Some(gate) => problem.hint(format!("use it in the `expect:` of `{}:`", gate.kind)),
                None => problem.hint(format!("its targets start with `{prefix}.`")),
            });
        }
        let Some(name) = target.second_key() else {
            let problem = wrong(format!("`{target}` names no metric"));
            return Err(problem.hint(format!("expected one of: {}", names().collect::<Vec<_>>().join(", "))));
        };
        let Some(metric) = self.metrics.iter().find(|metric| metric.name == name) else {
            let problem = wrong(format!("`{kind}` has no metric `{name}`"));
            let elsewhere =
                GATES.iter().find(|gate| gate.prefix == prefix && gate.metrics.iter().any(|m| m.name == name));
            return Err(match (elsewhere, did_you_mean(name, names())) {
                (Some(gate), _) => problem.hint(format!("use it in the `expect:` of `{}:`", gate.kind)),
                (None, Some(near)) => problem.hint(format!("did you mean `{prefix}.{near}`?")),
                (None, None) => problem.hint(format!("expected one of: {}", names().collect::<Vec<_>>().join(", "))),
            });
        };
        match metric.kind {
            MetricKind::Percents if target.key_below_metric() => Err(wrong(format!("`{prefix}.{name}` is a list"))
                .hint(format!("write `{prefix}.{name}[0]` or `{prefix}.{name}[*]`"))),
            MetricKind::Percents => Ok(()),
            _ if target.has_more_than_two_steps() => {
                Err(wrong(format!("`{prefix}.{name}` is a number and has no fields")))
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

pub static CALL: Block = Block {
    name: "expected call",
    about: "A call the agent should make.",
    keys: &[
        key("name", Text, "", "tool name, without the server prefix").required(),
        key("server", AnyText, "", "server of the tool; `\"\"` for a tool without a server"),
        key("args", CallArgs, "any", "what the arguments must be").example("subset: { city: Oslo }"),
        key("optional", Bool, "false", "the call may be missing"),
        key(
            "status",
            Word(&["any", "ok", "error"]),
            "",
            "whether the call must have succeeded or failed; without it, a call that was refused does not match, with `any` it does",
        ),
        key("ignore_args", List(0, &Text), "[]", "JSON pointers to leave out of exact and subset")
            .example("[/request_id]"),
    ],
};

pub static DEPENDENCY: Block = Block {
    name: "dependency",
    about: "A call that needs what another call returned.",
    keys: &[
        key("producer", Text, "", "tool that returns the value").required(),
        key("consumer", Text, "", "tool that uses it").required(),
        key("via", Text, "", "path in the consumer's arguments to a value that must come from the producer")
            .example("url"),
        key("required", Bool, "false", "the consumer must be called"),
    ],
};

pub static ORDER: Block = Block {
    name: "order edge",
    about: "A call that must come after another.",
    keys: &[
        key("first", Text, "", "tool that must be called first").required(),
        key("second", Text, "", "tool that must be called later").required(),
        key("required", Bool, "false", "the second tool must be called"),
    ],
};

pub static ASSERTION: Block = Block {
    name: "assertion",
    about: "A value and the matcher it must satisfy.",
    keys: &[
        key("target", Text, "", "path to the value").required().example("tool_calls[0].name"),
        key("matcher", Matcher, "", "condition on the value").required().example("exact: get_invoice"),
        key("message", Text, "", "text to show first when it fails"),
    ],
};

/// The key that every gate has.
pub static EXPECT: Key = key(
    "expect",
    List(1, &Object(&ASSERTION)),
    "",
    "assertions that replace the default; limits set as parameters still apply",
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
                key("mode", Word(MODES), "strict", "how the recorded calls must match the reference"),
                key(
                    "within_turn",
                    Word(&["ordered", "any_order"]),
                    "ordered",
                    "whether the order of calls within one turn matters; for strict and subsequence",
                ),
                key(
                    "calls",
                    List(0, &Object(&CALL)),
                    "[]",
                    "the reference: name, server, args, optional, status, ignore_args",
                ),
                key("max_extra", Integer(0), "", "maximum number of extra calls; not with strict or subset"),
            ],
            metrics: &[
                metric("passed", Flag, "1 when the recorded calls satisfy the mode"),
                metric(
                    "mismatch_count",
                    Count,
                    "expected calls that are missing, plus recorded calls that are not allowed",
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
                    List(0, &Object(&DEPENDENCY)),
                    "[]",
                    "the consumer may run only after its producer; `via` checks that the value came from it",
                ),
                key("order", List(0, &Object(&ORDER)), "[]", "the second tool may run only after the first"),
            ],
            metrics: &[
                metric(
                    "dependency_satisfaction",
                    Percent,
                    "share of dependency edges that are satisfied, rounded down",
                ),
                metric("order_satisfaction", Percent, "share of order edges that are satisfied, rounded down"),
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
                key("calls", List(0, &Text), "[]", "the ideal sequence; its length sets the number of steps"),
                key("allow_extra_steps", Bool, "false", "calls beyond the length of the path are free"),
                key("penalize_backtracking", Bool, "true", "returning to an earlier tool counts as waste"),
                key("penalize_repeated_tools", Bool, "true", "calling the same tool twice in a row counts as waste"),
            ],
            metrics: &[
                metric("penalty", Ratio, "1 / (1 + waste / 2); 1 is best: no waste"),
                metric("passed", Flag, "1 when there was no waste"),
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
            question: "Did the sessions stay consistent, and did all runs take the same path?",
            params: &[key(
                "dimensions",
                List(1, &Word(&SUB_SCORES)),
                "all four",
                "the sub-scores that `weakest_score`, `score` and `variance` are taken over",
            )
            .example("[response_consistency, redundancy]")],
            metrics: &[
                metric("score", Ratio, "mean over runs of each run's weakest sub-score"),
                metric("weakest_score", Ratio, "the worst run's weakest sub-score"),
                metric("variance", Ratio, "population variance over runs of the weakest sub-score"),
                metric("tool_usage_stability", Ratio, "minimum over runs: how few different tools were used"),
                metric("response_consistency", Ratio, "minimum over runs: how similar in length the answers were"),
                metric("redundancy", Ratio, "minimum over runs: share of calls that do not repeat an earlier call"),
                metric(
                    "cost_per_progress",
                    Ratio,
                    "minimum over runs: 1 at up to 2000 tokens per distinct call, less beyond",
                ),
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
                metric(
                    "early_divergence",
                    Flag,
                    "1 when most pairs of runs that diverge do so at the first or second call",
                ),
            ],
            default: &[at_least("weakest_score", 0.5)],
        },
        GateInfo {
            kind: GateKind::Reliability,
            prefix: "reliability",
            scope: RunScope::OverRuns,
            question: "How often do runs pass, and how certain is that?",
            params: &[
                key("confidence", OneOf(&[90, 95, 99]), "95", "confidence level of the interval and of the bounds"),
                key(
                    "at_least",
                    Number(0.0, 1.0),
                    "",
                    "pass rate to show at this confidence, above 0 and below 1; replaces the default assertion",
                )
                .example("0.9"),
            ],
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
                metric("lower_bound", Percent, "one-sided lower bound of the true pass rate, at this confidence"),
                metric("upper_bound", Percent, "one-sided upper bound of the true pass rate, at this confidence"),
                metric("pass_at", Percents, "entry k: unbiased chance that at least one of k runs passes"),
                metric("pass_hat", Percents, "entry k: unbiased chance that all of k runs pass"),
            ],
            default: &[at_least("passhat_k", 100.0)],
        },
        GateInfo {
            kind: GateKind::Recovery,
            prefix: "recovery",
            scope: RunScope::PerRun,
            question: "Did the agent recover from a failing tool?",
            params: &[
                key("max_detection_ms", Integer(0), "3000", "time budget of one call"),
                key("max_recovery_ms", Integer(0), "", "maximum virtual time until the run completes with an answer"),
                key("require_clean_timeout", Bool, "false", "the fault must be detected within max_detection_ms"),
                key("require_hit", Bool, "true", "at least one call must hit a fault, if only a delay"),
                key("require_call", Bool, "false", "a later call must succeed; set it where the task needs the tool"),
                key(
                    "faults",
                    Word(&["injected", "any"]),
                    "injected",
                    "`any` also counts recorded timeouts and errors of transport, JSON-RPC and HTTP; the default in gates files",
                ),
            ],
            metrics: &[
                metric("passed", Flag, "1 when the run recovered within every limit given"),
                metric("recovered", Flag, "1 when the run completed with an answer"),
                metric("recovered_by_call", Flag, "1 when a call after the first fault succeeded"),
                metric("clean_timeout", Flag, "1 when the fault was detected within max_detection_ms"),
                metric("time_to_detection_ms", Millis, "from the first faulted call until the agent could act again"),
                metric(
                    "time_to_recovery_ms",
                    Millis,
                    "from the first faulted call until the run completed with an answer",
                ),
                metric(
                    "user_visible_hang_ms",
                    Millis,
                    "until detection or recovery, whichever is earlier; else the budget",
                ),
                metric("fault_hits", Count, "calls that got no answer"),
                metric("fault_delays", Count, "calls with a late answer"),
            ],
            default: &[at_least("passed", 1.0)],
        },
        GateInfo {
            kind: GateKind::Narrative,
            prefix: "narrative",
            scope: RunScope::PerRun,
            question: "Does the final message match what the agent did?",
            params: &[
                key("mutating_tools", List(0, &Text), "[]", "tools that change something, regardless of their name"),
                key("readonly_tools", List(0, &Text), "[]", "tools that change nothing; wins over mutating_tools"),
                key("mutating_verbs", List(0, &Text), "[]", "more verbs that claim a change, in their base form"),
                key("aliases", Map(&TextOrList), "{}", "tools that carry out a claim such as add_bag"),
                key("max_divergence_score", Number(0.0, 1.0), "", "maximum divergence that passes"),
                key(
                    "llm_assisted",
                    Bool,
                    "false",
                    "record a model's opinion next to the trace; it never affects a verdict",
                ),
            ],
            metrics: &[
                metric("divergence_score", Ratio, "disagreements per call and claim, at most 1; 0 is best"),
                metric("claimed_but_absent", Count, "claimed actions that no call could have done"),
                metric("present_but_unclaimed", Count, "tools that were called but not mentioned"),
                metric("arg_mismatch", Count, "values in a claim that differ from the arguments of its call"),
                metric("unclaimed_mutating", Count, "unmentioned tools that change something"),
                metric("unverifiable", Count, "claims that may rest on a call whose effect cannot be read"),
                metric("gate_passed", Flag, "1 when every claimed change happened and the score is within its limit"),
            ],
            default: &[at_least("gate_passed", 1.0)],
        },
    ]
};
