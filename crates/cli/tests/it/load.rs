//! Many runs at once: what they cost in memory and descriptors, what is left of them when the user stops, and what happens
//! where the system allows few open files.
#![expect(clippy::disallowed_methods, reason = "a test that waits for a program knows the time")]

use std::collections::BTreeSet;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Folder;
use super::models::remote::Remote;
use super::models::{LIMIT, TOOLS, cassettes, finish, out};

/// Cells of a run here.
const CELLS: usize = 150;

/// More memory than a run here may take, in KiB.
const MEMORY: u64 = 300 * 1024;

/// Cells with one server each, played from a script.
fn world(server: &str) -> Folder {
    let mut suite = format!(
        "servers: {{ desk: {{ {server} }} }}\nmodels: {{ m: {{ provider: script, script: script.yml }} }}\nagents:\n"
    );
    for at in 0..CELLS {
        let gate = "trajectory: { calls: [{ name: search, status: ok }] }";
        suite += &format!("  - {{ name: t{at}, model: m, servers: [desk], prompt: Do it., {gate} }}\n");
    }
    let script = "{ script: 1, runs: [{ turns: [{ calls: [{ tool: search, args: { q: rain } }] }, { text: done }] }] }";
    Folder::with(&[("suite.yml", &suite), ("script.yml", script), ("tools.yml", TOOLS)])
}

const COMMAND: &str = "command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"]";

/// The resources that a process was seen to use.
#[derive(Debug, Default)]
struct Held {
    files: usize,
    memory: u64,
}

fn files(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// Waits for a run while it is looked at. `each` is called all the while, with what was printed so far left to the end.
fn watch(mut child: Child, each: &mut dyn FnMut()) -> (Output, Held) {
    let begun = Instant::now();
    let mut held = Held::default();
    while child.try_wait().unwrap().is_none() {
        held.files = held.files.max(files(child.id()));
        held.memory = held.memory.max(memory(child.id()));
        each();
        let is_late = begun.elapsed() > LIMIT;
        if is_late {
            child.kill().unwrap();
        }
        assert!(!is_late, "it did not end within {LIMIT:?}");
        thread::sleep(Duration::from_millis(10));
    }
    (child.wait_with_output().unwrap(), held)
}

fn start(mut command: Command) -> Child {
    // Short enough for a pipe that is not read in the meantime.
    command.args(["-q"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Processes that have this in their command line.
fn alive(marker: &str) -> usize {
    let lines = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
}

/// Bounded waiting for something that comes about soon.
fn until(wanted: impl Fn() -> bool) -> bool {
    (0..200).any(|_| {
        wanted() || {
            thread::sleep(Duration::from_millis(20));
            false
        }
    })
}

#[test]
fn many_cells_on_one_server_use_few_resources_and_leave_nothing_open() {
    let home = Folder::with(&[("tools.yml", TOOLS)]);
    let remote = Remote::start(&home);
    let before = files(remote.child.id());
    let here = world(&format!("url: \"{}\"", remote.url));
    let mut theirs = 0;
    let child = start(here.command(&["run", "suite.yml", "--live", "--jobs", "64"]));
    let (output, held) = watch(child, &mut || theirs = theirs.max(files(remote.child.id())));
    assert_eq!(
        (output.status.code(), &*out(&output)),
        (Some(0), &*format!("{CELLS} tests, {CELLS} runs: {CELLS} passed\n"))
    );
    // A connection for each run at once, and not one for each that there was.
    assert!(held.memory < MEMORY && held.files < 32 + 3 * 64 && theirs < 32 + 3 * 64, "{held:?}, {theirs}");
    assert!(until(|| files(remote.child.id()) <= before), "{before} files before");
}

#[test]
fn many_processes_use_few_resources_and_none_is_left() {
    let here = world(COMMAND);
    let child = start(here.command(&["run", "suite.yml", "--live", "--jobs", "64"]));
    let (output, held) = watch(child, &mut || ());
    assert_eq!(
        (output.status.code(), &*out(&output)),
        (Some(0), &*format!("{CELLS} tests, {CELLS} runs: {CELLS} passed\n"))
    );
    assert!(held.memory < MEMORY && held.files < 32 + 8 * 64, "{held:?}");
    assert_eq!(alive(here.0.to_str().unwrap()), 0);
}

#[test]
fn ctrl_c_ends_a_run_soon_and_keeps_finished_recordings() {
    let here = world(COMMAND);
    let child = start(here.command(&["run", "suite.yml", "--record", "--jobs", "16"]));
    let id = child.id().to_string();
    let mut reported: Option<Instant> = None;
    let (output, _) = watch(child, &mut || {
        if reported.is_none() && cassettes(&here).len() > 20 {
            assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
            reported = Some(Instant::now());
        }
    });
    let took = reported.unwrap().elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(until(|| alive(here.0.to_str().unwrap()) == 0), "a server lives on");
    let kept = cassettes(&here);
    let left = CELLS - kept.len();
    assert!(left > 0, "it was over before");
    let text = out(&output);
    let last = format!("{CELLS} tests, {0} runs: {0} passed, {left} skipped\n", kept.len());
    assert!(
        output.status.code() == Some(2) && text.ends_with(&last) && text.contains("note: stopped before the end"),
        "{text}"
    );
    // Each file is a complete recording, and there are no other files.
    let names: BTreeSet<String> = kept.iter().map(|name| name.split('/').next().unwrap().to_owned()).collect();
    assert!(names.len() == kept.len() && kept.iter().all(|name| name.ends_with("/m/1.json")), "{kept:?}");
    let mut replay = here.command(&["run", "suite.yml", "-q", "--reporter", "json"]);
    let replayed = finish({
        replay.env_clear();
        replay
    });
    let report: serde_json::Value = serde_json::from_slice(&replayed.stdout).unwrap();
    for row in report["suites"][0]["rows"].as_array().unwrap() {
        let origin = if names.contains(row["name"].as_str().unwrap()) { "replayed" } else { "scripted" };
        assert_eq!((&row["verdict"], &row["origin"]), (&"pass".into(), &origin.into()), "{row}");
    }
}

#[test]
fn few_open_files_mean_fewer_parallel_runs_and_the_limit_is_raised_if_possible() {
    let here = world(COMMAND);
    let run = |limits: &str| {
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_mcptest");
        let line = format!("{limits} && exec {program} run suite.yml --live --jobs 64 --filter '/t[0-4]?[0-9]$/' -q");
        command.args(["-c", &line]).current_dir(&here.0).env_clear().env("PATH", "/usr/bin:/bin");
        let (output, _) = watch(
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
            &mut || (),
        );
        (output.status.code(), out(&output))
    };
    let note = "note: running 8 at once instead of 50: at most 128 open files (`ulimit -n`)\n";
    assert_eq!(run("ulimit -n 128"), (Some(0), format!("{note}\n50 tests, 50 runs: 50 passed\n")));
    assert_eq!(run("ulimit -S -n 128"), (Some(0), "50 tests, 50 runs: 50 passed\n".to_owned()));
    // Where not even one fits, the way out is reported.
    let (code, text) = run("ulimit -n 10");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hint = "hint: run fewer tests at once (`--jobs`), or raise the limit on open files (`ulimit -n`)";
    assert!(code == Some(2) && text.contains("Too many open files (os error 24)") && text.contains(hint), "{text}");
}
