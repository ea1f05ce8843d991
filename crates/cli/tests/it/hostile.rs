//! `mcptest run` against servers that mean no good: what they do is reported, costs bounded time and memory, touches no other
//! test, and leaves nothing behind.
//!
//! `servers` has those over stdio and `remote` those over HTTP; each is a row of a table, and `check` runs it.

mod remote;
mod servers;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{Folder, root};

/// Rows that run at the same time. Most of them wait for a time limit and use no processor.
const AT_ONCE: usize = 6;
/// How often a run is checked.
const POLL: Duration = Duration::from_millis(10);
/// Text with which a server attacks a reader: title and screen of a terminal, a color by one byte, a command of a CI
/// server, text from right to left, and characters that end things.
const STEER: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\r\n::error::owned\u{202e}evil\u{2066}\0\u{7f}";

/// A healthy server, for the other test.
const TOOLS: &str = "mock_server: { name: desk, tools: [{ name: search, answer: { text: found } }] }\n";

/// A server, and the expected outcome of a run with it.
struct Row {
    mode: &'static str,
    /// How the suite reaches the server.
    server: String,
    timeout_ms: u64,
    /// How often the tool `attack` is called before the tool `echo` is.
    attacks: usize,
    ends: Ends,
    /// The longest the whole run may take. Far more than it needs: a machine may have other things to do.
    seconds: u64,
    /// The most memory it may take.
    megabytes: u64,
    /// Processes that the server put out of reach.
    escaped: usize,
    flag: &'static str,
}

enum Ends {
    /// The run cannot be made: message and hint.
    Refused(String, &'static str),
    /// It continues, and these are the answers to its calls.
    Answers(Vec<String>),
}

impl Row {
    fn new(mode: &'static str, server: String, ends: Ends) -> Self {
        let attacks = match &ends {
            Ends::Refused(..) => 1,
            Ends::Answers(answers) => answers.len() - 1,
        };
        Self {
            mode,
            server,
            timeout_ms: 60_000,
            attacks,
            ends,
            seconds: 90,
            megabytes: 100,
            escaped: 0,
            flag: "--live",
        }
    }

    /// With a time limit that the server exceeds.
    fn patient(self, timeout_ms: u64) -> Self {
        Self { timeout_ms, ..self }
    }

    fn taking(self, megabytes: u64) -> Self {
        Self { megabytes, ..self }
    }

    fn leaving(self, escaped: usize) -> Self {
        Self { escaped, ..self }
    }

    /// A suite with a test that uses the hostile server, and a healthy test. The first fails if it can run at all, so
    /// that every report shows the responses of the server.
    fn suite(&self, marker: &str) -> String {
        let server = self.server.replace("MARKER", marker);
        format!(
            "servers:\n\
             \x20 bad: {{ {server}, timeout_ms: {}, protocol: legacy }}\n\
             \x20 desk: {{ command: [mcptest, mock, --tools-from, \"${{SUITE_DIR}}/tools.yml\"] }}\n\
             models:\n\
             \x20 attacker: {{ provider: script, script: attack.yml }}\n\
             \x20 demo: {{ provider: script, script: search.yml }}\n\
             agents:\n\
             \x20 - name: attacked\n\
             \x20   model: attacker\n\
             \x20   servers: [bad]\n\
             \x20   prompt: p\n\
             \x20   expect: [{{ target: tool_results, matcher: {{ exact: [] }} }}]\n\
             \x20   trajectory: {{ calls: [{{ name: never }}] }}\n\
             \x20 - {{ name: healthy, model: demo, servers: [desk], prompt: p, trajectory: {{ calls: [{{ name: search, status: ok }}] }} }}\n",
            self.timeout_ms
        )
    }

