//! `examples/your-agent`: a Python agent with official SDKs, recorded, run again and broken on purpose.
//!
//! Replays need no Python and are tested with the other examples. This needs the packages that `cargo xtask servers` installs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::programs::text;
use super::real_servers::harness::Set;
use super::{Folder, root};

const PACKAGES: Set = Set::new("openai", include_str!("../../../../examples/your-agent/requirements.txt"));

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(drop).unwrap() }
    }
}

/// A copy of the example. Nothing when the packages are not installed.
fn world() -> Option<Folder> {
    PACKAGES.folder()?;
    let here = Folder::with(&[]);
    copy(&root().join("examples/your-agent"), &here.0.join("your-agent"));
    fs::copy(root().join("examples/shop-tools.yml"), here.0.join("shop-tools.yml")).unwrap();
    Some(here)
}

/// Runs the program in a copy, with the Python that has the packages, and with these arguments after others.
fn run(here: &Folder, before: &[&str], words: &[&str]) -> Output {
    let bin = PACKAGES.folder().unwrap().join("bin");
    let mcptest = Path::new(env!("CARGO_BIN_EXE_mcptest")).parent().unwrap();
    let path = format!("{}:{}:/usr/local/bin:/usr/bin:/bin", bin.display(), mcptest.display());
    let mut command = match before {
        [] => Command::new(env!("CARGO_BIN_EXE_mcptest")),
        [first, rest @ ..] => {
            let mut command = Command::new(bin.join(first));
            command.args(rest).arg(env!("CARGO_BIN_EXE_mcptest"));
            command
        }
    };
    command.args(words).current_dir(here.0.join("your-agent")).env_clear().env("PATH", path);
    command.env("HOME", &here.0).output().unwrap()
}

/// With the scripted model.
fn record(here: &Folder, words: &[&str]) -> Output {
    run(here, &["python", "model.py"], words)
}

/// The recorded traces without what takes time, by the names of their folders.
fn traces(folder: &Path) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "json") {
                let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
                let trace = value["trace"].as_object_mut().unwrap();
                trace.remove("program");
                trace["conversation"].as_object_mut().unwrap().remove("duration_ms");
                for result in trace["tool_results"].as_array_mut().unwrap() {
                    result.as_object_mut().unwrap().remove("duration_ms");
                    if let Some(fault) = result.get_mut("fault") {
                        fault.as_object_mut().unwrap().remove("ms");
                    }
                }
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                out.push((name, Value::Object(trace.clone())));
            }
        }
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

#[test]
fn the_recordings_of_the_example_are_what_its_agent_does() {
    let Some(here) = world() else { return };
    let cassettes = here.0.join("your-agent/cassettes");
    fs::remove_dir_all(&cassettes).unwrap();
    let good = record(&here, &["run", "--record", "support.yml"]);
    assert_eq!(good.status.code(), Some(0), "{}", text(&good));
    let broken = record(&here, &["run", "--record", "broken.yml"]);
    assert_eq!(broken.status.code(), Some(1), "{}", text(&broken));
    assert_eq!(traces(&cassettes), traces(&root().join("examples/your-agent/cassettes")));
}

#[test]
fn the_agent_runs_again_without_a_key_and_a_broken_prompt_is_found() {
    let Some(here) = world() else { return };
    let line = ["run", "--rerun", "support.yml"];
    let output = run(&here, &[], &line);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("refunds an order  rerun"), "{}", text(&output));
    // Somebody shortens the prompt.
    fs::copy(here.0.join("your-agent/prompts/hasty.txt"), here.0.join("your-agent/prompts/support.txt")).unwrap();
    let output = run(&here, &[], &line);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let words: Vec<String> = text(&output).split_whitespace().map(str::to_owned).collect();
    let found = "first difference: /messages/0/content";
    assert!(words.join(" ").contains(found), "{}", text(&output));
    // Recorded again, the gates fail.
    let output = record(&here, &["run", "--record", "support.yml", "--filter", "refunds an order"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("tool_calls[0] is refund_order, expected find_order"), "{}", text(&output));
}

#[test]
fn a_suite_made_from_the_agent_runs() {
    let Some(here) = world() else { return };
    let agent = "SHOP_URL=unused python -c 'import os, runpy; os.environ[\"SHOP_URL\"] = os.environ[\"MCPTEST_URL_SHOP\"]; \
                 runpy.run_path(\"agent.py\", run_name=\"__main__\")'";
    let server = "shop=mcptest mock --tools-from ../shop-tools.yml";
    let prompt = "Order 1043 never came. Please pay it back.";
    let line = ["init", "made", "--from-agent", agent, "--server", server, "--prompt", prompt];
    let output = record(&here, &line);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("The agent made 2 calls: find_order, refund_order."), "{}", text(&output));
    for flags in [&["run", "made/mcptest.yml"][..], &["run", "--rerun", "made/mcptest.yml"]] {
        let output = run(&here, &[], flags);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    }
}
