//! The answers of the mock server: for each tool the recorded answers, in order.

use std::collections::BTreeMap;

use mcptest_core::MatchResult::Holds;
use mcptest_core::matcher::Schema;
use mcptest_core::trace::{LazyValue, ToolCall, ToolResult};
use mcptest_core::{Target, json};
use mcptest_mock::spec::BLOCKS;
use serde_json::{Value, json};

use super::Round;
use crate::command::init::cassette::{Cassette, Listed};
use crate::command::init::yaml::{self, Dollar};

/// Used if the trace has no answer.
const UNKNOWN: &str = "(not recorded)";

/// Used if a failed call has no message.
const NO_MESSAGE: &str = "(the call failed; its message was not recorded)";

/// An answer as the mock gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    kind: Kind,
    /// The trace does not contain the answer.
    is_unknown: bool,
    /// The trace does not say whether the call failed.
    is_open: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Error(String),
    Text(String),
    Blocks { content: Option<Vec<Value>>, structured: Option<Value> },
}

impl Answer {
    /// The recorded answer to a call.
    pub(super) fn of(result: Option<&ToolResult>) -> Self {
        let Some(result) = result else {
            return Self { kind: Kind::Text(UNKNOWN.to_owned()), is_unknown: true, is_open: true };
        };
        let is_open = result.failed().is_none();
        if result.failed() == Some(true) {
            let texts: Vec<&str> = result.texts().collect();
            let message = result.error.as_ref().map(|error| error.message.clone());
            let message = if texts.is_empty() { message } else { Some(texts.join("\n")) };
            let message = message.filter(|text| !text.trim().is_empty());
            return Self {
                is_unknown: message.is_none(),
                kind: Kind::Error(message.unwrap_or_else(|| NO_MESSAGE.to_owned())),
                is_open,
            };
        }
        let content = result.content.as_ref().map(|blocks| blocks.iter().map(|found| block(found)).collect::<Vec<_>>());
        let kind = match (content, result.structured_content.as_deref()) {
            (None, None) => return Self { kind: Kind::Text(UNKNOWN.to_owned()), is_unknown: true, is_open },
            (Some(content), None) => match only_text(&content) {
                Some(text) if !text.trim().is_empty() => Kind::Text(text.to_owned()),
                _ => Kind::Blocks { content: Some(content), structured: None },
            },
            // The mock sends structured content as text too.
            (content, Some(structured)) => {
                let own = json::canonical(structured);
                let content = content.filter(|content| only_text(content) != Some(&own));
                Kind::Blocks { content, structured: Some(structured.clone()) }
            }
        };
        Self { kind, is_unknown: false, is_open }
    }

    /// As written in the file of the mock.
    fn text(&self) -> String {
        match &self.kind {
            Kind::Error(text) => format!("{{ error: {} }}", yaml::text(text, Dollar::Sign)),
            Kind::Text(text) => yaml::text(text, Dollar::Sign),
            Kind::Blocks { content, structured } => {
                let structured =
                    structured.as_ref().map(|value| format!("structured: {}", yaml::value(value, Dollar::Sign)));
                let content =
                    content.as_ref().map(|blocks| match only_text(blocks).filter(|text| !text.trim().is_empty()) {
                        Some(text) => format!("text: {}", yaml::text(text, Dollar::Sign)),
                        None => format!("content: {}", yaml::value(&json!(blocks), Dollar::Sign)),
                    });
                let parts: Vec<String> = structured.into_iter().chain(content).collect();
                format!("{{ {} }}", parts.join(", "))
            }
        }
    }

    /// What a run gets for a call with these arguments.
    pub(super) fn replayed(&self, args: &Value) -> ToolResult {
        let text = |text: &str| vec![json!({ "type": "text", "text": text })];
        let (is_error, content, structured_content) = match &self.kind {
            // A call whose arguments are not an object is not sent.
            _ if !args.is_object() => (true, text("the arguments are not a JSON object"), None),
            Kind::Error(message) => (true, text(message), None),
            Kind::Text(message) => (false, text(message), None),
            Kind::Blocks { content, structured } => {
                let own = structured.as_ref().map(|value| text(&json::canonical(value)));
                (false, content.clone().or(own).unwrap_or_else(Vec::new), structured.clone())
            }
        };
        ToolResult {
            is_error: Some(is_error),
            content: Some(content.into_iter().map(LazyValue::from).collect()),
            structured_content: structured_content.map(LazyValue::from),
            ..ToolResult::default()
        }
    }
}

/// A content block, or its JSON as text if the mock does not know its type.
fn block(block: &Value) -> Value {
    let known =
        block.get("type").and_then(Value::as_str).and_then(|kind| BLOCKS.iter().find(|(name, _)| *name == kind));
    match known {
        Some((_, keys)) if keys.iter().all(|key| block.get(key).is_some()) => block.clone(),
        _ => json!({ "type": "text", "text": json::canonical(block) }),
    }
}

