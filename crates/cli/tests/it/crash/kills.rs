//! A recorder that is killed again and again; shared with the benchmark `crash`, which does it more often.
//!
//! The moment of each kill is drawn from a seeded generator: within a span that adapts itself so that some recordings come to
//! their end and most do not, however busy the machine is, and every third time soon after the recorder has begun to write.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Runs of the test, which are recorded side by side.
const RUNS: u64 = 2;

/// How many bytes the tool answers with: enough to be caught in the middle of writing them.
const ANSWER: usize = 40_000;

/// A complete recording and a complete replay are tried after this many kills.
const BETWEEN: u32 = 25;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Recorders that were killed before they had come to their end.
    pub(crate) killed: u32,
    /// Files that a recorder had not replaced yet.
    pub(crate) old: u32,
    /// Files that a recorder had replaced.
    pub(crate) new: u32,
    /// Kills that left a new file under its name for the time being.
    pub(crate) strays: u32,
}

impl Seen {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            killed: self.killed + other.killed,
            old: self.old + other.old,
            new: self.new + other.new,
            strays: self.strays + other.strays,
        }
    }
}

/// Numbers that look random, the same for the same seed.
#[derive(Debug)]
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }
}

/// A span of time that kills are drawn from.
#[derive(Debug)]
pub(crate) struct Span(pub(crate) u64);

impl Span {
    /// Waits for a moment within the span, then kills; whether the program was still running. Four of five kills are to come
    /// before the end.
    pub(crate) fn kill(&mut self, child: &mut Child, draw: &mut Draw, whole_group: bool) -> bool {
        thread::sleep(Duration::from_micros(draw.below(self.0)));
        let is_running = kill(child, whole_group);
        self.0 = if is_running { self.0 + self.0 / 16 } else { self.0 - self.0 / 4 }.clamp(2_000, 5_000_000);
        is_running
    }
}

/// Kills a program and waits for its end; whether it was still running.
fn kill(child: &mut Child, whole_group: bool) -> bool {
    let is_running = child.try_wait().unwrap().is_none();
    let pid = Pid::from_child(child);
    if is_running && whole_group {
        kill_process_group(pid, Signal::KILL).unwrap();
    } else if is_running {
        kill_process(pid, Signal::KILL).unwrap();
    }
    child.wait().unwrap();
    is_running
}

/// A suite in a folder, and what its recordings look like with either script.
pub(crate) struct World {
    folder: PathBuf,
    known: [BTreeMap<u64, String>; 2],
}

