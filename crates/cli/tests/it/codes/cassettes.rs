//! Recordings that are missing, do not fit or cannot be written.

use mcptest_core::diag::Code;
use std::fs::File;
use std::path::PathBuf;

use mcptest_core::diag::Source;
use mcptest_core::suite::{self, Variables};
use mcptest_core::trace::Trace;
use mcptest_runner::cassette::{self, Cassette};
use serde_json::json;

use super::{desk, printed};
use crate::Folder;

/// The one cassette of the suite.
const CASSETTE: &str = "cassettes/ok/finds-it-48ae7370/demo/1.json";

fn good() -> String {
    super::suite("trajectory: { calls: [{ name: search }] }")
}

/// A folder in which the one run is recorded.
fn recorded() -> Folder {
    let here = desk(&good());
    let reported = printed(&here, &["run", "ok.yml", "--record"]);
    assert!(reported.contains("1 passed"), "{reported}");
    here
}

/// What is printed when the cassette reads differently.
fn changed(change: impl Fn(&str) -> String) -> String {
    let here = recorded();
    let path: PathBuf = here.0.join(CASSETTE);
    let text = std::fs::read_to_string(&path).unwrap();
    let other = change(&text);
    assert_ne!(text, other);
    std::fs::write(&path, other).unwrap();
    printed(&here, &["run", "ok.yml"])
}

/// What is printed when a test of a real model was renamed after it was recorded.
fn renamed() -> String {
    let text = "agents:\n  - { name: t, model: claude-sonnet-4-5, prompt: Hi, trajectory: { calls: [{ name: a }] } }\n";
    let here = Folder::with(&[("key.yml", text)]);
    let loaded = suite::load(&Source::new("key.yml", text), &Variables { suite_dir: ".", outside: &|_| None });
    let suite = loaded.value.unwrap();
    let recorded = Cassette {
        test: "t".to_owned(),
        model: "claude-sonnet-4-5".to_owned(),
        run: 1,
        inputs: cassette::inputs(&suite, &suite.agents[0], "claude-sonnet-4-5", None),
        observed: json!({}),
        advisory: None,
        ledger: None,
        trace: Trace::default(),
        version: cassette::VERSION,
        edited: false,
    };
    cassette::Folder::of(&here.0.join("key.yml")).save(&recorded).unwrap();
    here.write("key.yml", text.replace("name: t", "name: u").as_bytes());
    printed(&here, &["run", "key.yml"])
}

pub(super) fn provoked() -> Vec<(Code, String)> {
    let stale = recorded();
    stale.write("ok.yml", good().replace("Find the note", "Find a note").as_bytes());
    let remote =
        "agents:\n  - { name: t, model: claude-sonnet-4-5, prompt: Hi, trajectory: { calls: [{ name: a }] } }\n";
    let blocked = desk(&good());
    blocked.write("cassettes", b"");
    let locked = recorded();
    let lock = File::open(locked.0.join("cassettes/ok")).unwrap();
    lock.lock().unwrap();
    let unused = recorded();
    unused.write("ok.yml", good().replace("finds it", "finds more").as_bytes());
    vec![
        (Code::NoRecording, printed(&Folder::with(&[("key.yml", remote)]), &["run", "key.yml"])),
        (Code::StaleCassette, printed(&stale, &["run", "ok.yml"])),
        (Code::BrokenCassette, changed(|text| text[..300].to_owned())),
        (Code::EditedCassette, changed(|text| text.replace("Find the note.", "Find."))),
        (Code::InconsistentCassette, changed(|text| text.replacen("I deleted the note.", "I did nothing.", 1))),
        (Code::BrokenCassette, changed(|text| text.lines().filter(|line| !line.contains("\"digest\"")).collect())),
        (Code::RenamedTest, renamed()),
        (Code::BrokenCassette, changed(|text| text.replace("\"test\": \"finds it\"", "\"test\": \"finds more\""))),
        (Code::CassetteVersion, changed(|text| text.replace("\"mcptest\": 2", "\"mcptest\": 9"))),
        (Code::RecordingInProgress, printed(&locked, &["run", "ok.yml", "--record"])),
        (Code::UnusableCassetteFolder, printed(&blocked, &["run", "ok.yml", "--record"])),
        (Code::UnusedCassette, printed(&unused, &["cassette", "list", "ok.yml"])),
    ]
}