/// The text of content that consists of one text block.
fn only_text(content: &[Value]) -> Option<&str> {
    match content {
        [Value::Object(only)] if only.len() == 2 && only.get("type") == Some(&json!("text")) => {
            only.get("text")?.as_str()
        }
        _ => None,
    }
}

/// The tools of a trace and their answers.
pub(super) struct Tools<'a> {
    /// In the order of their first call.
    each: Vec<Tool<'a>>,
    /// The answer of each call, by index.
    answers: &'a [Answer],
    /// The tool of each call that reaches the mock, by index.
    of: Vec<Option<usize>>,
    /// The tools of the server are known.
    is_listed: bool,
}

struct Tool<'a> {
    name: &'a str,
    /// Its calls that reach the mock.
    calls: Vec<usize>,
    /// Answers by arguments, since calls of one turn arrive in any order.
    rules: Option<Vec<Rule>>,
    listed: Option<&'a Listed>,
    /// The recorded calls match its schema.
    has_schema: bool,
    /// It was not called; it is known from its server.
    is_uncalled: bool,
}

/// The calls of a tool with the same arguments.
struct Rule {
    /// The conditions as written; `None` for calls without arguments.
    when: Option<String>,
    calls: Vec<usize>,
}

impl<'a> Tools<'a> {
    pub(super) fn new(calls: &'a [ToolCall], answers: &'a [Answer], cassette: Option<&'a Cassette>) -> Self {
        let mut tools: Vec<Tool<'a>> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut of = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let place = *places.entry(&call.name).or_insert_with(|| {
                tools.push(Tool::new(&call.name, cassette));
                tools.len() - 1
            });
            let is_sent = call.args.as_ref().is_none_or(Value::is_object);
            if is_sent {
                tools[place].calls.push(at);
            }
            of.push(Some(place).filter(|_| is_sent));
        }
        for tool in &mut tools {
            let together = tool.calls.windows(2).any(|pair| {
                calls[pair[0]].turn.is_some()
                    && calls[pair[0]].turn == calls[pair[1]].turn
                    && answers[pair[0]] != answers[pair[1]]
            });
            tool.rules = together.then(|| rules(&tool.calls, calls)).flatten();
            tool.has_schema = tool.listed.is_some_and(|listed| fits(&listed.schema, &tool.calls, calls));
        }
        // A real model should have the same choice as the recorded one.
        for listed in cassette.iter().flat_map(|cassette| &cassette.tools) {
            // A file cannot name a tool with a blank name.
            if !listed.name.trim().is_empty() && !tools.iter().any(|tool| tool.name == listed.name) {
                let mut tool = Tool::new(&listed.name, cassette);
                tool.has_schema = tool.listed.is_some_and(|listed| fits(&listed.schema, &[], calls));
                tool.is_uncalled = true;
                tools.push(tool);
            }
        }
        Self { each: tools, answers, of, is_listed: cassette.is_some() }
    }

    /// The turns, split where the answers of calls could be mixed up.
    pub(super) fn split_rounds(&self, rounds: Vec<Round>, calls: &[ToolCall]) -> Vec<Round> {
        let mut out: Vec<Round> = Vec::new();
        for round in rounds {
            let mut now = Round { text: round.text, calls: Vec::new() };
            for at in round.calls {
                if now.calls.iter().any(|other| self.could_be_mixed_up(*other, at, calls)) {
                    out.push(std::mem::take(&mut now));
                }
                now.calls.push(at);
            }
            out.push(now);
        }
        out
    }

    fn could_be_mixed_up(&self, first: usize, second: usize, calls: &[ToolCall]) -> bool {
        let tool = self.of[first].filter(|tool| self.of[second] == Some(*tool)).map(|tool| &self.each[tool]);
        let is_distinct = |tool: &Tool<'_>| tool.rules.is_some() && key(&calls[first]) != key(&calls[second]);
        tool.is_some_and(|tool| self.answers[first] != self.answers[second] && !is_distinct(tool))
    }

    /// The file of the mock.
    pub(super) fn text(&self, server: &str, file: &str) -> String {
        let mut out = yaml::comment(
            0,
            &format!(
                "The answers of the first trace of {file}, for `mcptest mock`. Each tool gives them in order; the last one repeats."
            ),
        );
        out.push_str(&yaml::comment(0, &self.about_arguments()));
        if self.answers.iter().any(|answer| answer.is_unknown) || self.each.iter().any(|tool| tool.is_uncalled) {
            out.push_str(&yaml::comment(0, "Where the trace has no answer, the text in parentheses is used."));
        }
        if self.answers.iter().any(|answer| answer.is_open) {
            out.push_str(&yaml::comment(
                0,
                "For some calls the trace does not say whether they failed. The mock answers them as successful.",
            ));
        }
        out.push_str(&format!("mock_server:\n  name: {server}\n  tools:\n"));
        for tool in &self.each {
            out.push_str(&format!("    - name: {}\n", yaml::text(tool.name, Dollar::Plain)));
            out.push_str(&tool.listing());
            match &tool.rules {
                None => out.push_str(&self.list(6, &tool.calls)),
                Some(rules) => {
                    if rules.iter().any(|rule| rule.when.is_some()) {
                        out.push_str(
                            "      # Calls of one turn arrive in any order, so they are matched by their arguments.\n",
                        );
                        out.push_str("      rules:\n");
                    }
                    for rule in rules {
                        if let Some(when) = &rule.when {
                            out.push_str(&format!("        - when: {when}\n{}", self.list(10, &rule.calls)));
                        }
                    }
                    for rule in rules.iter().filter(|rule| rule.when.is_none()) {
                        out.push_str(&self.list(6, &rule.calls));
                    }
                }
            }
        }
        out
    }

    /// A comment about the schemas of the tools.
    fn about_arguments(&self) -> String {
        let open: Vec<&str> = self.each.iter().filter(|tool| !tool.has_schema).map(|tool| tool.name).collect();
        match (self.is_listed, open.as_slice()) {
            (false, _) => "The trace does not show which arguments the tools take, so they accept any.".to_owned(),
            (true, []) => "The tools and their arguments are those of the recorded server.".to_owned(),
            (true, open) => format!(
                "The tools and their arguments are those of the recorded server. Some accept any arguments here, because \
                 their schema cannot be used or does not match the recorded calls: {}.",
                open.join(", ")
            ),
        }
    }

    /// The answers to some calls.
    fn list(&self, indent: usize, calls: &[usize]) -> String {
        let indent = " ".repeat(indent);
        let mut answers: Vec<&Answer> = calls.iter().map(|at| &self.answers[*at]).collect();
        // The last one repeats.
        while let [.., before, last] = answers.as_slice()
            && before == last
        {
            answers.pop();
        }
        match answers.as_slice() {
            [] => String::new(),
            [only] => format!("{indent}answer: {}\n", only.text()),
            many => {
                let items = many.iter().map(|answer| format!("{indent}  - {}\n", answer.text()));
                format!("{indent}answers:\n{}", items.collect::<String>())
            }
        }
    }
}

