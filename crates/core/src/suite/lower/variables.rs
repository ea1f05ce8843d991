//! `${NAME}` in the values of a suite: resolved while it loads, or kept for a live run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::interpolate::{self, Template, TemplateError};
use super::super::yaml::{Content, MAX_BYTES, Node};
use super::{Lower, Places, is_check};
use crate::diag::{Code, did_you_mean};

fn template_hint(error: &TemplateError) -> &'static str {
    match error {
        TemplateError::Unclosed => "add `}`, or write `$$` for a dollar sign",
        _ => "use letters, digits and `_` in a name; write `$$` for a dollar sign",
    }
}

impl Lower<'_> {
    /// The suite's own variables. Their values may refer to the environment.
    pub(super) fn own_variables(&mut self, root: &Node) -> BTreeMap<String, String> {
        let mut own = BTreeMap::new();
        let node = root.get("variables");
        self.names_unreadable = node.is_some_and(|node| !matches!(node.content, Content::Map(_)));
        self.names = node.map_or(&[][..], Node::entries).iter().map(|entry| entry.key.clone()).collect();
        for entry in node.map_or(&[][..], Node::entries) {
            let value = match entry.value.text() {
                Some(text) if !text.trim().is_empty() => self.resolve_text(text, &entry.value.span, &BTreeMap::new()),
                // The key table reports it; references to it are not reported as well.
                _ => entry.key.clone(),
            };
            own.insert(entry.key.clone(), value);
            self.unread.variables.insert(entry.key.clone(), std::mem::take(&mut self.unread.names));
        }
        own
    }

    /// The names under `public`.
    pub(super) fn public(&mut self, root: &Node, places: &mut Places) -> BTreeSet<String> {
        for item in root.items_at("public") {
            let Some(name) = item.text().filter(|text| !text.trim().is_empty()) else { continue };
            if !interpolate::is_name(name) {
                let inside = Template::parse(name).ok().and_then(|template| template.names().next().map(str::to_owned));
                let hint = inside.map_or_else(
                    || "use letters, digits and `_` in a name".to_owned(),
                    |inside| format!("write only the name: `{inside}`"),
                );
                self.error(
                    Code::MalformedVariable,
                    item.span.clone(),
                    format!("`{name}` is not a variable name"),
                    hint,
                );
            }
            places.public.insert(name.to_owned(), item.span.clone());
        }
        places.public.keys().cloned().collect()
    }

    /// Resolves every reference, except in servers, models and programs, which are resolved when a live run starts.
    pub(in crate::suite) fn interpolate(&mut self, mut root: Node, own: &BTreeMap<String, String>) -> Node {
        if let Content::Map(entries) = &mut root.content {
            let is_kept = |key: &str| ["servers", "models", "programs", "variables", "public"].contains(&key);
            for entry in entries.iter_mut().filter(|entry| !is_kept(&entry.key)) {
                match (&*entry.key, &mut entry.value.content) {
                    ("agents", Content::List(items)) => {
                        self.unread.agents = items.iter_mut().map(|item| self.resolve_item(item, own)).collect();
                    }
                    ("faults", Content::List(items)) => {
                        self.unread.faults = items.iter_mut().map(|item| self.resolve_item(item, own)).collect();
                    }
                    _ => self.resolve_node(&mut entry.value, own),
                }
            }
        }
        root
    }

    /// Resolves the references in a test or a fault. Returns the unread variables that could affect a verdict; the checks of
    /// such an item are dropped.
    fn resolve_item(&mut self, node: &mut Node, own: &BTreeMap<String, String>) -> BTreeSet<String> {
        let Content::Map(entries) = &mut node.content else {
            self.resolve_node(node, own);
            return std::mem::take(&mut self.unread.names);
        };
        let mut unread = BTreeSet::new();
        for entry in entries.iter_mut() {
            self.resolve_node(&mut entry.value, own);
            let names = std::mem::take(&mut self.unread.names);
            // A recording is compared with the prompt as written.
            if !matches!(&*entry.key, "prompt" | "system") {
                unread.extend(names);
            }
        }
        if !unread.is_empty() {
            entries.retain(|entry| !is_check(&entry.key));
        }
        unread
    }

    fn resolve_node(&mut self, node: &mut Node, own: &BTreeMap<String, String>) {
        match &mut node.content {
            Content::Text { text, .. } if text.contains('$') => *text = self.resolve_text(text, &node.span, own),
            Content::List(items) => items.iter_mut().for_each(|item| self.resolve_node(item, own)),
            Content::Map(entries) => entries.iter_mut().for_each(|entry| self.resolve_node(&mut entry.value, own)),
            _ => {}
        }
    }

    fn resolve_text(&mut self, text: &str, span: &Range<usize>, own: &BTreeMap<String, String>) -> String {
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(error) => {
                self.error(Code::MalformedVariable, span.clone(), error.to_string(), template_hint(&error));
                return text.to_owned();
            }
        };
        let unset = template.unset(own, self.variables);
        for name in template.names() {
            self.unread.names.extend(self.unread.variables.get(name).into_iter().flatten().cloned());
        }
        for name in &unset {
            let hint = if self.names.iter().any(|known| known == name) {
                "a variable cannot refer to another variable: write the value itself".to_owned()
            } else if self.is_untrusted {
                self.unread.names.insert((*name).to_owned());
                continue;
            } else if self.names_unreadable {
                continue;
            } else {
                let known = if self.may_compare(self.names.len()) { &self.names[..] } else { &[] };
                did_you_mean(name, known.iter().map(String::as_str)).map_or_else(
                    || format!("set it under `variables:`, or write `${{{name}:-default}}`"),
                    |near| format!("did you mean `${{{near}}}`?"),
                )
            };
            self.error(Code::VariableNotSet, span.clone(), format!("variable `{name}` is not set"), hint);
        }
        if self.written > MAX_BYTES {
            return text.to_owned();
        }
        let value = template.resolve_known(own, self.variables);
        self.written += value.len();
        if self.written > MAX_BYTES {
            let message = format!("variables expand to more than {MAX_BYTES} bytes");
            self.error(Code::FileTooLarge, span.clone(), message, "split it into several suites");
        }
        value
    }

    pub(super) fn template(&mut self, node: Option<&Node>) -> Option<Template> {
        let node = node?;
        let text = node.text()?;
        match Template::parse(text) {
            Ok(template) => Some(template),
            Err(error) => {
                self.error(Code::MalformedVariable, node.span.clone(), error.to_string(), template_hint(&error));
                None
            }
        }
    }

    pub(super) fn templates(&mut self, node: Option<&Node>) -> BTreeMap<String, Template> {
        let entries = node.map_or(&[][..], Node::entries);
        entries.iter().filter_map(|entry| Some((entry.key.clone(), self.template(Some(&entry.value))?))).collect()
    }
}
