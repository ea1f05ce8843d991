//! Properties that hold for every input: agreement with brute force, ranges, repeatability, no panic.

use mcptest_core::eval::{
    CallRule, DependencyEdge, Expect, ExpectedArgs, ExpectedCall, ExpectedTrace, GATES, GateKind, GateOutcome,
    GoldenPath, GoldenPathGate, MatchMode, MetricKind, Metrics, OrderEdge, RecoveryGate, RecoveryParams,
    StabilityFloors, StatusRule, TrajectoryAxesGate, TrajectoryAxesParams, TrajectoryGate, TrajectoryParams,
    WithinTurn, agent_stability, agent_stability_across, drift_flags, summarize, tool_calls_from_envelope,
    validate_trace,
};
use mcptest_core::import::{Format, Options, Record};
use mcptest_core::trace::{ToolCall, ToolResult};
use mcptest_core::{Assertion, MatchResult, Matcher, Scope, Target, Trace, Verdict, json as evidence};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{nested, reliability, stability};

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Arguments of the small world: two keys, each with a small number or absent.
type Args = (Option<u8>, Option<u8>);

/// What an expectation of the small world demands of the arguments.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Any,
    Ignore,
    Exact(Args),
    Subset(Args),
    AtLeast(u8),
    /// `x` near a number, `y` not another: absent arguments do not fit.
    Match {
        x: u8,
        tolerance: u8,
        y_is_not: Option<u8>,
    },
    /// Exact with the second key ignored.
    ExactButSecond(Args),
}

#[derive(Debug, Clone, Copy)]
struct Want {
    name: char,
    shape: Shape,
    server: Option<char>,
    status: StatusRule,
    optional: bool,
}

/// A recorded call; `None` is evidence that was not recorded.
#[derive(Debug, Clone, Copy)]
struct Call {
    name: char,
    args: Option<Args>,
    server: Option<char>,
    failed: Option<bool>,
    turn: Option<usize>,
}

fn object((x, y): Args) -> Value {
    let entries = [("x", x), ("y", y)].into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?))));
    Value::Object(entries.collect())
}

/// Written from the specification, not from the code. Everything about the call is known.
fn fits(want: &Want, call: &Call) -> bool {
    let (args, failed) = (call.args.unwrap(), call.failed.unwrap());
    let shape = match want.shape {
        Shape::Any | Shape::Ignore => true,
        Shape::Exact(value) => args == value,
        Shape::ExactButSecond(value) => args.0 == value.0,
        Shape::Subset((x, y)) => (x.is_none() || x == args.0) && (y.is_none() || y == args.1),
        Shape::AtLeast(least) => args.0.is_some_and(|x| x >= least),
        Shape::Match { x, tolerance, y_is_not } => {
            args.0.is_some_and(|found| found.abs_diff(x) <= tolerance)
                && y_is_not.is_none_or(|not| args.1.is_some_and(|found| found != not))
        }
    };
    let status = match want.status {
        StatusRule::Any => true,
        StatusRule::Ok => !failed,
        StatusRule::Error => failed,
    };
    shape && status && want.name == call.name && want.server.is_none_or(|server| call.server == Some(server))
}

/// A reference, recorded calls, and a limit where the mode takes one.
#[derive(Debug, Clone)]
struct Case {
    mode: MatchMode,
    within_turn: WithinTurn,
    wants: Vec<Want>,
    max_extra: Option<usize>,
    calls: Vec<Call>,
}

/// The fewest mismatches over every order in which the calls may have come.
fn fewest(case: &Case, calls: &[Call]) -> usize {
    let Case { mode, wants, max_extra, .. } = case;
    let mut best = usize::MAX;
    let mut orders = vec![Vec::new()];
    let turns: Vec<&[Call]> = match case.within_turn {
        WithinTurn::Ordered => calls.chunks(1).collect(),
        WithinTurn::AnyOrder => calls.chunk_by(|a, b| a.turn == b.turn).collect(),
    };
    for turn in turns {
        let shuffled = orders.iter().flat_map(|order: &Vec<Call>| {
            permutations(turn).into_iter().map(|turn| [order.as_slice(), &turn].concat())
        });
        orders = shuffled.collect();
    }
    for order in orders {
        best = best.min(fewest_in_order(*mode, wants, *max_extra, &order));
    }
    best
}

