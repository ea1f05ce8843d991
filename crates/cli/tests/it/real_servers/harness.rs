//! A suite that is recorded against real servers and replayed where none can start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{Folder, note, skip};

/// Variable that every process of a recording inherits, so that those it leaves behind are found.
pub(crate) const MARK: &str = "MCPTEST_TEST_OF_REAL_SERVERS";

/// What is installed together: the folder, and the versions the tests are written for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) pins: &'static str,
    /// Whether only `cargo xtask full` installs it.
    pub(crate) is_full: bool,
}

pub(crate) const NPM: Set = Set::new("npm", include_str!("../../../../../xtask/servers/package-lock.json"));
pub(crate) const TIME: Set = Set::new("time", include_str!("../../../../../xtask/servers/time.txt"));
pub(crate) const SQLITE: Set = Set::new("sqlite", include_str!("../../../../../xtask/servers/sqlite.txt"));

impl Set {
    pub(crate) const fn new(name: &'static str, pins: &'static str) -> Self {
        Self { name, pins, is_full: false }
    }

    pub(crate) const fn full(name: &'static str, pins: &'static str) -> Self {
        Self { name, pins, is_full: true }
    }

    /// Where they are, when the stamp is there that says: here, and in these versions. Otherwise the gap is reported where a test
    /// harness does not swallow it.
    pub(crate) fn folder(self) -> Option<PathBuf> {
        let folder = servers().join(self.name);
        let stamp = format!("{}\n{}", folder.display(), self.pins);
        if fs::read_to_string(folder.join("installed")).is_ok_and(|found| found == stamp) {
            return Some(folder);
        }
        if !self.is_full {
            skip(&format!("`{}` is not installed (run `cargo xtask servers`)", self.name));
        } else if all_agents() {
            skip(&format!("`{}` is not installed (run `cargo xtask servers --all`)", self.name));
        } else {
            note(&format!("`{}` is for `cargo xtask full` (run `cargo xtask servers --all`)", self.name));
        }
        None
    }
}

/// Whether `cargo xtask full` runs this, which has installed every agent.
#[expect(clippy::disallowed_methods, reason = "an environment variable sets how much is tested")]
fn all_agents() -> bool {
    std::env::var("AGENTS").as_deref() == Ok("all")
}

/// Where `cargo xtask servers` puts them.
pub(crate) fn servers() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("servers")
}

/// A suite with one scripted model, in its own folder.
pub(crate) struct Real {
    pub(crate) here: Folder,
}

impl Real {
    /// Nothing when the servers are not installed. `suite` is the part after the model; `turns` are the replies of each run.
    pub(crate) fn new(set: Set, suite: &str, turns: &[&str]) -> Option<Self> {
        set.folder()?;
        let here = Folder::with(&[]);
        let models = "models:\n  demo: { provider: script, script: script.yml }\n";
        here.write("suite.yml", format!("{models}{suite}").as_bytes());
        let runs = format!("  - turns:\n{}", turns.join("  - turns:\n"));
        // A script has no variables, so it contains the path of the folder.
        let runs = runs.replace("HERE", &here.0.to_string_lossy());
        here.write("script.yml", format!("script: 1\nruns:\n{runs}").as_bytes());
        Some(Self { here })
    }

    /// Records with the environment of the test, and looks that no process is left.
    pub(crate) fn record(&self, flags: &[&str]) -> Output {
        let output = finish(self.recording().args(flags).spawn().unwrap());
        assert_eq!(left(&self.mark()), [""; 0], "processes are left behind");
        output
    }

    /// Records until something has become so, and then has the user stop it.
    pub(crate) fn record_until(&self, is_so: impl Fn() -> bool) -> Output {
        let child = self.recording().spawn().unwrap();
        let became_so = wait_for(600, is_so);
        let stopped = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let output = finish(child);
        assert!(became_so && stopped.success(), "{output:?}");
        assert_eq!(left(&self.mark()), [""; 0], "processes are left behind");
        output
    }

