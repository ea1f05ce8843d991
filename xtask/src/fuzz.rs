//! `cargo xtask fuzz --minutes N [TARGET..]`: builds the targets of `fuzz/` with coverage and runs each for its share of the time.
//! It needs a C++ compiler for libFuzzer, and neither a nightly toolchain nor `cargo-fuzz`, which would ask for one.
//!
//! Everything is below `target/fuzz`: `build`, inputs worth keeping in `corpus/<target>`, what a run starts from in
//! `seeds/<target>`, inputs that break something in `crashes/<target>`, and `<target>.log`.

mod targets;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::cargo;
use crate::failure::Failure;
use crate::out;
use crate::servers::bounded;
use targets::{TARGETS, Target};

/// Instruments the code, so that libFuzzer sees which parts an input reaches. Crates that can be fuzzed look for `fuzzing`.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1";

/// Seconds for one input, and memory in MB.
const LIMITS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=1024"];
/// How much longer than its share a target may take: for reading a large corpus, and one last input.
const SPARE: Duration = Duration::from_mins(2);
const MOST_MINUTES: u64 = 7 * 24 * 60;
/// How much of a log is shown when an input breaks something.
const LAST_LINES: usize = 40;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    minutes: u64,
    targets: Vec<&'static Target>,
}

impl Request {
    pub(crate) fn all(minutes: u64) -> Self {
        Self { minutes, targets: TARGETS.iter().collect() }
    }

    pub(crate) fn parse(words: &[&str]) -> Result<Self, Failure> {
        let ["--minutes", minutes, names @ ..] = words else {
            return Err(Failure::broken("for how long? Try `cargo xtask fuzz --minutes 10`".to_owned()));
        };
        let minutes = minutes.parse().ok().filter(|minutes| (1..=MOST_MINUTES).contains(minutes));
        let Some(minutes) = minutes else {
            return Err(Failure::broken(format!("`--minutes` takes a whole number from 1 to {MOST_MINUTES}")));
        };
        let mut request = Self::all(minutes);
        let known = TARGETS.map(|target| target.name);
        if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
            return Err(Failure::broken(format!("unknown target `{unknown}`; there are {}", known.join(", "))));
        }
        request.targets.retain(|target| names.is_empty() || names.contains(&target.name));
        Ok(request)
    }

    /// Seconds for each target.
    fn share(&self) -> u64 {
        (self.minutes * 60 / self.targets.len() as u64).max(1)
    }
}

pub(crate) fn run(root: &Path, request: &Request) -> Result<(), Failure> {
    let folder = cargo::target_folder(root)?.join("fuzz");
    let programs = build(root, &folder)?;
    let mut crashed = Vec::new();
    for target in &request.targets {
        out::say(&format!("{}: {} s", target.name, request.share()));
        if let Some(report) = run_target(target, root, &folder, &programs.join(target.name), request.share())? {
            out::complain(&report);
            crashed.push(target.name);
        }
    }
    if crashed.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!("found inputs that break something, see above: {}", crashed.join(", "))))
}

/// Builds every target and returns the folder they are in.
fn build(root: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let version = cargo::output(root, "-vV")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| Failure::broken("`cargo -vV` names no host".to_owned()))?;
    let into = folder.join("build");
    // With a target named, build scripts and macros are built without coverage.
    let mut command = cargo::command(&root.join("fuzz"), &format!("build --release --locked --bins --target {host}"));
    command.env("CARGO_TARGET_DIR", &into).env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    let status = command.status().map_err(|error| Failure::broken(format!("cannot start `cargo build`: {error}")))?;
    if !status.success() {
        return Err(Failure::broken("cannot build the fuzz targets, see above".to_owned()));
    }
    Ok(into.join(host).join("release"))
}

/// Runs one target. Returns what to show when it found an input that breaks something.
fn run_target(
    target: &Target,
    root: &Path,
    folder: &Path,
    program: &Path,
    seconds: u64,
) -> Result<Option<String>, Failure> {
    let [corpus, seeds, crashes] = ["corpus", "seeds", "crashes"].map(|kind| folder.join(kind).join(target.name));
    if seeds.exists() {
        fs::remove_dir_all(&seeds).map_err(|error| Failure::io("remove", &seeds, &error))?;
    }
    for folder in [&corpus, &seeds, &crashes] {
        fs::create_dir_all(folder).map_err(|error| Failure::io("create", folder, &error))?;
    }
    for (seed, number) in target.seeds(root)?.iter().zip(0..) {
        let path = seeds.join(format!("{number:04}"));
        fs::write(&path, seed).map_err(|error| Failure::io("write", &path, &error))?;
    }
    let mut command = Command::new(program);
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={}", target.max_len)).args(LIMITS);
    command.arg(format!("-artifact_prefix={}/", crashes.display()));
    // Inputs that broke something before are tried again, until they no longer do.
    command.args([&corpus, &seeds, &crashes]);
    let log = folder.join(format!("{}.log", target.name));
    let ended = bounded(&mut command, &log, Duration::from_secs(seconds) + SPARE);
    let bytes = fs::read(&log).map_err(|error| Failure::io("read", &log, &error))?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    match ended {
        Ok(()) => {
            out::say(&format!("  {}", lines.last().unwrap_or(&"no output")));
            Ok(None)
        }
        Err(_) if text.contains("Test unit written to ") => {
            let end = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or(&[]).join("\n");
            Ok(Some(format!("{end}\nhint: to make a test of the input, add it to {}", target.keep)))
        }
        Err(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn parsed(line: &str) -> Result<(u64, Vec<&'static str>), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let request = Request::parse(&words).map_err(|failure| failure.to_string())?;
        Ok((request.share(), request.targets.iter().map(|target| target.name).collect()))
    }

    #[test]
    fn time_is_split_between_the_named_targets_or_all_of_them() {
        assert_eq!(parsed("--minutes 1 target suite target"), Ok((30, vec!["suite", "target"])));
        let all = TARGETS.map(|target| target.name).to_vec();
        assert_eq!(parsed("--minutes 7"), Ok((420 / all.len() as u64, all)));
        for line in ["", "suite", "--minutes", "--minutes 0", "--minutes ten", "--minutes 10081", "--minutes 1 sweet"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    /// Runs a shell script in the place of a target.
    fn run(script: &str) -> Result<Option<String>, Failure> {
        let here = tempfile::tempdir().unwrap();
        let program = here.path().join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        run_target(&TARGETS[0], crate::root().unwrap(), here.path(), &program, 1)
    }

    #[test]
    fn a_crash_is_a_finding_and_any_other_failure_could_not_run() {
        // The corpus, the seeds and the crashes come after the five options.
        assert_eq!(run("test $# = 8 -a -d $6 -a -s $7/0000 -a -d $8 -a $1 = -max_total_time=1"), Ok(None));
        let found = run("echo two answers; echo 'Test unit written to c/crash-1'; exit 77").unwrap().unwrap();
        assert!(found.starts_with("two answers\nTest unit written to c/crash-1\nhint: "), "{found}");
        assert!(matches!(run("echo no such flag; exit 3"), Err(Failure::Broken(_))));
    }
}
