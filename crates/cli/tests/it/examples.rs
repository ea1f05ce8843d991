//! Every example, and the one in the reference: loads without a warning, the committed schema agrees, and it comes to the
//! verdicts that the index of the examples promises.

use std::path::{Path, PathBuf};

use mcptest_core::diag::Source;
use mcptest_core::suite::yaml;
use serde_json::Value;

use super::{Folder, check, root};

/// Every suite among the examples, with its exit code and the last line of its report.
pub(super) const SUITES: [(&str, i32, &str); 12] = [
    ("agent-stability", 1, "2 tests, 6 runs: 1 passed, 1 failed"),
    ("complete", 2, "3 tests, 11 runs: 3 errors"),
    ("fault-injection-recovery", 1, "4 tests, 4 runs: 3 passed, 1 failed"),
    ("minimal", 0, "1 test, 1 run: 1 passed"),
    ("model-matrix", 1, "3 tests, 3 runs: 2 passed, 1 failed"),
    ("narrative-divergence", 1, "4 tests, 4 runs: 2 passed, 2 failed"),
    ("observable-evidence", 1, "3 tests, 3 runs: 2 passed, 1 failed"),
    ("offline-trace-validation", 1, "9 tests, 9 runs: 7 passed, 2 failed"),
    ("quickstart", 1, "2 tests, 2 runs: 1 passed, 1 failed"),
    ("reliability", 1, "2 tests, 20 runs: 1 passed, 1 failed"),
    ("your-agent/broken", 1, "2 tests, 2 runs: 2 failed"),
    ("your-agent/support", 0, "4 tests, 4 runs: 4 passed"),
];

/// The example that has traces and gates in place of a suite.
const TRACES: (&str, i32, &str) = ("score-your-traces", 1, "9 traces: 6 passed, 2 failed, 1 unassessable");

/// The one suite whose models are not scripts; nothing of it is recorded.
pub(super) const NOT_RECORDED: &str = "complete";

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|ext| ext == "yml") {
            out.push(path);
        }
    }
}

/// The examples: suites, their scripts, their mock servers.
fn examples() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root().join("examples"), &mut found);
    found
}