fn permutations(calls: &[Call]) -> Vec<Vec<Call>> {
    let Some((first, rest)) = calls.split_first() else { return vec![Vec::new()] };
    let insert = |rest: Vec<Call>| {
        (0..=rest.len()).map(move |at| {
            let mut order = rest.clone();
            order.insert(at, *first);
            order
        })
    };
    permutations(rest).into_iter().flat_map(insert).collect()
}

/// The fewest mismatches over every way to pair expectations and calls.
fn fewest_in_order(mode: MatchMode, wants: &[Want], max_extra: Option<usize>, calls: &[Call]) -> usize {
    if mode == MatchMode::Strict && wants.is_empty() {
        return 0;
    }
    if mode == MatchMode::Strict && wants.iter().all(|want| !want.optional) {
        let wrong = wants.iter().zip(calls).filter(|(want, call)| !fits(want, call)).count();
        return wrong + wants.len().abs_diff(calls.len());
    }
    let ordered = matches!(mode, MatchMode::Strict | MatchMode::Subsequence);
    let mut best = usize::MAX;
    let mut pairing = Vec::new();
    every_pairing(wants, calls, ordered, &mut pairing, &mut |pairing| {
        let missing = pairing.iter().zip(wants).filter(|(call, want)| call.is_none() && !want.optional).count();
        let left_over = calls.len() - pairing.iter().flatten().count();
        let cost = match mode {
            MatchMode::Strict => missing + left_over,
            MatchMode::Subset => left_over,
            _ => missing + max_extra.map_or(0, |most| left_over.saturating_sub(most)),
        };
        best = best.min(cost);
    });
    best
}

fn every_pairing(
    wants: &[Want],
    calls: &[Call],
    ordered: bool,
    pairing: &mut Vec<Option<usize>>,
    visit: &mut impl FnMut(&[Option<usize>]),
) {
    let Some(want) = wants.get(pairing.len()) else {
        return visit(pairing);
    };
    let from = if ordered { pairing.iter().flatten().max().map_or(0, |last| last + 1) } else { 0 };
    for at in from..calls.len() {
        if fits(want, &calls[at]) && !pairing.contains(&Some(at)) {
            pairing.push(Some(at));
            every_pairing(wants, calls, ordered, pairing, visit);
            pairing.pop();
        }
    }
    pairing.push(None);
    every_pairing(wants, calls, ordered, pairing, visit);
    pairing.pop();
}

fn any_args() -> impl Strategy<Value = Args> {
    (prop_oneof![Just(None), (0..3_u8).prop_map(Some)], prop_oneof![3 => Just(None), 1 => (0..2_u8).prop_map(Some)])
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        4 => Just(Shape::Any),
        1 => Just(Shape::Ignore),
        4 => any_args().prop_map(Shape::Exact),
        4 => any_args().prop_map(Shape::Subset),
        1 => (0..3_u8).prop_map(Shape::AtLeast),
        2 => (0..3_u8, 0..2_u8, proptest::option::weighted(0.3, 0..2_u8))
            .prop_map(|(x, tolerance, y_is_not)| Shape::Match { x, tolerance, y_is_not }),
        1 => any_args().prop_map(Shape::ExactButSecond),
    ]
}

fn any_want() -> impl Strategy<Value = Want> {
    let name = prop_oneof![3 => Just('a'), 1 => Just('b')];
    let server = prop_oneof![4 => Just(None), 1 => Just(Some('s')), 1 => Just(Some('t'))];
    let status = prop_oneof![4 => Just(StatusRule::Any), 1 => Just(StatusRule::Ok), 1 => Just(StatusRule::Error)];
    (name, any_shape(), server, status, proptest::bool::weighted(0.3))
        .prop_map(|(name, shape, server, status, optional)| Want { name, shape, server, status, optional })
}

