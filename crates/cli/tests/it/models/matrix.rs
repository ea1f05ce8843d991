//! One test on several models: a row for each, and a grid over them.

use serde_json::json;

use super::dialect::{Turn, answer, turn};
use super::provider::Loopback;
use super::{DONE, LAST, MOCK, cassettes, out, report, rows, run, suite, test, world};

/// A provider whose `lazy` model answers without a single call.
fn two_models() -> Loopback {
    Loopback::start(|request, _| {
        let is_lazy = request.body["model"] == "lazy-1";
        answer(request, |answered| if is_lazy { Turn::text("No.") } else { turn(answered, LAST) })
    })
}

#[test]
fn several_models_are_rows_and_a_grid_and_one_can_be_chosen() {
    let server = two_models();
    let model =
        |name: &str| format!("{name}: {{ provider: anthropic, model: {name}-1, base_url: \"{}\" }}", server.base());
    let tests = [test("t", &format!("models: [busy, lazy], runs: 2, {DONE}"))];
    let here = world(&suite(MOCK, &[model("busy"), model("lazy")], &tests));

    let narrowed = report(&here, &["--record", "--models", "busy"]);
    assert_eq!(
        (narrowed.0, rows(&narrowed.1)),
        (Some(0), vec!["t [busy] #1: pass".to_owned(), "t [busy] #2: pass".to_owned()])
    );
    assert_eq!(cassettes(&here), ["t/busy/1.json", "t/busy/2.json"]);
    let asked = server.requests();
    assert_eq!(asked.len(), 6);
    assert!(asked.iter().all(|request| request.body["model"] == "busy-1"), "{asked:?}");

    let (code, reported) = report(&here, &["--record"]);
    assert_eq!(code, Some(1));
    assert_eq!(rows(&reported), ["t [busy] #1: pass", "t [busy] #2: pass", "t [lazy] #1: fail", "t [lazy] #2: fail"]);
    let grid = json!([{ "test": "t", "cells": [
        { "model": "busy", "verdict": "pass", "passed": 2, "runs": 2 },
        { "model": "lazy", "verdict": "fail", "passed": 0, "runs": 2 },
    ] }]);
    assert_eq!(reported["suites"][0]["grid"], grid);
    drop(server);

    let busy = "\
suite.yml
✓ PASS      t [busy]  replayed  2/2 runs pass; trajectory: 3 of 3 expected calls matched (strict)
";
    let lazy = "\
✗ FAIL      t [lazy]  replayed  0/2 runs pass
    path of all 2 runs: no call
✗ FAIL      t [lazy] #1, #2  replayed
    ✗ trajectory: 3 mismatches (strict)
      calls[0] (search) is missing: the trace has no calls
      calls[1] (refund) is missing: the trace has no calls
      calls[2] (get_invoice) is missing: the trace has no calls
    evidence in #1: no tool call was recorded
    at suite.yml:6:102
      |
    6 | … lazy], runs: 2, trajectory: { calls: [{ name: search, status: ok }, { name: refund, statu…
      |                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    rerun: mcptest run suite.yml --filter t --models lazy
";
    let table = "\npassed runs  busy   lazy\nt            ✓ 2/2  ✗ 0/2\n\n2 tests, 4 runs: 1 passed, 1 failed\n";
    let replayed = run(&here, &[]);
    let expected = [busy, lazy, table].concat();
    assert_eq!((replayed.status.code(), out(&replayed)), (Some(1), expected));
    let chosen = run(&here, &["--models", "busy"]);
    assert_eq!((chosen.status.code(), out(&chosen)), (Some(0), format!("{busy}\n1 test, 2 runs: 1 passed\n")));
}
