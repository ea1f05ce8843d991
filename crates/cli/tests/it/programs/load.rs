//! Many runs of a program at once, a recorder that is killed, and a program that does not want to end.
#![expect(clippy::disallowed_methods, reason = "an environment variable sets the number of runs")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::{command, faulty, folder, model, recordings, run, suite, text};
use crate::Folder;

/// Runs of the test of many runs; `PROGRAM_RUNS=200` for more.
fn runs() -> u64 {
    std::env::var("PROGRAM_RUNS").ok().map_or(48, |count| count.parse().unwrap())
}

/// The command lines of processes that have this in them.
fn alive(mark: &str) -> usize {
    let lines = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

/// Bounded waiting for something that comes about soon.
fn until(mut wanted: impl FnMut() -> bool) -> bool {
    (0..1500).any(|_| {
        wanted() || {
            thread::sleep(Duration::from_millis(20));
            false
        }
    })
}

/// A word that no other process has on its command line.
fn mark(what: &str) -> String {
    format!("{what}-{}", std::process::id())
}

fn contents(here: &Folder) -> BTreeMap<PathBuf, Vec<u8>> {
    recordings(here).into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn many_runs_of_a_program_use_few_resources_and_leave_nothing() {
    let (mark, model) = (mark("many"), model());
    let here = folder(&suite(&format!(", {mark}"), "", ""));
    let count = runs();
    let flags = ["--record", "-q", "--runs", &count.to_string(), "--jobs", "16"];
    let mut child = command(&here, &model, &flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut files, mut memory, mut programs) = (0, 0, 0);
    let mut ended = false;
    for _ in 0..30_000 {
        ended = child.try_wait().unwrap().is_some();
        if ended {
            break;
        }
        let of = |what: &str| format!("/proc/{}/{what}", child.id());
        files = files.max(std::fs::read_dir(of("fd")).map_or(0, Iterator::count));
        let status = std::fs::read_to_string(of("status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        memory = peak.map_or(memory, |line| line.trim().trim_end_matches(" kB").parse().unwrap());
        programs = programs.max(alive(&mark));
        thread::sleep(Duration::from_millis(20));
    }
    if !ended {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    // Sixteen programs at once, each with a listener, a few connections and pipes. While they are counted, some end and others begin.
    assert!(programs <= 32 && files < 32 + 16 * 16 && memory < 300 * 1024, "{programs}, {files}, {memory}");
    assert_eq!((alive(&mark), alive(&here.0.to_string_lossy())), (0, 0));
    assert_eq!(recordings(&here).len() as u64, 2 * count);
    assert_eq!(run(&here, &model, &["--runs", &count.to_string()]).status.code(), Some(0));
}

#[test]
fn files_of_a_killed_recorder_do_not_get_in_the_way() {
    let (mark, model) = (mark("killed"), model());
    let here = folder(&suite("", "", ""));
    assert_eq!(run(&here, &model, &["--record"]).status.code(), Some(0));
    let (before, asked) = (contents(&here), model.requests().len());
    let hanging = faulty(&format!(", {mark}"), "target: { tool: search }, kind: hang", "");
    here.write("s.yml", hanging.replace("CALL_TIMEOUT: \"1\"", "CALL_TIMEOUT: \"30\"").as_bytes());
    let mut recorder = command(&here, &model, &["--record", "--runs", "4", "--jobs", "4"]);
    let mut recorder = recorder.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Every program waits for an answer of its server.
    let is_waiting = until(|| model.requests().len() >= asked + 4);
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    assert!(is_waiting);
    assert!(until(|| alive(&mark) == 0 && alive(&here.0.to_string_lossy()) == 0), "processes are left behind");
    assert_eq!(contents(&here), before, "nothing is there in parts");
    here.write("s.yml", suite("", "", "").as_bytes());
    assert_eq!(run(&here, &model, &[]).status.code(), Some(0));
    let again = run(&here, &model, &["--record"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again));
    assert_eq!(run(&here, &model, &[]).status.code(), Some(0));
}

#[test]
fn a_stubborn_program_with_stubborn_children_ends_on_time() {
    let (mark, model) = (mark("stubborn"), model());
    let here = folder(&suite(&format!(", stubborn, hangs, {mark}"), "    timeout_ms: 6000\n", ""));
    let begun = std::time::Instant::now();
    let output = run(&here, &model, &["--live"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("it did not end within 6000 ms and was stopped"), "{}", text(&output));
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    assert_eq!(alive(&mark), 0);
}