fn any_call() -> impl Strategy<Value = Call> {
    let name = prop_oneof![3 => Just('a'), 1 => Just('b')];
    let server = prop_oneof![3 => Just('s'), 1 => Just('t')];
    (name, any_args(), server, proptest::bool::weighted(0.3)).prop_map(|(name, args, server, failed)| Call {
        name,
        args: Some(args),
        server: Some(server),
        failed: Some(failed),
        turn: None,
    })
}

fn any_mode() -> impl Strategy<Value = MatchMode> {
    proptest::sample::select(MatchMode::ALL)
}

/// Turns come one after another; every call says whether it is of the same as the call before.
fn any_case(call: impl Strategy<Value = Call>) -> impl Strategy<Value = Case> {
    let wants = proptest::collection::vec(any_want(), 0..5);
    let calls = proptest::collection::vec((call, proptest::bool::weighted(0.6)), 0..6);
    let any_order = proptest::bool::weighted(0.6);
    (any_mode(), any_order, wants, proptest::option::of(0..4_usize), calls).prop_map(
        |(mode, any_order, wants, max_extra, calls)| {
            let max_extra = max_extra.filter(|_| !matches!(mode, MatchMode::Strict | MatchMode::Subset));
            let has_order = matches!(mode, MatchMode::Strict | MatchMode::Subsequence);
            let within_turn = if has_order && any_order { WithinTurn::AnyOrder } else { WithinTurn::Ordered };
            let mut turn = 0;
            let place = |(call, is_same): (Call, bool)| {
                turn += usize::from(!is_same);
                Call { turn: Some(turn), ..call }
            };
            Case { mode, within_turn, wants, max_extra, calls: calls.into_iter().map(place).collect() }
        },
    )
}

fn compile(case: &Case) -> TrajectoryGate {
    let calls = case
        .wants
        .iter()
        .map(|want| {
            let mut ignore_args = Vec::new();
            let args = match want.shape {
                Shape::Any => ExpectedArgs::Any,
                Shape::Ignore => ExpectedArgs::Ignore,
                Shape::Exact(args) => ExpectedArgs::Exact(object(args)),
                Shape::Subset(args) => ExpectedArgs::Subset(object(args)),
                Shape::AtLeast(least) => {
                    ExpectedArgs::Schema(json!({ "required": ["x"], "properties": { "x": { "minimum": least } } }))
                }
                Shape::Match { x, tolerance, y_is_not } => {
                    let mut matchers = json!({ "x": { "near": { "value": x, "tolerance": tolerance } } });
                    if let Some(not) = y_is_not {
                        matchers["y"] = json!({ "not": { "exact": not } });
                    }
                    ExpectedArgs::Match(matchers.as_object().unwrap().clone())
                }
                Shape::ExactButSecond(args) => {
                    ignore_args.push("/y".to_owned());
                    ExpectedArgs::Exact(object(args))
                }
            };
            CallRule {
                call: ExpectedCall { name: want.name.into(), args },
                server: want.server.map(Into::into),
                optional: want.optional,
                status: Some(want.status),
                ignore_args,
            }
        })
        .collect();
    let Case { mode, within_turn, max_extra, .. } = *case;
    TrajectoryGate::new(TrajectoryParams { mode, within_turn, max_extra, calls, expect: Expect::Default }).unwrap()
}

