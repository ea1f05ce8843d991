//! YAML in documents: whole files, and parts of suites, which are completed before they are validated.

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use mcptest_core::diag::Source;
use mcptest_core::eval::{ASSERTION, GATES, RunScope};
use mcptest_core::keys::Block as Keys;
use mcptest_core::suite::{AGENT, SUITE, yaml};
use serde_json::{Map, Value, json};

use super::write;
use crate::failure::Failure;

const SCRIPT: &str = "{ script: 1, runs: [{ turns: [{ text: Done. }] }] }\n";

/// What `mcptest validate` reports; `None` when the text is valid.
pub(super) fn validate(folder: &Path, text: &str) -> Result<Option<String>, Failure> {
    for script in scripts(text) {
        write(&folder.join(script), SCRIPT)?;
    }
    let path = folder.join("block.yml");
    write(&path, text)?;
    let args = ["mcptest".into(), "validate".into(), path.clone().into_os_string()];
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = mcptest::run(args, &|_| None, &[], &mut out, &mut err);
    if code == ExitCode::SUCCESS {
        return Ok(None);
    }
    let output = [out, err].concat();
    Ok(Some(String::from_utf8_lossy(&output).replace(&path.display().to_string(), "the block").trim_end().to_owned()))
}

/// The scripts that a suite refers to. A document need not show them.
fn scripts(text: &str) -> Vec<PathBuf> {
    let root = yaml::read(&Source::new("the block", text)).ok();
    let models = root.as_ref().and_then(|root| root.get("models"));
    let named = models.iter().flat_map(|models| models.entries()).filter_map(|model| model.value.text_at("script"));
    let plain = |path: &PathBuf| path.components().all(|step| matches!(step, Component::Normal(_)));
    named.map(PathBuf::from).filter(plain).collect()
}

/// Why a text is not YAML; `None` when it is.
pub(super) fn unreadable(text: &str) -> Option<String> {
    let source = Source::new("the block", text);
    let problems = yaml::read(&source).err()?;
    Some(problems.iter().map(|problem| problem.render(&source)).collect::<Vec<_>>().join("\n"))
}

/// A whole suite that contains this part.
pub(super) fn whole(part: &str) -> Result<String, String> {
    let root = yaml::read(&Source::new("the block", part)).map_err(|_| unreadable(part).unwrap_or_default())?;
    let suite = match root.to_json() {
        Value::Object(keys) if all_in(&keys, &SUITE) => keys,
        Value::Object(keys) if all_in(&keys, &AGENT) => object("agents", json!([keys])),
        Value::Array(items) if items.iter().all(|item| has_keys_of(item, &AGENT)) => object("agents", json!(items)),
        Value::Array(items) if items.iter().all(|item| has_keys_of(item, &ASSERTION)) => {
            object("agents", json!([{ "expect": items }]))
        }
        _ => {
            let kinds = "some keys of a suite, some keys of a test, a list of tests or a list of assertions";
            return Err(format!("`yaml part` is for {kinds}, which this is not"));
        }
    };
    Ok(mcptest_core::json::pretty(&Value::Object(completed(suite))))
}

fn object(key: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value)])
}

fn all_in(keys: &Map<String, Value>, block: &Keys) -> bool {
    keys.keys().all(|key| block.keys.iter().any(|known| known.name == key))
}

fn has_keys_of(item: &Value, block: &Keys) -> bool {
    item.as_object().is_some_and(|keys| all_in(keys, block))
}

/// A suite with everything that its tests refer to, and with at least one test.
fn completed(mut suite: Map<String, Value>) -> Map<String, Value> {
    let tests = suite.entry("agents").or_insert_with(|| json!([{}])).take();
    let tests: Vec<Value> = match tests {
        Value::Array(tests) => tests.into_iter().zip(1..).map(|(test, number)| completed_test(test, number)).collect(),
        other => return with(suite, "agents", other),
    };
    for name in names(&tests, &["model", "models"]) {
        add(&mut suite, "models", &name, json!({ "provider": "anthropic", "model": "claude" }));
    }
    let targeted = suite.get("faults").and_then(Value::as_array).into_iter().flatten();
    let targeted: Vec<String> =
        targeted.filter_map(|fault| fault.pointer("/target/server")?.as_str().map(str::to_owned)).collect();
    for name in names(&tests, &["servers"]).into_iter().chain(targeted) {
        add(&mut suite, "servers", &name, json!({ "command": ["server"] }));
    }
    let mut injected = names(&tests, &["inject"]);
    if let Some(faults) = suite.get("faults").and_then(Value::as_array) {
        injected.retain(|name| !faults.iter().any(|fault| fault.get("name") == Some(&json!(name))));
    }
    if !injected.is_empty() {
        let added = injected.iter().map(|name| json!({ "name": name, "target": { "tool": "any" }, "kind": "hang" }));
        if let Some(faults) = suite.entry("faults").or_insert_with(|| json!([])).as_array_mut() {
            faults.extend(added);
        }
    }
    with(suite, "agents", Value::Array(tests))
}

