//! Gates that a recorded run passes.

use std::collections::BTreeSet;

use mcptest_core::eval::trajectory_axes::EdgeState;
use mcptest_core::eval::{DependencyEdge, TrajectoryAxesGate, TrajectoryAxesParams};
use mcptest_core::trace::{Role, ToolCall, ToolResult};
use mcptest_core::{Target, Trace};
use serde_json::{Map, Value, json};

use crate::command::init::gates::{self, Candidate, Settled, Way};
use crate::command::init::yaml::{self, Dollar};

/// Most data dependencies that are written.
const MAX_EDGES: usize = 8;

/// Most data dependencies that are tried: each reads every answer of a tool.
const MAX_TRIED: usize = 256;

/// Every gate that could pass for both traces, in the order of the reference.
pub(super) fn settled(trace: &Trace, replayed: &Trace, calls: &[ToolCall]) -> Vec<Settled> {
    let traces = [trace, replayed];
    let mut out = vec![tokens(trace, replayed)];
    out.push(trajectory(trace, calls).settle(&traces));
    out.push(axes(trace, replayed, calls));
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    out.push(gates::golden_path(&names).settle(&traces));
    if trace.tool_results.iter().flatten().flatten().any(|result| result.fault.is_some()) {
        let why = "the faults of the recorded run are answered as errors here; inject them with `faults:` to judge it";
        out.push(Settled::LeftOut { gate: "recovery", why: why.to_owned() });
    }
    out.push(gates::narrative().settle(&traces));
    out
}

fn tokens(trace: &Trace, replayed: &Trace) -> Settled {
    let left_out = |why: &str| Settled::LeftOut { gate: "a ceiling on tokens", why: why.to_owned() };
    let Some(spent) = trace.conversation.tokens.spent() else {
        return left_out("the trace does not tell how many were used");
    };
    let Some(again) = replayed.conversation.tokens.spent() else {
        return left_out("the trace tells only their sum, and a script needs those read and those written");
    };
    let most = spent.max(again);
    let ceiling = most.saturating_add(most / 2);
    let about = vec![format!("The recorded run took {most} tokens; half as many again are allowed.")];
    let lines = [
        "expect:".to_owned(),
        "  - target: conversation.tokens.total".to_owned(),
        format!("    matcher: {{ schema: {{ maximum: {ceiling} }} }}"),
    ];
    let mut trace = trace.clone();
    // A suite reads the total; a trace may have only its parts.
    trace.conversation.tokens.total = Some(spent);
    Candidate { gate: "a ceiling on tokens", ways: vec![Way { about, lines: lines.into() }] }
        .settle(&[&trace, replayed])
}

/// The recorded calls as a reference: with their arguments, or by their names alone.
fn trajectory(trace: &Trace, calls: &[ToolCall]) -> Candidate {
    let mut about = vec!["The recorded calls, in this order. See it fail: change an argument below.".to_owned()];
    let mut lines = vec!["trajectory:".to_owned(), "  calls:".to_owned()];
    let mut names = lines.clone();
    let (mut is_open, mut is_mute) = (false, false);
    for (at, call) in calls.iter().enumerate() {
        let name = yaml::text(&call.name, Dollar::Sign);
        names.push(format!("    - {{ name: {name} }}"));
        let mut line = format!("    - {{ name: {name}");
        let demand = call.args.as_ref().and_then(Value::as_object).map(demand);
        is_open |= demand.as_ref().is_some_and(|demand| demand.is_open);
        is_mute |= demand.is_none();
        if let Some(demand) = &demand {
            line.push_str(&format!(", args: {}", yaml::value(&demand.args, Dollar::Sign)));
        }
        // A call without readable arguments always fails.
        let is_sent = call.args.as_ref().is_none_or(Value::is_object);
        match trace.result(at).and_then(ToolResult::failed).filter(|_| is_sent) {
            Some(failed) => line.push_str(if failed { ", status: error }" } else { ", status: ok }" }),
            None => {
                is_mute = true;
                line.push_str(" }");
            }
        }
        lines.push(line);
    }
    if is_open {
        about.push("Values that look different in every run (ids, times, long texts) are left open.".to_owned());
    }
    if is_mute {
        about.push("Where `args` or `status` is missing, the trace does not tell.".to_owned());
    }
    let by_name = vec!["The names of the recorded calls, in this order.".to_owned()];
    let ways = vec![Way { about, lines }, Way { about: by_name, lines: names }];
    Candidate { gate: "trajectory", ways }
}

