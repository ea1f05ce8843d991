//! `cargo xtask servers`: installs real MCP servers, the public conformance suite, agent frameworks and the tools of the Python
//! package below the target folder, for the tests that use them.
//!
//! Everything is pinned in `xtask/servers/`, including transitive dependencies, without download addresses, so that any registry
//! can serve it. Each set has a stamp with its location and versions, written last. A set whose stamp matches is left alone, and
//! the tests use no other. Installing is limited in time and runs no install scripts and no compiler.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::cargo;
use crate::ci::Tier;
use crate::failure::Failure;
use crate::out;

const PINS: &str = "xtask/servers";
/// Says that a set is complete: where it was installed, because a virtual environment cannot be moved, and its versions.
const STAMP: &str = "installed";
/// How long one command may take.
const LIMIT: Duration = Duration::from_mins(5);
const POLL: Duration = Duration::from_millis(100);
/// How many sets are installed at the same time.
const WORKERS: usize = 4;

struct Set {
    /// Its folder below `target/servers`.
    name: &'static str,
    /// The file with its versions.
    pins: &'static str,
    /// The packages from `PyPI`; empty for npm.
    python: &'static [&'static str],
    /// The smallest tier whose tests use it.
    since: Tier,
}

const SETS: [Set; 16] = [
    Set { name: "npm", pins: "package-lock.json", python: &[], since: Tier::Ci },
    Set { name: "conformance", pins: "conformance/package-lock.json", python: &[], since: Tier::Ci },
    Set { name: "time", pins: "time.txt", python: &["mcp-server-time"], since: Tier::Ci },
    Set { name: "sqlite", pins: "sqlite.txt", python: &["mcp-server-sqlite"], since: Tier::Ci },
    Set {
        name: "python",
        pins: "python/tools.txt",
        python: &["maturin", "mypy", "pytest", "pytest-xdist", "ruff"],
        since: Tier::Ci,
    },
    Set {
        name: "python-sdks",
        pins: "python/sdks.txt",
        python: &[
            "anthropic",
            "langchain",
            "langchain-mcp-adapters",
            "langchain-openai",
            "langgraph",
            "mcp",
            "openai",
            "pydantic-ai-slim[mcp,openai]",
            "pytest",
            "pytest-xdist",
        ],
        since: Tier::Full,
    },
    Set {
        name: "spark",
        pins: "python/spark.txt",
        python: &["pandas", "pyarrow", "pyspark", "pytest"],
        since: Tier::Full,
    },
    Set { name: "ray", pins: "python/ray.txt", python: &["pytest", "ray[data]"], since: Tier::Full },
    Set {
        name: "openai",
        pins: "../../examples/your-agent/requirements.txt",
        python: &["openai", "mcp"],
        since: Tier::Ci,
    },
    Set { name: "openai-node", pins: "agents/openai-node/package-lock.json", python: &[], since: Tier::Ci },
    Set { name: "ai-sdk", pins: "agents/ai-sdk/package-lock.json", python: &[], since: Tier::Full },
    Set { name: "openai-agents", pins: "agents/openai-agents.txt", python: &["openai-agents"], since: Tier::Full },
    Set {
        name: "pydantic-ai",
        pins: "agents/pydantic-ai.txt",
        python: &["pydantic-ai-slim[mcp,openai]"],
        since: Tier::Full,
    },
    Set {
        name: "langgraph",
        pins: "agents/langgraph.txt",
        python: &["langchain", "langchain-mcp-adapters", "langchain-openai", "langgraph"],
        since: Tier::Full,
    },
    Set { name: "anthropic", pins: "agents/anthropic.txt", python: &["anthropic", "mcp"], since: Tier::Full },
    Set { name: "google-genai", pins: "agents/google-genai.txt", python: &["google-genai", "mcp"], since: Tier::Full },
];

/// Installs every set of a tier that is missing.
pub(crate) fn run(root: &Path, tier: Tier) -> Result<(), Failure> {
    ensure(root, |set| set.since == Tier::Ci || tier == Tier::Full)
}

/// Installs the sets with these names that are missing. Returns the folders with their programs, in the same order.
pub(crate) fn programs(root: &Path, names: &[&str]) -> Result<Vec<PathBuf>, Failure> {
    ensure(root, |set| names.contains(&set.name))?;
    let folder = cargo::target_folder(root)?.join("servers");
    Ok(names.iter().map(|name| folder.join(name).join("bin")).collect())
}

