//! `tools/call`: the only method with faults.

use std::time::Duration;

use mcptest_core::json;
use mcptest_core::target::Selection;
use mcptest_core::template::Scope;
use mcptest_core::{MatchResult, Matcher, Target};
use serde_json::{Value, json};

use super::message::{Refusal, Request, error};
use super::methods::text;
use super::{Era, Flood, Plan, Send, Server};
use crate::answer::{ARGUMENTS, FilledAnswer};
use crate::fault::Fault;
use crate::spec::{DefaultAnswer, Playlist, Tool, violations};
use crate::state::Counters;

/// Marks the place of the text in a flood.
const MARK: &str = "\u{0}";

impl Server {
    pub(super) fn call(&self, state: &mut Counters, request: &Request, era: Era) -> Result<Plan, Refusal> {
        let name = text(&request.params, "name")?;
        let empty = json!({});
        let arguments = match request.params.get("arguments") {
            None | Some(Value::Null) => &empty,
            Some(arguments @ Value::Object(_)) => arguments,
            Some(_) => return Err(Refusal::params("Invalid params: `arguments` must be an object")),
        };
        let Some(tool) = self.spec.tool(name) else {
            return Err(Refusal::params(format!("Unknown tool: {name}")));
        };
        let id = &request.id;
        let (before, fault) = match self.faults.for_tool(name) {
            Some((number, fault)) => (state.count_hit(number), fault),
            None => (0, Fault::None),
        };
        // Built only if it is sent: a call that hangs uses no answer of a playlist.
        let mut reply = |id: &Value| self.reply(id, result(&answer(state, tool, arguments), era), era, false);
        let ms = Duration::from_millis;
        let never = Plan::now(id.clone(), Send::Never);
        Ok(match fault {
            Fault::Hang => never,
            Fault::Wedged => Plan { cancellable: false, ..never },
            Fault::RecoverAfter(count) if before < count => never,
            Fault::None | Fault::RecoverAfter(_) => Plan::now(id.clone(), Send::Message(reply(id))),
            Fault::Slow(delay) => Plan { delay: ms(delay), ..Plan::now(id.clone(), Send::Message(reply(id))) },
            Fault::ReplyAfterCancel(delay) => {
                let plan = Plan::now(id.clone(), Send::Message(reply(id)));
                Plan { delay: ms(delay), cancellable: false, ..plan }
            }
            Fault::Drop => Plan::now(id.clone(), Send::Close),
            Fault::Garbage => Plan::now(id.clone(), Send::Garbage),
            Fault::WrongId => Plan::now(id.clone(), Send::Message(reply(&wrong(id)))),
            Fault::Duplicate => Plan::now(id.clone(), Send::Twice(reply(id))),
            Fault::Flood(mib) => {
                let marked = self.reply(id, result(&FilledAnswer::text(MARK), era), era, false);
                Plan::now(id.clone(), flood(&marked, mib))
            }
            Fault::Crash => Plan::now(id.clone(), Send::Crash),
            Fault::Error(code) => {
                Plan::now(id.clone(), Send::Message(error(id, code, &format!("fault {fault}"), None)))
            }
            Fault::IsError => {
                let failed = result(&FilledAnswer::error(&format!("fault {fault}")), era);
                Plan::now(id.clone(), Send::Message(self.reply(id, failed, era, false)))
            }
        })
    }
}

/// The answer of a tool without a fault.
fn answer(state: &mut Counters, tool: &Tool, arguments: &Value) -> FilledAnswer {
    if let Some(why) = violations(&tool.input, arguments) {
        return FilledAnswer::error(&format!("Invalid arguments for `{}`: {why}", tool.name));
    }
    let rule = tool.rules.iter().find(|rule| rule.when.iter().all(|condition| holds(condition, arguments)));
    let playlist = match (rule, &tool.default_answer) {
        (Some(rule), _) => &rule.playlist,
        (None, DefaultAnswer::Given(playlist)) => playlist,
        (None, DefaultAnswer::Sample(value)) => return FilledAnswer::structured(value),
        (None, DefaultAnswer::Echo) => {
            return FilledAnswer::text(&format!("{} called with {}", tool.name, json::canonical(arguments)));
        }
        (None, DefaultAnswer::NoRule) => {
            return FilledAnswer::error(&format!(
                "no rule of `{}` matches {}",
                tool.name,
                json::excerpt(arguments, 200)
            ));
        }
    };
    next_answer(state, playlist, tool, arguments)
}