/// What is required of the arguments of a call.
struct Demand {
    args: Value,
    /// Not every value is required.
    is_open: bool,
}

fn demand(args: &Map<String, Value>) -> Demand {
    let kept: Map<String, Value> =
        args.iter().filter(|(_, value)| !is_volatile(value)).map(|(key, value)| (key.clone(), value.clone())).collect();
    if kept.len() == args.len() {
        return Demand { args: json!({ "exact": args }), is_open: false };
    }
    let args = if kept.is_empty() {
        let mut keys: Vec<&String> = args.keys().collect();
        keys.sort_unstable();
        json!({ "schema": { "type": "object", "required": keys } })
    } else {
        json!({ "subset": kept })
    };
    Demand { args, is_open: true }
}

/// Whether a value probably differs in the next run.
fn is_volatile(value: &Value) -> bool {
    /// Longer texts are written by the model.
    const LONG: usize = 200;
    match value {
        Value::String(text) => text.len() > LONG || is_id(text) || is_time(text),
        // Milliseconds since 1970, from 2001 to 2096.
        Value::Number(number) => {
            number.as_u64().is_some_and(|number| (1_000_000_000_000..4_000_000_000_000).contains(&number))
        }
        Value::Array(items) => items.iter().any(is_volatile),
        Value::Object(map) => map.values().any(is_volatile),
        Value::Null | Value::Bool(_) => false,
    }
}

