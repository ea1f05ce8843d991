//! The properties that fuzzing checks, on readable inputs and on findings of fuzzing.
//!
//! The fuzz targets in `fuzz/` include the files of `fuzzed/`. Copy an input that one of them finds to
//! `fuzzed/found/<target>/`, and the tests check it from then on.

mod envelope;
mod narrative;
mod pointers;
mod ranges;
mod target;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcptest_core::import::Format;
use serde_json::{Value, json};

use crate::clock::within;
use pointers::pointers;

/// Files of a folder below the tests, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no files in {}", folder.display());
    paths
}

fn found(target: &str) -> Vec<Vec<u8>> {
    files(&format!("fuzzed/found/{target}")).iter().map(|path| fs::read(path).unwrap()).collect()
}

/// The envelopes that are read from the fixtures of all formats.
fn envelopes() -> Vec<String> {
    let formats = Format::ALL.iter().flat_map(|format| files(&format!("import/{}", format.as_str())));
    let read = formats.filter(|path| path.extension().is_some_and(|ext| ext == "out"));
    let lists = read.filter_map(|path| serde_json::from_str::<Vec<Value>>(&fs::read_to_string(path).unwrap()).ok());
    let envelopes = lists.flatten().filter_map(|one| one.get("trace").map(Value::to_string));
    envelopes.filter(|text| text.len() < 20_000).collect()
}

#[test]
fn trace_invariants_hold_for_fixtures_and_truncated_ones() {
    let held = envelope::Held::new();
    let mut traces = 0;
    for text in envelopes() {
        traces += usize::from(held.check(&text));
        for end in (1..text.len()).step_by(211).filter(|end| text.is_char_boundary(*end)) {
            held.check(&text[..end]);
        }
    }
    assert!(traces >= 50, "{traces} fixtures are traces");
}

#[test]
fn trace_invariants_hold_for_fixtures_with_a_value_replaced() {
    let held = envelope::Held::new();
    let others = [json!(null), json!("send"), json!([]), json!({}), json!(-1.5), json!(u64::MAX), json!([["a"]])];
    let mut traces = 0;
    for text in envelopes() {
        let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
        let mut paths = Vec::new();
        pointers(&value, "", &mut paths);
        for (round, path) in paths.iter().enumerate().step_by(paths.len() / 12 + 1) {
            let mut damaged = value.clone();
            *damaged.pointer_mut(path).unwrap() = others[round % others.len()].clone();
            traces += usize::from(held.check(&damaged.to_string()));
        }
    }
    assert!(traces >= 50, "{traces} damaged fixtures are traces");
}

#[test]
fn path_invariants_hold_for_every_mistake_and_shape() {
    let value =
        r#"{"a":[{"b":1,"":{"c":[]}},{"b":[2,[3]]},"s",null,[[1],[{"x.y":0}]]],"":{"":0},"é \"q\"":{"z":false}}"#;
    let steps = [
        "",
        "a",
        ".b",
        "[0]",
        "[-1]",
        "[99]",
        "[*]",
        "[\"\"]",
        "[\"x.y\"]",
        "[\"é \\\"q\\\"\"]",
        ".",
        "[",
        "]",
        "[*",
        "é",
        "[9223372036854775807]",
        "[-9223372036854775808]",
        "[99999999999999999999]",
        "[--1]",
        "[\"a]",
        " ",
        "$",
    ];
    let mut read = 0;
    for first in steps {
        for second in steps {
            for third in steps {
                for fourth in ["", "[*]", ".c", "[\"\"].q"] {
                    read += usize::from(target::check(&format!("{first}{second}{third}{fourth}"), value));
                }
            }
        }
    }
    assert!(read >= 1_000, "{read} paths can be read");
}

#[test]
fn a_long_path_and_a_long_key_are_followed_through_a_long_list_in_little_time() {
    let list = format!("{{\"a\":[{}]}}", vec!["{}"; 20_000].join(","));
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(90), "]".repeat(90));
    let limit = Duration::from_secs(10);
    within(limit, "a long key", || target::check(&format!("a[*].{}", "k".repeat(60_000)), &list));
    within(limit, "a long path", || target::check(&format!("a{}", "[*]".repeat(20_000)), &list));
    within(limit, "a deep value", || target::check(&format!("a{}", "[0]".repeat(20_000)), &deep));
}

/// Messages that are hard to read, each to be repeated many times.
const HARD: [&str; 14] = [
    "I sent the email to Ann. ",
    "I sent and deleted and created and updated and ",
    "not never no don't won't ",
    "\"I deleted it\" 'and `sent ",
    "(((([[[[{{{{<<<<",
    "city: Oslo, id=7, id: \"8\"; ",
    "- [x] **done** | cell | cell |\n",
    "```\ncode I deleted\n```\n",
    "sent, ",
    "https://a.b/c?d=e#f ",
    "\u{1F600}\u{200d}\u{301}\u{202e}ı\u{130}ß ",
    "1,000.50 -7 0x1F 12:30 2024-01-02 ",
    "and then I have now been successfully ",
    "delete_file`send_mail` ",
];

const CALLS: &str = "send_email {\"to\":\"Ann\",\"city\":\"Oslo\",\"id\":7}
delete_file! {\"path\":\"/a\",\"id\":\"8\"}
create_event? {}
search_web {\"q\":\"weather\",\"n\":[1,2,{\"a\":null}]}
page_oncall";

#[test]
fn message_invariants_hold_for_hard_messages_alone_paired_and_cut() {
    let held = narrative::Held::new();
    let mut claims = 0;
    for first in HARD {
        for second in HARD {
            let message = format!("{first}{second}{first}");
            claims += held.check(&message, CALLS);
            let cut = message.char_indices().map(|(at, _)| at).nth(message.chars().count() / 2);
            claims += held.check(&message[..cut.unwrap_or(0)], "");
        }
    }
    assert!(claims >= 100, "{claims} claims");
}

#[test]
fn any_message_of_64_kb_is_read_in_bounded_time() {
    let held = narrative::Held::new();
    let mut many = String::new();
    for at in 0..100 {
        writeln!(many, "send_item_{at} {{\"id\":{at},\"to\":\"x{at}\"}}").unwrap();
    }
    for piece in HARD {
        let message = piece.repeat(65_536 / piece.len());
        within(Duration::from_secs(20), piece, || held.check(&message, &many));
    }
}

#[test]
fn all_invariants_hold_for_findings_of_fuzzing() {
    let (envelopes, stories) = (envelope::Held::new(), narrative::Held::new());
    for bytes in found("envelope") {
        envelopes.check_bytes(&bytes);
    }
    for bytes in found("narrative") {
        stories.check_bytes(&bytes);
    }
    for bytes in found("target") {
        target::check_bytes(&bytes);
    }
}
