//! What it costs to score each format: `cargo bench -p mcptest --bench formats [FORMAT..]`.
//!
//! The corpus of a format is made from the fixtures of its importer. Real sessions are larger, so every text in them is
//! followed by some kilobytes of prose or of the rows that tools return, with quotes and line breaks. The same text always
//! grows in the same way, because spans and session lines repeat earlier messages. Copies under other ids make 64 MB; without ids
//! that can be changed, each copy is a file. With `CORPORA=FOLDER` they are kept in that folder, one per format.
//!
//! Every record is accepted, and `score` finds as many traces as the expected results of the fixtures have. Records that a
//! fixture has to show an error are left out, and counted. Reading the same files and parsing them into `serde_json::Value`, on
//! one thread as `score` does, is the unit: no format may take more of its processor time than [`limit`] says. Recorders of spans
//! write messages as JSON inside of texts; the time of a parse that opens these too is shown for comparison. Memory may not
//! depend on the size of the corpus.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints, and stops where it cannot go on"
)]

mod memory;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use mcptest_core::cassette::seal;
use mcptest_core::import::{Format, Imported, Options, Record, Unit, sniff};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::Value;

/// Bytes of each corpus.
const CORPUS: usize = 64_000_000;
/// Most memory of a score.
const MAX_MEMORY: u64 = 64 << 20;
/// How often everything is measured, in turns, so that a machine that is busy for a while slows down all of it. The least time
/// of each counts.
const TIMES: usize = 16;

/// Gates that read calls, and one that reads the closing message.
const CALLS: &str = "\
trajectory: { mode: subset, calls: [{ name: get_weather, args: { subset: { city: Oslo } } }] }
trajectory_axes: { order: [{ first: get_weather, second: get_forecast }] }
";
const MESSAGE: &str = "narrative: {}\n";

/// The most processor time of a score, in parses into values: 1.5, the aim, or what is reached and a sixth for the noise of a
/// busy machine. A parse copies each text once. An import checks a record and builds messages from it, and gates read the texts.
/// Spans of these formats keep messages as JSON inside of texts, which a parse does not open.
fn limit(format: Format) -> f64 {
    match format {
        Format::Langfuse | Format::Otel => 1.9,
        _ => 1.5,
    }
}

