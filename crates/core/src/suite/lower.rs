//! From a checked tree to a [`Suite`]: references between parts, and the rules that key tables cannot express.

mod programs;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{Value, json};

use super::blocks::{AGENT, FAULT, FAULT_TARGET, MODEL, SERVER, SUITE};
use super::check::Diagnostics;
use super::interpolate::{Template, Variables};
use super::yaml::{Content, Node};
use super::{AgentTest, Api, Fault, MAX_RUNS, Marks, Model, Protocol, Provider, Server, Source, Suite, Transport};
use crate::diag::{Code, Mark, did_you_mean, suggest};
use crate::eval::{GATES, GateKind, RunScope};
use crate::json;
use crate::keys::Block;
use crate::redact;
use crate::trace::FaultKind;

/// Maximum comparisons of names in search of a suggestion.
const MAX_COMPARED: usize = 200_000;

/// The numbers of faults: the kinds that need one, those that may have it, and a usual value.
const FAULT_NUMBERS: [(&str, &[FaultKind], &[FaultKind], u64); 4] = [
    ("delay_ms", &[FaultKind::Slow, FaultKind::ModelSlow], &[], 5000),
    (
        "failures",
        &[FaultKind::RecoverAfter],
        &[FaultKind::ModelError, FaultKind::ModelSlow, FaultKind::ModelCut, FaultKind::ModelGarbage],
        2,
    ),
    ("status", &[FaultKind::ModelError], &[], 529),
    ("events", &[FaultKind::ModelCut], &[], 1),
];

/// Spans in the file that lints point at.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) servers: BTreeMap<String, Range<usize>>,
    pub(super) faults: Vec<Range<usize>>,
    /// Of each agent test: the name and every key.
    pub(super) agents: Vec<BTreeMap<String, Range<usize>>>,
    pub(super) public: BTreeMap<String, Range<usize>>,
    pub(super) programs: BTreeMap<String, Range<usize>>,
}

pub(super) struct Lower<'a> {
    pub(super) source: &'a Source,
    variables: &'a Variables<'a>,
    /// The keys of `variables`.
    names: Vec<String>,
    /// `variables` is not a map.
    names_unreadable: bool,
    /// Name comparisons so far.
    compared: usize,
    /// Bytes of resolved text so far.
    written: usize,
    /// The environment is not read: references to it stay as written.
    is_untrusted: bool,
    unread: Unread,
    pub(super) diagnostics: Diagnostics,
}

/// Environment variables that were referenced but not read.
#[derive(Default)]
struct Unread {
    /// In the text resolved since the last reset.
    names: BTreeSet<String>,
    /// Behind each of the suite's own variables.
    variables: BTreeMap<String, BTreeSet<String>>,
    /// In each item of `agents`, except in its prompts.
    agents: Vec<BTreeSet<String>>,
    /// In each item of `faults`.
    faults: Vec<BTreeSet<String>>,
}

/// Names that other parts of the file can refer to, including those of invalid entries.
struct Names {
    servers: Declared,
    models: Declared,
    programs: Declared,
    faults: Declared,
}

#[derive(Default)]
struct Declared {
    names: BTreeSet<String>,
    /// The block cannot be read, so its names are unknown.
    unreadable: bool,
}

impl Names {
    fn of(root: &Node) -> Self {
        let mut faults = Declared::default();
        if let Some(node) = root.get("faults") {
            faults.unreadable = !matches!(node.content, Content::List(_));
            for item in node.items() {
                match item.text_at("name") {
                    Some(name) => drop(faults.names.insert(name)),
                    None => faults.unreadable = true,
                }
            }
        }
        let keys = |key: &str| match root.get(key) {
            Some(node) => Declared {
                names: node.entries().iter().map(|entry| entry.key.clone()).collect(),
                unreadable: !matches!(node.content, Content::Map(_)),
            },
            None => Declared { names: BTreeSet::new(), unreadable: has_misspelled(root, &SUITE, &[key]) },
        };
        faults.unreadable |= has_misspelled(root, &SUITE, &["faults"]);
        Self { servers: keys("servers"), models: keys("models"), programs: keys("programs"), faults }
    }
}

/// Text as written, before references are resolved.
struct Written {
    variables: BTreeMap<String, Template>,
    /// One for each item of `agents`.
    agents: Vec<WrittenTest>,
}

