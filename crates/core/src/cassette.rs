//! The format of a recorded run, and the checks that need only the file: its version, its digest, and whether it
//! contradicts itself. The runner knows where recordings are and how a suite uses them.
//!
//! The digest detects accidents: an edit, a bad merge, an incomplete copy. It does not protect against someone who computes
//! a new one.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::json;
use crate::redact::hash;
use crate::trace::{AnswerSource, Role, Trace};

/// Version of the format that is written. Old readers do not guess at new files.
pub const VERSION: u64 = 2;

/// The oldest version that is still read. It has no digest, so an edit goes unnoticed.
pub const OLDEST: u64 = 1;

/// What the digest covers: all that was recorded, and that it was edited since. The name of the test is a label that the
/// suite may change, and the fingerprint follows from the inputs.
const DIGESTED: [&str; 8] = ["advisory", "edited", "inputs", "ledger", "model", "observed", "run", "trace"];

/// How many contradictions a message lists.
const MAX_LISTED: usize = 3;

/// What a recording says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// The version of its format.
    pub version: u64,
    /// It was edited, and the edit was accepted.
    pub edited: bool,
}

/// The note about recordings in the oldest version; `None` if there are none.
pub fn note_on_oldest(count: usize) -> Option<String> {
    let what = match count {
        0 => return None,
        1 => "1 recording is".to_owned(),
        count => format!("{count} recordings are"),
    };
    Some(format!("{what} in format version {OLDEST}, which does not detect edits; `--record` writes version {VERSION}"))
}

/// Server and name of every tool that is marked with `readOnlyHint` in the catalog of a recording, its `observed`.
pub fn read_only_tools(observed: &Value) -> BTreeSet<(String, String)> {
    let mut out = BTreeSet::new();
    for (server, found) in observed.get("servers").and_then(Value::as_object).into_iter().flatten() {
        for tool in found.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let is_read_only = tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
            if let Some(name) = tool.get("name").and_then(Value::as_str).filter(|_| is_read_only) {
                out.insert((server.clone(), name.to_owned()));
            }
        }
    }
    out
}

/// Why a recording cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// It is not a recording; what is wrong.
    Broken(String),
    /// It has a version that is not read here.
    Version(String),
    /// It was edited after it was recorded, and the edit was not accepted.
    Edited,
    /// It contradicts itself, edited or not.
    Contradictory(String),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(why) => f.write_str(why),
            Self::Version(found) => {
                write!(f, "has format version {found}, this program reads versions {OLDEST} to {VERSION}")
            }
            Self::Edited => f.write_str("was edited after it was recorded: its digest does not match"),
            Self::Contradictory(why) => write!(f, "contradicts itself: {why}"),
        }
    }
}

impl std::error::Error for Unreadable {}

pub fn fingerprint(inputs: &Value) -> String {
    hash(json::canonical(inputs).as_bytes())
}

/// Adds version, fingerprint and digest before writing.
pub fn seal(cassette: &mut Map<String, Value>) {
    cassette.insert("mcptest".to_owned(), VERSION.into());
    let found = Digested::of(cassette);
    if let Some(fingerprint) = found.fingerprint() {
        cassette.insert("fingerprint".to_owned(), fingerprint.into());
    }
    cassette.insert("digest".to_owned(), found.digest().into());
}

/// What the digest covers, as canonical JSON.
pub(crate) struct Digested {
    text: String,
    /// Where the inputs are in it.
    inputs: Option<Range<usize>>,
}

impl Digested {
    fn of(cassette: &Map<String, Value>) -> Self {
        Self::by(0, |key| cassette.get(key), json::write_canonical)
    }

    /// The same from the JSON of each key, which was read before; `None` if its keys are not in order.
    pub(crate) fn of_parts<'a>(json_of: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let mut is_ordered = true;
        let size = DIGESTED.iter().filter_map(|key| json_of(key)).map(|json| json.len() + 16).sum();
        let found = Self::by(size, json_of, |json, out| is_ordered &= json::push_canonical(json, out));
        is_ordered.then_some(found)
    }

    fn by<T>(size: usize, part: impl Fn(&str) -> Option<T>, mut push: impl FnMut(T, &mut String)) -> Self {
        let (mut text, mut inputs) = (String::with_capacity(size), None);
        text.push('{');
        // In order, as in any canonical text, and without a copy of the trace.
        for key in DIGESTED {
            if let Some(value) = part(key) {
                if text.len() > 1 {
                    text.push(',');
                }
                text.push_str(&format!("\"{key}\":"));
                let begin = text.len();
                push(value, &mut text);
                if key == "inputs" {
                    inputs = Some(begin..text.len());
                }
            }
        }
        text.push('}');
        Self { text, inputs }
    }

    fn digest(&self) -> String {
        hash(self.text.as_bytes())
    }

    /// As [`fingerprint`] says.
    fn fingerprint(&self) -> Option<String> {
        self.inputs.clone().map(|range| hash(&self.text.as_bytes()[range]))
    }
}

