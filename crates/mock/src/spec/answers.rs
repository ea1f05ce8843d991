//! Reads the answers of a tool: texts, content blocks, structured content, rules.

use mcptest_core::diag::{Code, did_you_mean, suggest};
use mcptest_core::json;
use mcptest_core::matcher::Schema;
use mcptest_core::suite::yaml::{Content as Yaml, Node};
use mcptest_core::template::Shape;
use mcptest_core::{MatchResult, Matcher, Target};
use serde_json::Value;

use super::manifest::{Manifest, first_key};
use super::{Playlist, Rule};
use crate::answer::{ARGUMENTS, Answer, Content};

/// Content blocks and the keys each must have.
pub const BLOCKS: [(&str, &[&str]); 5] = [
    ("text", &["text"]),
    ("image", &["data", "mimeType"]),
    ("audio", &["data", "mimeType"]),
    ("resource_link", &["uri", "name"]),
    ("resource", &["resource"]),
];

impl Manifest<'_> {
    pub(super) fn rules(&mut self, tool: &Node, output: Option<&Schema>, arguments: Option<&Node>) -> Vec<Rule> {
        let items = tool.get("rules").map_or(&[][..], Node::items);
        items.iter().filter_map(|item| self.rule(item, output, arguments)).collect()
    }

    fn rule(&mut self, node: &Node, output: Option<&Schema>, arguments: Option<&Node>) -> Option<Rule> {
        let mut when = Vec::new();
        let at = node.get("when");
        if at.is_some_and(|at| matches!(&at.content, Yaml::Map(entries) if entries.is_empty())) {
            let hint = "name an argument, or make this the tool's own answer";
            self.notes.error(
                Code::InvalidMockServer,
                node.place("/when", false),
                "`when` has no condition",
                Some(hint.to_owned()),
            );
        }
        for entry in at.map_or(&[][..], Node::entries) {
            let target = Target::parse(&entry.key).map_err(|error| {
                let hint = "a path in the arguments, such as `city` or `items[0].name`";
                self.notes.error(
                    Code::MalformedTarget,
                    entry.key_span.clone(),
                    error.to_string(),
                    Some(hint.to_owned()),
                );
            });
            let matcher =
                Matcher::parse(&entry.value.to_json()).map_err(|problems| self.notes.problems(&entry.value, problems));
            if let (Ok(target), Ok(matcher)) = (target, matcher) {
                self.known(target.root(), &entry.key_span, arguments);
                when.push((target, matcher));
            }
        }
        let playlist = self.playlist(node, output, arguments);
        if node.get("answer").is_none() && node.get("answers").is_none() {
            let message = "a rule has no answer";
            self.notes.error(Code::InvalidMockServer, first_key(node), message, Some("add `answer: ..`".to_owned()));
        }
        Some(Rule { when, playlist: playlist? })
    }

    /// The `answer` or `answers` of a tool or a rule.
    pub(super) fn playlist(
        &mut self,
        node: &Node,
        output: Option<&Schema>,
        arguments: Option<&Node>,
    ) -> Option<Playlist> {
        if node.get("answer").is_some()
            && let Some(second) = node.entries().iter().find(|entry| entry.key == "answers")
        {
            let hint = "keep `answers:` if they differ from call to call";
            let message = "`answer` and `answers` cannot both be given";
            self.notes.error(Code::InvalidMockServer, second.key_span.clone(), message, Some(hint.to_owned()));
        }
        let one = node.get("answer").map(std::slice::from_ref);
        let items = one.or_else(|| node.get("answers").map(Node::items))?;
        let answers: Vec<Answer> = items.iter().filter_map(|item| self.answer(item, output, arguments)).collect();
        if answers.is_empty() {
            return None;
        }
        let number = self.playlists;
        self.playlists += 1;
        Some(Playlist { number, answers })
    }

    fn answer(&mut self, node: &Node, output: Option<&Schema>, arguments: Option<&Node>) -> Option<Answer> {
        let answer = match &node.content {
            Yaml::Text { .. } => {
                Answer { content: Some(Content::Text(self.template(node)?)), structured: None, is_error: false }
            }
            Yaml::Map(entries) if !entries.is_empty() => self.answer_map(node)?,
            Yaml::Map(_) => {
                let hint = "one of `text`, `structured`, `content`, `error`";
                self.notes.error(
                    Code::InvalidMockServer,
                    node.span.clone(),
                    "the answer is empty",
                    Some(hint.to_owned()),
                );
                return None;
            }
            _ => return None,
        };
        for reference in answer.references() {
            if let Some(name) = reference.key() {
                self.known(&name, &node.span, arguments);
            }
        }
        self.fits(&answer, node, output);
        Some(answer)
    }

    fn answer_map(&mut self, node: &Node) -> Option<Answer> {
        let given: Vec<&str> = ["text", "content", "error"].into_iter().filter(|key| node.get(key).is_some()).collect();
        let clash = match (given.as_slice(), node.get("structured")) {
            ([first, second, ..], _) => Some((*second, *first)),
            (["error"], Some(_)) => Some(("structured", "error")),
            _ => None,
        };
        if let Some((second, first)) = clash {
            let at = node.entries().iter().find(|entry| entry.key == second);
            let at = at.map_or(node.span.clone(), |entry| entry.key_span.clone());
            let message = format!("`{first}` and `{second}` cannot both be given");
            self.notes.error(Code::InvalidMockServer, at, message, Some("keep one of them".to_owned()));
            return None;
        }
        let structured = match node.get("structured") {
            Some(value) => Some(self.shape(value)?),
            None => None,
        };
        let (content, is_error) = match given.first() {
            Some(&"content") => (Some(Content::Blocks(self.blocks(node.get("content")?)?)), false),
            Some(key) => (Some(Content::Text(self.template(node.get(key)?)?)), *key == "error"),
            None => (None, false),
        };
        Some(Answer { content, structured, is_error })
    }

    /// Content blocks: each of a known type, with the keys that the type requires.
    fn blocks(&mut self, node: &Node) -> Option<Shape> {
        let mut sound = true;
        for item in node.items() {
            let word = item.get("type").and_then(Node::text);
            let Some((kind, keys)) = BLOCKS.iter().find(|(kind, _)| Some(*kind) == word) else {
                let kinds = BLOCKS.map(|(kind, _)| kind);
                let (at, hint) = match (item.get("type"), word) {
                    (Some(at), Some(word)) => (at.span.clone(), suggest(word, kinds)),
                    _ => {
                        (item.span.clone(), format!("write `{{ type: text, text: .. }}`; one of: {}", kinds.join(", ")))
                    }
                };
                self.notes.error(Code::InvalidMockServer, at, "a content block has an unknown type", Some(hint));
                sound = false;
                continue;
            };
            for key in keys.iter().filter(|key| item.get(key).is_none()) {
                let message = format!("a content block of type `{kind}` is missing the key `{key}`");
                self.notes.error(Code::InvalidMockServer, first_key(item), message, Some(format!("add `{key}: ..`")));
                sound = false;
            }
        }
        if sound { self.shape(node) } else { None }
    }

    fn shape(&mut self, node: &Node) -> Option<Shape> {
        Shape::read(node, ARGUMENTS, &mut |at, error| {
            self.notes.error(Code::MalformedVariable, at.span.clone(), error.to_string(), Some(error.hint()));
        })
    }

    /// Warns about an argument that the input schema does not have.
    fn known(&mut self, name: &str, at: &std::ops::Range<usize>, arguments: Option<&Node>) {
        let Some(arguments) = arguments else { return };
        let names: Vec<&str> = arguments.entries().iter().map(|entry| entry.key.as_str()).collect();
        if !names.is_empty() && !names.contains(&name) {
            let hint = did_you_mean(name, names.iter().copied()).map_or_else(
                || format!("the schema has {}", names.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("the input schema has no property `{name}`");
            self.notes.warning(Code::UnknownProperty, at.clone(), message, Some(hint));
        }
    }

    /// Validates an answer against the output schema, as much as possible before a call.
    fn fits(&mut self, answer: &Answer, node: &Node, output: Option<&Schema>) {
        let (Some(schema), false) = (output, answer.is_error) else { return };
        let Some(structured) = &answer.structured else {
            let message = "the tool has an output schema, but this answer has no structured content";
            let hint = "add `structured:` with a matching value, or remove the schema";
            self.notes.error(Code::InvalidMockServer, node.span.clone(), message, Some(hint.to_owned()));
            return;
        };
        if let Some(value) = structured.fixed()
            && let Some(why) = violations(schema, value)
        {
            let message = format!("the structured content does not match the output schema: {why}");
            self.notes.error(Code::InvalidMockServer, node.place("/structured", false), message, None);
        }
    }
}

/// Why a value does not match a schema; `None` if it does.
pub(crate) fn violations(schema: &Schema, value: &Value) -> Option<String> {
    /// More would hide the first.
    const SHOWN: usize = 5;
    match schema.check(value) {
        MatchResult::Holds => None,
        MatchResult::CannotJudge(why) => Some(why),
        MatchResult::DoesNotHold(diffs) => {
            let line =
                |path: &str, note: &str| if path.is_empty() { note.to_owned() } else { format!("{path}: {note}") };
            let mut lines: Vec<String> =
                diffs.iter().take(SHOWN).map(|diff| json::cut(&line(&diff.path, &diff.note), 300)).collect();
            if diffs.len() > SHOWN {
                lines.push(format!("and {} more", diffs.len() - SHOWN));
            }
            Some(lines.join("; "))
        }
    }
}
