//! One fuzz target for its share of the time, and what its log says of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::targets::Target;
use crate::failure::Failure;
use crate::servers::bounded;

/// Longest time for one input, in seconds.
const ONE_INPUT: u64 = 10;
/// Most memory, in MB.
const MEMORY: u64 = 1_024;
/// How much longer than its share a target may take: reading a large corpus, and one last input.
const SPARE: Duration = Duration::from_mins(2);

/// A target about to run.
pub(super) struct Run<'a> {
    pub(super) root: &'a Path,
    /// Where corpora, seeds, crashes and logs lie.
    pub(super) folder: &'a Path,
    pub(super) target: &'a Target,
    pub(super) seconds: u64,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    executions: u64,
    features: u64,
    kept: usize,
    pub(super) crash: Option<Crash>,
}

/// An input that breaks something.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Crash {
    /// In one line.
    pub(super) what: String,
    pub(super) input: PathBuf,
}

impl Run<'_> {
    pub(super) fn with(&self, program: &Path) -> Result<Outcome, Failure> {
        let name = self.target.name;
        let [corpus, seeds, crashes] = ["corpus", "seeds", "crashes"].map(|kind| self.folder.join(kind).join(name));
        if seeds.exists() {
            fs::remove_dir_all(&seeds).map_err(|error| Failure::io("remove", &seeds, &error))?;
        }
        let logs = self.folder.join("logs");
        for folder in [&corpus, &seeds, &crashes, &logs] {
            fs::create_dir_all(folder).map_err(|error| Failure::io("make", folder, &error))?;
        }
        for (at, seed) in self.target.seeds(self.root)?.iter().enumerate() {
            let path = seeds.join(format!("{at:04}"));
            fs::write(&path, seed).map_err(|error| Failure::io("write", &path, &error))?;
        }
        let mut command = Command::new(program);
        command.arg(format!("-max_total_time={}", self.seconds)).arg(format!("-max_len={}", self.target.max_len));
        command.arg(format!("-timeout={ONE_INPUT}")).arg(format!("-rss_limit_mb={MEMORY}"));
        command.arg("-print_final_stats=1").arg(format!("-artifact_prefix={}/", crashes.display()));
        // What broke something before is tried again, so that it is told until it is mended.
        command.args([&corpus, &seeds, &crashes]);
        let log = logs.join(format!("{name}.log"));
        let ended = bounded(&mut command, &log, Duration::from_secs(self.seconds) + SPARE);
        let said = fs::read(&log).map_err(|error| Failure::io("read", &log, &error))?;
        let kept = fs::read_dir(&corpus).map_err(|error| Failure::io("read", &corpus, &error))?.count();
        let outcome = read(&String::from_utf8_lossy(&said), kept);
        match (ended, &outcome.crash) {
            (Ok(()), None) | (Err(_), Some(_)) => Ok(outcome),
            (Err(failure), None) => Err(failure),
            (Ok(()), Some(crash)) => {
                Err(Failure::broken(format!("{name} ended well and wrote {}", crash.input.display())))
            }
        }
    }
}

impl Outcome {
    /// The numbers in one line.
    pub(super) fn counted(&self) -> String {
        let Self { executions, features, kept, .. } = self;
        format!("  {executions} executions, {features} features, {kept} inputs in the corpus")
    }
}

/// Reads what libFuzzer says of a run.
fn read(log: &str, kept: usize) -> Outcome {
    let after = |line: &str, mark: &str| -> Option<u64> {
        let (_, rest) = line.split_once(mark)?;
        rest.split_whitespace().next()?.parse().ok()
    };
    let last = |mark: &str| log.lines().rev().find_map(|line| after(line, mark));
    let input = log.lines().rev().find_map(|line| line.split_once("Test unit written to ").map(|(_, path)| path));
    Outcome {
        executions: last("stat::number_of_executed_units:").unwrap_or(0),
        features: last(" ft: ").unwrap_or(0),
        kept,
        crash: input.map(|path| Crash { what: reason(log), input: PathBuf::from(path) }),
    }
}