fn recorded(calls: &[Call]) -> Trace {
    let call = |call: &Call| ToolCall {
        name: call.name.into(),
        server: call.server.map(Into::into),
        args: call.args.map(object),
        turn: call.turn,
        ..ToolCall::default()
    };
    let result = |call: &Call| Some(ToolResult { is_error: Some(call.failed?), ..ToolResult::default() });
    Trace {
        tool_calls: Some(calls.iter().map(call).collect()),
        tool_results: Some(calls.iter().map(result).collect()),
        ..Trace::default()
    }
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn every_mode_agrees_with_brute_force(case in any_case(any_call())) {
        let outcome = compile(&case).evaluate(&recorded(&case.calls));
        let expected = fewest(&case, &case.calls);
        let Case { mode, wants, calls, .. } = case;
        let found = &outcome.detail;
        prop_assert_eq!(found.passed, expected == 0);
        prop_assert_eq!(outcome.verdict, if expected == 0 { Verdict::Pass } else { Verdict::Fail });
        prop_assert_eq!(found.mismatches.len(), expected);
        prop_assert_eq!(outcome.metrics.get("mismatch_count"), Some(json!(found.mismatches.len())));
        // What is reported as matched does fit, and no call serves twice.
        let used: Vec<_> = found.matched.iter().flatten().collect();
        prop_assert!(used.iter().enumerate().all(|(at, call)| !used[..at].contains(call)));
        for (want, call) in wants.iter().zip(&found.matched) {
            prop_assert!(call.is_none_or(|call| fits(want, &calls[call])));
        }
        // A proof names a set whose candidates are all listed and too few.
        for proof in &found.competitions {
            let pairs = |want: usize, call: usize| fits(&wants[want], &calls[call]);
            if mode == MatchMode::Subset {
                prop_assert!(proof.recorded.len() > proof.expected.len());
                for call in &proof.recorded {
                    prop_assert!((0..wants.len()).all(|want| !pairs(want, *call) || proof.expected.contains(&want)));
                }
            } else {
                prop_assert!(proof.expected.len() > proof.recorded.len());
                for want in &proof.expected {
                    prop_assert!((0..calls.len()).all(|call| !pairs(*want, call) || proof.recorded.contains(&call)));
                }
            }
        }
    }
}

/// A call in which any part except the turn may be missing.
fn any_partial_call() -> impl Strategy<Value = Call> {
    (any_call(), proptest::bool::weighted(0.3), proptest::bool::weighted(0.2), proptest::bool::weighted(0.2)).prop_map(
        |(call, no_args, no_server, no_result)| Call {
            args: call.args.filter(|_| !no_args),
            server: call.server.filter(|_| !no_server),
            failed: call.failed.filter(|_| !no_result),
            ..call
        },
    )
}

/// The same case with some turns unrecorded.
fn any_partial_case() -> impl Strategy<Value = Case> {
    let known = proptest::collection::vec(proptest::bool::weighted(0.7), 6);
    (any_case(any_partial_call()), known).prop_map(|(mut case, known)| {
        for (call, known) in case.calls.iter_mut().zip(known) {
            call.turn = call.turn.filter(|_| known);
        }
        case
    })
}

