//! Programs that are killed or stopped at any moment, or several of them at once: files are the old ones or the new ones, and
//! the next command works.

pub(crate) mod kills;
mod steps;

use std::fs;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Folder;
use super::one_tool::TOOLS;
use kills::{Draw, Seen, Span, World, running};

/// A suite with two tests on the server.
const SUITE: &str = "\
servers: { desk: { command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"] } }
models: { demo: { provider: script, script: script.yml } }
agents:
  - { name: a, model: demo, servers: [desk], prompt: Do it., runs: 3, trajectory: { calls: [{ name: search }] } }
  - { name: b, model: demo, servers: [desk], prompt: Do it., runs: 3, trajectory: { calls: [{ name: search }] } }
";

/// A script that calls the tool once.
fn script(word: &str) -> String {
    format!(
        "{{ script: 1, runs: [{{ turns: [{{ calls: [{{ tool: search, args: {{ q: {word} }} }}] }}, {{ text: {word} }}] }}] }}"
    )
}

fn world() -> Folder {
    Folder::with(&[("suite.yml", SUITE), ("tools.yml", TOOLS), ("script.yml", &script("rain"))])
}

/// The text of a recording as that of another run.
fn as_run(text: &str, run: u64) -> String {
    let mut cassette: Value = serde_json::from_str(text).unwrap();
    cassette["run"] = run.into();
    mcptest_core::cassette::seal(cassette.as_object_mut().unwrap());
    mcptest_core::json::pretty(&cassette)
}

/// Gives each test this many runs, with the recording of the first for all, so that there is something to write.
fn multiply(here: &Folder, runs: u64) {
    for test in ["a", "b"] {
        let at = here.0.join("cassettes/suite").join(test).join("demo");
        let text = fs::read_to_string(at.join("1.json")).unwrap();
        for run in 1..=runs {
            fs::write(at.join(format!("{run}.json")), as_run(&text, run)).unwrap();
        }
    }
    here.write("suite.yml", SUITE.replace("runs: 3", &format!("runs: {runs}")).as_bytes());
}

/// What moments are drawn from, reported so that a failure can be had again.
#[expect(clippy::disallowed_methods, reason = "a switch for whoever wants a failure again")]
fn seed() -> u64 {
    let given = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
    let _ = writeln!(std::io::stderr(), "CRASH_SEED={seed}");
    seed
}

/// How many recorders are killed in each of two folders: a handful, or `CRASH_KILLS`.
#[expect(clippy::disallowed_methods, reason = "a switch for the long run")]
fn kills() -> u32 {
    std::env::var("CRASH_KILLS").ok().map_or(9, |count| count.parse().unwrap())
}