/// Holds a suite against the committed schema.
#[track_caller]
fn fits_the_schema(name: &str, suite: &Value) {
    let schema = std::fs::read_to_string(root().join("schemas/suite.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(suite).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, [""; 0], "{name}");
}

fn value(name: &str, text: &str) -> Value {
    yaml::read(&Source::new(name, text)).unwrap().to_json()
}

#[test]
fn every_example_loads_without_a_warning() {
    let count = examples().len();
    let mut command = Folder::with(&[]).command(&["validate", "--deny-warnings", "examples"]);
    let output = command.current_dir(root()).output().unwrap();
    check(&output, 0, &format!("{count} files: {count} valid\n"), "");
}

#[test]
fn every_suite_among_the_examples_fits_the_schema() {
    let mut suites = 0;
    for path in examples() {
        let name = path.to_str().unwrap();
        let value = value(name, &std::fs::read_to_string(&path).unwrap());
        if value.get("agents").is_some() {
            suites += 1;
            fits_the_schema(name, &value);
        }
    }
    assert!(suites >= 2, "{suites}");
}

#[test]
fn every_example_of_the_reference_does_too() {
    let text = std::fs::read_to_string(root().join("docs/suite.md")).unwrap();
    let examples: Vec<&str> = text.split("```yaml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let here = Folder::with(&[("suite.yml", example)]);
        here.check(&["validate", "--deny-warnings", "suite.yml"], 0, "1 file: 1 valid\n", "");
        fits_the_schema("docs/suite.md", &value("docs/suite.md", example));
    }
}

#[test]
fn the_mock_of_the_examples_loads_without_a_warning_and_fits_its_schema() {
    let text = std::fs::read_to_string(root().join("examples/weather-tools.yml")).unwrap();
    let source = Source::new("weather-tools.yml", text.as_str());
    assert_eq!(mcptest_mock::load(&source).diagnostics, []);
    let schema = std::fs::read_to_string(root().join("schemas/mock.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&yaml::read(&source).unwrap().to_json())
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0]);
}

/// Exit code and last line of a report.
fn verdicts(line: &[&str]) -> (Option<i32>, String) {
    let output = Folder::with(&[]).command(line).current_dir(root()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text.lines().last().unwrap_or_default().to_owned())
}

#[test]
fn every_example_has_the_verdicts_it_is_listed_with() {
    for (name, code, totals) in SUITES {
        assert_eq!(verdicts(&["run", &format!("examples/{name}.yml")]), (Some(code), totals.to_owned()), "{name}");
    }
    let (name, code, totals) = TRACES;
    let folder = format!("examples/{name}");
    let gates = format!("{folder}/gates.yml");
    let line = ["score", &folder, "--gates", &gates, "--output", "none", "--reporter", "pretty"];
    assert_eq!(verdicts(&line), (Some(code), totals.to_owned()), "{name}");
}

#[test]
fn the_recordings_of_the_examples_are_what_the_current_program_records() {
    let recorded = SUITES.iter().filter(|(name, ..)| *name != NOT_RECORDED);
    let files: Vec<String> = recorded.map(|(name, ..)| format!("examples/{name}.yml")).collect();
    let line: Vec<&str> = ["cassette", "list"].into_iter().chain(files.iter().map(String::as_str)).collect();
    assert_eq!(verdicts(&line), (Some(0), "58 cassettes: 58 ok".to_owned()));
}

#[test]
fn every_suite_among_the_examples_is_listed() {
    let mut found: Vec<String> = examples()
        .iter()
        .filter(|path| value("", &std::fs::read_to_string(path).unwrap()).get("agents").is_some())
        .map(|path| {
            let below = path.strip_prefix(root().join("examples")).unwrap();
            below.with_extension("").to_str().unwrap().to_owned()
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found, SUITES.map(|(name, ..)| name));
}

#[test]
fn the_index_of_the_examples_shows_each_result() {
    let text = std::fs::read_to_string(root().join("examples/README.md")).unwrap();
    let mut rows: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| [")?.split_once(']'))
        .map(|(name, rest)| (name, rest.splitn(3, " | ").nth(2).unwrap()))
        .collect();
    rows.sort_unstable();
    let mut expected = Vec::from(SUITES);
    expected.push(TRACES);
    expected.sort_unstable();
    let expected: Vec<(&str, String)> =
        expected.into_iter().map(|(name, code, totals)| (name, format!("{totals} | {code} |"))).collect();
    assert_eq!(rows, expected.iter().map(|(name, rest)| (*name, &**rest)).collect::<Vec<_>>());
}

#[test]
fn every_recorded_suite_names_the_scripts_of_its_models() {
    for (name, ..) in SUITES.iter().filter(|(name, ..)| *name != NOT_RECORDED) {
        let suite = std::fs::read_to_string(root().join(format!("examples/{name}.yml"))).unwrap();
        let head: Vec<&str> = suite.lines().map_while(|line| line.strip_prefix("# ")).collect();
        let head = head.join(" ");
        let reported = (head.contains("(scripts/") || head.contains("(model.py)"))
            && (head.contains("for a model") || head.contains("for models"));
        assert!(reported, "{name}: {head}");
    }
}

#[test]
fn quotes_of_a_page_are_in_its_suite() {
    let mut quotes = 0;
    for (name, ..) in SUITES {
        let Ok(page) = std::fs::read_to_string(root().join(format!("examples/{name}.md"))) else {
            // The two suites that open the reference are explained there, and suites in a folder on its page.
            let folder = name
                .split_once('/')
                .is_some_and(|(folder, _)| root().join(format!("examples/{folder}/README.md")).is_file());
            assert!(matches!(name, "minimal" | NOT_RECORDED) || folder, "{name} has no page");
            continue;
        };
        let suite = std::fs::read_to_string(root().join(format!("examples/{name}.yml"))).unwrap();
        for quote in page.split("```text\n").skip(1) {
            let quote = quote.split_once("```").unwrap().0;
            assert!(!quote.is_empty() && suite.contains(&format!("\n{quote}")), "{name}: {quote}");
            quotes += 1;
        }
    }
    assert!(quotes >= 5, "{quotes}");
}