struct WrittenTest {
    prompt: Option<Template>,
    system: Option<Template>,
    /// A digest of the checks of a run.
    rules: String,
}

impl Written {
    fn of(root: &Node) -> Self {
        // An invalid template is reported where it is resolved.
        let template = |text: &str| Template::parse(text).unwrap_or_else(|_| Template::plain(text));
        let at = |node: &Node, key: &str| node.get(key).and_then(Node::text).map(template);
        let variables = root.entries_at("variables").iter();
        let agents = root.items_at("agents").iter();
        Self {
            variables: variables.filter_map(|entry| Some((entry.key.clone(), template(entry.value.text()?)))).collect(),
            agents: agents
                .map(|node| WrittenTest { prompt: at(node, "prompt"), system: at(node, "system"), rules: rules(node) })
                .collect(),
        }
    }
}

/// A digest of the assertions and gates that judge a run. Variables are as written, so it is the same on every machine.
fn rules(test: &Node) -> String {
    let checks: BTreeMap<&str, Value> =
        run_checks().filter_map(|name| Some((name, test.get(name)?.to_json()))).collect();
    redact::short_hash(&json::canonical(&json!(checks)))
}

/// The keys of a test that judge a run.
fn run_checks() -> impl Iterator<Item = &'static str> {
    let per_run = GATES.iter().filter(|gate| gate.scope == RunScope::PerRun);
    std::iter::once("expect").chain(per_run.map(|gate| gate.kind.name()))
}

/// The entries of `calls` below `trajectory`.
fn expected_calls(test: &Node) -> &[Node] {
    test.get("trajectory").map_or(&[], |block| block.items_at("calls"))
}

/// Whether an unknown key looks like a misspelling of one of `keys`.
pub(super) fn has_misspelled(node: &Node, block: &Block, keys: &[&str]) -> bool {
    let known = || block.keys.iter().map(|key| key.name);
    // A map with thousands of unknown keys is not a misspelling.
    let unknown = node.entries().iter().filter(|entry| !known().any(|name| name == entry.key)).take(50);
    unknown.filter_map(|entry| did_you_mean(&entry.key, known())).any(|near| keys.contains(&near))
}

impl<'a> Lower<'a> {
    pub(super) fn new(source: &'a Source, variables: &'a Variables<'a>) -> Self {
        Self {
            source,
            variables,
            names: Vec::new(),
            names_unreadable: false,
            compared: 0,
            written: 0,
            is_untrusted: false,
            unread: Unread::default(),
            diagnostics: Diagnostics::default(),
        }
    }

    /// Lowers a file without reading the environment.
    pub(super) fn untrusted(source: &'a Source, variables: &'a Variables<'a>) -> Self {
        Self { is_untrusted: true, ..Self::new(source, variables) }
    }

    /// Whether the budget allows this many more comparisons. A file with thousands of names and thousands of mistakes would
    /// take minutes otherwise.
    fn may_compare(&mut self, names: usize) -> bool {
        self.compared = self.compared.saturating_add(names);
        self.compared <= MAX_COMPARED
    }

    pub(super) fn is_sound(&self) -> bool {
        self.diagnostics.is_sound()
    }

    pub(super) fn error(
        &mut self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.diagnostics.error(code, span, message, Some(hint.into()));
    }

    pub(super) fn suite(&mut self, root: Node) -> Option<(Suite, Places)> {
        let own = self.own_variables(&root);
        let written = Written::of(&root);
        let root = self.interpolate(root, &own);
        self.diagnostics.block(&root, "a suite", &SUITE.all());
        if !matches!(root.content, Content::Map(_)) {
            return None;
        }
        let mut places = Places::default();
        let names = Names::of(&root);
        let servers = self.servers(&root, &mut places);
        let models = self.models(&root);
        let programs = self.programs(&root, &mut places);
        let faults = self.faults(&root, &names, &mut places);
        let agents = self.agents(&root, &names, &faults, written.agents, &mut places);
        let public = self.public(&root, &mut places);
        let variables_as_written = written.variables;
        let suite = Suite { variables: own, variables_as_written, public, servers, faults, models, programs, agents };
        for name in suite.variables_of_keys() {
            if let Some(span) = places.public.get(name) {
                let message = format!("`{name}` contains a key or token and cannot be public");
                self.error(Code::SecretMadePublic, span.clone(), message, "remove it from `public:`");
            }
        }
        Some((suite, places))
    }