fn next_answer(state: &mut Counters, playlist: &Playlist, tool: &Tool, arguments: &Value) -> FilledAnswer {
    let at = state.play(playlist.number, playlist.answers.len());
    let filled = match playlist.answers[at].fill(&Scope::new(ARGUMENTS, arguments.clone())) {
        Ok(filled) => filled,
        Err(missing) => {
            return FilledAnswer::error(&format!(
                "the answer refers to `{}`, which the call does not have",
                missing.path
            ));
        }
    };
    let broken = match (&tool.output, &filled.structured) {
        (Some(schema), Some(value)) => violations(schema, value),
        _ => None,
    };
    match broken {
        Some(why) => {
            FilledAnswer::error(&format!("the answer does not match the output schema of `{}`: {why}", tool.name))
        }
        None => filled,
    }
}

/// A target that selects nothing, or a matcher that cannot judge, does not match.
fn holds((target, matcher): &(Target, Matcher), arguments: &Value) -> bool {
    match target.select(arguments) {
        Selection::Found(value) => matcher.check(&value) == MatchResult::Holds,
        Selection::Nothing { .. } => false,
    }
}

/// The result of a call. In the legacy era structured content must be an object; other values are sent as text only.
fn result(filled: &FilledAnswer, era: Era) -> Value {
    let mut out = json!({ "content": filled.content });
    if let Some(value) = &filled.structured
        && (era == Era::Modern || value.is_object())
    {
        out["structuredContent"] = value.clone();
    }
    if filled.is_error {
        out["isError"] = json!(true);
    }
    out
}

fn wrong(id: &Value) -> Value {
    const OFFSET: i64 = 1_000_000;
    match id {
        Value::String(text) => json!(format!("{text}-wrong")),
        _ => match id.as_i64().and_then(|number| number.checked_add(OFFSET)) {
            Some(number) => json!(number),
            // The sum overflows: use another number.
            None => json!(OFFSET),
        },
    }
}

/// Splits a reply at the mark.
fn flood(marked: &Value, mib: u64) -> Send {
    let text = json::canonical(marked);
    // Quotes inside strings are escaped, so this can match only a key.
    let (head, tail) = text.split_once(r#""text":"\u0000""#).unwrap_or((&text, ""));
    Send::Flood(Flood { head: format!(r#"{head}"text":""#), mib, tail: format!("\"{tail}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_id_is_always_another() {
        for (id, expected) in [
            (json!(7), json!(1_000_007)),
            (json!(-1_000_000), json!(0)),
            (json!("a"), json!("a-wrong")),
            (json!(i64::MAX), json!(1_000_000)),
            (json!(u64::MAX), json!(1_000_000)),
        ] {
            assert_eq!(wrong(&id), expected, "{id}");
        }
    }

    #[test]
    fn a_flood_is_a_reply_with_its_text_left_out() {
        let reply = json!({ "id": "\"text\":\"\u{0}\"", "result": { "content": [{ "text": MARK, "type": "text" }] } });
        let Send::Flood(Flood { head, tail, mib }) = flood(&reply, 3) else { panic!("no flood") };
        assert_eq!(mib, 3);
        let whole: Value = serde_json::from_str(&format!("{head}xyz{tail}")).unwrap();
        assert_eq!(whole["result"]["content"][0], json!({ "text": "xyz", "type": "text" }));
        assert_eq!(whole["id"], reply["id"]);
    }
}
