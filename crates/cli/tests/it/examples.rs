//! Every example, and the one in the reference: loads without a warning, and the committed schema agrees.

use std::path::{Path, PathBuf};

use mcptest_core::diag::Source;
use mcptest_core::suite::yaml;
use serde_json::Value;

use super::{Folder, root};

/// Files that a suite names; they are no suites themselves.
const OTHER_FOLDERS: [&str; 1] = ["scripts"];

fn suites(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !OTHER_FOLDERS.contains(&name) {
            suites(&path, out);
        } else if path.extension().is_some_and(|ext| ext == "yml") && !name.ends_with("-tools.yml") {
            out.push(path);
        }
    }
}

#[track_caller]
fn check(name: &str, text: &str) {
    let here = Folder::with(&[("suite.yml", text)]);
    here.check(&["validate", "--deny-warnings", "suite.yml"], 0, "1 file: 1 fine\n", "");
    let schema = std::fs::read_to_string(root().join("schemas/suite.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let value = yaml::read(&Source::new(name, text)).unwrap().to_json();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, [""; 0], "{name}");
}

#[test]
fn every_example_loads_without_a_warning_and_fits_the_schema() {
    let mut found = Vec::new();
    suites(&root().join("examples"), &mut found);
    assert!(found.len() >= 2, "{found:?}");
    for path in found {
        check(path.to_str().unwrap(), &std::fs::read_to_string(&path).unwrap());
    }
}

#[test]
fn every_example_of_the_reference_does_too() {
    let text = std::fs::read_to_string(root().join("docs/suite.md")).unwrap();
    let examples: Vec<&str> = text.split("```yaml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        check("docs/suite.md", example);
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
