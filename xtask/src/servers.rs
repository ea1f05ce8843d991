//! `cargo xtask servers`: real MCP servers and the public conformance suite in pinned versions, put below the target folder for
//! the tests that talk to them.
//!
//! What is installed stands in `xtask/servers/`, down to the last dependency and without a download address, so that any
//! registry may serve it. Each set keeps a stamp with its place and its versions, written last: a set whose stamp fits
//! is left alone, and the tests use no other. Installing is bounded in time and runs no install scripts and no compiler.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::failure::Failure;
use crate::{out, tidy};

/// Where the versions stand.
const PINS: &str = "xtask/servers";
/// The file that says a set is complete: where it was made, because a virtual environment cannot be moved, and its versions.
const STAMP: &str = "installed";
/// How long one command may take.
const LIMIT: Duration = Duration::from_mins(3);
/// How often it is looked at.
const POLL: Duration = Duration::from_millis(100);

/// What is installed together.
struct Set {
    /// Its folder below `target/servers`.
    name: &'static str,
    /// The file with its versions.
    pins: &'static str,
    from: Registry,
}

enum Registry {
    Npm,
    /// A package in a virtual environment of its own.
    PyPi(&'static str),
}

const SETS: [Set; 4] = [
    Set { name: "npm", pins: "package-lock.json", from: Registry::Npm },
    Set { name: "conformance", pins: "conformance/package-lock.json", from: Registry::Npm },
    Set { name: "time", pins: "time.txt", from: Registry::PyPi("mcp-server-time") },
    Set { name: "sqlite", pins: "sqlite.txt", from: Registry::PyPi("mcp-server-sqlite") },
];

/// Installs every set that is not there yet, all at once.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let folder = target_folder(root)?.join("servers");
    fs::create_dir_all(&folder).map_err(|error| Failure::io("make", &folder, &error))?;
    let (folder, pins) = (&folder, &root.join(PINS));
    let outcomes = thread::scope(|scope| {
        let installing = SETS.each_ref().map(|set| scope.spawn(move || set.provide(folder, pins)));
        let lost = |_| Err(Failure::broken("installing it ended in a panic".to_owned()));
        installing.map(|set| set.join().unwrap_or_else(lost))
    });
    let mut missing = Vec::new();
    for (set, outcome) in SETS.iter().zip(outcomes) {
        match outcome {
            Ok(Provided::Already) => out::say(&format!("servers of {} are there already", set.name)),
            Ok(Provided::Now) => out::say(&format!("servers of {} are installed", set.name)),
            Err(failure) => missing.push(format!("servers of {} are not installed: {failure}", set.name)),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(Failure::broken(missing.join("\n"))) }
}

/// The folder of build output, wherever the settings of cargo put it.
pub(crate) fn target_folder(root: &Path) -> Result<PathBuf, Failure> {
    let metadata: Option<Value> = serde_json::from_str(&tidy::metadata(root)?).ok();
    let folder = metadata.as_ref().and_then(|metadata| metadata.get("target_directory")?.as_str());
    folder.map(PathBuf::from).ok_or_else(|| Failure::broken("`cargo metadata` names no target folder".to_owned()))
}

#[derive(Debug, PartialEq, Eq)]
enum Provided {
    Already,
    Now,
}

impl Set {
    fn provide(&self, servers: &Path, pins: &Path) -> Result<Provided, Failure> {
        let folder = servers.join(self.name);
        let pinned = pins.join(self.pins);
        let versions = fs::read_to_string(&pinned).map_err(|error| Failure::io("read", &pinned, &error))?;
        let wanted = format!("{}\n{versions}", folder.display());
        let stamp = folder.join(STAMP);
        if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
            return Ok(Provided::Already);
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| Failure::io("remove", &folder, &error))?;
        }
        fs::create_dir_all(&folder).map_err(|error| Failure::io("make", &folder, &error))?;
        if let Registry::Npm = self.from {
            for name in ["package.json", "package-lock.json"] {
                let (from, to) = (pinned.with_file_name(name), folder.join(name));
                fs::copy(&from, &to).map_err(|error| Failure::io("copy", &from, &error))?;
            }
        }
        let log = servers.join(format!("{}.log", self.name));
        for mut command in self.commands(&folder, &pinned) {
            bounded(&mut command, &log, LIMIT)?;
        }
        fs::write(&stamp, wanted).map_err(|error| Failure::io("write", &stamp, &error))?;
        Ok(Provided::Now)
    }

    fn commands(&self, folder: &Path, pinned: &Path) -> Vec<Command> {
        match self.from {
            Registry::Npm => {
                let mut npm = Command::new("npm");
                npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
                npm.args(["--fetch-retries=1", "--fetch-timeout=60000"]).current_dir(folder);
                vec![npm]
            }
            Registry::PyPi(package) => {
                let mut venv = Command::new("python3");
                venv.args(["-m", "venv"]).arg(folder);
                // The versions are constraints, not requirements: some Pythons need a package more than others.
                let mut pip = Command::new(folder.join("bin/python"));
                pip.args(["-m", "pip", "install", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"]);
                pip.args(["--retries", "1", "--timeout", "30", "--constraint"]).arg(pinned).arg(package);
                vec![venv, pip]
            }
        }
    }
}

/// Runs a command to its end, or ends it when it takes too long. What it says goes into a file, because a pipe would stay
/// open as long as anybody it started.
pub(crate) fn bounded(command: &mut Command, log: &Path, limit: Duration) -> Result<(), Failure> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let said = File::create(log).map_err(|error| Failure::io("write", log, &error))?;
    let also = said.try_clone().map_err(|error| Failure::io("write", log, &error))?;
    let started = command.stdin(Stdio::null()).stdout(said).stderr(also).spawn();
    let mut child = started.map_err(|error| Failure::broken(format!("cannot start `{shown}`: {error}")))?;
    let mut waited = Duration::ZERO;
    let status = loop {
        let status = child.try_wait();
        match status.map_err(|error| Failure::broken(format!("cannot wait for `{shown}`: {error}")))? {
            Some(status) => break status,
            None if waited >= limit => {
                // Both fail only when it has ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                let seconds = limit.as_secs();
                return Err(Failure::broken(format!("`{shown}` was not done after {seconds} s{}", reason(log))));
            }
            None => {
                thread::sleep(POLL);
                waited += POLL;
            }
        }
    };
    if status.success() { Ok(()) } else { Err(Failure::broken(format!("`{shown}` failed ({status}){}", reason(log)))) }
}