/// Every way the gaps of a call could have been filled, in the small world.
fn completions(call: &Call) -> Vec<Call> {
    let all = [None, Some(0), Some(1), Some(2)];
    let args: Vec<Args> = match call.args {
        Some(args) => vec![args],
        None => all.iter().flat_map(|x| [None, Some(0), Some(1)].map(|y| (*x, y))).collect(),
    };
    let servers = call.server.map_or_else(|| vec!['s', 't'], |server| vec![server]);
    let failures = call.failed.map_or_else(|| vec![false, true], |failed| vec![failed]);
    let turns = call.turn.map_or_else(|| (0..=4).collect(), |turn| vec![turn]);
    let mut out = Vec::new();
    for args in &args {
        for server in &servers {
            for failed in &failures {
                for turn in &turns {
                    let (args, server, failed, turn) = (Some(*args), Some(*server), Some(*failed), Some(*turn));
                    out.push(Call { name: call.name, args, server, failed, turn });
                }
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn a_verdict_on_partial_evidence_does_not_depend_on_how_gaps_are_filled(
        mut case in any_partial_case(),
        picks in proptest::collection::vec(any::<proptest::sample::Index>(), 60),
    ) {
        case.calls.truncate(3);
        let outcome = compile(&case).evaluate(&recorded(&case.calls));
        let count = outcome.metrics.get("mismatch_count").and_then(|count| count.as_u64());
        let options: Vec<_> = case.calls.iter().map(completions).collect();
        for pick in picks.chunks_exact(3) {
            let filled: Vec<Call> = options.iter().zip(pick).map(|(all, pick)| *pick.get(all)).collect();
            let fewest = fewest(&case, &filled);
            match outcome.verdict {
                Verdict::Pass => prop_assert_eq!(fewest, 0, "passed, but {:?} fails", filled),
                Verdict::Fail => prop_assert_ne!(fewest, 0, "failed, but {:?} passes", filled),
                Verdict::Unassessable => prop_assert_eq!(outcome.metrics.object(), json!({})),
                Verdict::Inconclusive | Verdict::Error => prop_assert!(false, "{:?}", outcome.failures),
            }
            if let Some(count) = count {
                prop_assert_eq!(count, fewest as u64, "counted, but {:?} differs", filled);
            }
        }
    }
}

/// Any JSON, small, with odd text and odd numbers.
fn any_json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(vec![json!(1e308), json!(-0.0), json!(5e-324), json!(u64::MAX), json!(i64::MIN)]),
    ];
    let text = prop_oneof![any::<String>().prop_map(Value::from), "[a-z_\\[\\].*\"/~ ]{0,8}".prop_map(Value::from)];
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), number, text];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let key = prop_oneof![any::<String>(), proptest::sample::select(KEYS).prop_map(str::to_owned)];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Keys that mean something somewhere.
const KEYS: &[&str] = &[
    "trace",
    "tool_calls",
    "tool_results",
    "conversation",
    "turns",
    "tokens",
    "total",
    "name",
    "args",
    "turn",
    "fault",
    "exact",
    "contains",
    "icontains",
    "contains-all",
    "regex",
    "schema",
    "not",
    "type",
    "properties",
    "minimum",
    "$ref",
    "pattern",
    "format",
    "enum",
    "items",
    "required",
    "role",
    "content",
    "error",
    "kind",
    "ms",
    "effect",
    "is_error",
];

/// Something that looks like an envelope, with any JSON in any place.
fn any_envelope() -> impl Strategy<Value = Value> {
    let name = prop_oneof![3 => Just(json!("a")), 3 => Just(json!("b")), 1 => any_json()];
    let number = || prop_oneof![3 => (0..6_000_u64).prop_map(Value::from), 1 => any_json()];
    let turn = prop_oneof![2 => Just(json!(null)), 2 => (0..3_u64).prop_map(Value::from), 1 => any_json()];
    let call = (name, any_json(), turn)
        .prop_map(|(name, args, turn)| json!({ "name": name, "server": "s", "args": args, "turn": turn }));
    let effect = proptest::sample::select(vec!["timeout", "delay", "error"]);
    let fault = prop_oneof![
        Just(json!(null)),
        (effect, number()).prop_map(|(effect, ms)| json!({ "name": "f", "kind": "hang", "effect": effect, "ms": ms })),
    ];
    let result = prop_oneof![
        1 => Just(json!(null)),
        4 => (any::<Option<bool>>(), fault, any_json())
            .prop_map(|(error, fault, value)| json!({ "is_error": error, "fault": fault, "structured_content": value })),
    ];
    let content = prop_oneof![any::<Option<String>>().prop_map(|text| json!(text)), any_json()];
    let turn = content.prop_map(|content| json!({ "role": "assistant", "content": content }));
    let stop = proptest::sample::select(vec![json!("completed"), json!("max_turns"), json!(null)]);
    let lists = (
        proptest::collection::vec(call, 0..5),
        proptest::collection::vec(result, 0..5),
        proptest::collection::vec(turn, 3..5),
    );
    (lists, number(), stop, any::<bool>()).prop_map(|((calls, mut results, turns), total, stop, nest)| {
        results.truncate(calls.len());
        let envelope = json!({
            "tool_calls": calls, "tool_results": results, "final_response": "done",
            "conversation": { "turns": turns, "tokens": { "total": total }, "stop_reason": stop },
        });
        if nest { json!({ "trace": envelope }) } else { envelope }
    })
}

