//! How fast mutants are judged: `cargo bench -p mcptest-core --bench mutate`.
//!
//! The measure is judging the unchanged trace by checks of the whole trace as often as there are mutants. A mutant costs its
//! change, its description, its judgment and the reversal. A missed one also costs a proposal, which is judged on the mutant and
//! on the unchanged trace. Rates are printed for information. Only ratios can fail, because they do not depend on the machine.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock and prints; its inputs are its own"
)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mcptest_core::diag::Source;
use mcptest_core::mutate::{Operator, Options, Run, Status, Subject, mutate};
use mcptest_core::suite::{GateFile, Variables, load_gates};
use mcptest_core::{Trace, judge};
use serde_json::{Value, json};

/// Calls of a trace.
const CALLS: usize = 20;
/// Most time of a mutant that is caught, in judgments of the unchanged trace.
const MOST: f64 = 4.5;
/// Most time of a mutant that needs a proposal.
const MOST_WITH_FIX: f64 = 8.0;
/// Most growth of that ratio with ten times the calls.
const MOST_GROWTH: f64 = 2.0;
/// Times that each measure is taken; the best counts.
const TIMES: usize = 5;

fn main() -> ExitCode {
    let mut is_fine = true;
    println!("{:<44}{:>10}{:>12}{:>14}", "checks", "mutants", "per second", "against judge");
    for (name, keeps, most) in [("everything is caught", true, MOST), ("only names are checked", false, MOST_WITH_FIX)]
    {
        let short = measure(name, CALLS, keeps);
        let long = measure("  the same with ten times the calls", CALLS * 10, keeps);
        println!("  growth of the ratio: x{:.2} (at most x{MOST_GROWTH})", long / short);
        is_fine &= short <= most && long / short <= MOST_GROWTH;
    }
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints what mutants cost, and returns it in judgments of the unchanged trace.
fn measure(name: &str, calls: usize, keeps: bool) -> f64 {
    let trace = session(calls);
    let GateFile { expect, gates, .. } = checks(&trace, keeps);
    let options = Options { operators: Operator::ALL.to_vec(), limit: Some(2000) };
    let mut subject = Subject {
        expect: &expect,
        gates: &gates,
        runs: vec![Run { name: String::new(), trace: trace.clone() }],
        is_group: false,
    };
    let (mut mutants, mut missed) = (0, 0);
    mutate(&mut subject, &options, &mut |mutant| {
        mutants += 1;
        missed += usize::from(mutant.status == Status::Missed);
    })
    .unwrap();
    let whole = checks(&trace, true);
    let judged = best(|| {
        for _ in 0..mutants {
            drop(black_box(judge::run(&whole.expect, &whole.gates, &trace)));
        }
    });
    let mutated = best(|| drop(mutate(&mut subject, &options, &mut |mutant| drop(black_box(mutant)))));
    let ratio = mutated.as_secs_f64() / judged.as_secs_f64();
    let rate = f64::from(mutants) / mutated.as_secs_f64();
    println!("{name:<44}{:>10}{rate:>12.0}{:>14}", format!("{mutants} ({missed})"), format!("x{ratio:.2}"));
    ratio
}

fn best(mut run: impl FnMut()) -> Duration {
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..TIMES).map(|_| time(&mut run)).min().unwrap()
}

/// Searches, openings of what was found, and notes.
fn session(calls: usize) -> Trace {
    let names = ["search", "open", "note", "list", "tag"];
    let (mut tool_calls, mut results) = (Vec::new(), Vec::new());
    for at in 0..calls {
        let page = format!("https://docs.test/page/{}", at / 2);
        let args = match at % 2 {
            1 => json!({ "url": page, "format": "text" }),
            _ => json!({ "q": format!("question {at}"), "limit": 20 + at }),
        };
        tool_calls.push(json!({ "name": names[at % names.len()], "server": "docs", "args": args, "turn": 1 }));
        let text = format!("Found {page}, {at} results. {}", "Some more text. ".repeat(20));
        results.push(json!({ "is_error": false, "content": [{ "type": "text", "text": text }] }));
    }
    Trace::from_envelope(&json!({
        "tool_calls": tool_calls,
        "tool_results": results,
        "final_response": "I noted what I found. I could not open the last page.",
        "conversation": {
            "turns": [{ "role": "user", "content": "go" }, { "role": "assistant", "content": null }],
            "tokens": { "input": 9000, "output": 400, "total": 9400 },
            "stop_reason": "completed",
        },
    }))
    .unwrap()
}

/// Checks of the whole trace, or of the names of its calls.
fn checks(trace: &Trace, keeps: bool) -> GateFile {
    let calls: Vec<Value> = trace
        .tool_calls
        .iter()
        .flatten()
        .map(|call| {
            let whole = json!({ "name": call.name, "server": "docs", "status": "ok", "args": { "exact": call.args } });
            if keeps { whole } else { json!({ "name": call.name }) }
        })
        .collect();
    let mut file = json!({ "trajectory": { "calls": calls } });
    if keeps {
        file["narrative"] = json!({});
    }
    let source = Source::new("gates.yml", file.to_string());
    load_gates(&source, &Variables { suite_dir: "", outside: &|_| None }).value.unwrap()
}