/// Why it ended: what a failed assertion says, else what libFuzzer says.
fn reason(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let panicked = lines.iter().position(|line| line.starts_with("thread ") && line.contains(" panicked at "));
    let found = match panicked {
        Some(at) => lines.get(at..(at + 2).min(lines.len())).map(|lines| lines.join(" ")),
        None => lines.iter().find(|line| line.contains("ERROR: libFuzzer:")).map(|line| (*line).to_owned()),
    };
    let found = found.unwrap_or_else(|| "it ended without a word".to_owned());
    found.chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::targets::TARGETS;

    const WELL: &str = "\
#128\tINITED cov: 3136 ft: 5281 corp: 78/9247b exec/s: 64 rss: 38Mb
#900\tREDUCE cov: 3140 ft: 5290 corp: 79/9250b lim: 4096 exec/s: 64 rss: 40Mb L: 3/20 MS: 1 EraseBytes-
Done 900 runs in 11 second(s)
stat::number_of_executed_units: 900
stat::peak_rss_mb:              40
";

    const BADLY: &str = "\
#128\tINITED cov: 3136 ft: 5281 corp: 78/9247b exec/s: 64 rss: 38Mb

thread '<unnamed>' (7) panicked at fuzz_targets/a.rs:9:5:
two answers
==7== ERROR: libFuzzer: deadly signal
artifact_prefix='c/'; Test unit written to c/crash-1
stat::number_of_executed_units: 130
";

    #[test]
    fn a_log_tells_executions_features_and_what_broke() {
        let well = Outcome { executions: 900, features: 5_290, kept: 3, crash: None };
        assert_eq!(read(WELL, 3), well);
        assert_eq!(well.counted(), "  900 executions, 5290 features, 3 inputs in the corpus");
        let what = "thread '<unnamed>' (7) panicked at fuzz_targets/a.rs:9:5: two answers".to_owned();
        let crash = Some(Crash { what, input: "c/crash-1".into() });
        assert_eq!(read(BADLY, 0), Outcome { executions: 130, features: 5_281, kept: 0, crash });
        let slow = "==7== ERROR: libFuzzer: timeout after 10 seconds\nTest unit written to c/timeout-1\n";
        let crash = Crash { what: slow.lines().next().unwrap().to_owned(), input: "c/timeout-1".into() };
        assert_eq!(read(slow, 0).crash, Some(crash));
    }

    /// Runs a shell script in the place of a target.
    fn run(script: &str) -> Result<Outcome, String> {
        use std::os::unix::fs::PermissionsExt as _;
        let here = tempfile::tempdir().unwrap();
        let program = here.path().join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let root = crate::root().unwrap();
        let run = Run { root, folder: here.path(), target: &TARGETS[0], seconds: 1 };
        let first = |text: String| text.lines().next().unwrap().replace(&*program.to_string_lossy(), "PROGRAM");
        run.with(&program).map_err(|failure| first(failure.to_string()))
    }

    #[test]
    fn a_target_is_given_its_bounds_its_corpus_and_its_seeds() {
        let script = "for word; do case $word in -*) echo $word;; *) test -d $word || exit 9;; esac; done >&2
            test $# = 9 -a -s $8/0000 -a $1 = -max_total_time=1 -a $2 = -max_len=65536 -a $4 = -rss_limit_mb=1024 || exit 8
            echo x > $7/kept; echo 'stat::number_of_executed_units: 5'";
        assert_eq!(run(script), Ok(Outcome { executions: 5, features: 0, kept: 1, crash: None }));
    }

    #[test]
    fn a_target_that_fails_without_an_input_could_not_run() {
        assert_eq!(run("echo no such flag; exit 3"), Err("`PROGRAM` failed (exit status: 3)".to_owned()));
        let found = run("echo 'Test unit written to c/crash-1'; exit 77").unwrap().crash;
        assert_eq!(found, Some(Crash { what: "it ended without a word".to_owned(), input: "c/crash-1".into() }));
        assert_eq!(
            run("echo 'Test unit written to c/crash-1'"),
            Err("cassette ended well and wrote c/crash-1".to_owned())
        );
    }
}