/// Every gate over a run; gates over runs see it next to another.
fn every_gate(trace: &Trace, other: &Trace) -> Vec<(GateKind, Verdict, Metrics, String)> {
    fn keep<D: std::fmt::Debug>(kind: GateKind, outcome: GateOutcome<D>) -> (GateKind, Verdict, Metrics, String) {
        let all = format!("{outcome:?}");
        (kind, outcome.verdict, outcome.metrics, all)
    }
    let exact = ExpectedArgs::Exact(json!({ "x": 1 }));
    let mut out = Vec::new();
    for mode in MatchMode::ALL {
        let calls = vec![
            ExpectedCall::by_name("a").into(),
            CallRule { status: Some(StatusRule::Ok), ..ExpectedCall { name: "b".into(), args: exact.clone() }.into() },
        ];
        let params = TrajectoryParams { mode: *mode, calls, ..TrajectoryParams::default() };
        out.push(keep(GateKind::Trajectory, TrajectoryGate::new(params).unwrap().evaluate(trace)));
    }
    let via = DependencyEdge { producer: "a".into(), consumer: "b".into(), via: Some("x".into()), required: false };
    let order = OrderEdge { first: "b".into(), second: "a".into(), required: true };
    let params = TrajectoryAxesParams { dependencies: vec![via], order: vec![order], expect: Expect::Default };
    out.push(keep(GateKind::TrajectoryAxes, TrajectoryAxesGate::new(params).unwrap().evaluate(trace)));
    let golden = GoldenPathGate::new(GoldenPath::new(["a", "b"]).into()).unwrap();
    out.push(keep(GateKind::GoldenPath, golden.evaluate(trace)));
    out.push(keep(GateKind::Stability, stability().evaluate(&[trace, other, trace])));
    let outcomes: Vec<bool> = out.iter().map(|(_, verdict, ..)| *verdict == Verdict::Pass).collect();
    out.push(keep(GateKind::Reliability, reliability().evaluate(&outcomes)));
    let params = RecoveryParams {
        max_recovery_ms: Some(5000),
        require_clean_timeout: true,
        require_call: true,
        ..RecoveryParams::default()
    };
    out.push(keep(GateKind::Recovery, RecoveryGate::new(params).unwrap().evaluate(trace)));
    out
}

/// Every metric is listed and in its range; a verdict other than pass has a reason.
fn in_range(kind: GateKind, verdict: Verdict, metrics: &Metrics) {
    for (name, value) in metrics.object().as_object().unwrap() {
        let listed = kind.info().metrics.iter().find(|metric| metric.name == name);
        let metric = listed.unwrap_or_else(|| panic!("{kind} has an unlisted metric {name}"));
        let number = value.as_f64();
        let fits = match metric.kind {
            MetricKind::Flag => number == Some(0.0) || number == Some(1.0),
            MetricKind::Count | MetricKind::Millis => value.is_u64(),
            MetricKind::Ratio => number.is_some_and(|number| (0.0..=1.0).contains(&number)),
            MetricKind::Percent => number.is_some_and(|number| (0.0..=100.0).contains(&number)),
            MetricKind::Percents => value.as_array().is_some_and(|all| {
                all.iter().all(|one| one.as_f64().is_some_and(|number| (0.0..=100.0).contains(&number)))
            }),
        };
        assert!(fits, "{kind}.{name} is {value}");
    }
    if verdict == Verdict::Pass {
        for bound in kind.info().default {
            let value = metrics.number(bound.metric);
            assert!(value.is_some_and(|value| value >= bound.at_least), "{kind} passes with {value:?}");
        }
    }
}

