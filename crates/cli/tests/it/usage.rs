//! Help, version, and arguments that mean nothing.

use super::Folder;

const HELP: &str = include_str!("help/mcptest.txt");

#[test]
fn the_version_is_the_package_version() {
    for flag in ["--version", "-V"] {
        Folder::with(&[]).check(&[flag], 0, concat!("mcptest ", env!("CARGO_PKG_VERSION"), "\n"), "");
    }
}

#[test]
fn requested_help_goes_to_stdout_and_usage_errors_to_stderr() {
    let here = Folder::with(&[]);
    for flag in ["--help", "-h", "help"] {
        here.check(&[flag], 0, HELP, "");
    }
    here.check(&[], 2, "", HELP);
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let here = Folder::with(&[]);
    here.check(&["init", "--help"], 0, include_str!("help/init.txt"), "");
    here.check(&["run", "--help"], 0, include_str!("help/run.txt"), "");
    here.check(&["score", "--help"], 0, include_str!("help/score.txt"), "");
    here.check(&["convert", "--help"], 0, include_str!("help/convert.txt"), "");
    here.check(&["infer", "--help"], 0, include_str!("help/infer.txt"), "");
    here.check(&["serve-json", "--help"], 0, include_str!("help/serve-json.txt"), "");
    here.check(&["mutate", "--help"], 0, include_str!("help/mutate.txt"), "");
    here.check(&["compare", "--help"], 0, include_str!("help/compare.txt"), "");
    here.check(&["model-baseline", "--help"], 0, include_str!("help/model-baseline.txt"), "");
    here.check(&["report", "--help"], 0, include_str!("help/report.txt"), "");
    here.check(&["cassette", "--help"], 0, include_str!("help/cassette.txt"), "");
    here.check(&["cassette"], 2, "", include_str!("help/cassette.txt"));
    here.check(&["cassette", "list", "--help"], 0, include_str!("help/cassette-list.txt"), "");
    here.check(&["cassette", "show", "--help"], 0, include_str!("help/cassette-show.txt"), "");
    here.check(&["cassette", "accept", "--help"], 0, include_str!("help/cassette-accept.txt"), "");
    here.check(&["cassette", "rename", "--help"], 0, include_str!("help/cassette-rename.txt"), "");
    here.check(&["cassette", "prune", "--help"], 0, include_str!("help/cassette-prune.txt"), "");
    here.check(&["cassette", "scan", "--help"], 0, include_str!("help/cassette-scan.txt"), "");
    here.check(&["validate", "--help"], 0, include_str!("help/validate.txt"), "");
    here.check(&["schema", "--help"], 0, include_str!("help/schema.txt"), "");
    here.check(&["mock", "--help"], 0, include_str!("help/mock.txt"), "");
    here.check(&["shim", "--help"], 0, include_str!("help/shim.txt"), "");
    here.check(&["runs", "--help"], 0, include_str!("help/runs.txt"), "");
    here.check(&["explain", "--help"], 0, include_str!("help/explain.txt"), "");
    here.check(&["completions", "--help"], 0, include_str!("help/completions.txt"), "");
}

#[test]
fn unknown_arguments_are_rejected_with_a_suggestion() {
    let here = Folder::with(&[]);
    let help = "\nFor more information, try '--help'.\n";
    let usage = "\nUsage: mcptest <COMMAND>\n";
    here.check(&["banana"], 2, "", &format!("error[bad-argument]: unrecognized subcommand 'banana'\n{usage}{help}"));
    let tip = "\n  tip: a similar subcommand exists: 'validate'\n";
    here.check(
        &["validat"],
        2,
        "",
        &format!("error[bad-argument]: unrecognized subcommand 'validat'\n{tip}{usage}{help}"),
    );
    here.check(
        &["schema", "suit"],
        2,
        "",
        &format!(
            "error[bad-argument]: invalid value 'suit' for '[suite|gates|script|mock|report]'\n  [possible values: suite, gates, script, mock, report]\n\n  \
             tip: a similar value exists: 'suite'\n{help}"
        ),
    );
    here.check(
        &["cassette", "show"],
        2,
        "",
        &format!(
            "error[bad-argument]: the following required arguments were not provided:\n  <FILE>...\n\n\
             Usage: mcptest cassette show <FILE>...\n{help}"
        ),
    );
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Folder::with(&[]).command(&["--version"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error[stdout-failed]: cannot write to standard output: "), "{stderr}");
}