fn with(mut suite: Map<String, Value>, key: &str, value: Value) -> Map<String, Value> {
    suite.insert(key.to_owned(), value);
    suite
}

/// Adds an entry to a map of the suite, unless there is one of that name.
fn add(suite: &mut Map<String, Value>, key: &str, name: &str, value: Value) {
    if let Some(entries) = suite.entry(key).or_insert_with(|| json!({})).as_object_mut() {
        entries.entry(name).or_insert(value);
    }
}

/// The names under some keys of the tests, without duplicates.
fn names(tests: &[Value], keys: &[&str]) -> Vec<String> {
    let values = tests.iter().flat_map(|test| keys.iter().filter_map(|key| test.get(*key)));
    let written = values.flat_map(|value| match value {
        Value::Array(items) => items.iter().collect(),
        one => vec![one],
    });
    let mut names: Vec<String> = written.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn completed_test(test: Value, number: usize) -> Value {
    let Value::Object(mut test) = test else { return test };
    let mut default = |key: &str, value: Value| {
        test.entry(key).or_insert(value);
    };
    default("name", json!(format!("test {number}")));
    default("prompt", json!("Do it."));
    if !test.contains_key("model") && !test.contains_key("models") {
        test.insert("model".to_owned(), json!("model"));
    }
    let of_one_run = |gate: &&str| GATES.iter().any(|row| row.kind.name() == *gate && row.scope == RunScope::PerRun);
    let judged = test.keys().map(String::as_str).any(|key| key == "expect" || of_one_run(&key));
    if !judged {
        test.insert("expect".to_owned(), json!([{ "target": "tool_calls", "matcher": { "contains": [] } }]));
    }
    if test.contains_key("stability") {
        test.entry("runs").or_insert(json!(2));
    }
    if test.contains_key("recovery") {
        test.entry("inject").or_insert(json!(["a fault"]));
    }
    Value::Object(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validation_error(text: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        validate(folder.path(), text).unwrap()
    }

    #[track_caller]
    fn accepts(part: &str) {
        assert_eq!(validation_error(&whole(part).unwrap()), None, "{part}");
    }

    #[test]
    fn parts_of_every_kind_are_completed() {
        accepts("models:\n  demo: { provider: script, script: demo.yml }\n");
        accepts("servers:\n  shop: { command: [shop] }\n");
        accepts("faults:\n  - { name: dead, target: { tool: find, server: shop }, kind: hang }\n");
        accepts("variables: { city: Oslo }\n");
        accepts(
            "agents:\n  - { name: a, models: [x, y], servers: [shop], prompt: Go., inject: [dead], recovery: {} }\n",
        );
        accepts("runs: 5\nreliability: {}\n");
        accepts("stability: {}\n");
        accepts("recovery: { max_detection_ms: 100 }\n");
        accepts("- { name: a, trajectory: { calls: [{ name: find }] } }\n- { name: b, stability: {} }\n");
        accepts("- { target: final_response, matcher: { contains: yes } }\n");
    }

    #[test]
    fn text_of_the_author_is_validated_and_never_replaced() {
        let rejected = |part: &str, why: &str| {
            let message = validation_error(&whole(part).unwrap()).unwrap();
            assert!(message.contains(why), "{message}");
        };
        rejected("models:\n  demo: { provider: skript }\n", "skript");
        rejected("stability: {}\nruns: 1\n", "runs");
        rejected("faults:\n  - { name: dead, target: { tool: find }, kind: hangs }\n", "hangs");
        rejected("agents: 7\n", "agents");
    }

    #[test]
    fn unknown_parts_of_a_suite_are_errors() {
        for part in ["modles: {}\n", "faults: []\nruns: 5\n", "7\n", "- 7\n"] {
            assert!(whole(part).unwrap_err().starts_with("`yaml part` is for"), "{part}");
        }
        assert!(whole("models: [\n").unwrap_err().contains("the block:"), "{:?}", whole("models: [\n"));
    }

    #[test]
    fn complete_files_are_validated_and_other_yaml_is_parsed() {
        assert_eq!(validation_error("narrative: {}\n"), None);
        assert_eq!(validation_error("mock_server: { name: shop }\n"), None);
        assert!(validation_error("agents: []\nagents: []\n").unwrap().contains("the block:2:1"));
        assert_eq!(unreadable("on: [push]\njobs:\n  a: { runs-on: x }\n"), None);
        assert!(unreadable("jobs: {\n").unwrap().contains("the block:"));
    }
}
