//! How long each format takes: `cargo bench -p mcptest --bench formats [FORMAT..]`.
//!
//! The fixtures of a format that can be read are repeated under other ids until they make 40 MB, and scored with every gate.
//! The score must find every trace of the corpus. Parsing the same lines into `serde_json::Value` on as many threads is the
//! measure: no format may take more than 1.5 times as much processor time. Memory may not depend on the size of the corpus.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints, and stops where it cannot go on"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use mcptest_core::import::{Format, Options, Record, sniff};
use serde_json::Value;

/// Bytes of each corpus.
const CORPUS: usize = 40_000_000;
/// Most processor time of a score, in parses into values.
const MOST_RATIO: f64 = 1.5;
/// Most memory of a score.
const MOST_MEMORY: u64 = 96 << 20;
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
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    println!(
        "{:<18} {:>6} {:>7} {:>10} {:>10} {:>8} {:>8} {:>10}",
        "format", "MB", "traces", "values", "score", "CPU", "wall", "memory"
    );
    let mut is_fine = true;
    for format in Format::ALL {
        // The log of a mock is one trace, and has no ids to change.
        if *format == Format::MockLog || !(wanted.is_empty() || wanted.iter().any(|name| name == format.as_str())) {
            continue;
        }
        let corpus = Corpus::of(*format);
        let path = temp.path().join("corpus.jsonl");
        fs::write(&path, corpus.lines.join("\n") + "\n").unwrap();
        let values = best(|| parse(&corpus.lines, threads));
        let mut memory = 0;
        let time = best(|| memory = score(&path, &gates, *format, threads, corpus.traces));
        let cpu = time.cpu.as_secs_f64() / values.cpu.as_secs_f64();
        let wall = time.wall.as_secs_f64() / values.wall.as_secs_f64();
        let megabytes = fs::metadata(&path).unwrap().len() as f64 / 1e6;
        let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
        println!(
            "{:<18} {megabytes:>6.1} {:>7} {:>10} {:>10} {:>8} {:>8} {:>10}",
            format.as_str(),
            corpus.traces,
            ms(values.cpu),
            ms(time.cpu),
            format!("x{cpu:.2}"),
            format!("x{wall:.2}"),
            format!("{} MiB", memory >> 20),
        );
        is_fine &= cpu <= MOST_RATIO && memory <= MOST_MEMORY;
    }
    println!("at most x{MOST_RATIO} of the processor time, and {} MiB", MOST_MEMORY >> 20);
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A file of one format.
struct Corpus {
    lines: Vec<String>,
    /// How many traces it has.
    traces: usize,
}

impl Corpus {
    /// The fixtures of a format, one value per line, repeated under other ids.
    fn of(format: Format) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/it/import").join(format.as_str());
        let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|kind| kind == "json" || kind == "jsonl"));
        paths.sort();
        let fixtures: Vec<Fixture> = paths.iter().filter_map(|path| Fixture::read(path, format)).collect();
        let (size, traces) =
            fixtures.iter().fold((0, 0), |(size, traces), one| (size + one.size(), traces + one.traces));
        assert!(traces > 0, "{} has no fixture that can be read", format.as_str());
        let copies = CORPUS.div_ceil(size);
        let mut lines = Vec::new();
        let mut next = 0;
        for _ in 0..copies {
            for fixture in &fixtures {
                next += fixture.keys.len();
                lines.extend(fixture.copy(next));
            }
        }
        Self { lines, traces: traces * copies }
    }
}

/// The values of one file.
struct Fixture {
    values: Vec<String>,
    /// What the pieces of each trace share, where traces are in pieces.
    keys: Vec<String>,
    traces: usize,
}

impl Fixture {
    /// `None` for a file that is refused on purpose.
    fn read(path: &Path, format: Format) -> Option<Self> {
        let text = fs::read_to_string(path).unwrap();
        let is_one = |line: &&str| serde_json::from_str::<Value>(line).is_ok();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let values: Vec<String> = if lines.iter().all(is_one) {
            lines.into_iter().map(str::to_owned).collect()
        } else {
            let whole: Value = serde_json::from_str(&text).unwrap();
            match &whole {
                Value::Array(items)
                    if sniff(&text).is_none_or(|found| found.format != format || format.is_in_pieces()) =>
                {
                    items.iter().map(Value::to_string).collect()
                }
                _ => vec![whole.to_string()],
            }
        };
        let options = Options::default();
        let mut traces = 0;
        let mut parts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for text in &values {
            if format.is_in_pieces() {
                for piece in format.split(text).ok()? {
                    parts.entry(piece.key.into_owned()).or_default().push(piece.text.into_owned());
                }
            } else {
                traces += format.read(Record { text, header: None }, &options).ok()?.len();
            }
        }
        parts.retain(|_, pieces| pieces.iter().any(|piece| format.has_agent(piece)));
        for (key, pieces) in &parts {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            traces += format.join(key, &pieces, &options).ok()?.len();
        }
        Some(Self { values, keys: parts.into_keys().collect(), traces })
    }

    fn size(&self) -> usize {
        self.values.iter().map(|value| value.len() + 1).sum()
    }

    /// The same values with other keys: their last digits are a number that no other key has.
    fn copy(&self, number: usize) -> Vec<String> {
        let mut values = self.values.clone();
        for (at, key) in self.keys.iter().enumerate() {
            let other = format!("{}{:06x}", &key[..key.len().saturating_sub(6)], number + at);
            for value in &mut values {
                *value = value.replace(key.as_str(), &other);
            }
        }
        values
    }
}

/// What something took.
struct Took {
    cpu: Duration,
    wall: Duration,
}

fn best(mut work: impl FnMut()) -> Took {
    let mut best = Took { cpu: Duration::MAX, wall: Duration::MAX };
    for _ in 0..TIMES {
        let (begun, cpu) = (Instant::now(), processor_time());
        work();
        best = Took { cpu: best.cpu.min(processor_time().saturating_sub(cpu)), wall: best.wall.min(begun.elapsed()) };
    }
    best
}

/// The processor time of this process and of the children it has waited for, in steps of 10 ms.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = text.rsplit_once(')').unwrap();
    let ticks: u64 = fields.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
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

/// Scores the corpus, which must be read whole. Returns the most memory it took.
fn score(corpus: &Path, gates: &Path, format: Format, threads: usize, traces: usize) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
    command.arg("score").arg(corpus).arg("--gates").arg(gates).args([
        "--output",
        "none",
        "--jobs",
        &threads.to_string(),
    ]);
    command.args(["--from", format.as_str()]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        // The file has no such line any more when the process has just ended.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let size = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most = most.max(size.map_or(0, |size| size.trim().parse::<u64>().unwrap() << 10));
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    // Traces fail, because the gates are not made for them.
    assert!(output.status.code().is_some_and(|code| code < 2), "{} is not read whole: {said}", format.as_str());
    let found = said.lines().find_map(|line| line.split_once(if traces == 1 { " trace: " } else { " traces: " }));
    let found: usize = found.unwrap().0.replace(',', "").parse().unwrap();
    assert_eq!(found, traces, "{} lost traces: {said}", format.as_str());
    most
}