/// Everything that takes any JSON, on one value. It must not panic and must answer the same twice.
fn exercise(value: &Value) {
    let once = || {
        let calls = tool_calls_from_envelope(value);
        let expected = ExpectedCall { name: "a".into(), args: ExpectedArgs::Subset(value.clone()) };
        let mut all = vec![
            format!("{:?}", Trace::from_envelope(value)),
            format!("{calls:?}"),
            format!("{:?}", agent_stability(value)),
            format!("{:?}", drift_flags(&agent_stability(value), &StabilityFloors::default())),
            format!("{:?}", agent_stability_across(&[value.clone(), json!({}), value.clone()])),
            evidence::canonical(value),
            evidence::excerpt(value, 40),
        ];
        for mode in MatchMode::ALL {
            let expected = ExpectedTrace { mode: *mode, calls: vec![expected.clone(), ExpectedCall::by_name("a")] };
            all.push(format!("{:?}", validate_trace(&calls, &expected)));
        }
        let by_hand = Trace { tool_calls: Some(calls), ..Trace::default() };
        all.extend(every_gate(&by_hand, &Trace::default()).into_iter().map(|(.., debug)| debug));
        if let Ok(trace) = Trace::from_envelope(value) {
            assert_eq!(Trace::from_envelope(&trace.to_envelope()).as_ref(), Ok(&trace), "survives writing and reading");
            for (kind, verdict, metrics, debug) in every_gate(&trace, &by_hand) {
                in_range(kind, verdict, &metrics);
                all.push(debug);
            }
        }
        all
    };
    assert_eq!(once(), once());
}

