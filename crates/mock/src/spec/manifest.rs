//! Reads a manifest. It was checked against the key tables before.

use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcptest_core::diag::Code;
use mcptest_core::matcher::Schema;
use mcptest_core::suite::Diagnostics;
use mcptest_core::suite::yaml::Node;
use mcptest_core::template::Template;
use serde_json::{Map, Value, json};

use super::{Argument, DefaultAnswer, Prompt, Resource, Spec, Tool, snapshot};
use crate::answer::ARGUMENTS;

/// A manifest that is being read.
pub(super) struct Manifest<'n> {
    pub(super) notes: &'n mut Diagnostics,
    pub(super) playlists: usize,
}

impl<'n> Manifest<'n> {
    pub(super) fn new(notes: &'n mut Diagnostics) -> Self {
        Self { notes, playlists: 0 }
    }

    /// The complete server. Keys that the key tables rejected were reported, and are ignored here.
    pub(super) fn server(mut self, node: &Node) -> Option<Spec> {
        let tools = self.list(node, "tools", "name", "tool", Self::tool);
        let resources = self.list(node, "resources", "uri", "resource", Self::resource);
        let prompts = self.list(node, "prompts", "name", "prompt", Self::prompt);
        Some(Spec {
            name: node.text_at("name")?,
            version: node.text_at("version").unwrap_or_else(|| snapshot::VERSION.to_owned()),
            instructions: node.text_at("instructions"),
            tools,
            resources,
            prompts,
            playlists: self.playlists,
        })
    }

    /// The items of a list, which must have unique values of `by`.
    fn list<T>(
        &mut self,
        node: &Node,
        key: &str,
        by: &str,
        what: &str,
        read: fn(&mut Self, &Node) -> Option<T>,
    ) -> Vec<T> {
        let items = node.get(key).map_or(&[][..], Node::items);
        check_unique(self.notes, items, by, what);
        items.iter().filter_map(|item| read(self, item)).collect()
    }

