//! The public conformance suite of the protocol (`@modelcontextprotocol/conformance`) against the client behind `mcptest run` and
//! against `mcptest mock`, in both eras. It covers HTTP only.
//!
//! The suite is the one that `cargo xtask servers` installs. Where it is not, each test says that it is skipped. What does not
//! apply is listed in `not_applicable.json`, with the reason; an entry that is not needed fails, too.

mod client;
mod judge;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::Folder;
use crate::models::remote::Remote;
use crate::real_servers::harness::{Set, wait_for};
use judge::Judge;

const SET: Set = Set::new("conformance", include_str!("../../../../xtask/servers/conformance/package-lock.json"));

/// The last revision of each era.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

struct Suite(PathBuf);

impl Suite {
    fn new() -> Option<Self> {
        SET.folder().map(Self)
    }

    /// The program, on the Node.js that was installed with it where there is one.
    fn command(&self, line: &[&str]) -> Command {
        let bin = self.0.join("node_modules/.bin");
        let own = bin.join("node");
        let mut command = Command::new(if own.exists() { &own } else { Path::new("node") });
        command.arg(bin.join("conformance")).args(line).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        command
    }

    /// Every scenario for one side, in any revision or extension.
    fn scenarios(&self, side: &str) -> Vec<String> {
        let output = self.command(&["list", side]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let names = text.lines().filter_map(|line| line.strip_prefix("  - "));
        let names: Vec<String> = names.map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        assert!(names.len() > 20, "{text}");
        names
    }
}

/// A program of the suite. It is ended when this is dropped.
struct Running(Child);

impl Running {
    /// Starts it, and returns what follows `prefix` on the line that begins with it.
    fn start(command: &mut Command, prefix: &'static str) -> (Self, String) {
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let running = Self(child);
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || {
            // Read to the end, so that it never waits for room in the pipe.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(rest) = line.strip_prefix(prefix) {
                    let _ = send.send(rest.to_owned());
                }
            }
        });
        (running, receive.recv_timeout(Duration::from_mins(1)).unwrap())
    }

    /// Asks it to end, and waits for that.
    fn stop(&mut self) {
        let asked = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().unwrap();
        assert!(asked.success());
        assert!(wait_for(200, || self.0.try_wait().unwrap().is_some()), "it goes on");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The checks of a scenario. The folder has its name and the time; the names of scenarios for servers have a prefix.
fn checks(folder: &Path) -> (String, Vec<Value>) {
    const TIME: usize = "-2026-11-16T18-15-05-435Z".len();
    let name = folder.file_name().unwrap().to_str().unwrap();
    let name = name[..name.len() - TIME].to_owned();
    (name, serde_json::from_slice(&fs::read(folder.join("checks.json")).unwrap()).unwrap())
}

#[test]
fn the_mock_server_conforms() {
    let Some(suite) = Suite::new() else { return };
    let here = Folder::with(&[("tools.yml", include_str!("conformance/server.yml"))]);
    let mock = Remote::start(&here);
    let mut judge = Judge::new("server", suite.scenarios("--server"));
    for revision in REVISIONS {
        let out = here.0.join(revision);
        let line =
            ["server", "--url", &mock.url, "--suite", "all", "--spec-version", revision, "-o", out.to_str().unwrap()];
        let mut running = Running(suite.command(&line).stdout(Stdio::null()).spawn().unwrap());
        assert!(wait_for(1200, || running.0.try_wait().unwrap().is_some()), "it is not done after a minute");
        let folders: Vec<PathBuf> = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(folders.len() > 25, "{folders:?}");
        for folder in folders {
            let (name, checks) = checks(&folder);
            judge.take(name.strip_prefix("server-").unwrap(), revision, &checks);
        }
    }
    judge.finish();
}