/// What a log says of a failure: the first line about an error, for what follows it is advice, else the last line.
fn reason(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let found = lines().find(|line| line.to_lowercase().contains("error")).or_else(|| lines().next_back());
    found.map_or_else(String::new, |line| format!("\n  {line}\n  hint: all it said is in {}", log.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    fn pins(set: &Set) -> String {
        fs::read_to_string(crate::root().unwrap().join(PINS).join(set.pins)).unwrap()
    }

    #[test]
    fn a_command_that_fails_says_how_and_why() {
        let here = tempfile::tempdir().unwrap();
        let log = here.path().join("log");
        assert_eq!(bounded(&mut shell("echo fine"), &log, LIMIT), Ok(()));
        let failed = |line: &str, why: &str| {
            let failure = bounded(&mut shell(line), &log, LIMIT).unwrap_err();
            let hint = format!("  hint: all it said is in {}", log.display());
            assert_eq!(failure.to_string(), format!("`sh` failed (exit status: 3)\n  {why}\n{hint}"));
        };
        failed("echo loading; echo 'E: Error: no network' >&2; echo error again; exit 3", "E: Error: no network");
        failed("echo loading; echo '  giving up'; echo; exit 3", "giving up");
        let failure = bounded(&mut shell("exit 3"), &log, LIMIT).unwrap_err();
        assert_eq!(failure.to_string(), "`sh` failed (exit status: 3)");
        let failure = bounded(&mut Command::new("no-such-program-here"), &log, LIMIT).unwrap_err();
        assert!(failure.to_string().starts_with("cannot start `no-such-program-here`: "), "{failure}");
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended() {
        let here = tempfile::tempdir().unwrap();
        let log = here.path().join("log");
        let failure = bounded(&mut shell("echo $$; exec sleep 60"), &log, Duration::from_secs(1)).unwrap_err();
        let pid = fs::read_to_string(&log).unwrap();
        let shown = format!("\n  {}\n  hint: all it said is in {}", pid.trim_end(), log.display());
        assert_eq!(failure.to_string(), format!("`sh` was not done after 1 s{shown}"));
        let probe = Command::new("kill").args(["-0", pid.trim_end()]).stderr(Stdio::null()).status().unwrap();
        assert!(!probe.success(), "{pid} is alive");
    }

    #[test]
    fn a_set_whose_stamp_fits_is_left_alone_and_any_other_is_made_anew() {
        let here = tempfile::tempdir().unwrap();
        let (servers, versions) = (here.path().join("servers"), here.path().join("pins"));
        let folder = servers.join("npm");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&versions).unwrap();
        fs::write(versions.join("pins.txt"), "a==1\n").unwrap();
        fs::write(folder.join(STAMP), format!("{}\na==1\n", folder.display())).unwrap();
        let set = Set { name: "npm", pins: "pins.txt", from: Registry::Npm };
        assert_eq!(set.provide(&servers, &versions), Ok(Provided::Already));
        // Another version: what is there goes. There is no package to install, and a failure leaves no stamp.
        fs::write(versions.join("pins.txt"), "a==2\n").unwrap();
        fs::write(folder.join("old"), "").unwrap();
        let failure = set.provide(&servers, &versions).unwrap_err();
        assert!(failure.to_string().starts_with("cannot copy "), "{failure}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn every_version_is_pinned_and_no_registry_is_named() {
        for set in &SETS {
            let text = pins(set);
            match set.from {
                Registry::Npm => {
                    let lock: Value = serde_json::from_str(&text).unwrap();
                    let packages = lock["packages"].as_object().unwrap();
                    let named = packages.iter().filter(|(path, _)| !path.is_empty());
                    assert!(named.clone().count() > 100);
                    for (path, package) in named {
                        assert!(package["version"].is_string() && package["integrity"].is_string(), "{path}");
                        assert!(
                            package.get("resolved").is_none(),
                            "{path}: an address binds everybody to one registry"
                        );
                    }
                }
                Registry::PyPi(package) => {
                    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
                    assert!(
                        lines.iter().all(|line| line.split("==").count() == 2 && !line.contains([' ', '/'])),
                        "{}",
                        set.pins
                    );
                    assert!(lines.iter().any(|line| line.split("==").next() == Some(package)), "{}", set.pins);
                }
            }
        }
    }
}