impl World {
    /// Writes a suite into a folder, and records it with both scripts.
    pub(crate) fn new(folder: &Path) -> Self {
        let answer = "x".repeat(ANSWER);
        let tools = format!(
            "mock_server:\n  name: desk\n  tools:\n    - name: search\n      answer: {{ structured: {{ about: \"${{args.q}}\", text: {answer} }} }}\n"
        );
        let suite = format!(
            "servers: {{ desk: {{ command: [mcptest, mock, --tools-from, \"${{SUITE_DIR}}/tools.yml\"] }} }}\n\
             models: {{ demo: {{ provider: script, script: script.yml }} }}\n\
             agents:\n\
             \x20 - {{ name: t, model: demo, servers: [desk], prompt: Do it., runs: {RUNS}, \
             trajectory: {{ calls: [{{ name: search }}] }} }}\n"
        );
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("tools.yml"), tools).unwrap();
        fs::write(folder.join("suite.yml"), suite).unwrap();
        let mut world = Self { folder: folder.to_owned(), known: [BTreeMap::new(), BTreeMap::new()] };
        for which in [1, 0] {
            world.choose(which);
            world.works(&["run", "suite.yml", "--record"]);
            world.known[which] = world.recordings();
        }
        assert!((1..=RUNS).all(|run| world.known[0][&run] != world.known[1][&run]));
        world
    }

    /// Kills a recorder this many times.
    pub(crate) fn torture(&self, times: u32, seed: u64) -> Seen {
        let (mut draw, mut span, mut total) = (Draw(seed), Span(100_000), Seen::default());
        for time in 1..=times {
            // The script that fewer recordings on disk are of, so that there is always something to replace.
            let (before, strays) = (self.recordings(), self.strays());
            let which = usize::from((1..=RUNS).all(|run| before[&run] != self.known[1][&run]));
            self.choose(which);
            let mut command = self.command(&["run", "suite.yml", "--record"]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
            let whole_group = time % 2 == 0;
            let is_killed = if time % 3 == 0 {
                self.await_writing(&mut child, &strays);
                thread::sleep(Duration::from_micros(draw.below(3_000)));
                kill(&mut child, whole_group)
            } else {
                span.kill(&mut child, &mut draw, whole_group)
            };
            total.killed += u32::from(is_killed);
            for (run, text) in self.recordings() {
                let new = &self.known[which][&run];
                assert!(
                    text == *new || text == before[&run],
                    "kill {time} of seed {seed}: run {run} is neither the old recording nor the new one: {} bytes",
                    text.len()
                );
                if before[&run] != *new {
                    if text == *new { total.new += 1 } else { total.old += 1 }
                }
            }
            total.strays += u32::from(!self.strays().is_subset(&strays));
            assert!(self.is_left_alone(), "kill {time} of seed {seed}: a server lives on without its recorder");
            if time % BETWEEN == 0 {
                self.works(&["run", "suite.yml", "--record"]);
                assert!(
                    self.recordings() == self.known[which] && self.strays().is_empty(),
                    "kill {time} of seed {seed}"
                );
                self.works(&["run", "suite.yml"]);
                self.works(&["cassette", "list", "suite.yml"]);
            }
        }
        total
    }

    fn choose(&self, which: usize) {
        let word = ["rain", "snow"][which];
        let script = format!(
            "{{ script: 1, runs: [{{ turns: [{{ calls: [{{ tool: search, args: {{ q: {word} }} }}] }}, {{ text: done }}] }}] }}"
        );
        fs::write(self.folder.join("script.yml"), script).unwrap();
    }

    fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
        command.args(line).current_dir(&self.folder).env_clear();
        command
    }

    #[track_caller]
    fn works(&self, line: &[&str]) {
        let output = self.command(line).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line:?}: {output:?}");
    }

    /// The recordings by run, without how long things took.
    fn recordings(&self) -> BTreeMap<u64, String> {
        let at = self.folder.join("cassettes/suite/t/demo");
        let read = |run: u64| (run, timeless(&fs::read_to_string(at.join(format!("{run}.json"))).unwrap()));
        (1..=RUNS).map(read).collect()
    }

    /// Waits until a file is begun under its name for the time being, for ten seconds at most, or until the end.
    fn await_writing(&self, child: &mut Child, before: &BTreeSet<(OsString, SystemTime)>) {
        for _ in 0..50_000 {
            if self.strays().is_subset(before) && child.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_micros(200));
            } else {
                return;
            }
        }
    }

    /// The files under names for the time being, with when they were written.
    fn strays(&self) -> BTreeSet<(OsString, SystemTime)> {
        let all = fs::read_dir(self.folder.join("cassettes/suite/t/demo")).unwrap().map(|entry| entry.unwrap());
        let strays = all.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
        // One may be gone or renamed by the time it is looked at.
        strays.filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?.modified().ok()?))).collect()
    }

    /// Whether no process is left that works for this folder, after a moment.
    fn is_left_alone(&self) -> bool {
        let marker = self.folder.join("tools.yml");
        (0..500).any(|_| {
            let is_alone = running(&marker.to_string_lossy()) == 0;
            if !is_alone {
                thread::sleep(Duration::from_millis(10));
            }
            is_alone
        })
    }
}

/// A recording without how long things took, which its digest covers.
fn timeless(text: &str) -> String {
    let is_of_time =
        |line: &str| ["\"duration_ms\": ", "\"digest\": "].iter().any(|key| line.trim_start().starts_with(key));
    let without = |line: &str| if is_of_time(line) { String::new() } else { format!("{line}\n") };
    text.lines().map(without).collect()
}

/// How many processes have a text in their command.
pub(crate) fn running(marker: &str) -> usize {
    let lines =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
}
