//! How long scoring a corpus takes: `cargo bench -p mcptest --bench score`.
//!
//! A corpus of 200 MB is made, of envelopes as this program records them: some six calls a trace and four and a half
//! kilobytes a call, most of them answers of tools, which stand there as text, in the conversation, and for half of the
//! tools as structured content too. Reading it and parsing it into `serde_json::Value` on as many threads is the measure:
//! judging every trace by every gate and printing the lines may take 1.5 times its processor time. Memory may not depend on the size
//! of the corpus, nor the cost of a call on the length of its trace.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints, and stops where it cannot go on"
)]

mod measure;
mod memory;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Bytes of the corpus.
const CORPUS: usize = 200_000_000;
/// Most processor time of a full score, in parses into values.
const MOST_RATIO: f64 = 1.5;
/// Most memory, regardless of the size of the corpus.
const MOST_MEMORY: u64 = 64 << 20;
/// Memory that a call may add while a gate over runs is on.
const PER_CALL: u64 = 16;
/// Most growth of the cost of a call from short to long traces, in parses of the same trace into values.
const MOST_GROWTH: f64 = 2.0;
/// What a usual trace looks like.
const USUAL: Shape = Shape { calls: None, rows: 12, structured: 4 };
/// Times that each measure is taken; the best counts.
const TIMES: usize = 3;

const GATES: &str = "\
trajectory: { mode: subsequence, calls: [{ name: find_customer }, { name: create_refund, args: { subset: { limit: 20 } }, status: ok }] }
trajectory_axes:
  dependencies: [{ producer: find_customer, consumer: create_refund, via: customer }, { producer: list_orders, consumer: get_order, via: order }]
  order: [{ first: find_customer, second: send_email }]
golden_path: { calls: [find_customer, list_orders, create_refund, send_email] }
recovery: { require_hit: false }
narrative: {}
";
const OVER_RUNS: &str = "stability: {}\nreliability: {}\n";