    fn script(&self) -> String {
        let call = |tool: &str| format!("{{ calls: [{{ tool: {tool} }}] }}, ");
        let attacks = call("attack").repeat(self.attacks);
        format!("{{ script: 1, runs: [{{ turns: [{attacks}{}{{ text: done }}] }}] }}\n", call("echo"))
    }
}

/// What a run came to.
struct Finished {
    code: Option<i32>,
    seconds: u64,
    megabytes: u64,
    stderr: Vec<u8>,
}

/// Runs every row, several at a time, and reports every difference from what is expected.
#[track_caller]
fn check(rows: Vec<Row>) {
    let only: BTreeSet<&str> = rows.iter().map(|row| row.mode).collect();
    assert_eq!(only.len(), rows.len(), "a mode is there twice");
    let rows = Mutex::new(rows.into_iter());
    let problems = Mutex::new(String::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(row) = rows.lock().unwrap().next() else { return };
                    for problem in judge(&row) {
                        writeln!(problems.lock().unwrap(), "--- {}: {problem}", row.mode).unwrap();
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "\n{problems}");
}

/// A folder with the suite of a row, whose processes carry this word.
fn world(row: &Row, marker: &str) -> Folder {
    Folder::with(&[
        ("suite.yml", &row.suite(marker)),
        ("attack.yml", &row.script()),
        ("search.yml", "{ script: 1, runs: [{ turns: [{ calls: [{ tool: search }] }, { text: done }] }] }\n"),
        ("tools.yml", TOOLS),
    ])
}

/// Everything unexpected about the run of a row.
fn judge(row: &Row) -> Vec<String> {
    let marker = marker();
    let here = world(row, &marker);
    let ran = run(&here, row);
    let mut problems = Vec::new();
    let mut hold = |holds: bool, problem: String| {
        if !holds {
            problems.push(problem);
        }
    };
    hold(ran.seconds < row.seconds, format!("it took {} seconds", ran.seconds));
    hold(ran.megabytes < row.megabytes, format!("it took {} MB", ran.megabytes));
    // The kernel may take a moment to clear up.
    let mut left = left(&marker);
    for _ in 0..200 {
        if left.len() == row.escaped {
            break;
        }
        thread::sleep(POLL);
        left = self::left(&marker);
    }
    hold(left.len() == row.escaped, format!("processes are left behind: {left:?}"));
    for id in left {
        let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
    }

    for name in ["pretty", "github", "junit", "markdown", "html", "json"] {
        let bytes = std::fs::read(here.0.join(name)).unwrap_or_default();
        hold(!bytes.is_empty(), format!("there is no report {name}"));
        let acting = acting(&bytes, name == "json");
        hold(acting.is_empty(), format!("the report {name} has {acting:?}"));
        // A runner takes a line for a command also behind spaces.
        let text = String::from_utf8_lossy(&bytes);
        let command = text.lines().any(|line| line.trim_start().starts_with("::error::owned"));
        hold(!command, format!("the report {name} has a line that is a command"));
    }
    // On a busy machine a server may take long to start, which is reported.
    let reported = String::from_utf8_lossy(&ran.stderr);
    let reported: Vec<&str> = reported.lines().filter(|line| !line.contains(": waiting for server")).collect();
    let reported = reported.join("\n");
    hold(reported.is_empty(), format!("standard error has: {reported}"));

    let report: Value = std::fs::read(here.0.join("json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let rows = &report["suites"][0]["rows"];
    let verdicts: Vec<&str> = (0..2).map(|at| rows[at]["verdict"].as_str().unwrap_or("none")).collect();
    let found = match &row.ends {
        Ends::Refused(message, hint) => {
            let found = (ran.code, verdicts, &rows[0]["error"]["message"], &rows[0]["error"]["hint"]);
            let (message, hint) = (Value::from(message.as_str()), Value::from(*hint));
            let expected = (Some(2), vec!["error", "pass"], &message, &hint);
            (found != expected).then(|| format!("found {found:?}\nexpected {expected:?}"))
        }
        Ends::Answers(answers) => {
            let results = rows[0]["trace"]["tool_results"].as_array().map(Vec::as_slice).unwrap_or_default();
            let found = (ran.code, verdicts, &results.iter().map(brief).collect::<Vec<_>>());
            let expected = (Some(1), vec!["fail", "pass"], answers);
            let why = &rows[0]["error"];
            (found != expected).then(|| format!("found {found:?} {why}\nexpected {expected:?}"))
        }
    };
    problems.extend(found);
    problems
}

/// Runs the suite, and kills what does not end in twice its time.
fn run(here: &Folder, row: &Row) -> Finished {
    let reporters = ["github", "junit", "markdown", "html", "json"].map(|name| format!("--reporter={name}={name}"));
    let stream = |name: &str| std::fs::File::create(here.0.join(name)).unwrap();
    let mut child = here
        .command(&["run", "suite.yml", row.flag, "--reporter=pretty"])
        .args(reporters)
        .stdin(Stdio::null())
        .stdout(stream("pretty"))
        .stderr(stream("stderr"))
        .spawn()
        .unwrap();
    let (mut polls, mut megabytes) = (0, 0);
    let most = u128::from(row.seconds) * 2000 / POLL.as_millis();
    while child.try_wait().unwrap().is_none() {
        if polls == most {
            child.kill().unwrap();
            break;
        }
        megabytes = peak(&child).unwrap_or(megabytes);
        thread::sleep(POLL);
        polls += 1;
    }
    let code = child.wait().unwrap().code();
    let seconds = u64::try_from(polls * POLL.as_millis() / 1000).unwrap();
    Finished { code, seconds, megabytes, stderr: std::fs::read(here.0.join("stderr")).unwrap() }
}

/// The most memory that a process has had so far, in megabytes.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? / 1024)
}

/// A word that is in the command line of every process of one run, and nowhere else.
fn marker() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("mcptest-hostile-{}-{}-", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The processes with this word in their command line.
fn left(marker: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ours = processes.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    });
    ours.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The characters in a report that would do more than stand there. JSON is for programs, and only its rules count.
fn acting(bytes: &[u8], is_json: bool) -> BTreeSet<char> {
    let Ok(text) = std::str::from_utf8(bytes) else { return BTreeSet::from([char::REPLACEMENT_CHARACTER]) };
    let acts = |c: &char| match c {
        '\n' => false,
        '\0'..='\u{1f}' => true,
        '\u{7f}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => !is_json,
        _ => false,
    };
    text.chars().filter(acts).collect()
}

/// An answer on one line.
fn brief(result: &Value) -> String {
    let cut = |text: String| match text.char_indices().nth(160) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    };
    match &result["error"] {
        Value::Null => match (&result["content"][0]["text"], &result["structured_content"]) {
            (Value::String(text), Value::Null) => cut(format!("ok: {text}")),
            (_, Value::Null) => cut(format!("ok: {}", result["content"])),
            (_, structured) => cut(format!("ok: {structured}")),
        },
        error => {
            let code = error["code"].as_i64().map(|code| format!(" {code}")).unwrap_or_default();
            cut(format!("{}{code}: {}", error["kind"].as_str().unwrap(), error["message"].as_str().unwrap()))
        }
    }
}

/// The program that plays the servers over stdio.
fn program() -> PathBuf {
    root().join("crates/cli/tests/it/hostile/server.py")
}