/// The version of a recording.
pub fn version(cassette: &Map<String, Value>) -> Result<u64, Unreadable> {
    match cassette.get("mcptest") {
        Some(found) => match found.as_u64() {
            Some(version @ OLDEST..=VERSION) => Ok(version),
            _ => Err(Unreadable::Version(json::excerpt(found, 40))),
        },
        None => Err(Unreadable::Broken("lacks `mcptest`, the version: this is not a cassette".to_owned())),
    }
}

/// Checks a recording, whose trace is known already. A contradiction is reported before an edit, because accepting an edit does
/// not help against it.
pub fn check(cassette: &Map<String, Value>, trace: &Trace) -> Result<Seal, Unreadable> {
    check_parts(cassette, trace, &Digested::of(cassette))
}

/// The same for parts of a recording. Of the inputs they need the names of the servers and which keys there are, of the trace the
/// names of tools; they need nothing of what was observed.
pub(crate) fn check_parts(
    cassette: &Map<String, Value>,
    trace: &Trace,
    digested: &Digested,
) -> Result<Seal, Unreadable> {
    let broken = |why: &str| Err(Unreadable::Broken(why.to_owned()));
    let version = version(cassette)?;
    let found = contradictions(cassette, trace);
    if !found.is_empty() {
        let more = found.len().saturating_sub(MAX_LISTED);
        let mut listed = found[..found.len() - more].join("; ");
        if more > 0 {
            listed.push_str(&format!("; and {more} more"));
        }
        return Err(Unreadable::Contradictory(listed));
    }
    let edited = match cassette.get("edited") {
        None => false,
        Some(Value::Bool(true)) => true,
        Some(_) => return broken("has an `edited` that is not true"),
    };
    let is_sealed = match (version, cassette.get("digest")) {
        (OLDEST, None) if !edited => true,
        (OLDEST, _) => return broken("has `digest` or `edited`, which format version 1 does not know"),
        (_, None) => return broken("lacks `digest`, which recordings have from format version 2 on"),
        (_, Some(recorded)) => *recorded == digested.digest(),
    };
    let fits = cassette
        .get("fingerprint")
        .is_none_or(|recorded| digested.fingerprint().is_none_or(|fingerprint| *recorded == fingerprint));
    if is_sealed && fits { Ok(Seal { version, edited }) } else { Err(Unreadable::Edited) }
}

