//! `cargo xtask ci`: every check in one go, on the dev profile, stopping at the first that fails.

use std::path::Path;
use std::process::Stdio;

use crate::failure::Failure;
use crate::{browser, cargo, documents, generate, out, servers, tidy};

enum Step {
    /// A cargo command line, with variables for it alone.
    Cargo {
        line: &'static str,
        with: &'static [(&'static str, &'static str)],
    },
    Tidy,
    GenCheck,
    /// Real servers for the tests, and the conformance suite. Without a network there are none, and the tests that need them say
    /// that they are skipped; a CI server fails here.
    Servers,
    Documents,
    /// The pages of the html report in a browser. Where none can be had the step says that it is skipped.
    Browser,
}

const fn step(line: &'static str) -> Step {
    Step::Cargo { line, with: &[] }
}

const STEPS: &[Step] = &[
    step("fmt --all --check"),
    step("clippy --workspace --all-targets --locked -- -D warnings"),
    Step::Tidy,
    Step::GenCheck,
    Step::Cargo { line: "doc --workspace --no-deps --locked", with: &[("RUSTDOCFLAGS", "-D warnings")] },
    Step::Servers,
    step("test --workspace --locked"),
    Step::Documents,
    Step::Browser,
];

pub(crate) fn run(root: &Path, is_ci: bool) -> Result<(), Failure> {
    for step in STEPS {
        out::say(&format!("==> {}", step.name()));
        step.run(root, is_ci)?;
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
            Self::Servers => "cargo xtask servers".to_owned(),
            Self::Documents => "cargo xtask docs".to_owned(),
            Self::Browser => "cargo xtask browser".to_owned(),
        }
    }

    fn run(&self, root: &Path, is_ci: bool) -> Result<(), Failure> {
        match self {
            Self::Tidy => tidy::run(root),
            Self::GenCheck => generate::run(root, generate::Mode::Check),
            Self::Servers => tolerated(servers::run(root), is_ci),
            Self::Documents => documents::run(root, documents::Mode::Check),
            Self::Browser => browser::run(root),
            Self::Cargo { line, with } => self.run_cargo(root, line, with),
        }
    }

    fn run_cargo(&self, root: &Path, line: &str, with: &[(&str, &str)]) -> Result<(), Failure> {
        let mut command = cargo::cargo(root);
        command.args(line.split(' ')).envs(with.iter().copied());
        if cfg!(test) {
            // What a test makes fail on purpose need not look like a failure of the test.
            command.stderr(Stdio::null());
        }
        let broken = |error: std::io::Error| Failure::broken(format!("cannot start `{}`: {error}", self.name()));
        let status = command.status().map_err(broken)?;
        if status.success() { Ok(()) } else { Err(Failure::refused(format!("`{}` failed ({status})", self.name()))) }
    }
}

/// What could not be installed is a note where somebody can read it, and fails a CI server, where nobody would.
fn tolerated(installed: Result<(), Failure>, is_ci: bool) -> Result<(), Failure> {
    match installed {
        Err(failure) if !is_ci => {
            out::complain(&format!(
                "note: {failure}\nnote: THE TESTS THAT NEED THESE ARE SKIPPED; with CI=true this is an error"
            ));
            Ok(())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_step_builds_another_profile_or_leaves_the_lock_file_open() {
        for step in STEPS {
            if let Step::Cargo { line, .. } = step {
                assert!(!line.contains("--release") && !line.contains("--profile"), "{line}");
                assert!(line.starts_with("fmt ") || line.contains("--locked"), "{line}");
            }
        }
    }

    #[test]
    fn what_cannot_be_installed_fails_a_ci_server_and_nobody_else() {
        let missing = || Err(Failure::broken("no network".to_owned()));
        assert_eq!(tolerated(missing(), false), Ok(()));
        assert_eq!(tolerated(missing(), true), missing());
        assert_eq!(tolerated(Ok(()), true), Ok(()));
    }

    #[test]
    fn a_step_that_fails_names_its_command() {
        let step = Step::Cargo { line: "no-such-command-here", with: &[] };
        let failure = step.run(crate::root().unwrap(), false).unwrap_err();
        assert!(failure.to_string().starts_with("`cargo no-such-command-here` failed ("), "{failure}");
    }
}
