//! Runs a command of a document as a reader would type it: in a shell, without keys, and with a time limit.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::cargo::PACKAGE_VARIABLES;

pub(super) const LIMIT: Duration = Duration::from_mins(1);

/// Variables that change the output of a command, and keys that no document may use.
const WITHOUT: [&str; 10] = [
    "NO_COLOR",
    "COLUMNS",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_ACTIONS",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
];

#[derive(Debug)]
pub(super) struct Printed {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) status: ExitStatus,
}

/// Runs a command in `folder`, with `programs` first on the PATH. `None` when it did not finish in time: then it is
/// killed with everything it started.
pub(super) fn run(command: &str, folder: &Path, programs: &Path, limit: Duration) -> io::Result<Option<Printed>> {
    let mut shell = Command::new("sh");
    shell.args(["-c", "PATH=\"$1:$PATH\"; export PATH; exec sh -c \"$2\"", "sh"]).arg(programs).arg(command);
    for name in WITHOUT.into_iter().chain(PACKAGE_VARIABLES) {
        shell.env_remove(name);
    }
    shell.env("LC_ALL", "C.UTF-8").current_dir(folder).process_group(0);
    let child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (done, waiting) = mpsc::channel();
    // It ends on its own: the pipes close at the latest when the group is killed.
    thread::spawn(move || done.send(child.wait_with_output()));
    match waiting.recv_timeout(limit) {
        Ok(output) => output.map(|output| Some(printed(&output))),
        Err(_) => {
            if let Some(group) = group {
                // Fails only when it has ended meanwhile.
                let _ = kill_process_group(group, Signal::KILL);
            }
            Ok(None)
        }
    }
}

fn printed(output: &Output) -> Printed {
    let mut stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if !stdout.is_empty() && !stdout.ends_with('\n') {
        // A document cannot show a last line without a line break.
        stdout.push('\n');
    }
    Printed { stdout, stderr: String::from_utf8_lossy(&output.stderr).into_owned(), status: output.status }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdout(command: &str) -> String {
        run(command, Path::new("/"), Path::new("/first"), LIMIT).unwrap().unwrap().stdout
    }

    #[test]
    fn a_command_runs_in_its_folder_with_the_program_on_the_path_and_without_keys() {
        let printed = run("pwd -P; echo \"${PATH%%:*}\"; exit 3", Path::new("/"), Path::new("/first"), LIMIT);
        let printed = printed.unwrap().unwrap();
        assert_eq!((printed.stdout.as_str(), printed.status.code()), ("/\n/first\n", Some(3)));
        assert_eq!(stdout("echo a; echo b >&2"), "a\n");
        assert_eq!(stdout("(echo a; echo b >&2) 2>&1; printf c"), "a\nb\nc\n");
        let shown = WITHOUT.map(|name| format!("${{{name}-unset}}")).join(" ");
        assert_eq!(stdout(&format!("echo {shown}")), format!("{}\n", ["unset"; WITHOUT.len()].join(" ")));
        assert_eq!(stdout("echo $LC_ALL; cat"), "C.UTF-8\n");
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let command = "sh -c 'echo $$ > inner; sleep 600' & sleep 600";
        assert!(run(command, folder.path(), Path::new("/"), Duration::from_millis(500)).unwrap().is_none());
        let inner = std::fs::read_to_string(folder.path().join("inner")).unwrap();
        // The kernel takes a moment.
        let gone = (0..100).any(|_| {
            thread::sleep(Duration::from_millis(20));
            let alive =
                format!("kill -0 {} 2>/dev/null && ! grep -q '^State:.Z' /proc/{}/status", inner.trim(), inner.trim());
            !Command::new("sh").args(["-c", &alive]).status().unwrap().success()
        });
        assert!(gone);
    }
}
