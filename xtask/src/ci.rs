//! `cargo xtask ci` and `cargo xtask full`: the two tiers of checks, stopping at the first that fails.
//!
//! `ci` is everything that must pass before a merge, in minutes. `full` runs the same checks with far more cases, and the slow
//! ones. It is run by hand and once a week.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::{Mode, browser, cargo, documents, fuzz, generate, out, python, servers, tidy};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    Ci,
    Full,
}

struct Context<'a> {
    root: &'a Path,
    tier: Tier,
    /// Whether a CI server runs this. There, a tool that cannot be installed is a failure.
    is_ci: bool,
}

struct Step {
    name: &'static str,
    /// The smallest tier that has the step.
    since: Tier,
    run: fn(&Context<'_>) -> Result<(), Failure>,
}

const STEPS: [Step; 13] = [
    Step { name: "cargo fmt", since: Tier::Ci, run: |at| cargo::run(at.root, "fmt --all --check", &[]) },
    Step {
        name: "cargo clippy",
        since: Tier::Ci,
        run: |at| cargo::run(at.root, "clippy --workspace --all-targets --locked -- -D warnings", &[]),
    },
    Step { name: "cargo xtask tidy", since: Tier::Ci, run: |at| tidy::run(at.root) },
    Step { name: "cargo xtask gen --check", since: Tier::Ci, run: |at| generate::run(at.root, Mode::Check) },
    Step {
        name: "cargo doc",
        since: Tier::Full,
        run: |at| cargo::run(at.root, "doc --workspace --no-deps --locked", &[("RUSTDOCFLAGS", "-D warnings")]),
    },
    Step { name: "cargo deny", since: Tier::Full, run: |at| tolerate(deny(at.root), at.is_ci) },
    Step { name: "cargo xtask servers", since: Tier::Ci, run: |at| tolerate(servers::run(at.root, at.tier), at.is_ci) },
    Step { name: "cargo test", since: Tier::Ci, run: test },
    Step { name: "cargo test, optimized", since: Tier::Full, run: |at| cargo::run(at.root, LONGEST, &CASES) },
    Step { name: "cargo xtask docs", since: Tier::Ci, run: |at| documents::run(at.root, Mode::Check) },
    Step { name: "cargo xtask python", since: Tier::Ci, run: |at| tolerate(python::run(at.root, at.tier), at.is_ci) },
    Step { name: "cargo xtask browser", since: Tier::Ci, run: browser },
    Step {
        name: "cargo xtask fuzz",
        since: Tier::Full,
        run: |at| fuzz::run(at.root, &fuzz::Request::all(FUZZ_MINUTES)),
    },
];

/// Which agents run and how often tests that draw their cases repeat in `full`. The defaults are for `ci`.
const LONG: [(&str, &str); 3] = [("AGENTS", "all"), ("CRASH_KILLS", "300"), ("SAME_VERDICTS", "1000")];

/// Tests with enough cases that an optimized build pays off.
const LONGEST: &str = "test --profile bench -p mcptest-core -p mcptest --locked --test it -- differential merge_splits";
const CASES: [(&str, &str); 2] = [("DIFFERENTIAL_CASES", "100000"), ("MERGE_SPLITS", "10000")];

const FUZZ_MINUTES: u64 = 14;

pub(crate) fn run(root: &Path, tier: Tier, is_ci: bool) -> Result<(), Failure> {
    let context = Context { root, tier, is_ci };
    let mut times = Vec::new();
    for step in STEPS.iter().filter(|step| step.since == Tier::Ci || tier == Tier::Full) {
        out::say(&format!("==> {}", step.name));
        let (result, took) = timed(|| (step.run)(&context));
        times.push(format!("{:>7.1} s  {}", took.as_secs_f64(), step.name));
        if result.is_err() {
            out::say(&times.join("\n"));
            return result;
        }
    }
    out::say(&format!("==> all checks passed\n{}", times.join("\n")));
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "how long a step took is for people and decides nothing")]
fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = run();
    (result, start.elapsed())
}

fn test(at: &Context<'_>) -> Result<(), Failure> {
    let counts: &[_] = if at.tier == Tier::Full { &LONG } else { &[] };
    cargo::run(at.root, "test --workspace --locked", counts)
}

fn browser(at: &Context<'_>) -> Result<(), Failure> {
    match browser::prepare(at.root) {
        Ok(ready) => ready.check(at.root, at.tier == Tier::Full),
        missing => tolerate(missing.map(drop), at.is_ci),
    }
}

/// Licenses, duplicate versions and sources of all dependencies, as `deny.toml` has them.
fn deny(root: &Path) -> Result<(), Failure> {
    if cargo::output(root, "deny --version").is_err() {
        cargo::run(root, "install --locked cargo-deny", &[]).map_err(|failure| Failure::broken(failure.to_string()))?;
    }
    cargo::run(root, "deny check licenses bans sources", &[])
}

/// A tool that could not be installed is a note on a laptop and an error on a CI server, where a note would go unread.
fn tolerate(result: Result<(), Failure>, is_ci: bool) -> Result<(), Failure> {
    match result {
        Err(Failure::Broken(message)) if !is_ci => {
            out::complain(&format!(
                "note: {message}\nnote: THE CHECKS THAT NEED THIS ARE SKIPPED; with CI=true this is an error"
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
    fn a_missing_tool_is_an_error_on_a_ci_server_only_and_a_failed_check_everywhere() {
        let missing = || Err(Failure::broken("no network".to_owned()));
        assert_eq!(tolerate(missing(), false), Ok(()));
        assert_eq!(tolerate(missing(), true), missing());
        let failed = || Err(Failure::failed("a license is not accepted".to_owned()));
        assert_eq!(tolerate(failed(), false), failed());
        assert_eq!(tolerate(Ok(()), true), Ok(()));
    }
}
