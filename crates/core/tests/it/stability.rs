//! Steadiness inside one session and across runs.

use mcptest_core::eval::{
    Dimensions, Expect, GateKind, StabilityAcross, StabilityFloors, StabilityGate, StabilityParams, StabilityReport,
    agent_stability, agent_stability_across, drift_flags,
};
use mcptest_core::{Trace, Verdict};
use serde_json::{Value, json};

use crate::support::{judged, own, read, stability};

fn report(tools: f64, responses: f64, redundancy: f64, cost: f64) -> StabilityReport {
    StabilityReport {
        tool_usage_stability: tools,
        response_consistency: responses,
        redundancy,
        cost_per_progress: cost,
    }
}

/// A session: calls as (name, args), assistant texts, tokens.
fn session(calls: &[(&str, Value)], texts: &[Option<&str>], tokens: u64) -> Value {
    let calls: Vec<_> = calls.iter().map(|(name, args)| json!({ "name": name, "server": "s", "args": args })).collect();
    let turns: Vec<_> = texts.iter().map(|text| json!({ "role": "assistant", "content": text })).collect();
    json!({ "tool_calls": calls, "conversation": { "turns": turns, "tokens": { "total": tokens } } })
}

/// The library and the gate agree on a session in which everything is recorded.
fn check(envelope: &Value, expected: StabilityReport) {
    assert_eq!(agent_stability(envelope), expected, "{envelope}");
    assert_eq!(agent_stability(&json!({ "trace": envelope })), expected, "as a cassette: {envelope}");
    let trace = read(envelope.clone());
    let metrics = stability().evaluate(&[&trace, &trace]).metrics;
    let number = |name: &str| metrics.number(name);
    assert_eq!(number("tool_usage_stability"), Some(expected.tool_usage_stability), "{envelope}");
    assert_eq!(number("response_consistency"), Some(expected.response_consistency), "{envelope}");
    assert_eq!(number("redundancy"), Some(expected.redundancy), "{envelope}");
    assert_eq!(number("cost_per_progress"), Some(expected.cost_per_progress), "{envelope}");
    assert_eq!(number("weakest_score"), Some(expected.weakest_score()), "{envelope}");
}

