//! Properties of any closing message with any calls. The fuzz target `narrative` includes this file, so
//! fuzzing and tests check the same properties.

use mcptest_core::Trace;
use mcptest_core::eval::{GateKind, NarrativeGate, NarrativeParams};
use serde_json::{Map, Value, json};

use super::ranges;

/// The separator between the message and the calls.
const FENCE: &str = "\n---\n";

/// The gate, with defaults and with custom words.
pub(crate) struct Held {
    gates: [NarrativeGate; 2],
}

impl Held {
    pub(crate) fn new() -> Self {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        let own = NarrativeParams {
            max_divergence_score: Some(0.5),
            mutating_verbs: words(&["refund", "escalate"]),
            mutating_tools: words(&["page_oncall"]),
            readonly_tools: words(&["send_probe"]),
            ..NarrativeParams::default()
        };
        Self { gates: [NarrativeParams::default(), own].map(|params| NarrativeGate::new(params).unwrap()) }
    }

    /// Holds bytes as fuzzing makes them: the message, a line of three dashes, then a line per call.
    pub(crate) fn check_bytes(&self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let (message, calls) = text.split_once(FENCE).unwrap_or((&text, ""));
        self.check(message, calls);
    }

    /// Holds a message and calls. A call is its name and its arguments as JSON; `!` after the name says that it failed, `?`
    /// that its result was not recorded. `$ ..` is a shell command, `sql ..` a statement and `patch ..` a patch, with a tab for
    /// a line break. It gives back how many claims were found.
    pub(crate) fn check(&self, message: &str, calls: &str) -> usize {
        let trace = trace(message, calls);
        let mut claims = 0;
        for gate in &self.gates {
            let found = gate.evaluate(&trace);
            ranges::check(GateKind::Narrative, &found.metrics);
            for claim in &found.detail.claims {
                assert_eq!(message.get(claim.span.clone()), Some(claim.words.as_str()), "{claim:?}");
                assert!(!claim.stem.is_empty() && !claim.verb.is_empty(), "{claim:?}");
            }
            for claim in gate.claims(message) {
                assert!(message.get(claim.span.clone()).is_some_and(|words| !words.is_empty()), "{claim:?}");
            }
            claims = found.detail.claims.len();
            let again = gate.evaluate(&trace);
            assert_eq!(format!("{found:?}"), format!("{again:?}"), "the same message, two results");
        }
        claims
    }
}

fn trace(message: &str, calls: &str) -> Trace {
    let (mut made, mut results) = (Vec::new(), Vec::new());
    for line in calls.lines() {
        // Texts that are run, as tools get them.
        let texts = [("$ ", "bash", "command"), ("sql ", "execute_sql", "query"), ("patch ", "apply_patch", "patch")];
        let run = texts.iter().find_map(|(sign, tool, key)| Some((tool, key, line.strip_prefix(sign)?)));
        if let Some((tool, key, text)) = run {
            made.push(json!({ "name": tool, "args": { *key: text.replace('\t', "\n") } }));
            results.push(json!({ "is_error": false }));
            continue;
        }
        let (name, args) = line.split_once(' ').unwrap_or((line, ""));
        let bare = name.trim_end_matches(['!', '?']);
        let mut call = Map::new();
        call.insert("name".to_owned(), bare.into());
        if let Ok(Value::Object(args)) = mcptest_core::json::parse(args) {
            call.insert("args".to_owned(), args.into());
        }
        made.push(Value::Object(call));
        results.push(match &name[bare.len()..] {
            "" => json!({ "is_error": false, "content": [{ "type": "text", "text": "ok" }] }),
            "!" => json!({ "is_error": true, "content": [{ "type": "text", "text": "no" }] }),
            _ => Value::Null,
        });
    }
    let envelope = json!({ "tool_calls": made, "tool_results": results, "final_response": message });
    Trace::from_envelope(&envelope).unwrap()
}