    fn recording(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
        command.args(["run", "suite.yml", "--record"]).current_dir(&self.here.0);
        command.env("SERVERS", servers()).env(MARK, self.mark());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn mark(&self) -> String {
        self.here.0.to_string_lossy().into_owned()
    }

    /// Records; then replays twice without any variable, so that no server could be found. Each time the exit code and all
    /// that is printed are these, with `ORIGIN` for where a run comes from; the reports of both replays are the same bytes,
    /// and hold the traces that were recorded. Returns the cassettes.
    #[track_caller]
    pub(crate) fn check(&self, flags: &[&str], code: i32, stdout: &str) -> Vec<Value> {
        crate::check(&self.record(flags), code, &stdout.replace("ORIGIN", "scripted"), "");
        let cassettes = self.cassettes();
        let replay = || {
            let line =
                [&["run", "suite.yml", "--reporter", "pretty", "--reporter", "json=report.json"], flags].concat();
            // What was replayed is judged again by another replay.
            let replayed = stdout.replace("ORIGIN", "replayed");
            self.here.check(&line, code, &replayed, "");
            fs::read_to_string(self.here.0.join("report.json")).unwrap()
        };
        let (first, second) = (replay(), replay());
        assert_eq!(first, second);
        let report: Value = serde_json::from_str(&first).unwrap();
        let rows = report["suites"][0]["rows"].as_array().unwrap().iter();
        let traces: Vec<&Value> = rows.map(|row| &row["trace"]).filter(|trace| !trace.is_null()).collect();
        assert_eq!(traces, cassettes.iter().map(|cassette| &cassette["trace"]).collect::<Vec<_>>());
        cassettes
    }

    /// The same for a suite of one run that passes with these checks.
    #[track_caller]
    pub(crate) fn passes(&self, checks: &str) -> Value {
        let stdout = format!("suite.yml\n✓ PASS      test  ORIGIN  {checks}\n\n1 test, 1 run: 1 passed\n");
        let mut cassettes = self.check(&[], 0, &stdout);
        assert_eq!(cassettes.len(), 1);
        cassettes.remove(0)
    }

    /// The recorded runs of the one test, in order. Nothing else may be below `cassettes`.
    pub(crate) fn cassettes(&self) -> Vec<Value> {
        let mut folder = self.here.0.join("cassettes");
        for _ in ["suite", "test", "model"] {
            let Ok(entries) = fs::read_dir(&folder) else { return Vec::new() };
            let inner: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
            assert!(inner.len() <= 1, "{inner:?}");
            let Some(only) = inner.into_iter().next() else { return Vec::new() };
            folder = only;
        }
        let count = fs::read_dir(&folder).unwrap().count();
        let read =
            |run| serde_json::from_str(&fs::read_to_string(folder.join(format!("{run}.json"))).unwrap()).unwrap();
        (1..=count).map(read).collect()
    }
}

/// The answers of a run without how long they took, which is the one thing about them that varies. Calls that reached a
/// server have a duration, and no others.
#[track_caller]
pub(crate) fn results(cassette: &Value) -> Value {
    let trace = &cassette["trace"];
    let mut results = trace["tool_results"].clone();
    for (result, call) in results.as_array_mut().unwrap().iter_mut().zip(trace["tool_calls"].as_array().unwrap()) {
        let took = result.as_object_mut().unwrap().remove("duration_ms");
        assert_eq!(took.is_some_and(|ms| ms.is_u64()), call["server"] != "", "{call}");
    }
    results
}

/// The calls of a run as name and server, in order.
pub(crate) fn calls(cassette: &Value) -> Vec<(&str, &str)> {
    let calls = cassette["trace"]["tool_calls"].as_array().unwrap();
    calls.iter().map(|call| (call["name"].as_str().unwrap(), call["server"].as_str().unwrap())).collect()
}

/// What a server reported about itself: name, version and negotiated revision.
pub(crate) fn observed<'a>(cassette: &'a Value, server: &str) -> [&'a str; 3] {
    let observed = &cassette["observed"]["servers"][server];
    [&observed["server"]["name"], &observed["server"]["version"], &observed["protocol"]]
        .map(|value| value.as_str().unwrap())
}

/// Processes that still have the mark, as their command lines. They get two seconds: whoever is killed is reported so before
/// it is gone.
pub(crate) fn left(mark: &str) -> Vec<String> {
    wait_for(40, || marked(mark).is_empty());
    marked(mark)
}

/// The command lines of the processes that have the mark now.
fn marked(mark: &str) -> Vec<String> {
    let variable = format!("{MARK}={mark}");
    let line = |process: PathBuf| {
        // What cannot be read belongs to another user, or is gone meanwhile.
        let environment = fs::read(process.join("environ")).ok()?;
        let line = fs::read(process.join("cmdline")).ok()?;
        let is_marked = environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes());
        is_marked.then(|| String::from_utf8_lossy(&line).replace('\0', " "))
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| line(entry.ok()?.path())).collect()
}

/// What a command printed, which is less than a pipe holds, without notes on servers that start slowly: how long they take is
/// their own affair. It has two minutes.
fn finish(mut child: Child) -> Output {
    let ended = wait_for(2400, || child.try_wait().unwrap().is_some());
    if !ended {
        child.kill().unwrap();
    }
    let mut output = child.wait_with_output().unwrap();
    assert!(ended, "it did not come to an end: {output:?}");
    let lines = output.stderr.split_inclusive(|byte| *byte == b'\n');
    output.stderr = lines.filter(|line| !is_slow_start(line)).flatten().copied().collect();
    output
}

fn is_slow_start(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    line.starts_with("note: ") && line.contains(": waiting for server")
}

/// Looks every 50 milliseconds, at most this often, whether something has become so.
pub(crate) fn wait_for(looks: u32, mut is_so: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| {
        let is_so = is_so();
        if !is_so {
            std::thread::sleep(Duration::from_millis(50));
        }
        is_so
    })
}

#[test]
fn a_process_that_is_left_behind_is_found() {
    let mark = format!("left {}", std::process::id());
    let mut child = Command::new("sleep").arg("60").env(MARK, &mark).spawn().unwrap();
    // Its environment is readable only once the kernel has set up the new program.
    wait_for(200, || !left(&mark).is_empty());
    let found = left(&mark);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found, ["sleep 60 "]);
    assert_eq!(left(&mark), [""; 0]);
}
