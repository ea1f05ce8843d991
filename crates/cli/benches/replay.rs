//! How long a replay takes, and its reports: `cargo bench -p mcptest --bench replay`.
//!
//! Figures are next to those of reading the same files, in the same run, because only the ratio means something on another
//! machine. What can fail is growth: ten times the recordings may not take much more than ten times as long.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints, and stops where it cannot go on"
)]

mod measure;
mod memory;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use mcptest_core::diag::Source;
use mcptest_core::json;
use mcptest_core::suite::{self, Variables};
use mcptest_core::trace::Trace;
use mcptest_runner::cassette::{Cassette, Folder, VERSION, inputs};
use serde_json::{Value, json};

/// Calls of one run.
const CALLS: usize = 50;
/// Ten times the recordings may take this much longer.
const MOST_GROWTH: f64 = 14.0;
/// The page may be this many times as large as the JSON.
const MOST_SIZE: f64 = 3.0;
/// Writing the page may take this many times as long as writing the JSON.
const MOST_TIME: f64 = 2.0;

fn main() -> ExitCode {
    let temp = tempfile::tempdir().unwrap();
    let few = World::new(temp.path(), "few", 1, 3);
    let hundred = World::new(temp.path(), "hundred", 5, 20);
    let thousand = World::new(temp.path(), "thousand", 20, 50);
    println!("one run has {CALLS} calls; best of several\n");
    println!(
        "{:>16} {:>10} {:>12} {:>12} {:>8} {:>12}",
        "recordings", "replay", "as json", "parse alone", "share", "memory"
    );
    let mut took = Vec::new();
    for (world, times) in [(&few, 30), (&hundred, 10), (&thousand, 5)] {
        let replay = best(times, || world.replay(&[]));
        let as_json = best(times.min(5), || world.replay(&["--reporter", "json"]));
        let parse = best(times.min(5), || world.parse());
        println!(
            "{:>16} {:>7.1} ms {:>9.1} ms {:>9.1} ms {:>6.0} % {:>8} KiB",
            world.files.len(),
            ms(replay),
            ms(as_json),
            ms(parse),
            100.0 * parse.as_secs_f64() / replay.as_secs_f64() / cores().min(2.0),
            world.memory(&[]),
        );
        took.push(replay.as_secs_f64());
    }
    println!("\nshare: parsing as a part of the time of all cores the replay could use");
    let growth = took[2] / took[1];
    println!("ten times the recordings: x{growth:.1} (at most x{MOST_GROWTH})");
    let is_linear = reports(&hundred, &thousand);
    let is_light = page(&thousand);
    if growth > MOST_GROWTH || !is_linear || !is_light { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// What the page of a replay costs compared with its JSON.
fn page(world: &World) -> bool {
    println!("\n{:>10} {:>14} {:>12} {:>12}", "replay to", "time", "memory", "size");
    let [json, html] = ["json", "html"].map(|face| {
        let path = world.suite.with_file_name(format!("report.{face}"));
        let chosen = format!("{face}={}", path.display());
        let flags = ["--reporter", &chosen];
        let time = best(7, || world.replay(&flags));
        let memory = world.memory(&flags);
        let size = std::fs::metadata(&path).unwrap().len();
        println!("{face:>10} {:>11.1} ms {memory:>8} KiB {:>9.1} MB", ms(time), size as f64 / 1e6);
        (time.as_secs_f64(), memory as f64, size as f64)
    });
    let (time, memory, size) = (html.0 / json.0, html.1 / json.1, html.2 / json.2);
    println!(
        "the page against the JSON: time x{time:.2} (at most x{MOST_TIME}), memory x{memory:.2}, size x{size:.2} (at most x{MOST_SIZE})"
    );
    time <= MOST_TIME && size <= MOST_SIZE
}

/// How long it takes to make each report of a saved run: reading it back and writing.
fn reports(hundred: &World, thousand: &World) -> bool {
    println!(
        "\n{:>10} {:>14} {:>14} {:>8} {:>16} {:>12}",
        "report", "100 runs", "1000 runs", "growth", "beyond reading", "of parsing"
    );
    let saved = [hundred, thousand].map(World::save);
    let text = std::fs::read_to_string(&saved[1]).unwrap();
    let parse = best(5, || {
        std::hint::black_box(json::parse(&text).unwrap());
    });
    // A run that passes has one annotation, so this mostly measures reading.
    let mut read = Duration::ZERO;
    let mut is_linear = true;
    for face in ["github", "json", "ndjson", "junit", "markdown", "html", "pretty"] {
        let [few, many] = saved.each_ref().map(|path| {
            best(7, || {
                let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
                command.arg("report").arg(path).args(["--reporter", face]).stdout(Stdio::null());
                assert!(command.status().unwrap().success());
            })
        });
        if face == "github" {
            read = many;
        }
        let growth = many.as_secs_f64() / few.as_secs_f64();
        is_linear &= growth <= MOST_GROWTH;
        let beyond = many.saturating_sub(read);
        println!(
            "{face:>10} {:>11.1} ms {:>11.1} ms {:>8} {:>13.1} ms {:>10.0} %",
            ms(few),
            ms(many),
            format!("x{growth:.1}"),
            ms(beyond),
            100.0 * beyond.as_secs_f64() / parse.as_secs_f64(),
        );
    }
    let megabytes = text.len() as f64 / 1e6;
    println!("\nthe saved run has {megabytes:.1} MB; parsing it alone takes {:.1} ms", ms(parse));
    is_linear
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64)
}

fn best(times: usize, work: impl FnMut()) -> Duration {
    measure::best(times, work).wall
}

/// A suite with its recordings.
struct World {
    suite: PathBuf,
    files: Vec<PathBuf>,
}

impl World {
    fn new(root: &Path, name: &str, tests: usize, runs: u64) -> Self {
        let path = root.join(name).join("suite.yml");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path.with_file_name("script.yml"), "{ script: 1, runs: [{ turns: [{ text: done }] }] }")
            .unwrap();
        let mut text = "servers: { web: { command: [web] } }\nmodels: { demo: { provider: script, script: script.yml } }\nagents:\n"
            .to_owned();
        for at in 0..tests {
            text.push_str(&format!(
                "  - name: test {at}\n    model: demo\n    servers: [web]\n    prompt: Look it up.\n    runs: {runs}\n\
                 \x20   trajectory: {{ mode: subsequence, calls: [{{ name: search, args: {{ subset: {{ page: 3 }} }} }}] }}\n\
                 \x20   stability: {{}}\n    reliability: {{}}\n"
            ));
        }
        std::fs::write(&path, &text).unwrap();
        let loaded = suite::load(&Source::new("suite.yml", text), &Variables { suite_dir: ".", outside: &|_| None });
        let suite = loaded.value.unwrap();
        let hash = mcptest_core::redact::hash(&std::fs::read(path.with_file_name("script.yml")).unwrap());
        let folder = Folder::of(&path);
        let mut files = Vec::new();
        for test in &suite.agents {
            for run in 1..=runs {
                let cassette = Cassette {
                    version: VERSION,
                    edited: false,
                    test: test.name.clone(),
                    model: "demo".to_owned(),
                    run,
                    inputs: inputs(&suite, test, "demo", Some(&hash)),
                    observed: json!({}),
                    advisory: None,
                    ledger: None,
                    trace: trace(),
                };
                folder.save(&cassette).unwrap();
                files.push(folder.path(&cassette.test, &cassette.model, cassette.run));
            }
        }
        Self { suite: path, files }
    }

    fn command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
        command.arg("run").arg(&self.suite).args(["--jobs", "2"]).args(flags).stdout(Stdio::null());
        command
    }

    /// Keeps the report of a replay.
    fn save(&self) -> PathBuf {
        let path = self.suite.with_file_name("run.json");
        self.replay(&["--reporter", &format!("json={}", path.display())]);
        path
    }

    fn replay(&self, flags: &[&str]) {
        assert!(self.command(flags).status().unwrap().success());
    }

    /// Reads and parses every recording, as the replay does, on one thread and without judging anything.
    fn parse(&self) {
        for path in &self.files {
            let text = std::fs::read_to_string(path).unwrap();
            std::hint::black_box(json::parse(&text).unwrap());
        }
    }

    /// The most memory a replay had, in KiB.
    fn memory(&self, flags: &[&str]) -> u64 {
        let run = || {
            let (output, peak) = memory::peak(&mut self.command(flags));
            assert!(output.status.success());
            peak >> 10
        };
        (0..5).map(|_| run()).max().unwrap()
    }
}

fn trace() -> Trace {
    let calls: Vec<Value> = (0..CALLS)
        .map(|at| json!({ "name": "search", "server": "web", "args": { "q": format!("rain in city {at}"), "page": at }, "turn": 2 * at + 1 }))
        .collect();
    let results: Vec<Value> = (0..CALLS)
        .map(|at| json!({ "is_error": false, "content": [{ "type": "text", "text": format!("it rains in city {at}") }], "duration_ms": 3 }))
        .collect();
    let mut turns = vec![json!({ "role": "user", "content": "Look it up." })];
    for _ in 0..CALLS {
        turns.push(json!({ "role": "assistant", "content": null }));
        turns.push(json!({ "role": "tool", "content": "it rains" }));
    }
    turns.push(json!({ "role": "assistant", "content": "It rains everywhere." }));
    let envelope = json!({
        "tool_calls": calls,
        "tool_results": results,
        "final_response": "It rains everywhere.",
        "conversation": {
            "model": "demo", "turns": turns, "stop_reason": "completed",
            "tokens": { "input": 5000, "output": 500, "total": 5500 }, "duration_ms": 150,
        },
    });
    Trace::from_envelope(&envelope).unwrap()
}
