//! The suite file: what a user writes, checked and explained.
//!
//! `yaml` reads text into a tree of values and places, `check` holds the tree against the key tables of `blocks`,
//! `lower` makes a [`Suite`] of it, `lint` says what loads but hardly means what it says. Every problem is collected;
//! a [`Suite`] exists only when there is none.

mod blocks;
mod check;
mod gates;
mod hints;
pub mod interpolate;
mod lint;
mod lower;
pub mod schema;
mod slips;
pub mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use crate::assertion::Assertion;
use crate::diag::{Diagnostic, Mark, Severity, Source};
use crate::eval::{
    GateKind, GoldenPathGate, Narrative, RecoveryGate, ReliabilityGate, StabilityGate, Trajectory, TrajectoryAxes,
};
use crate::trace::{FaultKind, words};
pub use blocks::{AGENT, FAULT, FAULT_TARGET, GATE_FILE, MODEL, PRICE, SERVER, SUITE};
pub use check::Notes;
pub use interpolate::{Template, Variables};
pub use lower::provider_of;

/// Most runs of one test. All of them are held against each other, so they are in memory together.
pub const MAX_RUNS: u64 = 100_000;

/// One suite file.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its own variables, for what is resolved when a run goes live.
    pub variables: BTreeMap<String, String>,
    /// The same as written, without what the environment answers.
    pub variables_as_written: BTreeMap<String, Template>,
    /// Variables that hold no secrets, although servers or models read them.
    pub public: BTreeSet<String>,
    /// Servers by name.
    pub servers: BTreeMap<String, Server>,
    /// Faults in the order written.
    pub faults: Vec<Fault>,
    /// Models by name.
    pub models: BTreeMap<String, Model>,
    /// Agent tests in the order written.
    pub agents: Vec<AgentTest>,
}

impl Suite {
    /// The variables that servers and models read: those in `command`, `env`, `url`, `headers`, `model` and `base_url`, and
    /// those that such a variable of the suite refers to.
    pub fn variables_read(&self) -> BTreeSet<&str> {
        let servers = self.servers.values().map(|server| &server.transport);
        let of_servers = servers.flat_map(|transport| -> Vec<&Template> {
            match transport {
                Transport::Command { argv, env, .. } => argv.iter().chain(env.values()).collect(),
                Transport::Url { url, headers, .. } => std::iter::once(url).chain(headers.values()).collect(),
            }
        });
        let of_models = self.models.values().flat_map(|model| model.model.iter().chain(&model.base_url));
        self.names_in(of_servers.chain(of_models))
    }

    /// The variables in `cwd`, `prompt` and `system`, and those that such a variable of the suite refers to.
    pub fn variables_told(&self) -> BTreeSet<&str> {
        let folders = self.servers.values().filter_map(|server| match &server.transport {
            Transport::Command { cwd, .. } => cwd.as_ref(),
            Transport::Url { .. } => None,
        });
        let asked =
            self.agents.iter().flat_map(|test| std::iter::once(&test.prompt_as_written).chain(&test.system_as_written));
        self.names_in(folders.chain(asked))
    }

    fn names_in<'s>(&'s self, templates: impl Iterator<Item = &'s Template>) -> BTreeSet<&'s str> {
        let names = templates.flat_map(Template::names);
        let of_own = |name: &str| self.variables_as_written.get(name).into_iter().flat_map(Template::names);
        names.flat_map(|name| std::iter::once(name).chain(of_own(name))).collect()
    }

    /// The variables that hold a key or a token by the key of the suite that names them.
    pub fn variables_of_keys(&self) -> BTreeSet<&str> {
        let tokens = self.servers.values().filter_map(|server| match &server.transport {
            Transport::Url { bearer_token_env, .. } => bearer_token_env.as_deref(),
            Transport::Command { .. } => None,
        });
        tokens.chain(self.models.values().filter_map(|model| model.api_key_env.as_deref())).collect()
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Command or address.
    pub transport: Transport,
    /// Time limit of one call.
    pub timeout_ms: u64,
    /// Which era of the protocol is spoken.
    pub protocol: Protocol,
}

/// Command or address of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Transport {
    /// A child process.
    Command {
        /// Program and arguments.
        argv: Vec<Template>,
        /// Its environment, beside the inherited one.
        env: BTreeMap<String, Template>,
        /// Its working folder.
        cwd: Option<Template>,
    },
    /// An address.
    Url {
        /// The address.
        url: Template,
        /// Headers of every request.
        headers: BTreeMap<String, Template>,
        /// Variable that holds a bearer token.
        bearer_token_env: Option<String>,
    },
}

words! {
    /// Which era of the protocol a server speaks.
    Protocol {
        /// Found out by asking.
        Auto = "auto",
        /// The stateless revision.
        Modern = "modern",
        /// The revisions with a handshake.
        Legacy = "legacy",
    }
}

words! {
    /// Whose interface a model has.
    Provider {
        /// Anthropic Messages.
        Anthropic = "anthropic",
        /// The interface of `OpenAI`, and everything that speaks like it.
        Openai = "openai",
        /// Google Gemini.
        Gemini = "gemini",
        /// A script; for examples and tests.
        Script = "script",
    }
}

words! {
    /// Which of the interfaces of `OpenAI`.
    Api {
        /// Chat Completions.
        Chat = "chat",
        /// Responses.
        Responses = "responses",
    }
}

/// A model and how it is reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Whose interface.
    pub provider: Provider,
    /// The name the provider knows it by.
    pub model: Option<Template>,
    /// Address of the interface.
    pub base_url: Option<Template>,
    /// Variable that holds the key.
    pub api_key_env: Option<String>,
    /// Which interface, for `OpenAI`.
    pub api: Option<Api>,
    /// Price of a million tokens read and written.
    pub price: Option<(f64, f64)>,
    /// File of the script.
    pub script: Option<String>,
}