fn distinct(names: &[&'static str]) -> Vec<(&'static str, Value)> {
    names.iter().enumerate().map(|(at, name)| (*name, json!({ "n": at }))).collect()
}

#[test]
fn tool_usage_is_how_few_tools_the_calls_use() {
    for (names, expected) in [
        (&["a", "b"][..], 0.0),
        (&["a", "a"], 1.0),
        (&["a", "b", "c"], 0.0),
        (&["a", "a", "b"], 0.5),
        (&["a", "b", "a", "b", "a"], 0.75),
    ] {
        check(&session(&distinct(names), &[], 0), report(expected, 1.0, 1.0, 1.0));
    }
    check(&session(&distinct(&["a"]), &[Some("x"), Some("y")], 0), report(1.0, 1.0, 1.0, 1.0));
}

#[test]
fn tools_are_distinguished_by_name_and_not_by_server() {
    let envelope = json!({
        "tool_calls": [
            { "name": "a", "server": "one", "args": {} },
            { "name": "a", "server": "two", "args": {} },
        ],
        "conversation": { "turns": [], "tokens": { "total": 0 } },
    });
    check(&envelope, report(1.0, 1.0, 1.0, 1.0));
}

#[test]
fn response_consistency_is_one_minus_the_variation_of_lengths() {
    for (texts, expected) in [
        (&[Some("abcd"), Some("wxyz")][..], 1.0),
        // Mean 3, population deviation 1.
        (&[Some("ab"), Some("abcd")], 1.0 - 1.0 / 3.0),
        // Characters, not bytes.
        (&[Some("åäöü"), Some("abcd")], 1.0),
        // Mean 2, deviation 2: variation 1.
        (&[Some(""), Some("abcd")], 0.0),
        // Mean 1, deviation over 1: the variation is capped.
        (&[Some(""), Some(""), Some(""), Some("abcd")], 0.0),
        (&[Some(""), Some("")], 1.0),
        // Turns without text are left out.
        (&[None, Some("ab"), None, Some("ab")], 1.0),
        (&[None, Some("ab")], 1.0),
        (&[None, None], 1.0),
    ] {
        check(&session(&[], texts, 0), report(1.0, expected, 1.0, 1.0));
    }
}

#[test]
fn only_assistant_turns_count() {
    let turns = json!([
        { "role": "user", "content": "a very long question indeed" },
        { "role": "assistant", "content": "ab" },
        { "role": "tool", "content": "" },
        { "role": "assistant", "content": "cd" },
    ]);
    let envelope = json!({ "tool_calls": [], "conversation": { "turns": turns, "tokens": { "total": 0 } } });
    check(&envelope, report(1.0, 1.0, 1.0, 1.0));
}

#[test]
fn redundancy_is_the_share_of_calls_that_do_not_repeat() {
    let same = |args: &[Value]| args.iter().map(|args| ("a", args.clone())).collect::<Vec<_>>();
    for (args, expected) in [
        (&[json!({ "x": 1 }), json!({ "x": 2 })][..], 1.0),
        (&[json!({ "x": 1, "y": 2 }), json!({ "y": 2, "x": 1 })], 0.5),
        (&[json!({ "x": 1 }), json!({ "x": 1.0 })], 0.5),
        (&[json!({ "x": -0.0 }), json!({ "x": 0 })], 0.5),
        (&[json!({ "x": 1 }), json!({ "x": true })], 1.0),
        (&[json!({ "x": 1 }), json!({ "x": "1" })], 1.0),
        (&[json!({}), json!({}), json!({ "x": 1 }), json!({})], 0.5),
    ] {
        check(&session(&same(args), &[], 0), report(1.0, 1.0, expected, 1.0));
    }
}

#[test]
fn a_repeat_has_the_same_server() {
    let call = |server: &str| json!({ "name": "a", "server": server, "args": {} });
    let envelope = |second: &str| {
        json!({
            "tool_calls": [call("s"), call(second)],
            "conversation": { "turns": [], "tokens": { "total": 0 } },
        })
    };
    check(&envelope("s"), report(1.0, 1.0, 0.5, 1.0));
    check(&envelope("t"), report(1.0, 1.0, 1.0, 1.0));
}

#[test]
fn calls_without_a_server_repeat_each_other() {
    let call = |args: Value| json!({ "name": "a", "args": args });
    let envelope =
        |calls: Value| json!({ "tool_calls": calls, "conversation": { "turns": [], "tokens": { "total": 0 } } });
    check(&envelope(json!([call(json!({ "x": 1 })), call(json!({ "x": 1.0 }))])), report(1.0, 1.0, 0.5, 1.0));
    check(&envelope(json!([call(json!({ "x": 1 })), call(json!({ "x": 2 }))])), report(1.0, 1.0, 1.0, 1.0));
    let without = json!({ "name": "a", "server": null, "args": { "x": 1 } });
    check(&envelope(json!([call(json!({ "x": 1 })), without])), report(1.0, 1.0, 0.5, 1.0));
}

#[test]
fn cost_per_progress_falls_beyond_two_thousand_tokens_a_distinct_call() {
    let two = [("a", json!({ "x": 1 })), ("a", json!({ "x": 2 }))];
    let repeated = [("a", json!({})), ("a", json!({}))];
    for (calls, tokens, redundancy, cost) in [
        (&two, 0, 1.0, 1.0),
        (&two, 4000, 1.0, 1.0),
        (&two, 4002, 1.0, 2000.0 / 2001.0),
        (&two, 8000, 1.0, 0.5),
        (&repeated, 4000, 0.5, 0.5),
        (&repeated, 2000, 0.5, 1.0),
    ] {
        check(&session(calls, &[], tokens), report(1.0, 1.0, redundancy, cost));
    }
    check(&session(&[], &[Some("a"), Some("b")], 1), report(1.0, 1.0, 1.0, 0.0));
    check(&session(&[], &[Some("a"), Some("b")], 0), report(1.0, 1.0, 1.0, 1.0));
}

#[test]
fn tokens_are_the_total_else_input_plus_output() {
    let with = |tokens: Value| {
        let calls = [("a", json!({ "x": 1 })), ("a", json!({ "x": 2 }))];
        let mut envelope = session(&calls, &[], 0);
        envelope["conversation"]["tokens"] = tokens;
        envelope
    };
    check(&with(json!({ "input": 7000, "output": 1000 })), report(1.0, 1.0, 1.0, 0.5));
    check(&with(json!({ "input": 1, "output": 1, "total": 8000 })), report(1.0, 1.0, 1.0, 0.5));
}

#[test]
fn a_session_too_short_to_score_scores_one() {
    let calls = [("a", json!({})), ("a", json!({}))];
    check(&session(&[], &[], 99_999), report(1.0, 1.0, 1.0, 1.0));
    check(&session(&[], &[Some("x")], 99_999), report(1.0, 1.0, 1.0, 1.0));
    check(&session(&calls[..1], &[Some("x")], 99_999), report(1.0, 1.0, 1.0, 1.0));
    // Two calls in one turn, or two turns with one call: there is a progression to measure.
    check(&session(&calls, &[Some("x")], 20_000), report(1.0, 1.0, 0.5, 0.1));
    check(&session(&calls[..1], &[Some("x"), Some("y")], 20_000), report(1.0, 1.0, 1.0, 0.1));
    check(&session(&calls[..1], &[None, Some("y")], 20_000), report(1.0, 1.0, 1.0, 0.1));
}

#[test]
fn the_library_functions_accept_any_envelope() {
    let steady = report(1.0, 1.0, 1.0, 1.0);
    for envelope in [
        json!({}),
        json!(null),
        json!([1, 2]),
        json!("text"),
        json!({ "tool_calls": "many", "conversation": 7 }),
        json!({ "conversation": { "turns": {}, "tokens": [] } }),
    ] {
        assert_eq!(agent_stability(&envelope), steady, "{envelope}");
    }
    let odd = json!({
        "tool_calls": [{ "name": "a" }, { "name": "a", "args": {} }],
        "conversation": { "turns": [7, { "role": "robot" }], "tokens": { "total": -4 } },
    });
    assert_eq!(agent_stability(&odd), report(1.0, 1.0, 0.5, 1.0), "absent arguments are empty");
}

#[test]
fn the_weakest_score_and_the_summary_read_all_four() {
    assert_eq!(report(0.4, 0.3, 0.2, 0.1).weakest_score(), 0.1);
    assert_eq!(report(0.1, 0.3, 0.2, 0.4).weakest_score(), 0.1);
    assert_eq!(report(1.0, 1.0, 1.0, 1.0).weakest_score(), 1.0);
    assert_eq!(
        report(0.5, 0.25, 1.0, 0.126).summary(),
        "tool_usage_stability 0.50, response_consistency 0.25, redundancy 1.00, cost_per_progress 0.13"
    );
}

#[test]
fn floors_are_strict() {
    let floors = |all: f64| StabilityFloors {
        tool_usage_stability: all,
        response_consistency: all,
        redundancy: all,
        cost_per_progress: all,
    };
    let all = ["tool_usage_stability", "response_consistency", "redundancy", "cost_per_progress"];
    assert_eq!(StabilityFloors::default(), floors(0.5));
    assert_eq!(drift_flags(&report(0.0, 0.0, 0.0, 0.0), &floors(0.0)), [""; 0], "a floor of 0 never fires");
    assert_eq!(drift_flags(&report(0.999, 0.999, 0.999, 0.999), &floors(1.0)), all, "1 flags all but perfect");
    assert_eq!(drift_flags(&report(1.0, 1.0, 1.0, 1.0), &floors(1.0)), [""; 0]);
    assert_eq!(drift_flags(&report(0.5, 0.5, 0.5, 0.5), &floors(0.5)), [""; 0], "at the floor is not below it");
    assert_eq!(drift_flags(&report(0.4, 0.5, 0.4, 0.6), &floors(0.5)), ["tool_usage_stability", "redundancy"]);
    let one = StabilityFloors { redundancy: 0.9, ..floors(0.1) };
    assert_eq!(drift_flags(&report(0.2, 0.2, 0.2, 0.2), &one), ["redundancy"]);
}

/// Runs that differ in their calls only.
fn runs(all: &[&[(&str, u32)]]) -> Vec<Value> {
    all.iter()
        .map(|calls| {
            let calls: Vec<_> = calls.iter().map(|(name, x)| (*name, json!({ "x": x }))).collect();
            session(&calls, &[], 0)
        })
        .collect()
}

fn across(envelopes: &[Value]) -> StabilityAcross {
    let across = agent_stability_across(envelopes);
    let traces: Vec<Trace> = envelopes.iter().cloned().map(read).collect();
    let metrics = stability().evaluate(&traces.iter().collect::<Vec<_>>()).metrics;
    let number = |name: &str| metrics.number(name).unwrap();
    let by_gate = StabilityAcross {
        score: number("score"),
        weakest_score: number("weakest_score"),
        variance: number("variance"),
        tool_sequence_similarity: number("tool_sequence_similarity"),
        argument_consistency: number("argument_consistency"),
        early_divergence: number("early_divergence") == 1.0,
    };
    assert_eq!(across, by_gate, "library and gate agree");
    across
}

#[test]
fn score_weakest_and_variance_reduce_each_runs_weakest() {
    let perfect = session(&[("a", json!({ "x": 1 })), ("a", json!({ "x": 2 }))], &[], 0);
    let half = session(&[("a", json!({})), ("a", json!({}))], &[], 0);
    let zero = session(&distinct(&["a", "b"]), &[], 0);
    let reduced = |envelopes: &[Value]| {
        let found = across(envelopes);
        (found.score, found.weakest_score, found.variance)
    };
    assert_eq!(reduced(&[perfect.clone(), perfect.clone()]), (1.0, 1.0, 0.0));
    assert_eq!(reduced(&[perfect.clone(), zero.clone()]), (0.5, 0.0, 0.25));
    assert_eq!(reduced(&[perfect.clone(), half.clone()]), (0.75, 0.5, 0.0625));
    assert_eq!(reduced(&[perfect, half, zero]), (0.5, 0.0, 0.5 / 3.0));
}

#[test]
fn sequence_similarity_is_the_mean_ratio_of_common_subsequences() {
    let of = |all: &[&[(&str, u32)]]| across(&runs(all)).tool_sequence_similarity;
    assert_eq!(of(&[&[("a", 1), ("b", 1)], &[("a", 2), ("b", 2)]]), 1.0);
    assert_eq!(of(&[&[], &[]]), 1.0, "two empty runs are alike");
    assert_eq!(of(&[&[], &[("a", 1)]]), 0.0);
    assert_eq!(of(&[&[("a", 1)], &[("b", 1)]]), 0.0);
    // LCS of abc and acb is 2 of 3 and 3.
    assert_eq!(of(&[&[("a", 1), ("b", 1), ("c", 1)], &[("a", 1), ("c", 1), ("b", 1)]]), 2.0 / 3.0);
    // LCS of ab and axbx is 2: 4 over 6.
    assert_eq!(of(&[&[("a", 1), ("b", 1)], &[("a", 1), ("x", 1), ("b", 1), ("x", 1)]]), 4.0 / 6.0);
    // Three runs, pairs 1, 0 and 0.
    assert_eq!(of(&[&[("a", 1)], &[("a", 1)], &[("b", 1)]]), 1.0 / 3.0);
}

#[test]
fn argument_consistency_reads_the_positions_with_the_same_tool() {
    let of = |all: &[&[(&str, u32)]]| across(&runs(all)).argument_consistency;
    assert_eq!(of(&[&[("a", 1), ("b", 1)], &[("a", 1), ("b", 1)]]), 1.0);
    assert_eq!(of(&[&[("a", 1), ("b", 1)], &[("a", 1), ("b", 2)]]), 0.5);
    assert_eq!(of(&[&[("a", 1), ("b", 1)], &[("a", 2), ("x", 1)]]), 0.0, "the other tool is not compared");
    assert_eq!(of(&[&[("a", 1)], &[("b", 1)]]), 1.0, "no such position");
    assert_eq!(of(&[&[("a", 1)], &[("a", 1), ("a", 2)]]), 1.0, "positions both reached");
    assert_eq!(of(&[&[], &[]]), 1.0);
    // Pairs 1, 0.5, 0.5.
    assert_eq!(of(&[&[("a", 1), ("b", 1)], &[("a", 1), ("b", 1)], &[("a", 1), ("b", 2)]]), 2.0 / 3.0);
    let shuffled =
        [session(&[("a", json!({ "x": 1, "y": 2 }))], &[], 0), session(&[("a", json!({ "y": 2.0, "x": 1 }))], &[], 0)];
    assert_eq!(across(&shuffled).argument_consistency, 1.0);
}

#[test]
fn divergence_is_early_when_most_diverging_pairs_split_at_the_first_two_calls() {
    let of = |all: &[&[&str]]| {
        let all: Vec<Vec<_>> = all.iter().map(|names| names.iter().map(|name| (*name, 0)).collect()).collect();
        across(&runs(&all.iter().map(Vec::as_slice).collect::<Vec<_>>())).early_divergence
    };
    assert!(!of(&[&["a"], &["a"]]), "no pair diverges");
    assert!(of(&[&["a"], &["b"]]), "at 0");
    assert!(of(&[&["a", "b"], &["a", "c"]]), "at 1");
    assert!(!of(&[&["a", "b", "c"], &["a", "b", "d"]]), "at 2");
    assert!(of(&[&[], &["a"]]), "a prefix diverges at its own length, 0");
    assert!(of(&[&["a"], &["a", "b"]]), "a prefix of one call");
    assert!(!of(&[&["a", "b"], &["a", "b", "c"]]), "a prefix of two calls");
    // Pairs: late (1,2), early (1,3), early (2,3): two of three.
    assert!(of(&[&["a", "b", "c"], &["a", "b", "d"], &["x"]]));
    // Six pairs: five diverge... abc/abd and abc/abe and abd/abe are late, three with x are early: no majority.
    assert!(!of(&[&["a", "b", "c"], &["a", "b", "d"], &["a", "b", "e"], &["x"]]), "half is no majority");
    // Equal runs do not diverge: only the two early pairs count.
    assert!(of(&[&["a", "b", "c"], &["a", "b", "c"], &["x"]]));
}

#[test]
fn no_sessions_give_zeros() {
    let zeros = StabilityAcross {
        score: 0.0,
        weakest_score: 0.0,
        variance: 0.0,
        tool_sequence_similarity: 0.0,
        argument_consistency: 0.0,
        early_divergence: false,
    };
    assert_eq!(agent_stability_across(&[]), zeros);
    assert_eq!(judged(&stability().evaluate(&[])).0, Verdict::Unassessable);
}

#[test]
fn the_gate_reports_the_minimum_over_runs_of_each_sub_score() {
    let traces = [
        read(session(&distinct(&["a", "b"]), &[Some("ab"), Some("ab")], 0)),
        read(session(&[("a", json!({})), ("a", json!({}))], &[Some(""), Some("abcd")], 16_000)),
    ];
    let outcome = stability().evaluate(&[&traces[0], &traces[1]]);
    assert_eq!(
        outcome.metrics.object(),
        json!({
            "score": 0.0, "weakest_score": 0.0, "variance": 0.0,
            "tool_usage_stability": 0.0, "response_consistency": 0.0, "redundancy": 0.5, "cost_per_progress": 0.125,
            "tool_sequence_similarity": 0.5, "argument_consistency": 0.0, "early_divergence": 1,
        })
    );
}

#[test]
fn the_line_names_the_run_and_the_weakest_sub_score() {
    let steady = read(session(&[("a", json!({ "x": 1 })), ("a", json!({ "x": 2 }))], &[], 0));
    let line = |envelope: Value| stability().evaluate(&[&steady, &read(envelope)]).line;
    assert_eq!(
        line(session(&distinct(&["a", "b", "c"]), &[], 0)),
        "weakest score 0.00 of 1.00 (run 2: tool_usage_stability, 3 tools in 3 calls)"
    );
    assert_eq!(
        line(session(&[("a", json!({})), ("a", json!({})), ("a", json!({}))], &[], 0)),
        "weakest score 0.33 of 1.00 (run 2: redundancy, 1 distinct of 3 calls)"
    );
    assert_eq!(
        line(session(&[("a", json!({ "x": 1 })), ("a", json!({ "x": 2 }))], &[], 8000)),
        "weakest score 0.50 of 1.00 (run 2: cost_per_progress, 8000 tokens for 2 distinct calls)"
    );
    assert_eq!(
        line(session(&[], &[Some(""), Some("abcd")], 0)),
        "weakest score 0.00 of 1.00 (run 2: response_consistency, 2 texts of 2 ± 2 characters)"
    );
    assert_eq!(stability().evaluate(&[&steady, &steady]).line, "weakest score 1.00 of 1.00");
}

#[test]
fn the_default_is_a_weakest_score_of_one_half() {
    let half = read(session(&[("a", json!({})), ("a", json!({}))], &[], 0));
    assert_eq!(judged(&stability().evaluate(&[&half, &half])), (Verdict::Pass, vec![]));
    let below = read(session(&[("a", json!({})), ("a", json!({})), ("a", json!({}))], &[], 0));
    assert_eq!(
        judged(&stability().evaluate(&[&half, &below])),
        (
            Verdict::Fail,
            vec![
                "stability.weakest_score: weakest score 0.33 of 1.00 (run 2: redundancy, 1 distinct of 3 calls) \
                 (`stability.weakest_score` is 0.3333, expected at least 0.5)"
                    .into()
            ]
        )
    );
    let expect = own(GateKind::Stability, &[("stability.variance", json!({ "schema": { "maximum": 0.05 } }))]);
    assert_eq!(
        StabilityGate::new(StabilityParams { expect, ..StabilityParams::default() })
            .unwrap()
            .evaluate(&[&half, &below])
            .verdict,
        Verdict::Pass
    );
    assert!(matches!(StabilityParams::default().expect, Expect::Default));
}

#[test]
fn dimensions_select_the_sub_scores_of_the_weakest_score() {
    let calls = json!([
        { "name": "find", "server": "s", "args": {} },
        { "name": "refund", "server": "s", "args": {} },
        { "name": "email", "server": "s", "args": {} },
    ]);
    let plan = read(json!({ "tool_calls": calls, "conversation": { "turns": [], "tokens": { "total": 10 } } }));
    let reasons = judged(&stability().evaluate(&[&plan, &plan]));
    assert_eq!(
        reasons,
        (
            Verdict::Fail,
            vec![
                "stability.weakest_score: weakest score 0.00 of 1.00 (run 1: tool_usage_stability, 3 tools in 3 calls) \
                 (`stability.weakest_score` is 0, expected at least 0.5)"
                    .into(),
                "stability.weakest_score: every run takes the same path; tool_usage_stability only says how few different \
                 tools a run uses: to leave it out, write `dimensions: [response_consistency, redundancy, \
                 cost_per_progress]`"
                    .into()
            ]
        )
    );
    let without = |names: &[&str]| {
        StabilityGate::new(StabilityParams { dimensions: Dimensions::named(names), expect: Expect::Default }).unwrap()
    };
    let outcome = without(&["redundancy", "response_consistency"]).evaluate(&[&plan, &plan]);
    assert_eq!((outcome.verdict, outcome.line.as_str()), (Verdict::Pass, "weakest score 1.00 of 1.00"));
    assert_eq!(outcome.metrics.get("weakest_score"), Some(json!(1.0)));
    assert_eq!(outcome.metrics.get("tool_usage_stability"), Some(json!(0.0)));
    // Another path, another failing sub-score, or no other dimension: no advice.
    let other =
        read(json!({ "tool_calls": [calls[0], calls[1]], "conversation": { "turns": [], "tokens": { "total": 10 } } }));
    assert_eq!(judged(&stability().evaluate(&[&plan, &other])).1.len(), 1);
    assert_eq!(judged(&without(&["tool_usage_stability"]).evaluate(&[&plan, &plan])).1.len(), 1);
    let costly = read(json!({ "tool_calls": calls, "conversation": { "turns": [], "tokens": { "total": 90_000 } } }));
    assert_eq!(judged(&stability().evaluate(&[&costly, &costly])).1.len(), 1);
    // What does not count is not missed either.
    let no_tokens = read(json!({ "tool_calls": calls, "conversation": { "turns": [] } }));
    assert_eq!(without(&["redundancy"]).evaluate(&[&no_tokens, &no_tokens]).line, "weakest score 1.00 of 1.00");
}

#[test]
fn a_sub_score_without_evidence_is_absent_and_ignored() {
    let calls = json!([
        { "name": "a", "server": "s", "args": { "x": 1 } },
        { "name": "a", "server": "s", "args": { "x": 2 } },
    ]);
    let no_tokens = read(json!({ "tool_calls": calls, "conversation": { "turns": [] } }));
    let outcome = stability().evaluate(&[&no_tokens, &no_tokens]);
    assert_eq!(outcome.verdict, Verdict::Pass);
    assert_eq!(outcome.metrics.get("cost_per_progress"), None);
    assert_eq!(outcome.metrics.get("weakest_score"), Some(json!(1.0)));
    assert_eq!(
        outcome.line,
        "weakest score 1.00 of 1.00; without cost_per_progress (run 1: the tokens were not recorded)"
    );
    let expect = own(GateKind::Stability, &[("stability.cost_per_progress", json!({ "schema": { "minimum": 0 } }))]);
    assert_eq!(
        judged(
            &StabilityGate::new(StabilityParams { expect, ..StabilityParams::default() })
                .unwrap()
                .evaluate(&[&no_tokens, &no_tokens])
        ),
        (
            Verdict::Unassessable,
            vec![
                "stability.cost_per_progress: `stability.cost_per_progress` is not assessable: \
                 run 1: the tokens were not recorded"
                    .into()
            ]
        )
    );
    let no_turns = read(json!({ "tool_calls": calls, "conversation": { "tokens": { "total": 0 } } }));
    let outcome = stability().evaluate(&[&no_tokens, &no_turns]);
    assert_eq!(
        outcome.line,
        "weakest score 1.00 of 1.00; without response_consistency (run 2: the turns were not recorded); \
         without cost_per_progress (run 1: the tokens were not recorded)"
    );
    let repeated = json!([{ "name": "a" }, { "name": "a", "args": {} }]);
    let no_args = read(json!({ "tool_calls": repeated, "conversation": { "turns": [], "tokens": { "total": 1 } } }));
    let metrics = stability().evaluate(&[&no_args, &no_args]).metrics;
    assert_eq!(
        metrics.object(),
        json!({
            "score": 1.0, "weakest_score": 1.0, "variance": 0.0, "tool_usage_stability": 1.0,
            "response_consistency": 1.0, "tool_sequence_similarity": 1.0, "early_divergence": 0,
        })
    );
    assert_eq!(metrics.why_missing("redundancy"), Some("run 1: the args of repeated calls were not recorded"));
    assert_eq!(metrics.why_missing("argument_consistency"), Some("the args of some calls were not recorded"));
}

#[test]
fn a_run_that_recorded_nothing_is_unassessable() {
    let blind = read(json!({}));
    let steady = read(session(&[], &[], 0));
    let outcome = stability().evaluate(&[&steady, &blind]);
    assert_eq!(
        judged(&outcome),
        (
            Verdict::Unassessable,
            vec!["stability.weakest_score: not assessable: run 2 recorded nothing that a sub-score reads".into()]
        )
    );
    assert_eq!(outcome.metrics.object(), json!({}));
}
