//! What models may cost: a run stops before it might exceed the budget, and keeps what it has.

use serde_json::json;

use super::provider::Loopback;
use super::{
    DONE, LAST, MOCK, cassette, cassettes, claude, conversation, err, out, report, rows, run, suite, test, world,
};
use crate::Folder;

/// Three runs of three questions each. A request takes 100 input and 20 output tokens, which cost 0.0006.
fn three_runs(server: &Loopback, price: &str) -> Folder {
    let tests = [test("t", &format!("model: claude, runs: 3, max_tokens: 50, {DONE}"))];
    world(&suite(MOCK, &[claude("claude", server, price)], &tests))
}

const PRICE: &str = ", price: { input: 3, output: 15 }";

#[test]
fn a_budget_stops_before_it_is_exceeded_and_recordings_stay() {
    // Tokens and cost of one request, in millionths.
    for (limit, each, most) in [(["--max-tokens-total", "1000"], 120, 1000), (["--max-cost", "0.004"], 600, 4000)] {
        let server = conversation();
        let here = three_runs(&server, PRICE);
        let (code, reported) = report(&here, &[&["--record", "--jobs", "1"], &limit[..]].concat());
        let asked = server.requests().len();
        assert_eq!((code, reported["exit_code"].clone()), (Some(2), json!(2)), "{limit:?}");
        assert_eq!(rows(&reported), ["t #1: pass", "t #2: skipped", "t #3: skipped"], "{limit:?}");
        // It stopped in the second run, and what was spent is within the limit.
        assert!(asked > 3 && asked * each <= most, "{limit:?}: asked {asked} times");
        let money = if each == 600 { format!(", {:.4} of money", 0.0006 * asked as f64) } else { String::new() };
        let tokens = asked * 120;
        let note = format!("stopped by the budget: {tokens} tokens{money} spent, and the next request might exceed it");
        let note = json!({ "rows": 3, "stopped": true, "suites": 1, "text": note });
        assert_eq!(reported["notes"], json!([note]), "{limit:?}");
        assert_eq!(cassettes(&here), ["t/claude/1.json"], "{limit:?}");
        assert_eq!(cassette(&here, "t/claude/1.json")["trace"]["final_response"], LAST);
        // What was recorded is judged. The rest is reported as missing, not as over budget.
        let (code, reported) = report(&here, &limit);
        assert_eq!(
            (code, rows(&reported)),
            (Some(2), vec!["t #1: pass".to_owned(), "t #2: error".to_owned(), "t #3: error".to_owned()])
        );
        assert_eq!((server.requests().len(), &reported["notes"]), (asked, &json!([])));
    }
}

#[test]
fn the_budget_is_reported_below_the_rows() {
    let server = conversation();
    let here = three_runs(&server, PRICE);
    let output = run(&here, &["--live", "--jobs", "1", "--max-tokens-total", "1000"]);
    let reported = "suite.yml\n\
                - SKIPPED   t  live  1/3 runs pass\n\
                - SKIPPED   t #2, #3\n\
                note: stopped by the budget: 600 tokens spent, and the next request might exceed it\n\n\
                1 test, 1 run: 1 skipped\n";
    assert_eq!((output.status.code(), &*out(&output), &*err(&output)), (Some(2), reported, ""));
}

#[test]
fn a_budget_of_zero_sends_no_request() {
    let server = conversation();
    let here = three_runs(&server, PRICE);
    let (code, reported) = report(&here, &["--record", "--max-tokens-total", "60"]);
    assert_eq!(
        (code, rows(&reported)),
        (Some(2), ["t #1: skipped", "t #2: skipped", "t #3: skipped"].map(str::to_owned).to_vec())
    );
    assert!(server.requests().is_empty() && cassettes(&here).is_empty());
}

#[test]
fn a_replay_ignores_the_budget() {
    let server = conversation();
    let here = three_runs(&server, PRICE);
    assert_eq!(report(&here, &["--record", "--max-tokens-total", "100000", "--max-cost", "1"]).0, Some(0));
    assert_eq!(server.requests().len(), 9);
    drop(server);
    let free = run(&here, &[]);
    let bounded = run(&here, &["--max-tokens-total", "1", "--max-cost", "0.000001"]);
    assert_eq!(free.status.code(), Some(0));
    assert_eq!(bounded, free);
}

#[test]
fn a_cost_limit_needs_a_price_and_sends_nothing_without_one() {
    let server = conversation();
    let here = three_runs(&server, "");
    let output = run(&here, &["--record", "--max-cost", "1"]);
    let reported = "error[no-price]: --max-cost needs the price of model `claude` in suite.yml\n\
                hint: add it under `models:`, as in `price: { input: 3, output: 15 }` for a million tokens\n";
    assert_eq!((output.status.code(), &*out(&output), &*err(&output)), (Some(2), "", reported));
    assert!(server.requests().is_empty() && cassettes(&here).is_empty());
}