/// A fault that tests may inject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its name.
    pub name: String,
    /// Tool it strikes; any tool of the server without one.
    pub tool: Option<String>,
    /// Server it strikes; any server without one.
    pub server: Option<String>,
    /// What it does.
    pub kind: FaultKind,
    /// How late `slow` answers.
    pub delay_ms: u64,
    /// How often `recover_after` fails.
    pub failures: u64,
}

/// One entry of `agents`.
#[derive(Debug, Clone)]
pub struct AgentTest {
    /// Its name.
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    /// Where it says what.
    pub marks: Marks,
    /// The models it runs on.
    pub models: Vec<String>,
    /// Written as `models`, so that names show the model.
    pub is_matrix: bool,
    /// The servers it may use.
    pub servers: Vec<String>,
    /// What the agent is asked.
    pub prompt: String,
    /// The same as written.
    pub prompt_as_written: Template,
    /// What it is told before.
    pub system: Option<String>,
    /// The same as written.
    pub system_as_written: Option<Template>,
    /// Independent runs.
    pub runs: u64,
    /// Most turns of one run.
    pub max_turns: u64,
    /// Most tokens of one reply.
    pub max_tokens: u64,
    /// Sent only when given.
    pub temperature: Option<f64>,
    /// Labels to select by.
    pub tags: Vec<String>,
    /// Faults to inject, by their place in [`Suite::faults`].
    pub inject: Vec<usize>,
    /// Assertions on the trace.
    pub expect: Vec<Assertion>,
    /// Gates.
    pub gates: Gates,
    /// Variables of the environment that decide which recording is meant or what it has to show, and that were not read. Such
    /// a test has no checks and cannot be judged.
    pub unread: BTreeSet<String>,
}

/// Places in the file that a report points at when a test does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// Its name.
    pub name: Mark,
    /// The keys of its gates.
    pub gates: Vec<(GateKind, Mark)>,
    /// Each of its assertions.
    pub expect: Vec<Mark>,
}

/// Gate blocks; a unit of their own, loaded with a suite or without one.
#[derive(Debug, Clone, Default)]
pub struct Gates {
    /// Calls against a reference.
    pub trajectory: Option<Trajectory>,
    /// Order and data flow.
    pub trajectory_axes: Option<TrajectoryAxes>,
    /// Wasted calls.
    pub golden_path: Option<GoldenPathGate>,
    /// Steadiness.
    pub stability: Option<StabilityGate>,
    /// Pass rates.
    pub reliability: Option<ReliabilityGate>,
    /// Behaviour after a fault.
    pub recovery: Option<RecoveryGate>,
    /// Story against deeds.
    pub narrative: Option<Narrative>,
}

impl Gates {
    /// Whether any gate judges single runs.
    pub fn judges_runs(&self) -> bool {
        self.trajectory.is_some()
            || self.trajectory_axes.is_some()
            || self.golden_path.is_some()
            || self.recovery.is_some()
            || self.narrative.is_some()
    }

    /// Virtual time after which an injected fault counts as a timeout: that of `recovery`, or its default without the gate.
    pub fn detection_budget_ms(&self) -> u64 {
        let default = || RecoveryGate::default().params.max_detection_ms;
        self.recovery.as_ref().map_or_else(default, |gate| gate.params.max_detection_ms)
    }

    /// Whether there is no gate at all.
    pub fn is_empty(&self) -> bool {
        !self.judges_runs() && self.stability.is_none() && self.reliability.is_none()
    }
}

/// What loading gives: the value where there is no error, and everything there is to say.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// The value; absent when any diagnostic is an error.
    pub value: Option<T>,
    /// Errors and warnings, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Loaded<T> {
    fn new(value: Option<T>, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort_by(|a, b| (a.span.start, a.severity, &a.message).cmp(&(b.span.start, b.severity, &b.message)));
        diagnostics.dedup();
        let sound = diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error);
        Self { value: value.filter(|_| sound), diagnostics }
    }
}

/// Loads a suite. `variables` answers for `${..}` outside `servers` and `models`.
pub fn load(source: &Source, variables: &Variables<'_>) -> Loaded<Suite> {
    lowered(source, lower::Lower::new(source, variables))
}

/// Loads a suite of a stranger: the environment is not read. A reference to it takes its default or stays as written; where that
/// would have a say in a verdict, [`AgentTest::unread`] names it.
pub fn load_untrusted(source: &Source, suite_dir: &str) -> Loaded<Suite> {
    let variables = Variables { suite_dir, outside: &|_| None };
    lowered(source, lower::Lower::sealed(source, &variables))
}

fn lowered(source: &Source, mut lower: lower::Lower<'_>) -> Loaded<Suite> {
    let root = match yaml::read(source) {
        Ok(root) => root,
        Err(diagnostics) => return Loaded::new(None, diagnostics),
    };
    let suite = lower.suite(root);
    if let Some((suite, places)) = &suite
        && lower.is_sound()
    {
        lint::lint(suite, places, &mut lower.notes.diagnostics);
    }
    lower.notes.finish(suite.map(|(suite, _)| suite))
}

/// Loads gate blocks and `expect` from a file of their own.
pub fn load_gates(source: &Source, variables: &Variables<'_>) -> Loaded<(Vec<Assertion>, Gates)> {
    let root = match yaml::read(source) {
        Ok(root) => root,
        Err(diagnostics) => return Loaded::new(None, diagnostics),
    };
    let mut lower = lower::Lower::new(source, variables);
    let gates = lower.gate_file(root);
    lower.notes.finish(gates)
}