/// Starts a command and does not read its output.
fn start(here: &Folder, line: &[&str]) -> Child {
    here.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[track_caller]
fn works(here: &Folder, line: &[&str]) {
    let output = here.command(line).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{line:?}: {output:?}");
}

/// Waits for an end, for half a minute at most.
#[track_caller]
fn ends(child: &mut Child) -> Option<i32> {
    for _ in 0..3000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it did not end");
    None
}

#[test]
fn a_recorder_that_is_killed_at_any_moment_leaves_old_recordings_or_new_ones() {
    let (seed, kills) = (seed(), kills());
    let folders = [Folder::with(&[]), Folder::with(&[])];
    let total: Vec<Seen> = thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(&folders)
            .map(|(at, folder)| scope.spawn(move || World::new(&folder.0).torture(kills, seed + at)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let total = total.into_iter().fold(Seen::default(), Seen::and);
    let _ = writeln!(std::io::stderr(), "{total:?}");
    // Kills came before, in the middle and after, or this proves nothing. A handful may miss one of these.
    assert!(total.killed > 0, "{total:?}");
    let many = kills < 150 || (total.killed >= 100 && total.old >= 20 && total.new >= 20 && total.strays > 0);
    assert!(many, "{total:?}");
}

#[test]
fn a_report_that_is_killed_while_it_is_written_is_the_old_one_or_the_new_one() {
    let here = world();
    works(&here, &["run", "suite.yml", "--record"]);
    multiply(&here, 100);
    let line = ["run", "suite.yml", "--reporter", "json=report.json", "--reporter", "html=report.html", "--runs"];
    let known: Vec<[String; 2]> = ["99", "100"]
        .map(|runs| {
            works(&here, &[&line[..], &[runs]].concat());
            ["report.json", "report.html"].map(|name| fs::read_to_string(here.0.join(name)).unwrap())
        })
        .to_vec();
    let (mut draw, mut span, mut news) = (Draw(seed()), Span(200_000), 0);
    for time in 0..40 {
        let which = time % 2;
        let mut child = start(&here, &[&line[..], &[["99", "100"][which]]].concat());
        span.kill(&mut child, &mut draw, false);
        for (at, name) in ["report.json", "report.html"].into_iter().enumerate() {
            let text = fs::read_to_string(here.0.join(name)).unwrap();
            assert!(known.iter().any(|known| known[at] == text), "{name}: {} bytes", text.len());
            news += usize::from(text == known[which][at]);
        }
    }
    assert!(news > 5, "{news}");
    works(&here, &[&line[..], &["100"]].concat());
    works(&here, &["report", "report.json"]);
}

#[test]
fn leftovers_of_a_killed_report_or_init_are_harmless() {
    let here = world();
    // Programs in containers often have the same number, so what the one before left has the number of the next.
    let line = "echo $$ > number; for name in .report.json .mcptest.yml; do echo half > $name.$$-0.tmp; done; \
                exec \"$0\" \"$@\"";
    for command in [&["run", "suite.yml", "--reporter", "json=report.json"][..], &["init"]] {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", line, env!("CARGO_BIN_EXE_mcptest")]).args(command).current_dir(&here.0).env_clear();
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let number = fs::read_to_string(here.0.join("number")).unwrap();
        let left = fs::read_to_string(here.0.join(format!(".report.json.{}-0.tmp", number.trim()))).unwrap();
        assert_eq!(left, "half\n");
    }
    works(&here, &["report", "report.json"]);
    works(&here, &["run", "mcptest.yml"]);
}

#[test]
fn a_killed_prune_removes_complete_files_and_the_next_one_continues() {
    let here = world();
    works(&here, &["run", "suite.yml", "--record"]);
    let at = here.0.join("cassettes/suite/a/demo");
    let text = fs::read_to_string(at.join("1.json")).unwrap();
    let (mut draw, mut span, mut parts) = (Draw(seed()), Span(60_000), 0);
    for _ in 0..20 {
        for run in 4..=120 {
            let path = at.join(format!("{run}.json"));
            fs::write(path, as_run(&text, run)).unwrap();
        }
        let mut child = start(&here, &["cassette", "prune", "suite.yml", "--yes"]);
        span.kill(&mut child, &mut draw, false);
        let left = fs::read_dir(&at).unwrap().count();
        assert!((3..=120).contains(&left), "{left}");
        parts += usize::from((4..120).contains(&left));
        // Only what no test uses was removed.
        works(&here, &["run", "suite.yml"]);
    }
    works(&here, &["cassette", "prune", "suite.yml", "--yes"]);
    assert_eq!(fs::read_dir(&at).unwrap().count(), 3, "{parts} were killed midway");
}

#[test]
fn a_paused_recorder_continues_normally() {
    let here = world();
    let mut draw = Draw(seed());
    for _ in 0..5 {
        let mut child = start(&here, &["run", "suite.yml", "--record"]);
        let pid = Pid::from_child(&child);
        thread::sleep(Duration::from_millis(draw.below(120)));
        // It may have ended but was not waited for yet, so the signal always has a target.
        kill_process(pid, Signal::STOP).unwrap();
        thread::sleep(Duration::from_millis(300));
        kill_process(pid, Signal::CONT).unwrap();
        assert_eq!(ends(&mut child), Some(0));
        works(&here, &["run", "suite.yml"]);
    }
    assert_eq!(running(&here.0.join("tools.yml").to_string_lossy()), 0);
}

/// Every recording by its path.
fn recordings(here: &Folder) -> Vec<Value> {
    let mut out = Vec::new();
    for test in ["a", "b"] {
        for run in 1..=3 {
            let path = here.0.join(format!("cassettes/suite/{test}/demo/{run}.json"));
            out.push(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap());
        }
    }
    out
}

#[test]
fn of_two_recorders_one_records_and_the_other_is_refused() {
    for filters in [["a", "a"], ["a", "b"]] {
        let here = world();
        works(&here, &["run", "suite.yml", "--record"]);
        let before = recordings(&here);
        // The first one locks the folder until its server gets the file it waits for.
        let slow = SUITE.replace(
            "[mcptest, mock,",
            "[sh, -c, \"i=0; while [ ! -e $0/go ] && [ $i -lt 1000 ]; do sleep 0.02; i=$((i+1)); done; exec \\\"$1\\\" mock \
             --tools-from \\\"$2\\\"\", \"${SUITE_DIR}\", PROGRAM,",
        );
        let slow = slow.replace("PROGRAM, --tools-from,", &format!("\"{}\",", env!("CARGO_BIN_EXE_mcptest")));
        here.write("suite.yml", slow.as_bytes());
        let path = [("PATH", "/usr/bin:/bin")];
        let mut first = here.command(&["run", "suite.yml", "--record", "--filter", filters[0]]);
        let mut first = first.envs(path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let marker = here.0.join("tools.yml").to_string_lossy().into_owned();
        assert!((0..500).any(|_| running(&marker) > 0 || {
            thread::sleep(Duration::from_millis(20));
            false
        }));
        let second =
            here.command(&["run", "suite.yml", "--record", "--filter", filters[1]]).envs(path).output().unwrap();
        let reported = String::from_utf8(second.stdout).unwrap();
        assert_eq!(second.status.code(), Some(2), "{reported}");
        let reason = "cassettes/suite: another recording is in progress\n    hint: wait until it finishes\n";
        assert_eq!(reported.matches(reason).count(), 1, "{reported}");
        // Whoever replays meanwhile sees what was there before.
        assert_eq!(recordings(&here), before);
        here.write("go", b"");
        assert_eq!(ends(&mut first), Some(0));
        let changed = recordings(&here)
            .iter()
            .zip(&before)
            .map(|(now, before)| now["inputs"] != before["inputs"])
            .collect::<Vec<_>>();
        assert_eq!(changed, [true, true, true, false, false, false]);
        assert_eq!(here.command(&["run", "suite.yml", "--record"]).envs(path).status().unwrap().code(), Some(0));
        assert_eq!(running(&marker), 0);
    }
}

#[test]
fn concurrent_recorders_do_not_mix_and_replays_see_complete_recordings() {
    let here = world();
    works(&here, &["run", "suite.yml", "--record"]);
    let expected: Vec<Value> = recordings(&here).iter().map(essence).collect();
    for _ in 0..6 {
        let mut recorders: Vec<Child> = (0..3).map(|_| start(&here, &["run", "suite.yml", "--record"])).collect();
        let mut replays: Vec<Child> = (0..3).map(|_| start(&here, &["run", "suite.yml"])).collect();
        let codes: Vec<Option<i32>> = recorders.iter_mut().map(ends).collect();
        assert!(codes.contains(&Some(0)) && codes.iter().all(|code| matches!(code, Some(0 | 2))), "{codes:?}");
        assert_eq!(replays.iter_mut().map(ends).collect::<Vec<_>>(), [Some(0); 3]);
        assert_eq!(recordings(&here).iter().map(essence).collect::<Vec<_>>(), expected);
    }
}

/// A recording without how long things took.
fn essence(recording: &Value) -> Value {
    let mut value = recording.clone();
    value["trace"]["conversation"]["duration_ms"] = Value::Null;
    value["trace"]["tool_results"][0]["duration_ms"] = Value::Null;
    value["digest"] = Value::Null;
    value
}

#[test]
fn concurrent_reports_to_one_file_leave_one_complete_report() {
    let here = world();
    works(&here, &["run", "suite.yml", "--record"]);
    multiply(&here, 60);
    let line = |test: &'static str| ["run", "suite.yml", "--reporter", "json=same.json", "--filter", test];
    let known = ["a", "b"].map(|test| {
        works(&here, &line(test));
        fs::read_to_string(here.0.join("same.json")).unwrap()
    });
    assert_ne!(known[0], known[1]);
    for _ in 0..10 {
        let mut both: Vec<Child> = ["a", "b", "a", "b"].map(|test| start(&here, &line(test))).into();
        // While they write, and when they are done.
        let mut are_running = true;
        for _ in 0..20_000 {
            let found = fs::read_to_string(here.0.join("same.json")).unwrap();
            assert!(known.contains(&found), "{} bytes", found.len());
            if !are_running {
                break;
            }
            are_running = both.iter_mut().any(|child| child.try_wait().unwrap().is_none());
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(both.iter_mut().map(ends).collect::<Vec<_>>(), [Some(0); 4]);
    }
    let names: Vec<_> = fs::read_dir(&here.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{names:?}");
}
