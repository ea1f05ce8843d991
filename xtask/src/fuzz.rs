//! `cargo xtask fuzz --minutes N [TARGET..]`: builds the targets of `fuzz/` for coverage and runs each for its share of the
//! time. It needs a C++ compiler for libFuzzer, and neither a nightly toolchain nor `cargo-fuzz`.
//!
//! Everything it makes lies below `target/fuzz`: `build`, the inputs worth keeping in `corpus/<target>`, what it starts from
//! in `seeds/<target>`, inputs that break something in `crashes/<target>`, and what a run said in `logs/`.

mod run;
mod targets;

use std::path::{Path, PathBuf};

use crate::cargo::cargo;
use crate::failure::Failure;
use crate::out;
use crate::servers::target_folder;
use run::{Outcome, Run};
use targets::{TARGETS, Target};

/// Where the targets stand.
const HERE: &str = "fuzz";

/// What tells libFuzzer which code an input reaches. `fuzzing` is what crates look at that can be fuzzed.
const FLAGS: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg fuzzing",
    "-Ccodegen-units=1",
];

/// Longest time that can be asked for.
const MOST_MINUTES: u64 = 7 * 24 * 60;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    minutes: u64,
    targets: Vec<&'static Target>,
}

impl Asked {
    /// Reads what follows `fuzz`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, Failure> {
        let ["--minutes", minutes, names @ ..] = words else {
            return Err(Failure::broken("say for how long: `cargo xtask fuzz --minutes 10`".to_owned()));
        };
        let minutes = minutes.parse().ok().filter(|minutes| (1..=MOST_MINUTES).contains(minutes));
        let Some(minutes) = minutes else {
            let message = format!("`--minutes` takes a whole number from 1 to {MOST_MINUTES}");
            return Err(Failure::broken(message));
        };
        let mut targets: Vec<&'static Target> = Vec::new();
        for name in names {
            let Some(target) = TARGETS.iter().find(|target| target.name == *name) else {
                let known = TARGETS.map(|target| target.name).join(", ");
                return Err(Failure::broken(format!("there is no target `{name}`; there are {known}")));
            };
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        if targets.is_empty() {
            targets.extend(&TARGETS);
        }
        Ok(Self { minutes, targets })
    }

    /// Seconds for each target.
    fn share(&self) -> u64 {
        (self.minutes * 60 / self.targets.len() as u64).max(1)
    }
}

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), Failure> {
    let folder = target_folder(root)?.join("fuzz");
    let programs = build(root, &folder)?;
    let share = asked.share();
    let mut crashes = 0;
    for target in &asked.targets {
        out::say(&format!("{}: {share} s", target.name));
        let outcome = Run { root, folder: &folder, target, seconds: share }.with(&programs.join(target.name))?;
        out::say(&outcome.counted());
        if let Outcome { crash: Some(crash), .. } = &outcome {
            crashes += 1;
            out::complain(&format!("{}: {}\n{}", target.name, crash.what, target.advice(&crash.input)));
        }
    }
    match crashes {
        0 => Ok(()),
        1 => Err(Failure::refused("1 target found an input that breaks something, see above".to_owned())),
        many => Err(Failure::refused(format!("{many} targets found inputs that break something, see above"))),
    }
}

/// Builds every target, and says where they are. All at once, because most of the time goes into what they share.
fn build(root: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let host = host(root)?;
    let into = folder.join("build");
    let mut command = cargo(&root.join(HERE));
    command.args(["build", "--release", "--locked", "--bins"]);
    // With a target named, build scripts and macros are built without what counts coverage.
    command.args(["--target", &host]);
    command.env("CARGO_TARGET_DIR", &into).env("RUSTFLAGS", FLAGS.join(" ")).env_remove("CARGO_ENCODED_RUSTFLAGS");
    let status = command.status().map_err(|error| Failure::broken(format!("cannot start `cargo build`: {error}")))?;
    if status.success() {
        Ok(into.join(host).join("release"))
    } else {
        Err(Failure::broken("the fuzz targets cannot be built, see above".to_owned()))
    }
}

/// The triple of this machine.
fn host(root: &Path) -> Result<String, Failure> {
    let output = cargo(root).arg("-vV").output();
    let output = output.map_err(|error| Failure::broken(format!("cannot start `cargo -vV`: {error}")))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::broken("`cargo -vV` names no host".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<(u64, Vec<&'static str>), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let asked = Asked::parse(&words).map_err(|failure| failure.to_string())?;
        Ok((asked.share(), asked.targets.iter().map(|target| target.name).collect()))
    }

    #[test]
    fn time_is_shared_among_the_targets_that_are_named_or_among_all() {
        assert_eq!(asked("--minutes 1 target suite target"), Ok((30, vec!["target", "suite"])));
        let all = TARGETS.map(|target| target.name).to_vec();
        assert_eq!(asked("--minutes 7"), Ok((420 / all.len() as u64, all)));
    }

    #[test]
    fn a_time_or_a_target_that_makes_no_sense_is_refused_before_anything_is_built() {
        let due = "`--minutes` takes a whole number from 1 to 10080";
        for line in ["--minutes 0", "--minutes -1", "--minutes ten", "--minutes 10081"] {
            assert_eq!(asked(line), Err(due.to_owned()), "{line}");
        }
        for line in ["", "suite", "--minutes"] {
            assert_eq!(asked(line), Err("say for how long: `cargo xtask fuzz --minutes 10`".to_owned()), "{line}");
        }
        let known = "cassette, envelope, framing, import, narrative, suite, target";
        assert_eq!(asked("--minutes 1 sweet"), Err(format!("there is no target `sweet`; there are {known}")));
    }

    #[test]
    fn the_host_is_known() {
        assert_eq!(host(crate::root().unwrap()).unwrap().split('-').next(), Some(std::env::consts::ARCH));
    }
}
