//! Recordings that are missing, do not fit or cannot be written.

use std::fs::File;
use std::path::PathBuf;

use super::{desk, printed, suite};
use crate::Folder;

/// The one cassette of the suite.
const CASSETTE: &str = "cassettes/ok/finds-it-48ae7370/demo/1.json";

fn good() -> String {
    suite("trajectory: { calls: [{ name: search }] }")
}

/// A folder in which the one run is recorded.
fn recorded() -> Folder {
    let here = desk(&good());
    let told = printed(&here, &["run", "ok.yml", "--record"]);
    assert!(told.contains("1 pass"), "{told}");
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

pub(super) fn provoked() -> Vec<(&'static str, String)> {
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
        ("no-recording", printed(&Folder::with(&[("key.yml", remote)]), &["run", "key.yml"])),
        ("stale-cassette", printed(&stale, &["run", "ok.yml"])),
        ("broken-cassette", changed(|text| text[..300].to_owned())),
        ("edited-cassette", changed(|text| text.replace("Find the note.", "Find."))),
        ("other-run", changed(|text| text.replace("\"run\": 1", "\"run\": 2"))),
        ("cassette-version", changed(|text| text.replace("\"mcptest\": 1", "\"mcptest\": 9"))),
        ("recording-in-progress", printed(&locked, &["run", "ok.yml", "--record"])),
        ("cassette-folder", printed(&blocked, &["run", "ok.yml", "--record"])),
        ("unused-cassette", printed(&unused, &["cassette", "list", "ok.yml"])),
    ]
}
