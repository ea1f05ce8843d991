//! How gates scale: `cargo bench -p mcptest-core`.
//!
//! Times are printed for information. Only ratios can fail, because they do not depend on the machine. Ten times the
//! calls may cost at most twelve times the time in every gate that promises linear cost. Every size goes through
//! the same 100,000 calls, cut into traces of that size, so that short traces are not measured in a warmer cache.
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

use mcptest_core::Trace;
use mcptest_core::eval::{
    DependencyEdge, ExpectedArgs, ExpectedCall, GoldenPath, GoldenPathGate, MatchMode, NarrativeGate, NarrativeParams,
    OrderEdge, RecoveryGate, RecoveryParams, StabilityGate, StabilityParams, TrajectoryAxesGate, TrajectoryAxesParams,
    TrajectoryGate, TrajectoryParams,
};
use serde_json::{Value, json};

const SIZES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
/// Calls in the corpus of every size.
const CALLS: usize = 100_000;
/// Ten times the calls may cost at most this many times the time.
const MOST: f64 = 12.0;

fn main() -> ExitCode {
    let mut failed = false;
    println!("ns per call, and time against a tenth of the calls");
    print!("{:<22}", "gate");
    for size in SIZES {
        print!("{size:>10} calls");
    }
    println!();
    let golden = GoldenPathGate::new(GoldenPath::new(["search", "open", "note"]).into()).unwrap();
    let axes = axes();
    let recovery = RecoveryGate::new(RecoveryParams::default()).unwrap();
    let stability = StabilityGate::new(StabilityParams::default()).unwrap();
    let strict: Vec<TrajectoryGate> = SIZES.iter().map(|size| reference(MatchMode::Strict, *size)).collect();
    // No promise for strict: the reference grows with the trace, so large sizes read twice as much memory.
    let _ = row("strict", |at, trace| drop(black_box(strict[at].evaluate(trace))));
    failed |= row("golden_path", |_, trace| drop(black_box(golden.evaluate(trace))));
    failed |= row("trajectory_axes (via)", |_, trace| drop(black_box(axes.evaluate(trace))));
    failed |= row("recovery", |_, trace| drop(black_box(recovery.evaluate(trace))));
    failed |= row("stability (one run)", |_, trace| drop(black_box(stability.evaluate(&[trace]))));

    println!("\nsingle cases");
    let ten = session(10, 0);
    let strict_ten = reference(MatchMode::Strict, 10);
    case("strict over 10 calls", || drop(black_box(strict_ten.evaluate(&ten))));
    let (overlapping, hundred) = overlapping(100);
    case("unordered 100 x 100, overlapping partial args", || drop(black_box(overlapping.evaluate(&hundred))));
    let (long_a, long_b) = (session(10_000, 0), session(10_000, 1));
    let two = case("two runs of 10,000 calls (LCS)", || drop(black_box(stability.evaluate(&[&long_a, &long_b]))));
    let one = case("the same without comparing (two sessions)", || {
        drop(black_box(stability.evaluate(&[&long_a])));
        drop(black_box(stability.evaluate(&[&long_b])));
    });
    println!("  of which LCS and arguments: {:.2} ms", millis(two.saturating_sub(one)));
    let paths: Vec<Trace> = (0..1_000).map(|run| session(50, run % 5)).collect();
    let refs: Vec<&Trace> = paths.iter().collect();
    let many = case("1,000 runs of 50 calls over 5 paths", || drop(black_box(stability.evaluate(&refs))));
    let few: Vec<&Trace> = refs[..100].to_vec();
    let fewer = case("100 runs of 50 calls over 5 paths", || drop(black_box(stability.evaluate(&few))));
    println!("  1,000 runs against 100 runs: x{:.1}", many.as_secs_f64() / fewer.as_secs_f64());

    println!("\nnarrative: ns per byte of the message, and time against a tenth of it");
    let narrative = NarrativeGate::new(NarrativeParams::default()).unwrap();
    let story = "I checked the order, and your reservation for May 17, 2024, has been updated; the `old` one \
        was not deleted. Would you like me to send \"the file\"? - 2 bags added (free)\n";
    let endless = "the order was closed and the bag, I sent it, added, if canceled and put the ";
    failed |= messages("prose", &narrative, story);
    failed |= messages("one endless sentence", &narrative, endless);
    failed |= messages("unclosed quotes", &narrative, "'a \"b `c [d ");
    failed |= messages("one endless word", &narrative, "a_b.");
    println!("\nnarrative: ns per call, and time against a tenth of the calls");
    for (name, tool, key, text) in [
        ("calls: shell", "bash", "command", "cd /srv && grep -n 'x > y' a.txt | tee out.txt; rm -f $(ls *.tmp)"),
        (
            "calls: SQL",
            "execute_sql",
            "query",
            "with x as (select 1) update t set a = 'delete' where id in (select * from x)",
        ),
        ("calls: patch", "apply_patch", "patch", "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"),
        ("calls: tools", "update_order", "order_id", "#W1043"),
    ] {
        failed |= evidence_cost(name, &narrative, tool, key, text);
    }

    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn row(name: &str, run: impl Fn(usize, &Trace)) -> bool {
    let corpora: Vec<Vec<Trace>> =
        SIZES.iter().map(|size| (0..CALLS / size).map(|_| session(*size, 0)).collect()).collect();
    grow(name, &SIZES, |at| corpora[at].iter().for_each(|trace| run(at, trace)), |_| CALLS)
}

/// Prints the time per unit at each size and the growth since the size before. Returns whether a growth exceeds the limit.
/// Such a growth is measured a second time before it counts: other programs share the machine.
fn grow(name: &str, sizes: &[usize], run: impl Fn(usize), units: impl Fn(usize) -> usize) -> bool {
    print!("{name:<22}");
    let time = |at: usize| best(|| run(at)).as_secs_f64() * 1e9 / units(at) as f64;
    let mut failed = false;
    let mut last: Option<f64> = None;
    for at in 0..sizes.len() {
        let nanos = time(at);
        let mut growth = last.map(|last| 10.0 * nanos / last);
        for _ in 0..4 {
            if growth.is_some_and(|growth| growth > MOST) {
                // The two sizes one right after the other, so that both meet the same machine.
                let (small, large) = (time(at - 1), time(at));
                growth = growth.map(|growth| growth.min(10.0 * large / small));
            }
        }
        let shown = growth.map_or_else(String::new, |growth| format!("x{growth:.1}"));
        print!("{nanos:>9.1} {shown:<6}");
        failed |= growth.is_some_and(|growth| growth > MOST);
        last = Some(nanos);
    }
    println!("{}", if failed { "  over x12" } else { "" });
    failed
}

/// As many claims as calls, up to 100,000 of each.
fn evidence_cost(name: &str, gate: &NarrativeGate, tool: &str, key: &str, text: &str) -> bool {
    let done = |size: &usize| {
        let calls: Vec<Value> = (0..*size)
            .map(|at| json!({ "name": tool, "args": { key: text, "note": format!("file{}.txt", at % 100) } }))
            .collect();
        Trace::from_envelope(&json!({
            "tool_calls": calls,
            "tool_results": vec![json!({ "is_error": false, "content": [] }); *size],
            "final_response": "I updated `file7.txt` and sent it.\n".repeat(size / 2),
        }))
        .unwrap()
    };
    let sizes = [1_000, 10_000, 100_000];
    let corpora: Vec<Vec<Trace>> = sizes.iter().map(|size| (0..100_000 / size).map(|_| done(size)).collect()).collect();
    let run = |at: usize| corpora[at].iter().for_each(|trace| drop(black_box(gate.evaluate(trace))));
    grow(name, &sizes, run, |_| 100_000)
}

fn messages(name: &str, gate: &NarrativeGate, piece: &str) -> bool {
    let trace_of = |size: &usize| {
        Trace::from_envelope(&json!({
            "tool_calls": [{ "name": "update_reservation", "args": { "bag": 1 } }, { "name": "send_file", "args": {} }],
            "tool_results": [{ "is_error": false, "content": [] }, { "is_error": true, "content": [] }],
            "final_response": piece.repeat(size / piece.len() + 1),
        }))
        .unwrap()
    };
    // Like calls, every size goes through a megabyte in all, so that short messages are not measured in a warmer cache.
    let sizes = [10_000, 100_000, 1_000_000];
    let corpora: Vec<Vec<Trace>> =
        sizes.iter().map(|size| (0..1_000_000 / size).map(|_| trace_of(size)).collect()).collect();
    let run = |at: usize| corpora[at].iter().for_each(|trace| drop(black_box(gate.evaluate(trace))));
    grow(name, &sizes, run, |_| 1_000_000)
}

fn case(name: &str, run: impl Fn()) -> Duration {
    let time = best(run);
    println!("  {name}: {:.4} ms", millis(time));
    time
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The shortest of several rounds; a round of a fast case repeats it until it takes a millisecond.
fn best(run: impl Fn()) -> Duration {
    let time = |repeat: u32| {
        let start = Instant::now();
        for _ in 0..repeat {
            run();
        }
        start.elapsed()
    };
    let mut repeat = 1;
    while time(repeat) < Duration::from_millis(1) {
        repeat *= 2;
    }
    (0..7).map(|_| time(repeat)).min().unwrap() / repeat
}

fn axes() -> TrajectoryAxesGate {
    TrajectoryAxesGate::new(TrajectoryAxesParams {
        dependencies: vec![DependencyEdge {
            producer: "search".into(),
            consumer: "open".into(),
            via: Some("url".into()),
            ..DependencyEdge::default()
        }],
        order: vec![OrderEdge { first: "search".into(), second: "note".into(), required: true }],
        ..TrajectoryAxesParams::default()
    })
    .unwrap()
}

/// A session of searches, openings of what was found, and notes; every third call with different text.
fn session(calls: usize, path: usize) -> Trace {
    let names = ["search", "open", "note", "search", "open", "list", "tag"];
    let (mut tool_calls, mut results, mut turns) =
        (Vec::new(), Vec::new(), vec![json!({"role": "user", "content": "go"})]);
    for at in 0..calls {
        let name = if path > 0 && at % (path + 3) == path { "tag" } else { names[at % names.len()] };
        let page = at - at % 7;
        let args = match name {
            "open" => json!({ "url": format!("https://docs.test/page/{page}"), "format": "text" }),
            _ => json!({ "q": format!("question {at}"), "limit": 20, "filter": { "lang": "en", "year": 2026 } }),
        };
        turns.push(json!({ "role": "assistant", "content": format!("Step {at} of the work.") }));
        tool_calls.push(json!({ "name": name, "server": "docs", "args": args, "turn": at + 1 }));
        let text = format!("Found https://docs.test/page/{page} and https://docs.test/other/{at}, 2 results.");
        let mut result = json!({ "is_error": false, "content": [{ "type": "text", "text": text }] });
        if at % 50 == 3 {
            result["fault"] = json!({ "name": "slow", "kind": "slow", "effect": "delay", "ms": 200 });
        }
        results.push(result);
    }
    Trace::from_envelope(&json!({
        "tool_calls": tool_calls,
        "tool_results": results,
        "final_response": "done",
        "conversation": { "turns": turns, "tokens": { "total": calls * 900 }, "stop_reason": "completed" },
    }))
    .unwrap()
}

fn reference(mode: MatchMode, calls: usize) -> TrajectoryGate {
    let recorded = session(calls, 0).tool_calls.unwrap();
    let rule = |name: String, args: Value| ExpectedCall { name, args: ExpectedArgs::Exact(args) }.into();
    let calls = recorded.into_iter().map(|call| rule(call.name, call.args.unwrap())).collect();
    TrajectoryGate::new(TrajectoryParams { mode, calls, ..TrajectoryParams::default() }).unwrap()
}

/// Expectations that each fit many calls, so that taking the first fit would fail.
fn overlapping(size: usize) -> (TrajectoryGate, Trace) {
    let recorded: Vec<Value> = (0..size)
        .map(|at| json!({ "name": "search", "server": "s", "args": { "q": at % 10, "tag": at % 7, "n": at } }))
        .collect();
    let calls = (0..size)
        .map(|at| {
            let at = size - 1 - at;
            let args = match at % 3 {
                0 => json!({ "q": at % 10 }),
                1 => json!({ "q": at % 10, "tag": at % 7 }),
                _ => json!({ "n": at }),
            };
            ExpectedCall { name: "search".into(), args: ExpectedArgs::Subset(args) }.into()
        })
        .collect();
    let gate =
        TrajectoryGate::new(TrajectoryParams { mode: MatchMode::Unordered, calls, ..TrajectoryParams::default() });
    (gate.unwrap(), Trace::from_envelope(&json!({ "tool_calls": recorded })).unwrap())
}