impl<'a> Tool<'a> {
    fn new(name: &'a str, cassette: Option<&'a Cassette>) -> Self {
        let listed = cassette.and_then(|cassette| cassette.tool(name));
        Self { name, calls: Vec::new(), rules: None, listed, has_schema: false, is_uncalled: false }
    }

    /// Its description and schema, and an answer if it was not called.
    fn listing(&self) -> String {
        let mut out = String::new();
        if let Some(Listed { description, schema, .. }) = self.listed {
            if let Some(text) = description {
                out.push_str(&format!("      description: {}\n", yaml::text(text, Dollar::Plain)));
            }
            if self.has_schema {
                out.push_str(&format!("      input_schema: {}\n", yaml::value(schema, Dollar::Plain)));
            }
        }
        if self.is_uncalled {
            out.push_str(&format!("      answer: {}\n", yaml::text(UNKNOWN, Dollar::Sign)));
        }
        out
    }
}

/// Whether the mock can use a schema, and the recorded calls match it: others would be rejected instead of answered as recorded.
fn fits(schema: &Value, places: &[usize], calls: &[ToolCall]) -> bool {
    let Ok(compiled) = Schema::compile(schema) else { return false };
    let known = schema.get("properties").and_then(Value::as_object);
    let empty = json!({});
    schema.get("type") == Some(&json!("object"))
        && places.iter().all(|at| {
            let args = calls[*at].args.as_ref().unwrap_or(&empty);
            // A rule may only use arguments that the schema names.
            let is_named = |key: &String| known.is_some_and(|known| known.contains_key(key));
            compiled.check(args) == Holds && args.as_object().is_some_and(|args| args.keys().all(is_named))
        })
}

/// The arguments of a call as a key.
fn key(call: &ToolCall) -> String {
    call.args.as_ref().map_or_else(|| "{}".to_owned(), json::canonical)
}

/// The calls of a tool by their arguments, those with most keys first: a rule with fewer keys would match them too. `None` if a
/// key cannot be written as a path.
fn rules(places: &[usize], calls: &[ToolCall]) -> Option<Vec<Rule>> {
    let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for at in places {
        by_key.entry(key(&calls[*at])).or_default().push(*at);
    }
    let mut out = Vec::new();
    for places in by_key.into_values() {
        let args = calls[places[0]].args.as_ref().and_then(Value::as_object).filter(|args| !args.is_empty());
        let Some(args) = args else {
            out.push((0, Rule { when: None, calls: places }));
            continue;
        };
        let mut when = serde_json::Map::new();
        for (key, value) in args {
            let path = Target::parse(key).ok().filter(|path| path.root() == key)?;
            when.insert(path.to_string(), json!({ "exact": value }));
        }
        out.push((args.len(), Rule { when: Some(yaml::value(&Value::Object(when), Dollar::Plain)), calls: places }));
    }
    out.sort_by_key(|(keys, rule)| (std::cmp::Reverse(*keys), rule.calls[0]));
    Some(out.into_iter().map(|(_, rule)| rule).collect())
}