fn main() -> ExitCode {
    let temp = tempfile::tempdir().unwrap();
    let (calls, all) = (temp.path().join("calls.yml"), temp.path().join("all.yml"));
    fs::write(&calls, CALLS).unwrap();
    fs::write(&all, format!("{CALLS}{MESSAGE}")).unwrap();
    let kept = std::env::var_os("CORPORA");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    println!(
        "{:<18} {:>6} {:>7} {:>8} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>9}",
        "format",
        "MB",
        "traces",
        "KB each",
        "values",
        "nested",
        "calls",
        "narrative",
        "calls",
        "all",
        "limit",
        "nested",
        "memory"
    );
    let mut failed = Vec::new();
    for format in Format::ALL {
        if !(wanted.is_empty() || wanted.iter().any(|name| name == format.as_str())) {
            continue;
        }
        let folder = match &kept {
            Some(kept) => Path::new(kept).join(format.as_str()),
            None => temp.path().join(format.as_str()),
        };
        let corpus = Corpus::make(*format, &folder);
        let command = |gates: &Path| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
            command.arg("score").arg(&folder).arg("--gates").arg(gates).args(["--output", "none", "--from"]);
            command.args([format.as_str(), "--jobs", "1"]);
            command
        };
        let [mut values, mut nested, mut of_calls, mut of_all] = [Duration::MAX; 4];
        let score = |gates: &Path| {
            let (output, cpu) = of_one_thread(&mut command(gates));
            corpus.check(&output);
            cpu
        };
        for _ in 0..TIMES {
            values = values.min(corpus.parse(false));
            of_all = of_all.min(score(&all));
            nested = nested.min(corpus.parse(true));
            of_calls = of_calls.min(score(&calls));
        }
        let (output, peak) = memory::peak(&mut command(&all));
        corpus.check(&output);
        if kept.is_none() {
            fs::remove_dir_all(&folder).unwrap();
        }
        let ratio = |time: Duration| time.as_secs_f64() / values.as_secs_f64();
        let to_nested = of_all.as_secs_f64() / nested.as_secs_f64();
        let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
        println!(
            "{:<18} {:>6.1} {:>7} {:>8.1} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>9}",
            format.as_str(),
            corpus.size as f64 / 1e6,
            corpus.traces,
            corpus.size as f64 / 1e3 / corpus.traces as f64,
            ms(values),
            ms(nested),
            ms(of_calls),
            ms(of_all.saturating_sub(of_calls)),
            format!("x{:.2}", ratio(of_calls)),
            format!("x{:.2}", ratio(of_all)),
            format!("x{:.2}", limit(*format)),
            format!("x{to_nested:.2}"),
            format!("{} MiB", peak >> 20),
        );
        if ratio(of_all) > limit(*format) || peak > MAX_MEMORY {
            failed.push(format.as_str());
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("over the limit of processor time or of {} MiB: {}", MAX_MEMORY >> 20, failed.join(", "));
    ExitCode::FAILURE
}

/// Files of one format.
struct Corpus {
    format: Format,
    files: Vec<PathBuf>,
    size: usize,
    traces: usize,
}

impl Corpus {
    /// Writes copies of the fixtures of a format to a folder.
    fn make(format: Format, folder: &Path) -> Self {
        let fixtures = match format {
            Format::Envelope => vec![Fixture::envelopes()],
            _ => fixtures(format).iter().map(|path| Fixture::read(path, format)).collect(),
        };
        fs::create_dir_all(folder).unwrap();
        let mut corpus = Self { format, files: Vec::new(), size: 0, traces: 0 };
        let (mut next, mut shared) = (0, String::new());
        while corpus.size < CORPUS {
            for fixture in &fixtures {
                let text = fixture.copy(next);
                next += fixture.keys.len();
                corpus.traces += fixture.traces;
                corpus.size += text.len();
                if fixture.has_ids {
                    shared.push_str(&text);
                } else {
                    corpus.add(folder, &text);
                }
            }
        }
        if !shared.is_empty() {
            corpus.add(folder, &shared);
        }
        corpus
    }

    fn add(&mut self, folder: &Path, text: &str) {
        let path = folder.join(format!("{:06}.jsonl", self.files.len()));
        fs::write(&path, text).unwrap();
        self.files.push(path);
    }

    /// The processor time to read all files and parse their values, also those inside of texts if `opens`.
    fn parse(&self, opens: bool) -> Duration {
        let begun = on_processor("thread-self");
        let mut line = String::new();
        for path in &self.files {
            let mut file = BufReader::with_capacity(256 << 10, File::open(path).unwrap());
            while file.read_line(&mut line).unwrap() > 0 {
                let value = std::hint::black_box(serde_json::from_str::<Value>(&line).unwrap());
                if opens {
                    open(&value);
                }
                line.clear();
            }
        }
        on_processor("thread-self").saturating_sub(begun)
    }

    /// Fails unless every trace was scored.
    fn check(&self, output: &Output) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let format = self.format.as_str();
        // Traces fail, because the gates are not made for them.
        assert!(output.status.code().is_some_and(|code| code < 2), "{format} is not read whole: {stderr}");
        let found = stderr.lines().find_map(|line| line.split_once(" traces: ")).unwrap().0.replace(',', "");
        assert_eq!(found.parse::<usize>().unwrap(), self.traces, "{format}: {stderr}");
    }
}

/// Runs a command of one thread, and returns its processor time.
fn of_one_thread(command: &mut Command) -> (Output, Duration) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    let id = WaitId::Pid(Pid::from_child(&child));
    waitid(id, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    let cpu = on_processor(&child.id().to_string());
    let status = child.wait().unwrap();
    (Output { status, stdout: Vec::new(), stderr }, cpu)
}