    fn servers(&mut self, root: &Node, places: &mut Places) -> BTreeMap<String, Server> {
        let mut out = BTreeMap::new();
        for entry in root.entries_at("servers") {
            let (name, node) = (&entry.key, &entry.value);
            let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
            if !plain {
                let hint = "use lower-case letters, digits and `-`, starting with a letter or digit";
                self.error(
                    Code::InvalidServer,
                    entry.key_span.clone(),
                    format!("`{name}` is not a valid server name"),
                    hint,
                );
            }
            let (command, url) = (node.get("command"), node.get("url"));
            match (command, url) {
                (Some(_), Some(url)) => {
                    self.error(
                        Code::InvalidServer,
                        url.span.clone(),
                        format!("server `{name}` has both `command` and `url`"),
                        "keep one",
                    );
                }
                (None, None)
                    if matches!(node.content, Content::Map(_))
                        && !has_misspelled(node, &SERVER, &["command", "url"]) =>
                {
                    let hint = "add `command: [program, argument]` or `url: https://...`";
                    self.error(
                        Code::InvalidServer,
                        entry.key_span.clone(),
                        format!("server `{name}` has neither `command` nor `url`"),
                        hint,
                    );
                }
                _ => {}
            }
            let strays: &[&str] = if url.is_some() { &["env", "cwd"] } else { &["headers", "bearer_token_env"] };
            for stray in node.entries().iter().filter(|entry| strays.contains(&entry.key.as_str())) {
                let goes_with = if url.is_some() { "command" } else { "url" };
                self.error(
                    Code::InvalidServer,
                    stray.key_span.clone(),
                    format!("`{}` is only for servers with `{goes_with}`", stray.key),
                    "remove it",
                );
            }
            let transport = match url {
                Some(url) => self.template(Some(url)).map(|url| Transport::Url {
                    url,
                    headers: self.templates(node.get("headers")),
                    bearer_token_env: node.text_at("bearer_token_env"),
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
            let protocol = node.word_at("protocol", Protocol::from_word).unwrap_or(Protocol::Auto);
            let is_optional = node.text_at("connect").is_some_and(|word| word == "optional");
            let timeout_ms = node.whole_at("timeout_ms").unwrap_or(30_000);
            if let Some(transport) = transport {
                out.insert(name.clone(), Server { transport, timeout_ms, protocol, is_optional });
            }
            places.servers.insert(name.clone(), entry.key_span.clone());
        }
        out
    }

    fn models(&mut self, root: &Node) -> BTreeMap<String, Model> {
        let mut out = BTreeMap::new();
        for entry in root.entries_at("models") {
            let (name, node) = (&entry.key, &entry.value);
            let Some(provider) = node.word_at("provider", Provider::from_word) else { continue };
            let is_script = provider == Provider::Script;
            let strays: &[&str] = match provider {
                Provider::Script => &["model", "base_url", "api_key_env", "api", "price"],
                Provider::Openai => &["script"],
                Provider::Anthropic | Provider::Gemini => &["script", "api"],
            };
            for stray in node.entries().iter().filter(|entry| strays.contains(&entry.key.as_str())) {
                let message = format!("`{}` cannot be used with provider `{provider}`", stray.key);
                let hint = if stray.key == "script" { "remove it, or write `provider: script`" } else { "remove it" };
                self.error(Code::InvalidModel, stray.key_span.clone(), message, hint);
            }
            if is_script && node.get("script").is_none() && !has_misspelled(node, &MODEL, &["script"]) {
                let hint = "add `script: scripts/name.yml`";
                self.error(
                    Code::InvalidModel,
                    entry.key_span.clone(),
                    format!("model `{name}` has provider `script` but no `script` key"),
                    hint,
                );
            }
            let price =
                node.get("price").and_then(|price| Some((price.number_at("input")?, price.number_at("output")?)));
            let model = Model {
                provider,
                model: self.template(node.get("model")),
                base_url: self.template(node.get("base_url")),
                api_key_env: node.text_at("api_key_env"),
                api: node.word_at("api", Api::from_word),
                price,
                script: node.text_at("script"),
            };
            out.insert(name.clone(), model);
        }
        out
    }

    fn faults(&mut self, root: &Node, names: &Names, places: &mut Places) -> Vec<Fault> {
        let mut out: Vec<Fault> = Vec::new();
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        for node in root.items_at("faults") {
            let at = node.place("/name", false);
            let name = node.text_at("name");
            self.check_unique("fault", name.as_deref(), &at, &mut lines);
            let target = node.get("target");
            let tool = target.and_then(|target| target.text_at("tool"));
            let server = target.and_then(|target| target.text_at("server"));
            if let Some(target) = target
                && matches!(target.content, Content::Map(_))
                && target.get("tool").is_none()
                && target.get("server").is_none()
                && target.get("model").is_none()
                && !has_misspelled(target, &FAULT_TARGET, &["tool", "server", "model"])
            {
                let hint =
                    "write `{ tool: name }`, `{ server: name }` or both; `{ model: true }` for a program's model";
                self.error(Code::InvalidFault, target.span.clone(), "the fault has no target", hint);
            }
            self.reject_server_prefix(
                target.and_then(|target| target.get("tool")),
                Some(&names.servers.names),
                |server, bare| format!("write `{{ tool: {bare}, server: {server} }}`"),
            );
            if let Some(server) = &server {
                self.check_declared(server, &node.place("/target/server", false), "server", &names.servers);
            }
            let Some(kind) = node.word_at("kind", FaultKind::from_word) else { continue };
            self.check_fault_target(node, kind);
            for (key, needed, allowed, usual) in FAULT_NUMBERS {
                let only = needed[0];
                match node.get(key) {
                    Some(_) if !needed.contains(&kind) && !allowed.contains(&kind) => {
                        let hint = format!("remove it, or write `kind: {only}`");
                        let message = format!("`{key}` is not for kind `{kind}`");
                        self.error(Code::InvalidFault, node.place(&format!("/{key}"), true), message, hint);
                    }
                    None if needed.contains(&kind) && !has_misspelled(node, &FAULT, &[key]) => {
                        let message = format!("a fault of kind `{kind}` needs `{key}`");
                        self.error(
                            Code::InvalidFault,
                            node.place("/kind", false),
                            message,
                            format!("add `{key}: {usual}`"),
                        );
                    }
                    _ => {}
                }
            }
            let Some(name) = name else { continue };
            let (delay_ms, failures) = (node.whole_at("delay_ms").unwrap_or(0), node.whole_at("failures").unwrap_or(0));
            let status = node.whole_at("status").and_then(|status| u16::try_from(status).ok()).unwrap_or(599).min(599);
            let events = node.whole_at("events").unwrap_or(0);
            out.push(Fault { name, tool, server, kind, delay_ms, failures, status, events });
            places.faults.push(at);
        }
        out
    }

    /// Checks that a fault of a model has the model for its target, and no other has.
    fn check_fault_target(&mut self, node: &Node, kind: FaultKind) {
        let Some(target) = node.get("target").filter(|target| matches!(target.content, Content::Map(_))) else {
            return;
        };
        let model = target.get("model");
        let is_model = matches!(model.map(|node| &node.content), Some(Content::Bool(true)));
        let others = target.get("tool").or_else(|| target.get("server"));
        if kind.targets_model() && (!is_model || others.is_some()) && (model.is_some() || others.is_some()) {
            let message = format!("a fault of kind `{kind}` targets the model of a program");
            self.error(Code::InvalidFault, target.span.clone(), message, "write `target: { model: true }`");
        } else if let Some(model) = model.filter(|_| !kind.targets_model()) {
            let message = format!("a fault of kind `{kind}` targets tools, not the model");
            let hint = "name a tool or a server, or use kind model_error, model_slow, model_cut or model_garbage";
            self.error(Code::InvalidFault, model.span.clone(), message, hint);
        }
    }

    /// Reports a name that was used before; `lines` has the line of each name.
    fn check_unique(&mut self, what: &str, name: Option<&str>, at: &Range<usize>, lines: &mut BTreeMap<String, usize>) {
        let Some(name) = name else { return };
        let (line, _) = self.source.place(at.start);
        if let Some(first) = lines.insert(name.to_owned(), line) {
            let message = format!("duplicate {what} `{name}`, first used on line {first}");
            self.error(Code::DuplicateName, at.clone(), message, "rename one of them");
        }
    }

    /// Reports a name that is not declared.
    fn check_declared(&mut self, name: &str, span: &Range<usize>, what: &str, declared: &Declared) {
        if declared.names.contains(name) || declared.unreadable || self.is_unresolved(name) {
            return;
        }
        let hint = if declared.names.is_empty() {
            Some(format!("this file declares no {what}s: add it under `{what}s:`"))
        } else if self.may_compare(declared.names.len()) {
            Some(suggest(name, declared.names.iter().map(String::as_str)))
        } else {
            None
        };
        self.diagnostics.error(Code::UnknownReference, span.clone(), format!("unknown {what} `{name}`"), hint);
    }

    /// Whether a name contains an unresolved reference, because the environment is not read.
    fn is_unresolved(&self, name: &str) -> bool {
        self.is_untrusted && name.contains("${")
    }

    /// The names in a test's list. Reports undeclared and repeated ones.
    fn declared_list(&mut self, node: &Node, key: &str, what: &str, declared: &Declared) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for item in node.items_at(key) {
            let Some(name) = item.text() else { continue };
            if !seen.insert(name) {
                let message = format!("{what} `{name}` is listed twice");
                self.error(Code::DuplicateName, item.span.clone(), message, "remove one of them");
            }
            self.check_declared(name, &item.span, what, declared);
            out.push(name.to_owned());
        }
        out
    }

    fn agents(
        &mut self,
        root: &Node,
        names: &Names,
        faults: &[Fault],
        written: Vec<WrittenTest>,
        places: &mut Places,
    ) -> Vec<AgentTest> {
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        let mut out = Vec::new();
        let positions: BTreeMap<&str, usize> =
            faults.iter().enumerate().rev().map(|(at, fault)| (fault.name.as_str(), at)).collect();
        let unread_faults: BTreeMap<String, BTreeSet<String>> = {
            let nodes = root.items_at("faults").iter().zip(std::mem::take(&mut self.unread.faults));
            nodes.filter_map(|(node, unread)| Some((node.text_at("name")?, unread))).collect()
        };
        let unread_tests = std::mem::take(&mut self.unread.agents);
        let servers: BTreeMap<&str, &Range<usize>> =
            root.entries_at("servers").iter().map(|entry| (entry.key.as_str(), &entry.key_span)).collect();
        let tests = root.items_at("agents").iter().zip(written).zip(unread_tests);
        for ((node, asked), mut unread) in tests {
            if !matches!(node.content, Content::Map(_)) {
                continue;
            }
            let name = node.text_at("name");
            let at = node.place("/name", false);
            let (line, _) = self.source.place(at.start);
            self.check_unique("test", name.as_deref(), &at, &mut lines);
            let is_program = self.check_models_or_programs(node);
            let (list, is_matrix) = if is_program {
                self.test_programs(node, &names.programs)
            } else {
                self.test_models(node, &names.models)
            };
            let uses = self.declared_list(node, "servers", "server", &names.servers);
            let inject = self.declared_list(node, "inject", "fault", &names.faults);
            unread.extend(inject.iter().filter_map(|name| unread_faults.get(name)).flatten().cloned());
            let inject: Vec<usize> = inject.iter().filter_map(|name| positions.get(name.as_str()).copied()).collect();
            let of_model = inject.iter().find_map(|at| faults.get(*at).filter(|fault| fault.kind.targets_model()));
            if let Some(fault) = of_model.filter(|_| !is_program) {
                let message =
                    format!("fault `{}` targets the model of a program, and this test has no program", fault.name);
                let hint = "inject it into a test with `program:`";
                self.error(Code::InvalidFault, node.place("/inject", true), message, hint);
            }
            let expect = self.envelope_assertions(node);
            let mut gates = self.gates(node, Some(&names.servers.names));
            self.check_called_servers(node, &names.servers, &uses);
            let (runs, settles_from) = self.runs(node);
            if let Some(min) = settles_from {
                gates.reliability = gates.reliability.map(|gate| gate.settling_from(min));
            }
            if unread.is_empty() {
                self.check_gate_rules(node, runs, settles_from);
            }
            let marks = self.marks(node, &at, uses.iter().filter_map(|name| servers.get_key_value(name.as_str())));
            let mut keys: BTreeMap<String, Range<usize>> =
                node.entries().iter().map(|entry| (entry.key.clone(), entry.key_span.clone())).collect();
            keys.insert("name".to_owned(), at);
            // Without a name or a prompt the file has an error already.
            let (Some(name), Some(prompt), Some(prompt_as_written)) = (name, node.text_at("prompt"), asked.prompt)
            else {
                continue;
            };
            places.agents.push(keys);
            out.push(AgentTest {
                name,
                line,
                marks,
                models: list,
                is_program,
                is_matrix,
                servers: uses,
                prompt,
                prompt_as_written,
                system: node.text_at("system"),
                system_as_written: asked.system,
                runs,
                settles_from,
                max_turns: node.whole_at("max_turns").unwrap_or(10),
                max_tokens: node.whole_at("max_tokens").unwrap_or(1024),
                temperature: node.number_at("temperature"),
                tags: node.texts_at("tags"),
                inject,
                expect,
                gates,
                rules: asked.rules,
                unread,
            });
        }
        out
    }

    /// The places that a report points at.
    fn marks<'n>(
        &self,
        node: &Node,
        name: &Range<usize>,
        servers: impl Iterator<Item = (&'n &'n str, &'n &'n Range<usize>)>,
    ) -> Marks {
        let mark = |span: &Range<usize>| Mark::of(self.source, span);
        let gate = |kind: &GateKind| {
            let entry = node.entries().iter().find(|entry| entry.key == kind.name())?;
            Some((*kind, mark(&entry.key_span)))
        };
        Marks {
            name: mark(name),
            gates: GATES.iter().filter_map(|info| gate(&info.kind)).collect(),
            expect: node.items_at("expect").iter().map(|item| mark(&item.span)).collect(),
            calls: expected_calls(node).iter().map(|item| mark(&item.span)).collect(),
            servers: servers.map(|(name, span)| ((*name).to_owned(), mark(span))).collect(),
        }
    }

    /// Checks the servers named by expected calls.
    fn check_called_servers(&mut self, node: &Node, servers: &Declared, uses: &[String]) {
        for server in expected_calls(node).iter().filter_map(|call| call.get("server")) {
            // An empty name means a tool without a server.
            if let Some(name) = server.text().filter(|name| !name.is_empty()) {
                self.check_declared(name, &server.span, "server", servers);
                let declared = servers.names.contains(name);
                if declared && !uses.iter().any(|used| used == name) && !has_misspelled(node, &AGENT, &["servers"]) {
                    let message = format!("the test does not list server `{name}`, so no call to it can be recorded");
                    self.error(
                        Code::UnknownReference,
                        server.span.clone(),
                        message,
                        format!("add `{name}` to the test's `servers:`"),
                    );
                }
            }
        }
    }

    /// The models of a test. Each has a known name or is declared in `models`.
    fn test_models(&mut self, node: &Node, models: &Declared) -> (Vec<String>, bool) {
        let (one, many) = (node.get("model"), node.get("models"));
        let span = name_or_first_key(node);
        let mut list: Vec<String> = Vec::new();
        match (one, many) {
            (Some(_), Some(_)) => {
                self.error(
                    Code::NoModel,
                    node.place("/models", true),
                    "a test cannot have both `model` and `models`",
                    "keep one",
                );
            }
            (None, None) if has_misspelled(node, &AGENT, &["model", "models", "program", "programs"]) => {}
            (None, None) => self.error(
                Code::NoModel,
                span,
                "the test has no model",
                "add `model: claude-sonnet-4-5` or a name from `models:`, or `program:` with a name from `programs:`",
            ),
            _ => {}
        }
        let mut seen = BTreeSet::new();
        for item in one.into_iter().chain(many.map_or(&[][..], Node::items)) {
            let Some(name) = item.text().filter(|name| !name.trim().is_empty()) else { continue };
            if !seen.insert(name) {
                let message = format!("model `{name}` is listed twice");
                self.error(Code::DuplicateName, item.span.clone(), message, "remove one of them");
            } else if !models.names.contains(name)
                && !models.unreadable
                && provider_of(name).is_none()
                && !self.is_unresolved(name)
            {
                let near = self.may_compare(models.names.len()).then_some(&models.names);
                let near = did_you_mean(name, near.into_iter().flatten().map(String::as_str)).map(str::to_owned);
                let hint = near.or_else(|| with_known_family(name)).map_or_else(
                    || format!("declare it: `models: {{ {name}: {{ provider: openai, base_url: ... }} }}`"),
                    |near| format!("did you mean `{near}`?"),
                );
                self.error(Code::UnknownModel, item.span.clone(), format!("unknown model `{name}`"), hint);
            }
            list.push(name.to_owned());
        }
        (list, many.is_some())
    }

    /// The number of runs, or the most and the fewest where they stop early.
    fn runs(&mut self, node: &Node) -> (u64, Option<u64>) {
        let Some(rule) = node.get("runs").filter(|rule| matches!(rule.content, Content::Map(_))) else {
            return (node.whole_at("runs").unwrap_or(1), None);
        };
        let min = rule.whole_at("min").unwrap_or(1);
        // Without `max` the file has an error already.
        let max = rule.whole_at("max").unwrap_or(min);
        if min > max {
            let message = format!("`min` is {min}, more than the `max` of {max}");
            self.error(Code::InvalidRuns, rule.place("/min", false), message, "swap them, or raise `max`");
        }
        if node.get("reliability").and_then(|gate| gate.get("at_least")).is_none() {
            let hint = "add `reliability: { at_least: 0.9 }`, or write `runs` as a number";
            let message = "`stop: settled` needs a `reliability` gate with `at_least`";
            self.error(Code::InvalidRuns, node.place("/runs", true), message, hint);
        }
        (max, Some(min))
    }

    /// Checks the rules between a test's gates and its other keys.
    fn check_gate_rules(&mut self, node: &Node, runs: u64, settles_from: Option<u64>) {
        let has = |key: &str| node.get(key).is_some();
        let checks: Vec<_> = GATES.iter().map(|gate| gate.kind.name()).chain(["expect"]).collect();
        if !checks.iter().any(|key| has(key)) && !has_misspelled(node, &AGENT, &checks) {
            let hint = "add `expect:` or a gate such as `trajectory:`";
            self.error(Code::AssertsNothing, name_or_first_key(node), "the test checks nothing", hint);
        }
        let counted = !has("runs") || node.whole_at("runs").is_some() || settles_from.is_some();
        if runs > MAX_RUNS {
            let message = format!("`runs` is {runs}, more than the limit of {MAX_RUNS}");
            self.error(
                Code::TooManyRuns,
                node.place("/runs", false),
                message,
                "1000 runs already give a pass rate to within about 3 percentage points",
            );
        }
        if has("stability") && settles_from.unwrap_or(runs) < 2 && counted && !has_misspelled(node, &AGENT, &["runs"]) {
            let hint = if settles_from.is_some() {
                "set `min` to at least 2: one run has nothing to compare with"
            } else {
                "set `runs:` to at least 2: one run has nothing to compare with"
            };
            self.error(
                Code::StabilityNeedsRuns,
                node.place("/stability", true),
                "`stability` needs at least 2 runs",
                hint,
            );
        }
        if has("reliability") && !checks_runs(node) && !has_misspelled(node, &AGENT, &checks) {
            let hint = "add `expect:` or a per-run gate; `reliability` counts the runs that pass them";
            self.error(
                Code::ReliabilityWithoutChecks,
                node.place("/reliability", true),
                "`reliability` has no per-run checks to count",
                hint,
            );
        }
        let injects =
            node.get("inject").is_some_and(|list| !matches!(&list.content, Content::List(items) if items.is_empty()));
        if has("recovery") && !injects && !has_misspelled(node, &AGENT, &["inject"]) {
            let hint = "add `inject: [fault]`: without a fault there is nothing to recover from";
            self.error(Code::RecoveryWithoutInject, node.place("/recovery", true), "`recovery` needs `inject`", hint);
        }
    }
}

/// Where to point when the whole test is wrong.
fn name_or_first_key(node: &Node) -> Range<usize> {
    match (node.get("name"), node.entries().first()) {
        (Some(name), _) => name.span.clone(),
        (None, Some(first)) => first.key_span.clone(),
        (None, None) => node.span.clone(),
    }
}

pub(super) fn is_check(key: &str) -> bool {
    key == "expect" || GATES.iter().any(|gate| gate.kind.name() == key)
}

/// Whether the test has per-run checks, valid or not.
fn checks_runs(node: &Node) -> bool {
    run_checks().any(|name| node.get(name).is_some())
}

/// The name with a misspelled family corrected: `cluade-x` becomes `claude-x`.
fn with_known_family(name: &str) -> Option<String> {
    let (first, rest) = name.split_once('-')?;
    let near = did_you_mean(first, ["claude", "gpt", "chatgpt", "gemini"])?;
    Some(format!("{near}-{rest}"))
}

/// The provider that a model's name implies.
pub fn provider_of(name: &str) -> Option<Provider> {
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
