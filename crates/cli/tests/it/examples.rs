//! Every example, and the one in the reference: loads without a warning, and the committed schema agrees.

use std::path::{Path, PathBuf};

use mcptest_core::diag::Source;
use mcptest_core::suite::yaml;
use serde_json::Value;

use super::{Folder, check, root};

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
    check(&output, 0, &format!("{count} files: {count} fine\n"), "");
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
        here.check(&["validate", "--deny-warnings", "suite.yml"], 0, "1 file: 1 fine\n", "");
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