/// How long a thread has run so far.
fn on_processor(id: &str) -> Duration {
    let text = fs::read_to_string(format!("/proc/{id}/schedstat")).unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// Parses the objects and lists inside of texts.
fn open(value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(open),
        Value::Object(map) => map.values().for_each(open),
        Value::String(text) if text.starts_with(['{', '[']) => {
            if let Ok(inner) = serde_json::from_str::<Value>(text) {
                open(&inner);
            }
        }
        _ => {}
    }
}

/// The inputs among the fixtures of a format.
fn fixtures(format: Format) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/it/import").join(format.as_str());
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "json" || kind == "jsonl"));
    paths.sort();
    paths
}

/// The values of one file, with longer texts.
struct Fixture {
    values: Vec<String>,
    /// What the pieces of each trace share.
    keys: BTreeSet<String>,
    /// Whether copies have keys that differ. Otherwise the pieces of a trace share only their file.
    has_ids: bool,
    traces: usize,
}

impl Fixture {
    fn read(path: &Path, format: Format) -> Self {
        let mut values = values(format, &fs::read_to_string(path).unwrap());
        let expected: Vec<Value> =
            serde_json::from_str(&fs::read_to_string(path.with_extension("out")).unwrap()).unwrap();
        let refused = expected.iter().filter(|one| one.get("error").is_some()).count();
        let before = values.len();
        values.retain(|value| is_accepted(format, value));
        assert_eq!(before - values.len(), refused, "{}: refused values", path.display());
        let calls = |trace: &Value| trace["trace"]["tool_calls"].as_array().map(Vec::len);
        let expected: Vec<_> = expected.iter().filter(|one| one.get("error").is_none()).map(calls).collect();
        for value in &mut values {
            let mut larger: Value = serde_json::from_str(value).unwrap();
            enlarge(&mut larger);
            if let (Format::Cassette, Value::Object(cassette)) = (format, &mut larger) {
                seal(cassette);
            }
            *value = larger.to_string();
        }
        let (keys, found) = traces(format, &values);
        assert_eq!(found, expected, "{}: calls of the larger traces", path.display());
        let mut fixture = Self { values, keys, has_ids: true, traces: found.len() };
        // An id may be spelled in several ways.
        let copy: Vec<String> = fixture.copy(0xfff_000).lines().map(str::to_owned).collect();
        fixture.has_ids = traces(format, &copy).0 == fixture.names(0xfff_000).map(|(_, other)| other).collect();
        fixture
    }

    /// Traces of other formats as envelopes.
    fn envelopes() -> Self {
        let mut values = Vec::new();
        for format in [Format::OpenaiChat, Format::Anthropic, Format::Tau, Format::VercelAi, Format::Bedrock] {
            for path in fixtures(format) {
                let fixture = Self::read(&path, format);
                for text in &fixture.values {
                    let read = format.read(Record { text, header: None }, &Options::default()).unwrap();
                    values.extend(read.iter().map(|one| one.trace.to_envelope().to_string()));
                }
            }
        }
        let traces = values.len();
        Self { values, keys: BTreeSet::new(), has_ids: true, traces }
    }

    /// The keys and what a copy has instead: their last digits are numbers from `number` on.
    fn names(&self, number: usize) -> impl Iterator<Item = (&str, String)> {
        let keys = self.keys.iter().filter(|key| self.has_ids && !key.is_empty()).enumerate();
        keys.map(move |(at, key)| (&**key, format!("{}{:06x}", &key[..key.len().saturating_sub(6)], number + at)))
    }

    /// The values, one per line, with other keys.
    fn copy(&self, number: usize) -> String {
        let text = self.values.join("\n") + "\n";
        self.names(number).fold(text, |text, (key, other)| text.replace(key, &other))
    }
}

