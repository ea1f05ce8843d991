//! Replays and scores print the same bytes in every environment, on standard output and in files, with every reporter.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Folder, Random, root};

const REPORTERS: [&str; 7] = ["pretty", "json", "ndjson", "junit", "github", "markdown", "html"];

/// Variables that programs let themselves be reported by, each with values that should not matter.
const VARIABLES: [(&str, &[&str]); 36] = [
    ("TZ", &["UTC", "Asia/Kathmandu", "America/St_Johns", ":/nowhere", ""]),
    ("LANG", &["C", "en_US.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "ja_JP.eucJP", ""]),
    ("LC_ALL", &["C", "POSIX", "de_DE.UTF-8", "fa_IR", ""]),
    ("LC_NUMERIC", &["de_DE.UTF-8"]),
    ("LC_COLLATE", &["sv_SE.UTF-8"]),
    ("LANGUAGE", &["fr:de"]),
    ("COLUMNS", &["1", "40", "80", "400", "x"]),
    ("LINES", &["1", "24"]),
    ("TERM", &["dumb", "xterm-256color", "vt100", ""]),
    ("COLORTERM", &["truecolor"]),
    ("NO_COLOR", &["", "1"]),
    ("CLICOLOR", &["0", "1"]),
    ("CLICOLOR_FORCE", &["1"]),
    ("FORCE_COLOR", &["1", "3"]),
    ("HOME", &["/", "/nowhere", ""]),
    ("USER", &["root", "nobody", "a b"]),
    ("LOGNAME", &["somebody"]),
    ("HOSTNAME", &["ci-7"]),
    ("SHELL", &["/bin/false"]),
    ("PATH", &["", "/usr/bin:/bin"]),
    ("TMPDIR", &["/tmp", "/nowhere"]),
    ("XDG_CONFIG_HOME", &["/nowhere"]),
    ("CI", &["true", "1", "false"]),
    ("GITHUB_ACTIONS", &["true"]),
    ("GITHUB_SHA", &["0123456789abcdef0123456789abcdef01234567"]),
    ("GITHUB_WORKSPACE", &["/tmp/runner/work"]),
    ("RUNNER_DEBUG", &["1"]),
    ("GITLAB_CI", &["true"]),
    ("CI_COMMIT_SHA", &["fedcba9876543210fedcba9876543210fedcba98"]),
    ("TF_BUILD", &["True"]),
    ("BUILD_SOURCEVERSION", &["1111111111111111111111111111111111111111"]),
    ("JENKINS_URL", &["http://localhost/"]),
    ("TEAMCITY_VERSION", &["2026.1"]),
    ("SOURCE_DATE_EPOCH", &["0", "1700000000"]),
    ("RUST_LOG", &["trace"]),
    ("RUST_BACKTRACE", &["0", "full"]),
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// What a line prints in one environment: the exit code, standard error, and what each reporter wrote.
#[derive(PartialEq)]
struct Printed {
    code: Option<i32>,
    stderr: Vec<u8>,
    reports: Vec<(&'static str, Vec<u8>)>,
}

/// Runs a command line in its folder, with one reporter on standard output and all others in files.
fn printed(at: &Path, line: &[&str], random: &mut Random, is_plain: bool) -> Printed {
    let on_stdout = REPORTERS[random.below(REPORTERS.len())];
    let out = at.join("out");
    fs::create_dir_all(&out).unwrap();
    let mut words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
    for name in REPORTERS {
        let typed = if name == on_stdout { name.to_owned() } else { format!("{name}=out/{name}") };
        words.extend(["--reporter".to_owned(), typed]);
    }
    words.extend(["--jobs".to_owned(), (1 + random.below(4)).to_string()]);
    // The mask of new files belongs to the environment as well.
    let mask = ["022", "077", "000", "027"][random.below(4)];
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("umask {mask}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_mcptest")]).args(&words);
    command.current_dir(at).env_clear();
    if !is_plain {
        for (name, values) in VARIABLES {
            if random.below(3) == 0 {
                command.env(name, values[random.below(values.len())]);
            }
        }
    }
    let to_file = random.below(2) == 0;
    let file = at.join("out/stdout");
    if to_file {
        command.stdout(fs::File::create(&file).unwrap());
    } else {
        command.stdout(Stdio::piped());
    }
    let input = if random.below(2) == 0 { Stdio::null() } else { Stdio::piped() };
    let output = command.stderr(Stdio::piped()).stdin(input).spawn().unwrap().wait_with_output().unwrap();
    let stdout = if to_file { fs::read(&file).unwrap() } else { output.stdout };
    let read = |name: &'static str| {
        let bytes = if name == on_stdout { stdout.clone() } else { fs::read(out.join(name)).unwrap() };
        (name, bytes)
    };
    let reports = REPORTERS.into_iter().map(read).collect();
    fs::remove_dir_all(&out).unwrap();
    Printed { code: output.status.code(), stderr: output.stderr, reports }
}

#[test]
fn replays_and_scores_are_the_same_bytes_in_every_environment() {
    const REPLAY: &[&str] = &["run", "examples"];
    const SCORE: &[&str] =
        &["score", "examples/score-your-traces", "--gates", "examples/score-your-traces/gates.yml", "--output", "none"];
    let here = Folder::with(&[]);
    // The same files in places of different depth; what is typed is the same.
    let places = ["a", "b/with a space", "c/deep/deeper/très profond"].map(|place| here.0.join(place));
    for place in &places {
        copy(&root().join("examples"), &place.join("examples"));
    }
    for (line, environments) in [(REPLAY, 100), (SCORE, 25)] {
        let expected = printed(&places[0], line, &mut Random::new(7), true);
        assert!(expected.reports.iter().all(|(_, bytes)| bytes.len() > 200));
        for seed in 0..environments {
            let random = &mut Random::new(seed);
            let place = &places[random.below(places.len())];
            let found = printed(place, line, random, false);
            assert_eq!(found.code, expected.code, "{line:?} in environment {seed}");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&found.stderr), text(&expected.stderr), "{line:?} in environment {seed}");
            for ((name, bytes), (_, known)) in found.reports.iter().zip(&expected.reports) {
                assert!(bytes == known, "{line:?} in environment {seed}: {name} differs");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn commands_that_are_recorded_may_have_large_pages_if_mcptest_may() {
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find(|line| line.starts_with("THP_enabled:")).unwrap();
    let here = Folder::with(&[]);
    let args = ["record", "--out", "t.jsonl", "--model", "unseen", "--", "grep", "THP_enabled:", "/proc/self/status"];
    let output = here.command(&args).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), own, "{output:?}");
}
