//! Users who may start few threads, processes or connections: every command ends, with a verdict or with exit code 2 and the
//! reason, and one signal ends what would take longer.
//!
//! The limit on processes counts everything that a user runs and does not apply to root, so these tests run as a separate
//! user, which needs root. Elsewhere they are skipped with a note.
#![expect(clippy::disallowed_methods, reason = "a test that waits for a program knows the time")]

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::models::finish;
use super::one_tool::{SCRIPT, TOOLS};

/// More time than a program may take to end after one signal.
const LIMIT: Duration = Duration::from_secs(20);

const SUITE: &str = "\
servers: { desk: { command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"] } }
models: { m: { provider: script, script: script.yml } }
agents:
  - { name: t, model: m, servers: [desk], prompt: Do it., runs: 8, trajectory: { calls: [{ name: search, status: ok }] } }
";
const GATES: &str = "trajectory: { calls: [{ name: search, args: any }] }\n";

/// A world-writable folder with the program, and a user who runs nothing else.
struct World {
    folder: tempfile::TempDir,
    user: u32,
}

impl World {
    /// Nothing, and a note, where limits cannot be tried.
    fn new(files: &[(&str, &str)]) -> Option<Self> {
        static USERS: AtomicU32 = AtomicU32::new(0);
        let is_there = Command::new("prlimit").arg("--version").output().is_ok_and(|output| output.status.success());
        if !rustix::process::geteuid().is_root() || !is_there {
            let _ = writeln!(std::io::stderr(), "skipped: limits on a user need root and `prlimit`");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let user = 1_000_000 + std::process::id() * 16 + USERS.fetch_add(1, Ordering::Relaxed);
        let world = Self { folder, user };
        // The folder of the build may be one that this user cannot enter. Another program makes the copy: a file that this
        // one writes is open in what other tests start meanwhile, and cannot be run as long as it is.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_mcptest")).arg(world.path("mcptest")).status();
        assert!(copied.unwrap().success());
        for (name, text) in files {
            fs::write(world.path(name), text).unwrap();
        }
        let is_runnable = world.limited("--core=0").arg("schema").output().is_ok_and(|output| output.status.success());
        if !is_runnable {
            let _ = writeln!(std::io::stderr(), "skipped: another user may not run programs in {:?}", world.folder);
        }
        is_runnable.then_some(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program as this user, under a limit as `prlimit` takes it.
    fn limited(&self, limit: &str) -> Command {
        let mut command = Command::new("prlimit");
        command.arg(limit).arg(self.path("mcptest")).current_dir(self.folder.path()).env_clear();
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").uid(self.user).gid(self.user);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program under a limit. It must end, and must not panic.
    #[track_caller]
    fn run(&self, limit: &str, line: &[&str]) -> (Option<i32>, String, String) {
        let mut command = self.limited(limit);
        command.args(line);
        let ended = outcome(&finish(command));
        assert!(!ended.2.contains("mcptest broke"), "{limit} {line:?}: {ended:?}");
        assert!(matches!(ended.0, Some(0..=2)), "{limit} {line:?}: {ended:?}");
        ended
    }

    fn forget(&self) {
        // There may be none.
        let _ = fs::remove_dir_all(self.path("cassettes"));
    }
}

fn outcome(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn suite() -> [(&'static str, &'static str); 3] {
    [("suite.yml", SUITE), ("script.yml", SCRIPT), ("tools.yml", TOOLS)]
}

const ENOUGH: &str = "--nproc=100";

#[test]
fn runs_under_a_limit_on_processes_end_with_a_verdict_or_an_error() {
    let Some(world) = World::new(&suite()) else { return };
    for mode in ["--live", "--record"] {
        for jobs in ["1", "8"] {
            for processes in [1, 2, 4, 6, 8, 10, 14, 20] {
                world.forget();
                let line = ["run", "suite.yml", mode, "--jobs", jobs];
                let (code, out, _) = world.run(&format!("--nproc={processes}"), &line);
                let verdict = out.lines().last().unwrap_or_default();
                let is_whole = verdict == "1 test, 8 runs: 1 passed";
                assert_eq!(code, Some(if is_whole { 0 } else { 2 }), "{processes} {line:?}: {out}");
                assert!(
                    is_whole || verdict.ends_with(" error") || verdict.ends_with(" errors"),
                    "{processes} {line:?}: {out}"
                );
            }
        }
    }
    let hint = "hint: run fewer tests at once (`--jobs`), or raise the limit on processes and threads (`ulimit -u`)";
    let (_, out, _) = world.run("--nproc=2", &["run", "suite.yml", "--live", "--jobs", "8"]);
    assert!(out.starts_with("note: running 1 at once instead of 8: no more threads (`ulimit -u`)\n"), "{out}");
    // The lines are wrapped.
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(hint), "{out}");
}

#[test]
fn a_replay_and_a_score_need_no_second_thread() {
    let record = r#"{"tool_calls":[{"name":"search","args":{}}],"tool_results":[{"is_error":false,"content":[]}]}"#;
    let traces = format!("{record}\n").repeat(3000);
    let files = [&suite()[..], &[("gates.yml", GATES), ("traces.jsonl", &traces)]].concat();
    let Some(world) = World::new(&files) else { return };
    assert_eq!(world.run(ENOUGH, &["run", "suite.yml", "--record"]).0, Some(0));
    let replay = ["run", "suite.yml", "--jobs", "8", "--verbose"];
    let score = ["score", "traces.jsonl", "--gates", "gates.yml", "--jobs", "8"];
    let scan = ["cassette", "scan", "suite.yml"];
    for line in [&replay[..], &score, &scan] {
        let expected = world.run(ENOUGH, line);
        assert_eq!(expected.0, Some(0), "{expected:?}");
        for processes in 1..=10 {
            assert_eq!(world.run(&format!("--nproc={processes}"), line), expected, "{processes} {line:?}");
        }
    }
}

#[test]
fn every_command_under_a_limit_on_open_files_ends_with_a_verdict_or_an_error() {
    let record = r#"{"tool_calls":[{"name":"search","args":{}}]}"#;
    let files = [&suite()[..], &[("gates.yml", GATES), ("traces.jsonl", record)]].concat();
    let Some(world) = World::new(&files) else { return };
    let server = format!("{} mock --tools-from tools.yml", world.path("mcptest").display());
    // With fewer, the program is not even loaded.
    for files in 4..=24 {
        for line in [
            &["run", "suite.yml", "--record", "--jobs", "8"][..],
            &["run", "suite.yml", "--jobs", "8"],
            &["score", "traces.jsonl", "--gates", "gates.yml"],
            &["mock", "--tools-from", "tools.yml"],
            &["init", "--from-server", &server, "new"],
        ] {
            world.forget();
            let _ = fs::remove_dir_all(world.path("new"));
            let (code, out, err) = world.run(&format!("--nofile={files}"), line);
            let is_reported = out.contains("error") || err.contains("error: ") || err.contains("error[");
            assert!(code == Some(0) || is_reported, "{files} {line:?}: {out}{err}");
        }
    }
}

#[test]
fn a_mock_server_without_threads_or_files_reports_the_limit() {
    let Some(world) = World::new(&[("tools.yml", TOOLS)]) else { return };
    let hint = "hint: raise the limits on open files (`ulimit -n`) and on processes and threads (`ulimit -u`)\n";
    let mock = ["mock", "--tools-from", "tools.yml"];
    for (limit, why) in [
        ("--nproc=1", "Resource temporarily unavailable (os error 11)"),
        ("--nofile=8", "Too many open files (os error 24)"),
    ] {
        let expected = (Some(2), String::new(), format!("error[out-of-resources]: cannot start: {why}\n{hint}"));
        assert_eq!(world.run(limit, &mock), expected, "{limit}");
    }
    assert_eq!(world.run("--nproc=4", &mock), (Some(0), String::new(), String::new()));
}

#[test]
fn a_host_that_no_thread_can_look_up_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let suite = format!(
        "servers: {{ far: {{ url: \"http://localhost:{port}/mcp\" }} }}\n\
         models: {{ m: {{ provider: script, script: script.yml }}, n: {{ provider: openai, base_url: \"http://localhost:{port}\" }} }}\n\
         agents:\n\
         - {{ name: far server, model: m, servers: [far], prompt: p, trajectory: {{ calls: [] }} }}\n\
         - {{ name: far model, model: n, prompt: p, trajectory: {{ calls: [] }} }}\n"
    );
    let Some(world) = World::new(&[("suite.yml", &suite), ("script.yml", SCRIPT)]) else { return };
    let (code, out, _) = world.run("--nproc=1", &["run", "suite.yml", "--live"]);
    assert_eq!(code, Some(2), "{out}");
    assert!(out.ends_with("\n2 tests, 2 runs: 2 errors\n"), "{out}");
    assert_eq!(out.matches("(os error 11)").count(), 2, "{out}");
}

#[test]
fn one_signal_ends_a_recording_whose_servers_hang() {
    let suite = SUITE.replace("[mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"]", "[sleep, '1000']");
    let Some(world) = World::new(&[("suite.yml", &suite), ("script.yml", SCRIPT)]) else { return };
    for processes in [1, 2, 3, 6, 10, 14, 40] {
        let limit = format!("--nproc={processes}");
        let mut child = world.limited(&limit).args(["run", "suite.yml", "--record", "--jobs", "8"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        if child.try_wait().unwrap().is_none() {
            terminate(&child);
        }
        let (code, out, err) = ended(child);
        // Without a thread that waits for signals, the system ends the program.
        assert!(matches!(code, Some(2) | None) && !err.contains("broke"), "{processes}: {code:?} {out}{err}");
    }
}

#[test]
fn one_signal_ends_a_run_whose_output_is_not_read() {
    let mut suite = "agents:\n".to_owned();
    for at in 0..3000 {
        let gate = "trajectory: { calls: [{ name: a }] }";
        suite += &format!("  - {{ name: t{at}, model: claude-x, prompt: p, {gate} }}\n");
    }
    let here = super::Folder::with(&[("suite.yml", &suite)]);
    let mut command = here.command(&["run", "suite.yml"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Once something is there to read, the signals are listened to; the rest does not fit into the pipe.
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it does not wait for a reader");
    terminate(&child);
    let (code, _, err) = ended(child);
    assert_eq!((code, err.as_str()), (Some(2), "error[run-stopped]: stopped: the runs did not end in time\n"));
}

/// Exit code, stdout and stderr of a program that must end although its output is not read.
#[track_caller]
fn ended(mut child: Child) -> (Option<i32>, String, String) {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        let is_late = begun.elapsed() > LIMIT;
        if is_late {
            child.kill().unwrap();
        }
        assert!(!is_late, "one signal did not end it");
        std::thread::sleep(Duration::from_millis(20));
    }
    outcome(&child.wait_with_output().unwrap())
}

fn terminate(child: &Child) {
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}
