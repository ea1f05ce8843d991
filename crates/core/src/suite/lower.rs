//! From a checked tree to a [`Suite`]: references between parts, and the rules that no key table can say.

use std::collections::BTreeMap;
use std::ops::Range;

use super::blocks::{GATE_FILE, SUITE};
use super::check::Check;
use super::interpolate::{Template, TemplateError, Variables};
use super::yaml::{Content, Node};
use super::{AgentTest, Api, Fault, Gates, Model, Protocol, Provider, Server, Source, Suite, Transport};
use crate::assertion::Assertion;
use crate::diag::{Diagnostic, Severity, did_you_mean, suggest};
use crate::trace::FaultKind;

/// Places in the file that lints point at.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Of each server's name.
    pub(super) servers: BTreeMap<String, Range<usize>>,
    /// Of each fault's name.
    pub(super) faults: Vec<Range<usize>>,
    /// Of each agent test: its name, and each of its keys.
    pub(super) agents: Vec<BTreeMap<String, Range<usize>>>,
}

/// Lowers one file.
pub(super) struct Lower<'a> {
    source: &'a Source,
    variables: &'a Variables<'a>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a> Lower<'a> {
    pub(super) fn new(source: &'a Source, variables: &'a Variables<'a>) -> Self {
        Self { source, variables, diagnostics: Vec::new() }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
    }

    pub(super) fn error(&mut self, span: Range<usize>, message: impl Into<String>, hint: Option<String>) {
        self.diagnostics.push(Diagnostic { severity: Severity::Error, span, message: message.into(), hint });
    }

    pub(super) fn suite(&mut self, root: Node) -> Option<(Suite, Places)> {
        let own = self.own_variables(&root);
        let root = self.interpolated(root, &own);
        Check { out: &mut self.diagnostics }.block(&root, "a suite", &SUITE.keys.iter().collect::<Vec<_>>());
        if !matches!(root.content, Content::Map(_)) {
            return None;
        }
        let mut places = Places::default();
        let servers = self.servers(&root, &mut places);
        let models = self.models(&root);
        let faults = self.faults(&root, &servers, &mut places);
        let agents = self.agents(&root, &servers, &models, &faults, &mut places);
        Some((Suite { servers, faults, models, agents }, places))
    }

    pub(super) fn gate_file(&mut self, root: Node) -> Option<(Vec<Assertion>, Gates)> {
        let root = self.interpolated(root, &BTreeMap::new());
        Check { out: &mut self.diagnostics }.block(&root, "a gates file", &GATE_FILE.keys.iter().collect::<Vec<_>>());
        if root.entries().is_empty() {
            self.error(root.span.clone(), "the file asserts nothing", Some("add `expect:` or a gate".to_owned()));
            return None;
        }
        let expect = self.envelope_assertions(&root);
        let gates = self.gates(&root, &[]);
        Some((expect, gates))
    }

    /// The suite's own variables; their values may refer to what the caller knows.
    fn own_variables(&mut self, root: &Node) -> BTreeMap<String, String> {
        let mut own = BTreeMap::new();
        for entry in root.get("variables").map_or(&[][..], Node::entries) {
            if let Some(value) = entry.value.text() {
                let value = self.resolved(value, &entry.value.span, &BTreeMap::new());
                own.insert(entry.key.clone(), value);
            }
        }
        own
    }

    /// The tree with every reference answered, but for servers and models, which wait until a run goes live.
    fn interpolated(&mut self, mut root: Node, own: &BTreeMap<String, String>) -> Node {
        if let Content::Map(entries) = &mut root.content {
            for entry in entries.iter_mut().filter(|entry| !matches!(&*entry.key, "servers" | "models" | "variables")) {
                self.answer(&mut entry.value, own);
            }
        }
        root
    }

    fn answer(&mut self, node: &mut Node, own: &BTreeMap<String, String>) {
        match &mut node.content {
            Content::Text { text, .. } if text.contains('$') => *text = self.resolved(text, &node.span, own),
            Content::List(items) => items.iter_mut().for_each(|item| self.answer(item, own)),
            Content::Map(entries) => entries.iter_mut().for_each(|entry| self.answer(&mut entry.value, own)),
            _ => {}
        }
    }

    fn resolved(&mut self, text: &str, span: &Range<usize>, own: &BTreeMap<String, String>) -> String {
        match Template::parse(text).and_then(|template| template.resolve(own, self.variables)) {
            Ok(value) => value,
            Err(error) => {
                let hint = match &error {
                    TemplateError::Unset(name) => format!("set it under `variables:`, or write `${{{name}:-default}}`"),
                    _ => "write `$$` for a dollar sign".to_owned(),
                };
                self.error(span.clone(), error.to_string(), Some(hint));
                text.to_owned()
            }
        }
    }

    fn template(&mut self, node: Option<&Node>) -> Option<Template> {
        let node = node?;
        let text = node.text()?;
        match Template::parse(text) {
            Ok(template) => Some(template),
            Err(error) => {
                self.error(node.span.clone(), error.to_string(), Some("write `$$` for a dollar sign".to_owned()));
                None
            }
        }
    }

    fn templates(&mut self, node: Option<&Node>) -> BTreeMap<String, Template> {
        let entries = node.map_or(&[][..], Node::entries);
        entries.iter().filter_map(|entry| Some((entry.key.clone(), self.template(Some(&entry.value))?))).collect()
    }

    fn servers(&mut self, root: &Node, places: &mut Places) -> BTreeMap<String, Server> {
        let mut out = BTreeMap::new();
        for entry in root.get("servers").map_or(&[][..], Node::entries) {
            let (name, node) = (&entry.key, &entry.value);
            let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
            if !plain {
                let hint = "a server's name is lower-case letters, digits and `-`, and starts with a letter or digit";
                self.error(entry.key_span.clone(), format!("`{name}` cannot name a server"), Some(hint.to_owned()));
            }
            let (command, url) = (node.get("command"), node.get("url"));
            match (command, url) {
                (Some(_), Some(url)) => {
                    self.error(
                        url.span.clone(),
                        format!("server `{name}` has both `command` and `url`"),
                        Some("keep one".to_owned()),
                    );
                }
                (None, None) if matches!(node.content, Content::Map(_)) => {
                    let hint = "add `command: [program, argument]` or `url: https://...`";
                    self.error(
                        entry.key_span.clone(),
                        format!("server `{name}` has neither `command` nor `url`"),
                        Some(hint.to_owned()),
                    );
                }
                _ => {}
            }
            let strays: &[&str] = if url.is_some() { &["env", "cwd"] } else { &["headers", "bearer_token_env"] };
            for stray in node.entries().iter().filter(|entry| strays.contains(&entry.key.as_str())) {
                let goes_with = if url.is_some() { "command" } else { "url" };
                self.error(stray.key_span.clone(), format!("`{}` goes with `{goes_with}`", stray.key), None);
            }
            let transport = match url {
                Some(url) => self.template(Some(url)).map(|url| Transport::Url {
                    url,
                    headers: self.templates(node.get("headers")),
                    bearer_token_env: text(node, "bearer_token_env"),
                }),
                None => Some(Transport::Command {
                    argv: command
                        .map_or(&[][..], Node::items)
                        .iter()
                        .filter_map(|item| self.template(Some(item)))
                        .collect(),
                    env: self.templates(node.get("env")),
                    cwd: self.template(node.get("cwd")),
                }),
            };
            let protocol = word(node, "protocol", Protocol::from_word).unwrap_or(Protocol::Auto);
            if let Some(transport) = transport {
                out.insert(
                    name.clone(),
                    Server { transport, timeout_ms: whole(node, "timeout_ms").unwrap_or(30_000), protocol },
                );
            }
            places.servers.insert(name.clone(), entry.key_span.clone());
        }
        out
    }

    fn models(&mut self, root: &Node) -> BTreeMap<String, Model> {
        let mut out = BTreeMap::new();
        for entry in root.get("models").map_or(&[][..], Node::entries) {
            let (name, node) = (&entry.key, &entry.value);
            let Some(provider) = word(node, "provider", Provider::from_word) else { continue };
            let is_script = provider == Provider::Script;
            let strays: &[&str] =
                if is_script { &["model", "base_url", "api_key_env", "api", "price"] } else { &["script"] };
            for stray in node.entries().iter().filter(|entry| strays.contains(&entry.key.as_str())) {
                let message = format!("`{}` has no meaning with provider `{provider}`", stray.key);
                self.error(stray.key_span.clone(), message, None);
            }
            if is_script && node.get("script").is_none() {
                let hint = "add `script: scripts/name.yml`";
                self.error(
                    entry.key_span.clone(),
                    format!("model `{name}` has provider script and no `script`"),
                    Some(hint.to_owned()),
                );
            }
            if let Some(api) = node.get("api").filter(|_| provider != Provider::Openai && !is_script) {
                self.error(api.span.clone(), format!("`api` has no meaning with provider `{provider}`"), None);
            }
            let price = node.get("price").and_then(|price| Some((number(price, "input")?, number(price, "output")?)));
            let model = Model {
                provider,
                model: self.template(node.get("model")),
                base_url: self.template(node.get("base_url")),
                api_key_env: text(node, "api_key_env"),
                api: word(node, "api", Api::from_word),
                price,
                script: text(node, "script"),
            };
            out.insert(name.clone(), model);
        }
        out
    }

    fn faults(&mut self, root: &Node, servers: &BTreeMap<String, Server>, places: &mut Places) -> Vec<Fault> {
        let mut out: Vec<Fault> = Vec::new();
        for node in root.get("faults").map_or(&[][..], Node::items) {
            let (Some(name), Some(kind)) = (text(node, "name"), word(node, "kind", FaultKind::from_word)) else {
                continue;
            };
            let at = node.place("/name", false);
            if out.iter().any(|other| other.name == name) {
                self.error(
                    at.clone(),
                    format!("the fault `{name}` is given twice"),
                    Some("rename one of them".to_owned()),
                );
            }
            let target = node.get("target");
            let tool = target.and_then(|target| text(target, "tool"));
            let server = target.and_then(|target| text(target, "server"));
            if let Some(target) = target.filter(|target| tool.is_none() && server.is_none() && target.text().is_none())
            {
                let hint = "write `{ tool: name }`, `{ server: name }` or both";
                self.error(target.span.clone(), format!("the fault `{name}` strikes nothing"), Some(hint.to_owned()));
            }
            if let Some(server) = &server {
                self.known(server, &node.place("/target/server", false), "server", servers.keys().map(String::as_str));
            }
            for (key, only) in [("delay_ms", FaultKind::Slow), ("failures", FaultKind::RecoverAfter)] {
                match node.get(key) {
                    Some(_) if kind != only => {
                        self.error(
                            node.place(&format!("/{key}"), true),
                            format!("`{key}` goes with kind `{only}`"),
                            None,
                        );
                    }
                    None if kind == only => {
                        let message = format!("a fault of kind `{only}` needs `{key}`");
                        self.error(node.place("/kind", false), message, Some(format!("add `{key}: 2`")));
                    }
                    _ => {}
                }
            }
            let (delay_ms, failures) = (whole(node, "delay_ms").unwrap_or(0), whole(node, "failures").unwrap_or(0));
            out.push(Fault { name, tool, server, kind, delay_ms, failures });
            places.faults.push(at);
        }
        out
    }

    /// An error when a name is not among those known.
    fn known<'k>(
        &mut self,
        name: &str,
        span: &Range<usize>,
        what: &str,
        all: impl Iterator<Item = &'k str> + Clone,
    ) -> bool {
        if all.clone().any(|known| known == name) {
            return true;
        }
        let hint = if all.clone().next().is_none() {
            format!("this file has no {what}s")
        } else {
            suggest(name, all.collect::<Vec<_>>())
        };
        self.error(span.clone(), format!("there is no {what} `{name}`"), Some(hint));
        false
    }

    fn agents(
        &mut self,
        root: &Node,
        servers: &BTreeMap<String, Server>,
        models: &BTreeMap<String, Model>,
        faults: &[Fault],
        places: &mut Places,
    ) -> Vec<AgentTest> {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut out = Vec::new();
        let server_names: Vec<&str> = servers.keys().map(String::as_str).collect();
        for node in root.get("agents").map_or(&[][..], Node::items) {
            let Some(name) = text(node, "name") else { continue };
            let at = node.place("/name", false);
            let (line, _) = self.source.place(at.start);
            if let Some(first) = names.insert(name.clone(), line) {
                let message = format!("the test `{name}` is given twice; first on line {first}");
                self.error(at.clone(), message, Some("rename one of them".to_owned()));
            }
            let (list, is_matrix) = self.models_of(node, models);
            let uses: Vec<String> = texts(node, "servers");
            for (place, server) in uses.iter().enumerate() {
                self.known(
                    server,
                    &node.place(&format!("/servers/{place}"), false),
                    "server",
                    server_names.iter().copied(),
                );
            }
            let mut inject = Vec::new();
            for (place, fault) in texts(node, "inject").iter().enumerate() {
                match faults.iter().position(|known| known.name == *fault) {
                    Some(found) => inject.push(found),
                    None => {
                        let span = node.place(&format!("/inject/{place}"), false);
                        self.known(fault, &span, "fault", faults.iter().map(|fault| fault.name.as_str()));
                    }
                }
            }
            let expect = self.envelope_assertions(node);
            let gates = self.gates(node, &server_names);
            let runs = whole(node, "runs").unwrap_or(1);
            self.gate_rules(node, runs, &expect, &gates);
            let mut keys: BTreeMap<String, Range<usize>> =
                node.entries().iter().map(|entry| (entry.key.clone(), entry.key_span.clone())).collect();
            keys.insert("name".to_owned(), at);
            // Without a prompt the file is in error anyway, and there is no test to make.
            let Some(prompt) = text(node, "prompt") else { continue };
            places.agents.push(keys);
            out.push(AgentTest {
                name,
                line,
                models: list,
                is_matrix,
                servers: uses,
                prompt,
                system: text(node, "system"),
                runs,
                max_turns: whole(node, "max_turns").unwrap_or(10),
                max_tokens: whole(node, "max_tokens").unwrap_or(1024),
                temperature: number(node, "temperature"),
                tags: texts(node, "tags"),
                inject,
                expect,
                gates,
            });
        }
        out
    }

    /// The models of a test, each known by its name or listed in `models`.
    fn models_of(&mut self, node: &Node, models: &BTreeMap<String, Model>) -> (Vec<String>, bool) {
        let (one, many) = (node.get("model"), node.get("models"));
        let span = node.place("/name", false);
        let mut list: Vec<(String, Range<usize>)> = Vec::new();
        match (one, many) {
            (Some(_), Some(many)) => {
                self.error(many.span.clone(), "a test has either `model` or `models`", Some("keep one".to_owned()));
            }
            (None, None) => self.error(
                span,
                "the test has no model",
                Some("add `model: claude-sonnet-4-5`, or any of `models:`".to_owned()),
            ),
            _ => {}
        }
        for item in one.into_iter().chain(many.map_or(&[][..], Node::items)) {
            let Some(name) = item.text() else { continue };
            if list.iter().any(|(other, _)| other == name) {
                self.error(
                    item.span.clone(),
                    format!("the model `{name}` is listed twice"),
                    Some("remove one of them".to_owned()),
                );
            }
            list.push((name.to_owned(), item.span.clone()));
        }
        for (name, span) in &list {
            if !models.contains_key(name) && provider_of(name).is_none() {
                let near = did_you_mean(name, models.keys().map(String::as_str));
                let hint = near.map_or_else(
                    || format!("add it: `models: {{ {name}: {{ provider: openai, base_url: ... }} }}`"),
                    |near| format!("did you mean `{near}`?"),
                );
                self.error(span.clone(), format!("the model `{name}` is not known by its name"), Some(hint));
            }
        }
        (list.into_iter().map(|(name, _)| name).collect(), many.is_some())
    }

    /// Rules between a test's gates and its other keys.
    fn gate_rules(&mut self, node: &Node, runs: u64, expect: &[Assertion], gates: &Gates) {
        let has = |key: &str| node.get(key).is_some();
        if !has("expect") && !crate::eval::GATES.iter().any(|gate| has(gate.kind.name())) {
            let hint = "add `expect:` or a gate such as `trajectory:`";
            self.error(node.place("/name", false), "the test asserts nothing", Some(hint.to_owned()));
        }
        let counted = !has("runs") || whole(node, "runs").is_some();
        if has("stability") && runs < 2 && counted {
            let hint = "set `runs:` to at least 2: one run has nothing to be compared with";
            self.error(node.place("/stability", true), format!("`stability` over {runs} run"), Some(hint.to_owned()));
        }
        if has("reliability") && expect.is_empty() && !gates.judges_runs() && !has("expect") {
            let hint = "add `expect:` or a gate that judges a run; `reliability` counts their outcomes";
            self.error(
                node.place("/reliability", true),
                "`reliability` has no outcome to count",
                Some(hint.to_owned()),
            );
        }
        if has("recovery") && !has("inject") {
            let hint = "add `inject: [fault]`: there is nothing to recover from";
            self.error(node.place("/recovery", true), "`recovery` without `inject`", Some(hint.to_owned()));
        }
    }
}