fn match_all(rule: &Value, value: &Value) {
    let rules =
        [rule.clone(), json!({ "exact": rule }), json!({ "contains": rule }), json!({ "not": { "contains": rule } })];
    for rule in rules.iter().chain([&json!({ "contains-all": [rule] })]) {
        if let Ok(matcher) = Matcher::parse(rule) {
            let answers = [matcher.check(value), matcher.check(value)];
            assert_eq!(answers[0], answers[1]);
            assert!(answers[0] != MatchResult::DoesNotHold(vec![]), "{matcher} differs nowhere");
            assert_ne!(matcher.to_string(), "");
        }
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn any_envelope_is_answered_in_range_and_the_same_twice(envelope in any_envelope()) {
        exercise(&envelope);
    }

    #[test]
    fn an_envelope_read_from_its_text_is_the_one_read_from_its_value(mut envelope in any_envelope(), odd in any_json(), at in 0..12_usize) {
        // One place can have any type, so that both valid and invalid envelopes occur.
        let places = [
            "/tool_calls", "/tool_calls/0", "/tool_calls/0/args", "/tool_calls/0/turn", "/tool_calls/0/name", "/tool_results",
            "/tool_results/0/content", "/tool_results/0/error", "/conversation/turns", "/conversation/turns/0/content",
            "/conversation/tokens", "/final_response",
        ];
        if let Some(place) = envelope.pointer_mut(places[at]) {
            *place = odd;
        }
        let text = envelope.to_string();
        let direct = Format::Envelope.read(Record { text: &text, header: None }, &Options::default());
        match (Trace::from_envelope(&envelope), direct) {
            (Ok(trace), Ok(found)) => prop_assert_eq!(&found[0].trace, &trace),
            (Ok(trace), Err(_)) => prop_assert_eq!(trace, Trace::default()),
            (Err(error), Err(found)) => prop_assert_eq!(found.message, error.to_string()),
            (Err(error), Ok(found)) => prop_assert!(false, "{} but {:?}", error, found),
        }
    }

    #[test]
    fn any_json_is_answered_without_panic(value in any_json()) {
        exercise(&value);
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn no_matcher_panics_on_any_value(rule in any_json(), value in any_json()) {
        match_all(&rule, &value);
    }

    #[test]
    fn equality_is_equality_of_canonical_text(a in any_json(), b in any_json()) {
        prop_assert_eq!(evidence::equal(&a, &b), evidence::canonical(&a) == evidence::canonical(&b));
        let again = evidence::parse(&evidence::canonical(&a)).unwrap();
        prop_assert!(evidence::equal(&a, &again), "{} reads back as {}", a, again);
    }

    #[test]
    fn any_text_is_a_target_or_an_error_with_a_column(text in prop_oneof![any::<String>(), "[a-z$\\[\\].*\"0-9 å-]{0,12}"]) {
        match Target::parse(&text) {
            Ok(target) => {
                prop_assert_eq!(target.to_string(), text);
                let _ = target.select(&json!({ "a": [{ "b": 1 }] }));
            }
            Err(error) => prop_assert!(error.column >= 1 && error.column <= text.chars().count() + 1),
        }
    }

    #[test]
    fn reliability_numbers_stay_in_range(outcomes in proptest::collection::vec(any::<bool>(), 0..60)) {
        let summary = summarize(&outcomes);
        let gate = reliability().evaluate(&outcomes);
        in_range(GateKind::Reliability, gate.verdict, &gate.metrics);
        prop_assert!(summary.wilson_low <= summary.pass_rate && summary.pass_rate <= summary.wilson_high);
        prop_assert_eq!(summary.passhat_k == 100, summary.all_passed);
        prop_assert!(summary.pass_at.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert!(summary.pass_hat.windows(2).all(|pair| pair[0] >= pair[1]));
    }
}

#[test]
fn extreme_values_do_not_panic() {
    let long = "å".repeat(500_000);
    let odd = json!({ "\u{0}": "\u{202e}\u{feff}", "💥": [1e308, -1e308, 5e-324, u64::MAX, i64::MIN], "": { "": [] } });
    for value in [nested(200), json!(long), odd] {
        exercise(&value);
        exercise(&json!({ "tool_calls": [{ "name": "a", "args": value }, { "name": "b", "args": { "x": value } }] }));
        exercise(&json!({ "tool_calls": value, "conversation": value, "trace": value }));
        exercise(&json!({
            "tool_calls": [{ "name": "a", "args": {} }, { "name": "b", "args": { "x": value } }],
            "tool_results": [{ "is_error": false, "structured_content": value }, null],
            "conversation": { "turns": [{ "role": "assistant", "content": long }, { "role": "assistant", "content": "" }] },
        }));
        for rule in [nested(200), json!(long), json!({ "schema": { "enum": [value] } }), json!({ "regex": "(a|å)+$" })]
        {
            match_all(&rule, &value);
        }
    }
    let deep_not = (0..300).fold(json!({ "exact": 1 }), |inner, _| json!({ "not": inner }));
    assert!(Matcher::parse(&deep_not).is_err());
    assert!(Target::parse(&"a[0]".repeat(50_000)).is_err());
    assert!(Target::parse(&format!("a{}", "[0]".repeat(50_000))).is_ok());
    assert!(Target::parse(&long).is_ok());
    for gate in &GATES {
        assert!(Assertion::compile(Scope::Gate(gate.kind), &long, &json!({ "exact": 1 }), None).is_err());
    }
}

#[test]
fn a_string_of_a_megabyte_is_traced_to_its_producer() {
    let long = "ab ".repeat(350_000);
    let edge = DependencyEdge { producer: "a".into(), consumer: "b".into(), via: Some("x".into()), required: false };
    let params = TrajectoryAxesParams { dependencies: vec![edge], ..TrajectoryAxesParams::default() };
    let trace = Trace::from_envelope(&json!({
        "tool_calls": [{ "name": "a", "turn": 0 }, { "name": "b", "args": { "x": long }, "turn": 1 }],
        "tool_results": [{ "is_error": false, "content": [{ "type": "text", "text": long }] }],
    }))
    .unwrap();
    assert_eq!(TrajectoryAxesGate::new(params).unwrap().evaluate(&trace).verdict, Verdict::Pass);
}