/// Installs sets that are missing, a few at a time.
fn ensure(root: &Path, is_wanted: impl Fn(&Set) -> bool) -> Result<(), Failure> {
    let folder = cargo::target_folder(root)?.join("servers");
    let install = |set: &Set| {
        let (into, pins) = (folder.join(set.name), root.join(PINS).join(set.pins));
        if set.python.is_empty() { npm(set.name, &into, &pins) } else { python(set, &into, &pins) }
    };
    let wanted: Vec<&Set> = SETS.iter().filter(|set| is_wanted(set)).collect();
    let wanted = Mutex::new(wanted.into_iter());
    let work = || {
        let next = || wanted.lock().ok()?.next();
        let failed = |set: &Set| Some(format!("`{}` is not installed: {}", set.name, install(set).err()?));
        std::iter::from_fn(next).filter_map(failed).collect::<Vec<String>>()
    };
    let missing: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let panicked = |_| vec!["the installation panicked".to_owned()];
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    if missing.is_empty() { Ok(()) } else { Err(Failure::broken(missing.join("\n"))) }
}

/// Installs what a `package-lock.json` pins.
pub(crate) fn npm(name: &str, into: &Path, pins: &Path) -> Result<(), Failure> {
    install(name, into, pins, |log| {
        for name in ["package.json", "package-lock.json"] {
            let from = pins.with_file_name(name);
            fs::copy(&from, into.join(name)).map_err(|error| Failure::io("copy", &from, &error))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=60000"]);
        bounded(npm.current_dir(into), log, LIMIT)
    })
}

/// Installs Python packages in a virtual environment.
fn python(set: &Set, into: &Path, pins: &Path) -> Result<(), Failure> {
    install(set.name, into, pins, |log| {
        bounded(Command::new("python3").args(["-m", "venv"]).arg(into), log, LIMIT)?;
        // The versions are constraints, not requirements: some Pythons need a package more than others.
        let mut pip = Command::new(into.join("bin/python"));
        pip.args(["-m", "pip", "install", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"]);
        if set.python.contains(&"pyspark") {
            // It is published without a wheel. Its setup script copies files.
            pip.arg("--no-binary=pyspark");
        }
        pip.args(["--retries", "1", "--timeout", "30", "--constraint"]).arg(pins).args(set.python);
        bounded(&mut pip, log, LIMIT)
    })
}

/// Installs into an empty folder, unless its stamp says that these versions are there.
fn install(
    name: &str,
    into: &Path,
    pins: &Path,
    commands: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let versions = fs::read_to_string(pins).map_err(|error| Failure::io("read", pins, &error))?;
    let expected = format!("{}\n{versions}", into.display());
    let stamp = into.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == expected) {
        return Ok(());
    }
    if into.exists() {
        fs::remove_dir_all(into).map_err(|error| Failure::io("remove", into, &error))?;
    }
    fs::create_dir_all(into).map_err(|error| Failure::io("create", into, &error))?;
    let log: PathBuf = into.with_extension("log");
    commands(&log)?;
    fs::write(&stamp, expected).map_err(|error| Failure::io("write", &stamp, &error))?;
    out::say(&format!("installed {name}"));
    Ok(())
}

/// Runs a command and kills it when it takes too long. Its output goes to a file, because a pipe would stay open as long as
/// anything the command started.
pub(crate) fn bounded(command: &mut Command, log: &Path, limit: Duration) -> Result<(), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let stdout = File::create(log).map_err(|error| Failure::io("write", log, &error))?;
    let stderr = stdout.try_clone().map_err(|error| Failure::io("write", log, &error))?;
    let started = command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn();
    let mut child = started.map_err(|error| Failure::broken(format!("cannot start `{name}`: {error}")))?;
    let mut waited = Duration::ZERO;
    let status = loop {
        let status = child.try_wait();
        match status.map_err(|error| Failure::broken(format!("cannot wait for `{name}`: {error}")))? {
            Some(status) => break status,
            None if waited >= limit => {
                // Both fail only when it has ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                let seconds = limit.as_secs();
                return Err(Failure::broken(format!("`{name}` did not finish within {seconds} s{}", reason(log))));
            }
            None => {
                thread::sleep(POLL);
                waited += POLL;
            }
        }
    };
    if status.success() { Ok(()) } else { Err(Failure::broken(format!("`{name}` failed ({status}){}", reason(log)))) }
}

/// The line of a log that explains a failure: the first about an error, because advice follows it, or else the last.
fn reason(log: &Path) -> String {
    let Ok(bytes) = fs::read(log) else { return String::new() };
    let text = String::from_utf8_lossy(&bytes);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let found = lines().find(|line| line.to_lowercase().contains("error")).or_else(|| lines().next_back());
    found.map_or_else(String::new, |line| format!("\n  {line}\n  hint: its output is in {}", log.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn a_command_that_fails_or_takes_too_long_is_reported_with_the_reason() {
        let here = tempfile::tempdir().unwrap();
        let log = here.path().join("log");
        let hint = format!("  hint: its output is in {}", log.display());
        assert_eq!(bounded(&mut shell("echo fine"), &log, LIMIT), Ok(()));
        let failed = |line: &str, why: &str| {
            let failure = bounded(&mut shell(line), &log, LIMIT).unwrap_err();
            assert_eq!(failure.to_string(), format!("`sh` failed (exit status: 3)\n  {why}\n{hint}"));
        };
        failed("echo loading; echo 'E: Error: no network' >&2; echo error again; exit 3", "E: Error: no network");
        failed("echo loading; echo '  giving up'; echo; exit 3", "giving up");
        let failure = bounded(&mut Command::new("no-such-program-here"), &log, LIMIT).unwrap_err();
        assert!(failure.to_string().starts_with("cannot start `no-such-program-here`: "), "{failure}");
        let failure = bounded(&mut shell("echo $$; exec sleep 60"), &log, Duration::from_secs(1)).unwrap_err();
        let pid = fs::read_to_string(&log).unwrap();
        let pid = pid.trim_end();
        assert_eq!(failure.to_string(), format!("`sh` did not finish within 1 s\n  {pid}\n{hint}"));
        let probe = Command::new("kill").args(["-0", pid]).stderr(Stdio::null()).status().unwrap();
        assert!(!probe.success(), "{pid} is alive");
    }

    #[test]
    fn a_set_is_installed_again_when_its_versions_change_and_a_failure_leaves_no_stamp() {
        let here = tempfile::tempdir().unwrap();
        let (into, pins) = (here.path().join("set"), here.path().join("pins"));
        let installed = |result: Result<(), Failure>| {
            let mut ran = false;
            let done = install("set", &into, &pins, |_| {
                ran = true;
                result
            });
            (ran, done.is_ok())
        };
        fs::write(&pins, "a==1\n").unwrap();
        assert_eq!(installed(Ok(())), (true, true));
        assert_eq!(installed(Ok(())), (false, true));
        fs::write(&pins, "a==2\n").unwrap();
        fs::write(into.join("old"), "").unwrap();
        assert_eq!(installed(Err(Failure::broken(String::new()))), (true, false));
        assert_eq!(fs::read_dir(&into).unwrap().count(), 0);
    }

    #[test]
    fn every_version_is_pinned_and_no_registry_is_named() {
        let root = crate::root().unwrap();
        let locks = [
            "xtask/servers/package-lock.json",
            "xtask/servers/conformance/package-lock.json",
            "xtask/servers/agents/openai-node/package-lock.json",
            "xtask/servers/agents/ai-sdk/package-lock.json",
            "xtask/browser/package-lock.json",
        ];
        for path in locks {
            let lock: Value = serde_json::from_str(&fs::read_to_string(root.join(path)).unwrap()).unwrap();
            for (name, package) in lock["packages"].as_object().unwrap().iter().filter(|(name, _)| !name.is_empty()) {
                assert!(package["version"].is_string() && package["integrity"].is_string(), "{path}: {name}");
                assert!(package.get("resolved").is_none(), "{path}: {name} is tied to one registry");
            }
        }
        for set in SETS.iter().filter(|set| !set.python.is_empty()) {
            let text = fs::read_to_string(root.join(PINS).join(set.pins)).unwrap();
            let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
            assert!(lines.iter().all(|line| line.split("==").count() == 2 && !line.contains([' ', '/'])), "{text}");
            let is_pinned =
                |package: &&str| lines.iter().any(|line| line.split("==").next() == package.split('[').next());
            assert!(set.python.iter().all(is_pinned), "{text}");
        }
    }
}
