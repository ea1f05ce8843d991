//! Keys of both sides that a model and a server repeat are in no file that a recording leaves.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::super::models::dialect::{Turn, answer};
use super::super::models::provider::Loopback;
use super::super::models::{err, out};
use super::{ANTHROPIC, Agent, GOOGLE_GENAI, KEYS, OPENAI, OPENAI_AGENTS, OPENAI_NODE, World};

/// A secret of the server, which a tool returns with the environment.
const SERVER: (&str, &str) = ("SHOP_PASSWORD", "planted-shop-password-5a0c");

/// The model gets the secrets of the server, and repeats them and its own key in text and arguments. A stream splits
/// them over several events.
#[track_caller]
fn keeps(agent: &Agent) {
    let Some(world) = World::new(agent) else { return };
    let all = || {
        let keys = KEYS.iter().map(|(_, key)| *key);
        keys.chain([SERVER.1]).collect::<Vec<_>>().join(" and ")
    };
    let model = Loopback::start(move |request, _| {
        answer(request, |answered| match answered {
            0 => Turn {
                text: Some(format!("I know {}.", all())),
                calls: vec![("echo".into(), json!({ "message": all() })), ("get-env".into(), json!({}))],
            },
            _ => Turn::text(format!("They are {}.", all())),
        })
    });
    let mut command = world.command(&model.base(), &["--ledger", "t.ledger.jsonl"]);
    command.env(SERVER.0, SERVER.1);
    let output = world.finish(command);
    // The agent may say what it likes on its own output.
    assert!(output.status.success() && out(&output).contains(&all()), "{}", err(&output));
    let trace = world.trace();
    assert_eq!(trace["tool_names"], json!(["echo", "get-env"]), "{trace:#}");
    assert_eq!(trace["tool_results"][1]["is_error"], false, "{trace:#}");
    assert!(trace["final_response"].as_str().unwrap().starts_with("They are "), "{trace:#}");
    assert!(world.here.0.join("t.ledger.jsonl").exists());
    // Whole, and the pieces of a stream.
    let planted: Vec<&str> = KEYS.iter().map(|(_, key)| *key).chain([SERVER.1]).collect();
    let mut count = 0;
    each_file(&world.here.0, &mut |path, bytes| {
        let text = String::from_utf8_lossy(bytes);
        for secret in &planted {
            assert!(!text.contains(secret), "{} has {secret}", path.display());
            let (head, tail) = secret.split_at(secret.len() - 6);
            assert!(!text.contains(tail) && !text.contains(head), "{} has a part of {secret}", path.display());
        }
        count += 1;
    });
    assert!(count >= 5);
}

/// Every file below a folder, without what it links to.
fn each_file(folder: &Path, look: &mut impl FnMut(&Path, &[u8])) {
    for entry in fs::read_dir(folder).unwrap() {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
        if kind.is_dir() {
            each_file(&path, look);
        } else if kind.is_file() {
            look(&path, &fs::read(&path).unwrap());
        }
    }
}

#[test]
fn of_chat_completions() {
    keeps(&OPENAI);
}

#[test]
fn of_streamed_chat_completions() {
    keeps(&OPENAI_NODE);
}

#[test]
fn of_streamed_responses() {
    keeps(&OPENAI_AGENTS);
}

#[test]
fn of_streamed_messages() {
    keeps(&ANTHROPIC);
}

#[test]
fn of_streamed_gemini_replies() {
    keeps(&GOOGLE_GENAI);
}