    /// The value of a key that has two spellings.
    pub(super) fn either<'a>(&mut self, node: &'a Node, ours: &str, theirs: &str) -> Option<&'a Node> {
        if node.get(ours).is_some()
            && let Some(second) = node.entries().iter().find(|entry| entry.key == theirs)
        {
            let message = format!("`{ours}` and `{theirs}` are two spellings of one key");
            self.notes.error(
                Code::InvalidMockServer,
                second.key_span.clone(),
                message,
                Some("keep one of them".to_owned()),
            );
        }
        node.get(ours).or_else(|| node.get(theirs))
    }

    fn tool(&mut self, node: &Node) -> Option<Tool> {
        let name = node.text_at("name")?;
        check_tool_name(self.notes, node, &name);
        let input_at = self.either(node, "input_schema", "inputSchema");
        let input = self.input_schema(input_at);
        let output_at = self.either(node, "output_schema", "outputSchema");
        let output = output_at.and_then(|at| self.schema(at));
        let mut listing = Map::from_iter([("name".to_owned(), json!(name))]);
        for key in ["title", "description"] {
            if let Some(text) = node.text_at(key) {
                listing.insert(key.to_owned(), json!(text));
            }
        }
        listing.insert("inputSchema".to_owned(), input_at.map_or_else(|| json!({ "type": "object" }), Node::to_json));
        if let Some(annotations) = node.get("annotations") {
            listing.insert("annotations".to_owned(), annotations.to_json());
        }
        let arguments = input_at.and_then(|at| at.get("properties"));
        let rules = self.rules(node, output.as_ref(), arguments);
        let given = self.playlist(node, output.as_ref(), arguments);
        let (default_answer, output) = match given {
            Some(playlist) => (DefaultAnswer::Given(playlist), output),
            None if !rules.is_empty() => (DefaultAnswer::NoRule, output),
            None => default_answer(self.notes, output, output_at.map(|at| at.span.clone()), &name),
        };
        if let (Some(_), Some(at)) = (&output, output_at) {
            listing.insert("outputSchema".to_owned(), at.to_json());
        }
        Some(Tool { name, listing: Value::Object(listing), input: input?, output, rules, default_answer })
    }

    fn input_schema(&mut self, node: Option<&Node>) -> Option<Schema> {
        let Some(node) = node else { return Schema::compile(&json!({ "type": "object" })).ok() };
        let schema = self.schema(node)?;
        if node.text_at("type").as_deref() != Some("object") {
            let at = node.get("type").map_or(node.span.clone(), |at| at.span.clone());
            let message = "the arguments of a call are an object, so the schema must have `type: object`";
            self.notes.error(Code::InvalidMockServer, at, message, Some("write `type: object` at its top".to_owned()));
        }
        Some(schema)
    }

    fn schema(&mut self, node: &Node) -> Option<Schema> {
        Schema::compile(&node.to_json()).map_err(|problems| self.notes.problems(node, problems)).ok()
    }

    fn resource(&mut self, node: &Node) -> Option<Resource> {
        let uri = node.text_at("uri")?;
        let mime = self.either(node, "mime_type", "mimeType").and_then(Node::text);
        let mut listing = Map::from_iter([("uri".to_owned(), json!(uri))]);
        let mut contents = listing.clone();
        for key in ["name", "title", "description"] {
            if let Some(text) = node.text_at(key) {
                listing.insert(key.to_owned(), json!(text));
            }
        }
        if let Some(mime) = mime {
            listing.insert("mimeType".to_owned(), json!(mime));
            contents.insert("mimeType".to_owned(), json!(mime));
        }
        let has_scheme = uri.split_once(':').is_some_and(|(scheme, rest)| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
                && !rest.is_empty()
        });
        if !has_scheme {
            let hint = format!("write something like `file:///{}`", uri.trim_start_matches('/'));
            self.notes.error(
                Code::InvalidMockServer,
                node.place("/uri", false),
                format!("`{uri}` is not a URI"),
                Some(hint),
            );
        }
        match (node.get("text"), node.get("blob")) {
            (Some(text), None) => {
                contents.insert("text".to_owned(), json!(text.text()?));
            }
            (None, Some(blob)) => {
                let text = blob.text()?;
                if STANDARD.decode(text).is_err() {
                    let hint = "write it on one line with its padding, as `base64 -w0` does";
                    self.notes.error(
                        Code::InvalidMockServer,
                        blob.span.clone(),
                        "`blob` is not base64",
                        Some(hint.to_owned()),
                    );
                }
                contents.insert("blob".to_owned(), json!(text));
            }
            (Some(_), Some(blob)) => {
                let hint = "keep `text` for text and `blob` for bytes";
                self.notes.error(
                    Code::InvalidMockServer,
                    blob.span.clone(),
                    "a resource has `text` or `blob`, not both",
                    Some(hint.to_owned()),
                );
            }
            (None, None) => {
                let message = "a resource has no contents";
                self.notes.error(
                    Code::InvalidMockServer,
                    first_key(node),
                    message,
                    Some("add `text: ..`, or `blob:` with base64".to_owned()),
                );
            }
        }
        Some(Resource { uri, listing: Value::Object(listing), contents: Value::Object(contents) })
    }

    fn prompt(&mut self, node: &Node) -> Option<Prompt> {
        let name = node.text_at("name")?;
        let items = node.get("arguments").map_or(&[][..], Node::items);
        check_unique(self.notes, items, "name", "argument");
        let read = |item: &Node| {
            Some(Argument { name: item.text_at("name")?, required: item.flag_at("required").unwrap_or(false) })
        };
        let arguments: Vec<Argument> = items.iter().filter_map(read).collect();
        let mut messages = Vec::new();
        for message in node.get("messages").map_or(&[][..], Node::items) {
            let (Some(role), Some(at)) = (message.text_at("role"), message.get("text")) else { continue };
            let Some(template) = self.template(at) else { continue };
            self.prompt_references(&template, at, &arguments);
            messages.push((role, template));
        }
        let mut listing = Map::from_iter([("name".to_owned(), json!(name))]);
        for key in ["title", "description", "arguments"] {
            if let Some(value) = node.get(key) {
                listing.insert(key.to_owned(), value.to_json());
            }
        }
        let description = node.text_at("description");
        Some(Prompt { name, listing: Value::Object(listing), description, arguments, messages })
    }

    /// Every reference of a prompt must have a value, even if a client omits optional arguments.
    fn prompt_references(&mut self, template: &Template, at: &Node, arguments: &[Argument]) {
        for reference in template.references() {
            let Some(name) = reference.key() else { continue };
            match arguments.iter().find(|argument| argument.name == name) {
                None => {
                    let message = format!("`{name}` is not an argument of this prompt");
                    let hint = format!("add `- name: {name}` under `arguments:`");
                    self.notes.error(Code::InvalidMockServer, at.span.clone(), message, Some(hint));
                }
                Some(argument) if !argument.required && !reference.has_default() => {
                    let message = format!("`{name}` is optional, but the text has no default for it");
                    let hint = format!("write `${{args.{name}:-default}}`, or `required: true` with the argument");
                    self.notes.error(Code::InvalidMockServer, at.span.clone(), message, Some(hint));
                }
                Some(_) => {}
            }
        }
    }

    pub(super) fn template(&mut self, node: &Node) -> Option<Template> {
        let read = Template::parse(node.text()?, ARGUMENTS);
        read.map_err(|error| {
            self.notes.error(Code::InvalidMockServer, node.span.clone(), error.to_string(), Some(error.hint()));
        })
        .ok()
    }
}

