//! The binary as its users meet it: what it prints, where, and with which exit code.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its subject fails loudly")]

use std::process::Command;

/// Runs the binary and compares exit code, standard output and standard error, each whole.
#[track_caller]
fn check(args: &[&str], code: i32, stdout: &str, stderr: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_mcptest")).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert_eq!(
        (output.status.code(), text(output.stdout), text(output.stderr)),
        (Some(code), stdout.into(), stderr.into())
    );
}

#[test]
fn the_version_is_the_package_version() {
    for flag in ["--version", "-V"] {
        check(&[flag], 0, concat!("mcptest ", env!("CARGO_PKG_VERSION"), "\n"), "");
    }
}

#[test]
fn help_says_what_there_is_and_what_there_is_not() {
    let help = "\
mcptest: does the recorded execution of an agent hold up?

usage: mcptest [--help | --version]

  -h, --help       this text
  -V, --version    the version

Commands arrive one by one, each when it is complete; this version has none yet.
What there is today is the library mcptest-core, which scores recorded traces.
";
    for flag in ["--help", "-h"] {
        check(&[flag], 0, help, "");
    }
}

#[test]
fn anything_else_is_refused_on_standard_error() {
    for (args, message) in [
        (&[][..], "no argument given"),
        (&["run"], "unknown command `run`"),
        (&["run", "--help"], "unknown command `run`"),
        (&["--hepl"], "unknown option `--hepl`"),
        (&["--version", "now"], "unexpected argument `now`"),
        (&[""], "unknown command ``"),
    ] {
        let stderr = format!("error: {message}\nhint: `mcptest --help` shows what this version does\n");
        check(args, 2, "", &stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_mcptest")).arg("--version").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
}