/// The values of a file: its lines, the elements of its list, or the whole file.
fn values(format: Format, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()) {
        return lines.into_iter().map(str::to_owned).collect();
    }
    let sniffed = |value: &Value| sniff(&value.to_string()).map(|found| (found.format, found.unit));
    let whole: Value = serde_json::from_str(text).unwrap();
    match &whole {
        Value::Array(items)
            if sniffed(&items[0]) != Some((format, Unit::Message))
                && sniffed(&whole) != Some((format, Unit::Record)) =>
        {
            items.iter().map(Value::to_string).collect()
        }
        _ => vec![whole.to_string()],
    }
}

fn is_accepted(format: Format, text: &str) -> bool {
    if format.is_in_pieces() {
        format.split(text).is_ok()
    } else {
        format.read(Record { text, header: None }, &Options::default()).is_ok()
    }
}

/// The keys of the traces in pieces, and how many calls each trace has.
fn traces(format: Format, values: &[String]) -> (BTreeSet<String>, Vec<Option<usize>>) {
    let options = Options::default();
    let calls = |one: Imported<'_>| one.trace.tool_calls.map(|calls| calls.len());
    if !format.is_in_pieces() {
        let records = values.iter().map(|text| Record { text, header: None });
        let read = records.flat_map(|record| format.read(record, &options).unwrap());
        return (BTreeSet::new(), read.map(calls).collect());
    }
    let mut keyed: Vec<(String, Vec<String>)> = Vec::new();
    for piece in values.iter().flat_map(|value| format.split(value).unwrap()) {
        match keyed.iter_mut().find(|(key, _)| *key == piece.key) {
            Some((_, texts)) => texts.push(piece.text.into_owned()),
            None => keyed.push((piece.key.into_owned(), vec![piece.text.into_owned()])),
        }
    }
    let join = |(key, texts): &(String, Vec<String>)| {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        format.join(key, &texts, &options).unwrap()
    };
    let found = keyed.iter().flat_map(join).map(calls).collect();
    (keyed.into_iter().map(|(key, _)| key).collect(), found)
}

/// Makes the texts of a value longer, including those in JSON inside a text.
fn enlarge(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(enlarge),
        Value::Object(map) => {
            // Spans and tools may have names of several words.
            let texts = map.iter_mut().filter(|(key, _)| !key.ends_with("name"));
            texts.for_each(|(_, value)| enlarge(value));
        }
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(mut inner) if inner.is_object() || inner.is_array() => {
                enlarge(&mut inner);
                *text = inner.to_string();
            }
            // Ids, names and times are single words.
            _ if text.trim().contains(' ') => text.push_str(&filler(text)),
            _ => {}
        },
        _ => {}
    }
}

const WORDS: [&str; 20] = [
    "order",
    "shipped",
    "monday",
    "arrives",
    "customer",
    "refund",
    "broken",
    "item",
    "please",
    "check",
    "warehouse",
    "stock",
    "before",
    "sending",
    "message",
    "support",
    "invoice",
    "payment",
    "the",
    "and",
];

/// What follows a text: half a kilobyte to four, always the same for the same text.
fn filler(text: &str) -> String {
    let seed = text.bytes().fold(7, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let mut random = Random(seed);
    let (size, is_prose) = (random.up_to(3500) + 500, random.up_to(2) == 0);
    let mut out = String::new();
    while out.len() < size {
        let words: Vec<&str> = (0..12).map(|_| WORDS[random.up_to(WORDS.len())]).collect();
        let words = words.join(" ");
        if is_prose {
            out.push_str(&format!("\n{words}."));
        } else {
            let (id, amount) = (random.up_to(99_999), random.up_to(9_999));
            out.push_str(&format!("\n{{\"id\": {id}, \"amount\": {amount}, \"note\": \"{words}\"}}"));
        }
    }
    out
}

struct Random(u64);

impl Random {
    /// A number below `end`.
    fn up_to(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}