/// The provider a model's name tells.
pub(super) fn provider_of(name: &str) -> Option<Provider> {
    let o_series = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if name.starts_with("claude-") {
        Some(Provider::Anthropic)
    } else if name.starts_with("gpt-") || name.starts_with("chatgpt-") || o_series {
        Some(Provider::Openai)
    } else if name.starts_with("gemini-") {
        Some(Provider::Gemini)
    } else {
        None
    }
}

pub(super) fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.text().map(str::to_owned)
}

pub(super) fn texts(node: &Node, key: &str) -> Vec<String> {
    let items = node.get(key).map_or(&[][..], Node::items);
    items.iter().filter_map(|item| item.text().map(str::to_owned)).collect()
}

pub(super) fn whole(node: &Node, key: &str) -> Option<u64> {
    match &node.get(key)?.content {
        Content::Number(number) => number.as_u64(),
        _ => None,
    }
}

pub(super) fn number(node: &Node, key: &str) -> Option<f64> {
    match &node.get(key)?.content {
        Content::Number(number) => number.as_f64(),
        _ => None,
    }
}

pub(super) fn flag(node: &Node, key: &str) -> Option<bool> {
    match &node.get(key)?.content {
        Content::Bool(word) => Some(*word),
        _ => None,
    }
}

pub(super) fn word<T>(node: &Node, key: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    read(node.get(key)?.text()?)
}