/// The span of the first key of a block.
pub(super) fn first_key(node: &Node) -> Range<usize> {
    node.entries().first().map_or(node.span.clone(), |first| first.key_span.clone())
}

/// The answer of a tool that has none, and its output schema, if a value that matches it was found.
pub(super) fn default_answer(
    notes: &mut Diagnostics,
    output: Option<Schema>,
    at: Option<Range<usize>>,
    name: &str,
) -> (DefaultAnswer, Option<Schema>) {
    let Some(schema) = output else { return (DefaultAnswer::Echo, None) };
    let sample = crate::sample::of(schema.source());
    if schema.check(&sample) == mcptest_core::MatchResult::Holds {
        return (DefaultAnswer::Sample(sample), Some(schema));
    }
    let message = format!("no value that matches the output schema of `{name}` was found, so the schema is not listed");
    notes.warning(
        Code::InvalidMockServer,
        at.unwrap_or(0..0),
        message,
        Some("give the tool an `answer:` with `structured:`".to_owned()),
    );
    (DefaultAnswer::Echo, None)
}

/// Reports items with the same name.
pub(super) fn check_unique(notes: &mut Diagnostics, items: &[Node], by: &str, what: &str) {
    let mut seen = BTreeSet::new();
    for item in items {
        if let Some(at) = item.get(by)
            && let Some(name) = at.text()
            && !seen.insert(name)
        {
            let message = format!("a second {what} `{name}`");
            notes.error(
                Code::DuplicateName,
                at.span.clone(),
                message,
                Some("give it another name, or remove one".to_owned()),
            );
        }
    }
}

/// Clients and models may reject a name with unusual characters.
pub(super) fn check_tool_name(notes: &mut Diagnostics, node: &Node, name: &str) {
    let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !(1..=128).contains(&name.len()) || !name.chars().all(usual) {
        let message = "clients may reject this tool name";
        let hint = "up to 128 letters, digits, `_`, `-` and `.`";
        notes.warning(Code::InvalidMockServer, node.place("/name", false), message, Some(hint.to_owned()));
    }
}