/// What in a recording contradicts itself.
fn contradictions(cassette: &Map<String, Value>, trace: &Trace) -> Vec<String> {
    let mut out = Vec::new();
    let calls = trace.tool_calls.as_deref();
    let servers = cassette.get("inputs").and_then(|inputs| inputs.get("servers")?.as_object());
    let turns = trace.conversation.turns.as_deref();
    for (at, call) in calls.unwrap_or_default().iter().enumerate() {
        let turn = call.turn.and_then(|turn| Some((turn, turns?.get(turn)?.role)));
        if let Some((turn, role)) = turn.filter(|(_, role)| *role != Role::Assistant) {
            out.push(format!("`trace.tool_calls[{at}].turn` is {turn}, a turn of the {role}"));
        }
        // A call that no server knows has the empty name.
        let server = call.server.as_deref().filter(|server| !server.is_empty());
        if let Some(server) = server.filter(|server| servers.is_some_and(|servers| !servers.contains_key(*server))) {
            let server = json::cut(server, 60);
            out.push(format!("`trace.tool_calls[{at}].server` is `{server}`, which `inputs.servers` does not have"));
        }
    }
    if let Some(names) = cassette.get("trace").and_then(|trace| trace.get("tool_names")) {
        let of_calls = calls.unwrap_or_default().iter().map(|call| Some(call.name.as_str()));
        let is_same = names.as_array().is_some_and(|names| names.iter().map(Value::as_str).eq(of_calls));
        if !is_same {
            out.push("`trace.tool_names` are not the names in `trace.tool_calls`".to_owned());
        }
    }
    // A program chooses its own answer; the model's last message may differ.
    let is_own = trace.answer_source == Some(AnswerSource::Program);
    // Only runs of a model have a limit of turns.
    if is_own && cassette.get("inputs").is_some_and(|inputs| inputs.get("max_turns").is_some()) {
        out.push("`trace.answer_source` is `program`, and `inputs` are those of a model".to_owned());
    }
    if let (Some(turns), Some(answer), false) = (turns, &trace.final_response, is_own) {
        let last = turns.iter().enumerate().rev().find(|(_, turn)| turn.role == Role::Assistant);
        match last {
            Some((at, turn)) if turn.content.as_ref().map_or(!answer.is_empty(), |text| text != answer) => out.push(format!(
                "`trace.final_response` is not the text of the last assistant turn, `trace.conversation.turns[{at}]`"
            )),
            None if !answer.is_empty() => {
                out.push("`trace.final_response` is there without a turn of the assistant".to_owned());
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A recording of one call.
    fn recording() -> Map<String, Value> {
        let value = json!({
            "test": "t", "model": "m", "run": 1,
            "inputs": { "prompt": "p", "servers": { "shop": {} } },
            "observed": {},
            "trace": {
                "tool_calls": [{ "name": "find", "server": "shop", "args": {}, "turn": 1 }],
                "tool_names": ["find"],
                "tool_results": [{ "is_error": true, "content": [] }],
                "final_response": "Not found.",
                "conversation": { "turns": [
                    { "role": "user", "content": "p" },
                    { "role": "assistant", "content": null },
                    { "role": "tool", "content": null },
                    { "role": "assistant", "content": "Not found." },
                ] },
            },
        });
        let mut map = value.as_object().cloned().unwrap();
        seal(&mut map);
        map
    }

    fn checked(map: &Map<String, Value>) -> Result<Seal, Unreadable> {
        check(map, &Trace::from_envelope(&map["trace"]).unwrap())
    }

    fn edited(path: &str, value: Value) -> Map<String, Value> {
        let mut map = Value::Object(recording());
        *map.pointer_mut(path).unwrap() = value;
        map.as_object().cloned().unwrap()
    }

    #[test]
    fn any_edit_of_a_recording_is_detected() {
        assert_eq!(checked(&recording()), Ok(Seal { version: 2, edited: false }));
        let edits = [
            ("/model", json!("n")),
            ("/run", json!(2)),
            ("/inputs/prompt", json!("q")),
            ("/observed", json!({ "servers": {} })),
            ("/trace/tool_calls/0/args", json!({ "x": 1 })),
            ("/trace/tool_results/0/is_error", json!(false)),
            ("/trace/conversation/turns/0/content", json!("q")),
            ("/fingerprint", json!("0")),
            ("/digest", json!("0")),
            ("/digest", json!(null)),
        ];
        for (path, value) in edits {
            assert_eq!(checked(&edited(path, value)), Err(Unreadable::Edited), "{path}");
        }
        let mut more = recording();
        more.insert("advisory".to_owned(), json!({ "answer": "fine" }));
        assert_eq!(checked(&more), Err(Unreadable::Edited));
        // The name of the test is a label of the suite.
        assert_eq!(checked(&edited("/test", json!("u"))), Ok(Seal { version: 2, edited: false }));
    }

    #[test]
    fn that_an_edit_was_accepted_cannot_be_taken_back_unnoticed() {
        let mut map = recording();
        map.insert("edited".to_owned(), true.into());
        assert_eq!(checked(&map), Err(Unreadable::Edited));
        seal(&mut map);
        assert_eq!(checked(&map), Ok(Seal { version: 2, edited: true }));
        map.remove("edited");
        assert_eq!(checked(&map), Err(Unreadable::Edited));
        map.insert("edited".to_owned(), false.into());
        assert_eq!(checked(&map), Err(Unreadable::Broken("has an `edited` that is not true".to_owned())));
    }

    #[test]
    fn version_1_has_no_digest_and_version_2_must_have_one() {
        let mut map = recording();
        map.remove("digest");
        let lacks = "lacks `digest`, which recordings have from format version 2 on";
        assert_eq!(checked(&map), Err(Unreadable::Broken(lacks.to_owned())));
        map.insert("mcptest".to_owned(), 1.into());
        assert_eq!(checked(&map), Ok(Seal { version: 1, edited: false }));
        let neither = Unreadable::Broken("has `digest` or `edited`, which format version 1 does not know".to_owned());
        for key in ["digest", "edited"] {
            let mut map = map.clone();
            map.insert(key.to_owned(), true.into());
            assert_eq!(checked(&map), Err(neither.clone()), "{key}");
        }
        for (found, shown) in [(json!(0), "0"), (json!(3), "3"), (json!("2"), "\"2\""), (json!(1.5), "1.5")] {
            assert_eq!(checked(&edited("/mcptest", found)), Err(Unreadable::Version(shown.to_owned())));
        }
    }

    #[test]
    fn a_contradiction_is_an_error_regardless_of_the_digest() {
        let cases = [
            (
                "/trace/final_response",
                json!("Found."),
                "`trace.final_response` is not the text of the last assistant turn, `trace.conversation.turns[3]`",
            ),
            (
                "/trace/conversation/turns/3/role",
                json!("user"),
                "`trace.final_response` is not the text of the last assistant turn, `trace.conversation.turns[1]`",
            ),
            (
                "/trace/conversation/turns",
                json!([{ "role": "user", "content": "p" }, { "role": "tool", "content": null }]),
                "`trace.tool_calls[0].turn` is 1, a turn of the tool; `trace.final_response` is there without a turn of \
                 the assistant",
            ),
            ("/trace/tool_calls/0/turn", json!(0), "`trace.tool_calls[0].turn` is 0, a turn of the user"),
            (
                "/trace/tool_calls/0/server",
                json!("mail"),
                "`trace.tool_calls[0].server` is `mail`, which `inputs.servers` does not have",
            ),
            ("/trace/tool_calls/0/name", json!("refund"), "`trace.tool_names` are not the names in `trace.tool_calls`"),
            ("/trace/tool_names", json!([]), "`trace.tool_names` are not the names in `trace.tool_calls`"),
            ("/trace/tool_names", json!("find"), "`trace.tool_names` are not the names in `trace.tool_calls`"),
        ];
        for (path, value, why) in cases {
            let mut map = edited(path, value);
            let expected = Err(Unreadable::Contradictory(why.to_owned()));
            assert_eq!(checked(&map), expected, "{path}");
            map.insert("edited".to_owned(), true.into());
            seal(&mut map);
            assert_eq!(checked(&map), expected, "{path}");
        }
    }

    #[test]
    fn the_answer_of_a_model_is_not_that_of_a_program() {
        let mut map = recording();
        map["trace"]["answer_source"] = json!("program");
        map.insert(
            "inputs".to_owned(),
            json!({ "prompt": "p", "servers": { "shop": {} }, "program": { "name": "a" } }),
        );
        map["trace"]["final_response"] = json!("Something else.");
        seal(&mut map);
        assert!(checked(&map).is_ok(), "{:?}", checked(&map));
        map["inputs"] = json!({ "prompt": "p", "servers": { "shop": {} }, "model": { "name": "a" }, "max_turns": 10 });
        seal(&mut map);
        let why = "`trace.answer_source` is `program`, and `inputs` are those of a model";
        assert_eq!(checked(&map), Err(Unreadable::Contradictory(why.to_owned())));
    }

    #[test]
    fn only_the_first_contradictions_are_listed() {
        let calls: Vec<Value> = (0..5).map(|_| json!({ "name": "find", "server": "x" })).collect();
        let map = edited("/trace", json!({ "tool_calls": calls }));
        let one = |at: usize| format!("`trace.tool_calls[{at}].server` is `x`, which `inputs.servers` does not have");
        let listed = format!("{}; {}; {}; and 2 more", one(0), one(1), one(2));
        assert_eq!(checked(&map), Err(Unreadable::Contradictory(listed)));
    }

    #[test]
    fn missing_parts_are_not_contradictions() {
        for trace in [
            json!({}),
            json!({ "final_response": "Found." }),
            json!({ "tool_calls": [{ "name": "find", "turn": 7 }, { "name": "gone", "server": "" }] }),
            json!({ "conversation": { "turns": [{ "role": "assistant", "content": null }] } }),
        ] {
            let mut map = edited("/trace", trace.clone());
            seal(&mut map);
            assert_eq!(checked(&map), Ok(Seal { version: 2, edited: false }), "{trace}");
        }
    }
}