/// A UUID, or a long string of letters and digits.
fn is_id(text: &str) -> bool {
    const LONG: usize = 20;
    let plain = text.chars().filter(|c| *c != '-').count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    plain >= LONG && digits >= 4 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
        || text.len() >= LONG
            && digits >= 4
            && text.len() - digits >= 4
            && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// A time, such as `2026-07-28T09:30:00Z`. A date alone is usually intended.
fn is_time(text: &str) -> bool {
    let shape: String = text.chars().take(16).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    matches!(shape.as_str(), "0000-00-00T00:00" | "0000-00-00 00:00")
}

/// Arguments that occur in the result of an earlier call.
fn axes(trace: &Trace, replayed: &Trace, calls: &[ToolCall]) -> Settled {
    const GATE: &str = "trajectory_axes";
    let edges = edges(trace, replayed, calls);
    if edges.is_empty() {
        let why = "no argument was found in the answer to an earlier call of another tool";
        return Settled::LeftOut { gate: GATE, why: why.to_owned() };
    }
    let mut lines = vec!["trajectory_axes:".to_owned(), "  dependencies:".to_owned()];
    for DependencyEdge { producer, consumer, via, .. } in edges {
        let [producer, consumer, via] =
            [producer, consumer, via.unwrap_or_else(String::new)].map(|name| yaml::text(&name, Dollar::Sign));
        lines.push(format!("    - {{ producer: {producer}, consumer: {consumer}, via: {via}, required: true }}"));
    }
    let about =
        vec!["These arguments stand in what an earlier call returned: they were looked up, not made up.".to_owned()];
    Candidate { gate: GATE, ways: vec![Way { about, lines }] }.settle(&[trace, replayed])
}

fn edges(trace: &Trace, replayed: &Trace, calls: &[ToolCall]) -> Vec<DependencyEdge> {
    let said = trace.conversation.turns.as_deref().unwrap_or(&[]);
    let asked: Vec<&str> =
        said.iter().filter(|said| said.role == Role::User).filter_map(|said| said.content.as_deref()).collect();
    let asked = asked.join("\n").to_lowercase();
    let mut out = Vec::new();
    let mut tried = 0;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (at, consumer) in calls.iter().enumerate() {
        let is_first = seen.insert(&consumer.name);
        let Some(args) = consumer.args.as_ref().and_then(Value::as_object).filter(|_| is_first) else { continue };
        let mut producers: Vec<&str> = Vec::new();
        for earlier in calls[..at].iter().rev() {
            if !producers.contains(&earlier.name.as_str()) {
                producers.push(&earlier.name);
            }
        }
        let mut keys: Vec<&String> = args.keys().collect();
        keys.sort_unstable();
        for key in keys {
            let is_path = Target::parse(key).is_ok_and(|path| path.root() == key);
            if !is_path || !tells_something(&args[key], &asked) || is_in_args(&args[key], &calls[..at]) {
                continue;
            }
            for producer in &producers {
                if out.len() == MAX_EDGES || tried == MAX_TRIED {
                    return out;
                }
                tried += 1;
                let edge = DependencyEdge {
                    producer: (*producer).to_owned(),
                    consumer: consumer.name.clone(),
                    via: Some(key.clone()),
                    required: true,
                };
                if [trace, replayed].iter().all(|trace| holds(&edge, trace)) {
                    out.push(edge);
                    // The nearest producer is the most likely source.
                    break;
                }
            }
        }
    }
    out
}

fn holds(edge: &DependencyEdge, trace: &Trace) -> bool {
    let gate = TrajectoryAxesGate::new(TrajectoryAxesParams {
        dependencies: vec![edge.clone()],
        ..TrajectoryAxesParams::default()
    });
    gate.is_ok_and(|gate| gate.evaluate(trace).detail.iter().all(|found| found.state == EdgeState::Held))
}

/// Whether the agent used a value before: then an answer that contains it proves nothing.
fn is_in_args(value: &Value, earlier: &[ToolCall]) -> bool {
    fn holds(value: &Value, wanted: &Value) -> bool {
        value == wanted
            || match value {
                Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
                Value::Object(map) => map.values().any(|item| holds(item, wanted)),
                _ => false,
            }
    }
    earlier.iter().filter_map(|call| call.args.as_ref()).any(|args| holds(args, value))
}

/// Whether finding a value in an answer is evidence: short values occur everywhere, and what the user said was not looked up.
fn tells_something(value: &Value, asked: &str) -> bool {
    const SHORTEST: usize = 3;
    let tells = |text: &str| text.trim().len() >= SHORTEST && !asked.contains(&text.to_lowercase());
    match value {
        Value::String(text) => tells(text),
        Value::Number(number) => tells(&number.to_string()),
        Value::Array(items) => !items.is_empty() && items.iter().all(|item| tells_something(item, asked)),
        Value::Object(map) => !map.is_empty() && map.values().all(|item| tells_something(item, asked)),
        Value::Null | Value::Bool(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_from_run_to_run_is_left_open_and_what_was_meant_is_not() {
        for open in [
            json!("00000000-0000-4000-8000-000000000000"),
            json!("9f86d081884c7d659a2feaa0c55ad015"),
            json!("toolu01A09q90qw90lq917835lq9"),
            json!("2026-07-28T09:30:00Z"),
            json!("2026-07-28 09:30"),
            json!(1_785_231_000_000_u64),
            json!("x".repeat(201)),
            json!({ "a": [1, "2026-07-28T09:30:00Z"] }),
        ] {
            assert!(is_volatile(&open), "{open}");
        }
        for meant in [
            json!("1043"),
            json!("Tuesday"),
            json!("2026-07-28"),
            json!("INV-2026-0001"),
            json!("internationalisation and localisation"),
            json!(1_785_231_000),
            json!([true, null, 0.5]),
        ] {
            assert!(!is_volatile(&meant), "{meant}");
        }
    }

    #[test]
    fn a_demand_is_as_strict_as_the_values_allow() {
        let check = |args: Value, expected: Value| assert_eq!(demand(args.as_object().unwrap()).args, expected);
        check(json!({}), json!({ "exact": {} }));
        check(json!({ "a": 1 }), json!({ "exact": { "a": 1 } }));
        check(json!({ "a": 1, "at": "2026-07-28T09:30:00Z" }), json!({ "subset": { "a": 1 } }));
        check(json!({ "at": "2026-07-28T09:30:00Z" }), json!({ "schema": { "type": "object", "required": ["at"] } }));
    }

    #[test]
    fn what_the_user_said_or_what_is_short_was_not_looked_up() {
        let asked = "refund order 1043 please";
        assert!(tells_something(&json!("ada@example.test"), asked));
        assert!(tells_something(&json!([12.5, "x-17"]), asked));
        for not in [
            json!("1043"),
            json!("Refund"),
            json!(1043),
            json!("ab"),
            json!(7),
            json!(true),
            json!(null),
            json!([]),
            json!(["abc", 1]),
        ] {
            assert!(!tells_something(&not, asked), "{not}");
        }
    }
}
