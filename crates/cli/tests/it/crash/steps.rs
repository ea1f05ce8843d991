//! Programs that are killed at a certain step of writing: one test for every step there is, where random moments would have to be
//! lucky.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::{Folder, script, works};

/// A library that kills its program at the step `KILL_AT`: before a file is made, moved or removed, or in the middle of writing.
const KILLER: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static long left = -1;
static int due(void) {
    if (left < 0) { char *at = getenv("KILL_AT"); left = at ? atol(at) : 1000000; }
    return __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) == 0;
}
static void die(void) { syscall(SYS_kill, getpid(), SIGKILL); }
ssize_t write(int fd, const void *bytes, size_t count) {
    struct stat found;
    if (fd > 2 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && due()) { syscall(SYS_write, fd, bytes, count / 2); die(); }
    return syscall(SYS_write, fd, bytes, count);
}
#define STEP(name, parameters, ...) int name parameters { if (due()) die(); return syscall(SYS_##name, __VA_ARGS__); }
STEP(fsync, (int fd), fd)
STEP(rename, (const char *from, const char *to), from, to)
STEP(linkat, (int a, const char *from, int b, const char *to, int flags), a, from, b, to, flags)
STEP(link, (const char *from, const char *to), from, to)
STEP(unlink, (const char *path), path)
STEP(mkdir, (const char *path, mode_t mode), path, mode)
STEP(rmdir, (const char *path), path)
"#;

/// The library, built in its own folder.
fn killer() -> Folder {
    let here = Folder::with(&[("killer.c", KILLER)]);
    let built = Command::new("gcc")
        .args(["-shared", "-fPIC", "-w", "-o", "killer.so", "killer.c"])
        .current_dir(&here.0)
        .status()
        .unwrap();
    assert!(built.success());
    here
}

/// Kills a command at every step it takes, and looks at what it leaves; how many steps there were.
fn at_every_step(line: &[&str], prepare: impl Fn() -> Folder, look: impl Fn(&Folder, bool)) -> usize {
    let killer = killer();
    for step in 1..200 {
        let here = prepare();
        let mut command = here.command(line);
        command.env("LD_PRELOAD", killer.0.join("killer.so")).env("KILL_AT", step.to_string());
        let output = command.output().unwrap();
        let is_killed = output.status.signal() == Some(9);
        assert!(is_killed || output.status.code() == Some(0), "step {step}: {output:?}");
        look(&here, is_killed);
        if !is_killed {
            return step - 1;
        }
    }
    0
}

#[test]
fn a_recorder_that_is_killed_at_any_step_leaves_the_old_recording_or_the_new_one() {
    let suite = super::SUITE.replace("runs: 3", "runs: 1");
    let prepare = |word: &str| {
        let here = Folder::with(&[("suite.yml", &suite), ("tools.yml", super::TOOLS), ("script.yml", &script("rain"))]);
        works(&here, &["run", "suite.yml", "--record"]);
        here.write("script.yml", script(word).as_bytes());
        here
    };
    let line = ["run", "suite.yml", "--record", "--jobs", "1"];
    let read = |here: &Folder, test: &str| {
        let path = here.0.join(format!("cassettes/suite/{test}/demo/1.json"));
        super::essence(&serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    let known = ["rain", "snow"].map(|word| {
        let here = prepare(word);
        works(&here, &line);
        ["a", "b"].map(|test| read(&here, test))
    });
    let steps = at_every_step(
        &line,
        || prepare("snow"),
        |here, is_killed| {
            for (at, test) in ["a", "b"].into_iter().enumerate() {
                let found = read(here, test);
                assert!(known[1][at] == found || is_killed && known[0][at] == found, "{found}");
            }
            works(here, &line);
            works(here, &["run", "suite.yml"]);
        },
    );
    // For each of two files: nothing to remove, half written, synced, renamed, and its folder synced.
    assert!(steps >= 10, "{steps}");
}

#[test]
fn a_report_that_is_killed_at_any_step_is_the_old_one_or_the_new_one() {
    let saved = "{ \"mcptest\": 1, \"suites\": [] }";
    let prepare = || Folder::with(&[("saved.json", saved), ("report.json", "old")]);
    let line = ["report", "saved.json", "--reporter", "json=report.json"];
    let here = prepare();
    works(&here, &line);
    let new = fs::read_to_string(here.0.join("report.json")).unwrap();
    let steps = at_every_step(&line, prepare, |here, is_killed| {
        let found = fs::read_to_string(here.0.join("report.json")).unwrap();
        assert!(found == new || is_killed && found == "old", "{found}");
        works(here, &line);
    });
    assert!(steps >= 3, "{steps}");
}

#[test]
fn an_init_killed_at_any_step_leaves_complete_files_or_none() {
    let names = ["mcptest.yml", "mcptest/tools.yml", "mcptest/script.yml", "mcptest/script-retry.yml"];
    let read = |here: &Folder| names.map(|name| fs::read_to_string(here.0.join(name)).ok());
    let whole = Folder::with(&[]);
    works(&whole, &["init"]);
    let known = read(&whole);
    let steps = at_every_step(
        &["init"],
        || Folder::with(&[]),
        |here, is_killed| {
            let found = read(here);
            for (found, known) in found.iter().zip(&known) {
                assert!(found == known || is_killed && found.is_none(), "{found:?}");
            }
            if found.iter().all(Option::is_none) {
                works(here, &["init"]);
            } else if found != known {
                // Existing files are named and not overwritten.
                let refused = here.command(&["init"]).output().unwrap();
                let reported = String::from_utf8(refused.stderr).unwrap();
                assert!(refused.status.code() == Some(2) && reported.contains("already exist"), "{reported}");
            }
        },
    );
    assert!(steps >= 17, "{steps}");
}
