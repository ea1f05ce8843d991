//! The binary as its users meet it: what it prints, where, and with which exit code.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its subject fails loudly")]

// Its scripts are for bash, as its runners are.
#[cfg(unix)]
mod action;
// It looks for processes in /proc.
#[cfg(target_os = "linux")]
mod agents;
mod cassette;
mod ci_log;
mod compare;
mod completions;
mod failing_models;
// It uses what looks for processes in /proc.
#[cfg(target_os = "linux")]
mod conformance;
// They look for processes in /proc, and at limits as Linux has them.
#[cfg(target_os = "linux")]
mod crash;
#[cfg(target_os = "linux")]
mod one_tool;
// It sets the mask of new files with a shell.
#[cfg(unix)]
mod environments;
mod examples;
mod explain;
// It looks for processes in /proc.
#[cfg(target_os = "linux")]
mod hostile;
mod hostile_models;
mod image;
mod infer;
mod init;
#[cfg(target_os = "linux")]
mod unwritable;
// They read processes and their resources from /proc, and use Linux limits.
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod load;
mod merge_splits;
mod mock;
mod models;
mod mutate;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(target_os = "linux")]
mod programs;
// It looks for processes in /proc.
mod codes;
#[cfg(target_os = "linux")]
mod real_servers;
mod record;
// It looks for processes in /proc.
#[cfg(target_os = "linux")]
mod record_program;
mod report;
#[cfg(target_os = "linux")]
mod rerun;
mod run;
mod runs;
mod same_verdict;
mod scan;
mod schema;
mod score;
mod score_formats;
mod score_parts;
mod serve;
mod settle;
mod shim;
mod tasks;
// It follows links, or does not.
#[cfg(unix)]
mod untrusted;
mod usage;
mod validate;
// It looks for packages as the tests of real servers do.
#[cfg(target_os = "linux")]
mod your_agent;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    /// A folder with these files in it.
    fn with(files: &[(&str, &str)]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let unique = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique));
        std::fs::create_dir_all(&folder.0).unwrap();
        for (name, text) in files {
            folder.write(name, text.as_bytes());
        }
        folder
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// The command, to be run in this folder without any variable set.
    fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
        command.args(line).current_dir(&self.0).env_clear();
        command
    }

    /// Runs the command and compares exit code, standard output and standard error, each whole.
    #[track_caller]
    fn check(&self, line: &[&str], code: i32, stdout: &str, stderr: &str) {
        check(&self.command(line).output().unwrap(), code, stdout, stderr);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn check(output: &Output, code: i32, stdout: &str, stderr: &str) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(
        (output.status.code(), &*out, &*err) == (Some(code), stdout, stderr),
        "--- expected ({code})\n{stdout}--- on standard error\n{stderr}--- found ({:?})\n{out}--- on standard error\n{err}",
        output.status.code()
    );
}

/// Numbers that look random and are the same for the same seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }
}

/// Reports a test that lacks something from a registry. On a CI server, where a note would go unread, the test fails.
#[expect(clippy::disallowed_methods, reason = "CI servers say in a variable that they are one")]
#[track_caller]
fn skip(why: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
    note(why);
}

/// Reports a test that is skipped. The note bypasses the capture of the test harness.
fn note(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    std::io::stderr().write_all(format!("skipped: {test}: {why}\n").as_bytes()).unwrap();
}

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}