fn main() -> ExitCode {
    let temp = tempfile::tempdir().unwrap();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let single = temp.path().join("single.yml");
    let all = temp.path().join("all.yml");
    fs::write(&single, GATES).unwrap();
    fs::write(&all, format!("{GATES}{OVER_RUNS}")).unwrap();
    let mut is_fine = true;

    let corpus = temp.path().join("corpus.jsonl");
    let (traces, calls) = make(&corpus, CORPUS, USUAL);
    let megabytes = fs::metadata(&corpus).unwrap().len() as f64 / 1e6;
    println!("{megabytes:.0} MB, {traces} traces, {calls} calls, {threads} threads, best of {TIMES}\n");
    let value = best(|| {
        parse(&corpus, threads, |line| {
            std::hint::black_box(serde_json::from_str::<Value>(line).unwrap());
        });
    });
    let borrowed = best(|| {
        parse(&corpus, threads, |line| {
            std::hint::black_box(serde_json::from_str::<Record<'_>>(line).unwrap());
        });
    });
    let full = best(|| score(&corpus, &all, threads));
    let measured = best(|| score(&corpus, &single, threads));
    let row = |name: &str, time: Duration| {
        let rate = megabytes / time.as_secs_f64();
        println!("{name:<36} {:>8.0} ms {rate:>8.0} MB/s   x{:.2}", time.as_secs_f64() * 1e3, ratio(time, value));
    };
    row("parse into serde_json::Value", value);
    row("parse into borrowed structs", borrowed);
    row("score, every gate", full);
    row("score, without gates over runs", measured);
    println!(
        "\nscore with every gate against the parse into values: x{:.2} (at most x{MOST_RATIO})",
        ratio(full, value)
    );
    is_fine &= ratio(full, value) <= MOST_RATIO;

    // What no gate reads is only passed over, and a value of an object costs more than one of a text: so the ratio depends on
    // how long answers are, and on how many of them are structured.
    println!("\n{:>16} {:>16} {:>14} {:>14}", "bytes a call", "structured", "score", "against values");
    for (rows, structured) in [(3, 4), (12, 0), (12, 4), (12, 8), (48, 4)] {
        let path = temp.path().join("shape.jsonl");
        let (_, calls) = make(&path, CORPUS / 4, Shape { rows, structured, ..USUAL });
        let values = best(|| {
            parse(&path, threads, |line| {
                std::hint::black_box(serde_json::from_str::<Value>(line).unwrap());
            });
        });
        let time = best(|| score(&path, &all, threads));
        let size = fs::metadata(&path).unwrap().len() / calls;
        let share = format!("{} of {}", structured, TOOLS.len());
        println!(
            "{size:>16} {share:>16} {:>11.0} ms {:>14}",
            time.as_secs_f64() * 1e3,
            format!("x{:.2}", ratio(time, values))
        );
    }

    println!("\n{:>12} {:>14} {:>18} {:>18}", "corpus", "calls", "memory", "over runs");
    let small = temp.path().join("small.jsonl");
    let (_, few) = make(&small, CORPUS / 10, USUAL);
    for (path, calls) in [(&small, few), (&corpus, calls)] {
        let (plain, grouped) = (memory(path, &single, threads), memory(path, &all, threads));
        let most = MOST_MEMORY + PER_CALL * calls;
        let size = fs::metadata(path).unwrap().len() / 1_000_000;
        println!("{size:>9} MB {calls:>14} {:>14} KiB {:>14} KiB", plain >> 10, grouped >> 10);
        is_fine &= plain <= MOST_MEMORY && grouped <= most;
    }
    println!("at most {} KiB, and {PER_CALL} bytes per call more while a gate over runs is on", MOST_MEMORY >> 10);

    // The format of a file is reported once, from its first record; with one record per file that would dominate.
    println!("\n{:>16} {:>14} {:>16} {:>13}", "calls a trace", "ns a call", "against values", "against 10");
    let known = |path: &Path| {
        let mut command = command(path, &all, 1);
        command.args(["--from", "envelope"]);
        assert!(command.status().unwrap().code().is_some_and(|code| code < 2));
    };
    let mut base = None;
    for calls in [10, 100, 1_000, 10_000, 100_000] {
        let path = temp.path().join("long.jsonl");
        let (_, all_calls) = make(&path, CORPUS / 10, Shape { calls: Some(calls), ..USUAL });
        // A record that fits into no cache is slower to read for anyone.
        let values = best(|| parse(&path, 1, |line| drop(serde_json::from_str::<Value>(line).unwrap())));
        let time = best(|| known(&path));
        let growth = ratio(time, values) / *base.get_or_insert(ratio(time, values));
        let each = time.as_secs_f64() * 1e9 / all_calls as f64;
        println!(
            "{calls:>16} {each:>14.0} {:>16} {:>13}",
            format!("x{:.2}", ratio(time, values)),
            format!("x{growth:.2}")
        );
        is_fine &= growth <= MOST_GROWTH;
    }
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ratio(time: Duration, base: Duration) -> f64 {
    time.as_secs_f64() / base.as_secs_f64()
}

/// The least processor time that some work took.
fn best(work: impl FnMut()) -> Duration {
    measure::best(TIMES, work).cpu
}

/// What traces look like.
#[derive(Clone, Copy)]
struct Shape {
    /// Calls of each; without it some six.
    calls: Option<usize>,
    /// Most rows of a usual answer.
    rows: usize,
    /// Of how many of the eight tools answers have structured content.
    structured: usize,
}

/// What a gate reads of a record, borrowed from it.
#[derive(Deserialize)]
#[expect(dead_code, reason = "reading them is what is measured")]
struct Record<'a> {
    id: &'a str,
    group: &'a str,
    #[serde(borrow)]
    tool_calls: Vec<Call<'a>>,
    #[serde(borrow)]
    tool_results: Vec<Answer<'a>>,
    final_response: &'a str,
    #[serde(borrow)]
    conversation: &'a RawValue,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "reading them is what is measured")]
struct Call<'a> {
    name: &'a str,
    server: &'a str,
    #[serde(borrow)]
    args: &'a RawValue,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "reading them is what is measured")]
struct Answer<'a> {
    is_error: bool,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// Does something with every line of a file, on this many threads, each with its share.
fn parse(path: &Path, threads: usize, work: impl Fn(&str) + Sync) {
    let size = fs::metadata(path).unwrap().len();
    let share = size.div_ceil(threads as u64);
    std::thread::scope(|scope| {
        for at in 0..threads as u64 {
            let work = &work;
            scope.spawn(move || {
                let (start, end) = (at * share, ((at + 1) * share).min(size));
                let mut file = BufReader::with_capacity(256 << 10, File::open(path).unwrap());
                let mut line = String::new();
                let mut place = start;
                if start > 0 {
                    // A line belongs to the share in which it begins.
                    file.seek(SeekFrom::Start(start - 1)).unwrap();
                    place = start - 1 + file.read_line(&mut line).unwrap() as u64;
                }
                while place < end {
                    line.clear();
                    place += file.read_line(&mut line).unwrap() as u64;
                    work(&line);
                }
            });
        }
    });
}

fn command(corpus: &Path, gates: &Path, threads: usize) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
    command.arg("score").arg(corpus).arg("--gates").arg(gates).args([
        "--jobs",
        &threads.to_string(),
        "--max-record",
        "1024",
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn score(corpus: &Path, gates: &Path, threads: usize) {
    // Some traces fail on purpose.
    assert!(command(corpus, gates, threads).status().unwrap().code().is_some_and(|code| code < 2));
}

/// The most memory a score had.
fn memory(corpus: &Path, gates: &Path, threads: usize) -> u64 {
    let (output, peak) = memory::peak(&mut command(corpus, gates, threads));
    assert!(output.status.code().is_some_and(|code| code < 2));
    peak
}

/// Writes envelopes until there are this many bytes; returns how many traces and calls they have.
fn make(path: &PathBuf, bytes: usize, shape: Shape) -> (u64, u64) {
    let mut random = Random(7);
    let mut out = BufWriter::new(File::create(path).unwrap());
    let (mut written, mut traces, mut all_calls) = (0, 0, 0);
    while written < bytes {
        let calls = shape.calls.unwrap_or_else(|| random.from(2, 9));
        let line = record(&mut random, traces, calls, shape).to_string();
        out.write_all(line.as_bytes()).unwrap();
        out.write_all(b"\n").unwrap();
        written += line.len() + 1;
        traces += 1;
        all_calls += calls as u64;
    }
    out.flush().unwrap();
    (traces, all_calls)
}

const TOOLS: [(&str, &str); 8] = [
    ("find_customer", "crm"),
    ("list_orders", "shop"),
    ("get_order", "shop"),
    ("check_stock", "shop"),
    ("create_refund", "pay"),
    ("send_email", "mail"),
    ("search_articles", "kb"),
    ("update_ticket", "desk"),
];
const WORDS: [&str; 24] = [
    "order",
    "shipped",
    "monday",
    "arrives",
    "two",
    "days",
    "customer",
    "asked",
    "refund",
    "broken",
    "item",
    "please",
    "check",
    "warehouse",
    "stock",
    "level",
    "before",
    "sending",
    "message",
    "support",
    "team",
    "invoice",
    "payment",
    "review",
];

fn record(random: &mut Random, number: u64, calls: usize, shape: Shape) -> Value {
    let mut turns = vec![json!({ "role": "user", "content": words(random, 30) })];
    let (mut made, mut answers) = (Vec::new(), Vec::new());
    for at in 0..calls {
        let tool = random.from(0, TOOLS.len() - 1);
        let (name, server) = TOOLS[tool];
        let text = if random.from(0, 1) == 0 { Value::Null } else { words(random, 14).into() };
        turns.push(json!({ "role": "assistant", "content": text }));
        made.push(json!({
            "name": name, "server": server, "id": format!("call_{number}_{at}"), "turn": turns.len() - 1,
            "args": {
                "customer": format!("C{}", random.from(1000, 1040)), "order": random.from(1, 99_999),
                "limit": 20, "query": words(random, 4),
            },
        }));
        let answer = rows(random, shape.rows);
        let mut result = json!({
            "is_error": false, "content": [{ "type": "text", "text": answer }], "duration_ms": random.from(5, 900),
        });
        if tool < shape.structured {
            result["structured_content"] = serde_json::from_str(&answer).unwrap();
        }
        answers.push(result);
        turns.push(json!({ "role": "tool", "content": answer }));
    }
    let closing = format!(
        "I checked the order and created the refund. {}. I have sent an email to the customer.",
        words(random, 25)
    );
    turns.push(json!({ "role": "assistant", "content": closing }));
    json!({
        "id": format!("trace-{number}"), "group": format!("group-{}", number / 4),
        "tool_calls": made, "tool_results": answers, "final_response": closing,
        "conversation": {
            "model": "demo", "turns": turns, "stop_reason": "completed", "duration_ms": 9000,
            "tokens": { "input": random.from(1000, 20_000), "output": random.from(100, 2000) },
        },
    })
}

/// What a tool answers: mostly a few rows, sometimes many.
fn rows(random: &mut Random, most: usize) -> String {
    let many = if random.from(0, 9) == 0 { 4 * most } else { most };
    let mut out = "{\"status\": \"ok\", \"rows\": [".to_owned();
    for at in 0..random.from(2, many) {
        let comma = if at == 0 { "" } else { ", " };
        let (customer, amount, note) = (random.from(1000, 1040), random.from(100, 9999), words(random, 12));
        let _ = write!(
            out,
            "{comma}{{\"id\": {}, \"customer\": \"C{customer}\", \"amount\": {}.{:02}, \"note\": \"{note}\"}}",
            random.from(1, 99_999),
            amount / 100,
            amount % 100
        );
    }
    out.push_str("]}");
    out
}

fn words(random: &mut Random, count: usize) -> String {
    let chosen: Vec<&str> = (0..count).map(|_| WORDS[random.from(0, WORDS.len() - 1)]).collect();
    chosen.join(" ")
}

/// The same numbers every time.
struct Random(u64);

impl Random {
    fn from(&mut self, least: usize, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        least + usize::try_from(self.0 >> 33).unwrap() % (most - least + 1)
    }
}
