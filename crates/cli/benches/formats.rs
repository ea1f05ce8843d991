//! How long each format takes: `cargo bench -p mcptest --bench formats`.
//!
//! The fixtures of a format are repeated under other ids until they make 20 MB, and scored with every gate. Parsing the same
//! lines into `serde_json::Value` on as many threads is the measure: no format may take more than 1.5 times as long.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints, and stops where it cannot go on"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use mcptest_core::import::{Format, sniff};
use serde_json::Value;

/// Bytes of each corpus.
const CORPUS: usize = 20_000_000;
/// Most time of a score, in parses into values.
const MOST_RATIO: f64 = 1.5;
/// Times that each measure is taken; the best counts.
const TIMES: usize = 3;

const GATES: &str = "\
trajectory: { mode: subset, calls: [{ name: get_weather, args: { subset: { city: Oslo } } }] }
trajectory_axes: { order: [{ first: get_weather, second: get_forecast }] }
narrative: {}
";

fn main() -> ExitCode {
    let temp = tempfile::tempdir().unwrap();
    let gates = temp.path().join("gates.yml");
    fs::write(&gates, GATES).unwrap();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!("{:<18} {:>8} {:>10} {:>10} {:>8}", "format", "MB", "values", "score", "ratio");
    let mut is_fine = true;
    for format in Format::ALL {
        let lines = corpus(*format);
        if lines.is_empty() {
            continue;
        }
        let path = temp.path().join("corpus.jsonl");
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let values = best(|| parse(&lines, threads));
        let time = best(|| score(&path, &gates, *format, threads));
        let ratio = time.as_secs_f64() / values.as_secs_f64();
        let megabytes = fs::metadata(&path).unwrap().len() as f64 / 1e6;
        let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
        println!(
            "{:<18} {megabytes:>8.1} {:>10} {:>10} {:>8}",
            format.as_str(),
            ms(values),
            ms(time),
            format!("x{ratio:.2}")
        );
        is_fine &= ratio <= MOST_RATIO;
    }
    println!("at most x{MOST_RATIO}");
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The values of all fixtures of a format, one per line, repeated under other ids.
fn corpus(format: Format) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/it/import").join(format.as_str());
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "json" || kind == "jsonl"));
    paths.sort();
    let mut fixtures = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path).unwrap();
        let is_one = |line: &&str| serde_json::from_str::<Value>(line).is_ok();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let values: Vec<String> = if lines.iter().all(is_one) {
            lines.into_iter().map(str::to_owned).collect()
        } else {
            let whole = serde_json::from_str::<Value>(&text).unwrap().to_string();
            match serde_json::from_str::<Value>(&whole).unwrap() {
                Value::Array(items)
                    if sniff(&whole).is_none_or(|found| found.format != format || format.is_in_pieces()) =>
                {
                    items.iter().map(Value::to_string).collect()
                }
                _ => vec![whole],
            }
        };
        fixtures.extend(values);
    }
    // The log of a mock is one trace, and has no ids to change.
    if format == Format::MockLog || fixtures.is_empty() {
        return Vec::new();
    }
    let keys: Vec<String> = fixtures
        .iter()
        .flat_map(|text| format.split(text).unwrap_or_default())
        .map(|piece| piece.key.into_owned())
        .filter(|key| key.len() > 3)
        .collect();
    let size: usize = fixtures.iter().map(String::len).sum();
    let mut out = Vec::new();
    for copy in 0..CORPUS.div_ceil(size) {
        for text in &fixtures {
            let mut text = text.clone();
            for key in format.split(&text.clone()).unwrap_or_default().into_iter().map(|piece| piece.key.into_owned()) {
                if keys.contains(&key) {
                    let other = format!("{}{copy:06x}", &key[..key.len().saturating_sub(6)]);
                    text = text.replace(&key, &other);
                }
            }
            out.push(text);
        }
    }
    out
}

fn best(mut work: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..TIMES {
        let begun = Instant::now();
        work();
        best = best.min(begun.elapsed());
    }
    best
}

fn parse(lines: &[String], threads: usize) {
    std::thread::scope(|scope| {
        for share in lines.chunks(lines.len().div_ceil(threads)) {
            scope.spawn(move || {
                for line in share {
                    std::hint::black_box(serde_json::from_str::<Value>(line).unwrap());
                }
            });
        }
    });
}

fn score(corpus: &Path, gates: &Path, format: Format, threads: usize) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
    command.arg("score").arg(corpus).arg("--gates").arg(gates).args([
        "--output",
        "none",
        "--jobs",
        &threads.to_string(),
    ]);
    command.args(["--from", format.as_str()]);
    // Some fixtures are refused on purpose.
    assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code().is_some());
}
