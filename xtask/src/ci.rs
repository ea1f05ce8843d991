//! `cargo xtask ci`: every check in one go, on the dev profile, stopping at the first that fails.

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::{generate, out, tidy};

/// The example that the README runs.
const EXAMPLE: &str = "crates/core/examples/score.rs";

enum Step {
    /// A cargo command line, with variables for it alone.
    Cargo {
        line: &'static str,
        with: &'static [(&'static str, &'static str)],
        quiet: bool,
    },
    Tidy,
    GenCheck,
}

const fn cargo(line: &'static str) -> Step {
    Step::Cargo { line, with: &[], quiet: false }
}

const STEPS: &[Step] = &[
    cargo("fmt --all --check"),
    cargo("clippy --workspace --all-targets --locked -- -D warnings"),
    Step::Tidy,
    Step::GenCheck,
    Step::Cargo { line: "doc --workspace --no-deps --locked", with: &[("RUSTDOCFLAGS", "-D warnings")], quiet: false },
    cargo("test --workspace --locked"),
];

/// Runs when the example exists.
const SMOKE: Step = Step::Cargo { line: "run -q --locked -p mcptest-core --example score", with: &[], quiet: true };

pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let smoke = root.join(EXAMPLE).is_file().then_some(&SMOKE);
    for step in STEPS.iter().chain(smoke) {
        out::say(&format!("==> {}", step.name()));
        step.run(root)?;
    }
    out::say("==> all checks hold");
    Ok(())
}

impl Step {
    fn name(&self) -> String {
        match self {
            Self::Cargo { line, .. } => format!("cargo {line}"),
            Self::Tidy => "cargo xtask tidy".to_owned(),
            Self::GenCheck => "cargo xtask gen --check".to_owned(),
        }
    }

    fn run(&self, root: &Path) -> Result<(), Failure> {
        match self {
            Self::Tidy => tidy::run(root),
            Self::GenCheck => generate::run(root, generate::Mode::Check),
            Self::Cargo { line, with, quiet } => self.run_cargo(root, line, with, *quiet),
        }
    }

    fn run_cargo(&self, root: &Path, line: &str, with: &[(&str, &str)], quiet: bool) -> Result<(), Failure> {
        let mut command = Command::new("cargo");
        command.args(line.split(' ')).current_dir(root).envs(with.iter().copied());
        let broken = |error: std::io::Error| Failure::broken(format!("cannot start `{}`: {error}", self.name()));
        let (status, kept) = if quiet {
            let output = command.output().map_err(broken)?;
            (output.status, [output.stdout, output.stderr].concat())
        } else {
            (command.status().map_err(broken)?, Vec::new())
        };
        if status.success() {
            return Ok(());
        }
        if !kept.is_empty() {
            out::complain(String::from_utf8_lossy(&kept).trim_end());
        }
        Err(Failure::refused(format!("`{}` failed ({status})", self.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_step_builds_another_profile_or_leaves_the_lock_file_open() {
        for step in STEPS.iter().chain([&SMOKE]) {
            if let Step::Cargo { line, .. } = step {
                assert!(!line.contains("--release") && !line.contains("--profile"), "{line}");
                assert!(line.starts_with("fmt ") || line.contains("--locked"), "{line}");
            }
        }
    }

    #[test]
    fn a_step_that_fails_names_its_command() {
        let step = Step::Cargo { line: "no-such-command-here", with: &[], quiet: true };
        let failure = step.run(crate::root().unwrap()).unwrap_err();
        assert!(failure.to_string().starts_with("`cargo no-such-command-here` failed ("), "{failure}");
    }
}
