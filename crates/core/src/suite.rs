//! The suite file: reading, validation and diagnostics.
//!
//! `yaml` reads text into a tree of values with spans, `check` validates the tree against the key tables of `blocks`, `lower`
//! builds a [`Suite`] from it, `lint` warns about suspicious but valid suites. Every problem is collected; a [`Suite`] exists
//! only when there is none.

mod blocks;
mod check;
mod gates;
mod hints;
pub mod interpolate;
mod lint;
mod lower;
mod preset;
mod program;
pub mod schema;
mod syntax_hints;
mod tasks;
pub mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use crate::assertion::Assertion;
use crate::diag::{Diagnostic, Mark, Severity, Source, Subject};
use crate::eval::{
    GateKind, GoldenPathGate, NarrativeGate, RecoveryGate, RecoveryParams, ReliabilityGate, StabilityGate,
    TrajectoryAxesGate, TrajectoryGate,
};
use crate::trace::{FaultKind, Price, words};
pub use blocks::{AGENT, FAULT, FAULT_TARGET, GATE_FILE, IGNORED, MODEL, PRICE, PROGRAM, RUNS, SERVER, SUITE, TASK};
pub use check::Diagnostics;
pub(crate) use interpolate::escape_references;
pub use interpolate::{Template, Variables};
pub use lower::provider_of;
pub use preset::{PRESETS, Preset};
pub use program::{Ignored, Input, ModelSide, Program};
pub use tasks::{GateFile, Task};

/// Maximum runs of one test. They are compared with each other, so all are in memory together.
pub const MAX_RUNS: u64 = 100_000;

#[derive(Debug, Clone)]
pub struct Suite {
    /// Its own variables, for templates that are resolved when a live run starts.
    pub variables: BTreeMap<String, String>,
    /// The same as written, with references unresolved.
    pub variables_as_written: BTreeMap<String, Template>,
    /// Variables that are not secret, although servers or models use them.
    pub public: BTreeSet<String>,
    pub servers: BTreeMap<String, Server>,
    /// In the order written.
    pub faults: Vec<Fault>,
    pub models: BTreeMap<String, Model>,
    pub programs: BTreeMap<String, Program>,
    /// In the order written.
    pub agents: Vec<AgentTest>,
}

impl Suite {
    /// The variables that servers, models and programs read: those in `command`, `env`, `url`, `headers`, `model` and
    /// `base_url`, and those that such a variable of the suite refers to. What a recording sets for a program is not among them.
    pub fn variables_read(&self) -> BTreeSet<&str> {
        let servers = self.servers.values().map(|server| &server.transport);
        let of_servers = servers.flat_map(|transport| -> Vec<&Template> {
            match transport {
                Transport::Command { argv, env, .. } => argv.iter().chain(env.values()).collect(),
                Transport::Url { url, headers, .. } => std::iter::once(url).chain(headers.values()).collect(),
            }
        });
        let of_models = self.models.values().flat_map(|model| model.model.iter().chain(&model.base_url));
        let of_programs = self
            .programs
            .values()
            .flat_map(|program| program.command.iter().chain(program.env.values()).chain(program.files.values()));
        let mut names = self.names_in(of_programs);
        names.retain(|name| !program::BASE_URLS.contains(name));
        names.extend(self.names_in(of_servers.chain(of_models)));
        names.retain(|name| !name.starts_with(program::OWN_VARIABLES));
        names
    }

    /// The variables in `cwd`, `workspace`, `prompt` and `system`, and those that such a variable of the suite refers to.
    pub fn variables_in_prompts(&self) -> BTreeSet<&str> {
        let folders = self.servers.values().filter_map(|server| match &server.transport {
            Transport::Command { cwd, .. } => cwd.as_ref(),
            Transport::Url { .. } => None,
        });
        let asked =
            self.agents.iter().flat_map(|test| std::iter::once(&test.prompt_as_written).chain(&test.system_as_written));
        let of_programs = self.programs.values().flat_map(|program| program.cwd.iter().chain(&program.workspace));
        self.names_in(folders.chain(of_programs).chain(asked))
    }

    fn names_in<'s>(&'s self, templates: impl Iterator<Item = &'s Template>) -> BTreeSet<&'s str> {
        let names = templates.flat_map(Template::names);
        let of_own = |name: &str| self.variables_as_written.get(name).into_iter().flat_map(Template::names);
        names.flat_map(|name| std::iter::once(name).chain(of_own(name))).collect()
    }

    /// The variables with an API key or a token.
    pub fn variables_of_keys(&self) -> BTreeSet<&str> {
        let tokens = self.servers.values().filter_map(|server| match &server.transport {
            Transport::Url { bearer_token_env, .. } => bearer_token_env.as_deref(),
            Transport::Command { .. } => None,
        });
        tokens.chain(self.models.values().filter_map(|model| model.api_key_env.as_deref())).collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    pub transport: Transport,
    pub timeout_ms: u64,
    pub protocol: Protocol,
    /// A program may leave it alone.
    pub is_optional: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Transport {
    Command {
        /// Program and arguments.
        argv: Vec<Template>,
        /// Added to the inherited environment.
        env: BTreeMap<String, Template>,
        cwd: Option<Template>,
    },
    /// Streamable HTTP.
    Url {
        url: Template,
        /// Headers of every request.
        headers: BTreeMap<String, Template>,
        /// Environment variable with a bearer token.
        bearer_token_env: Option<String>,
    },
}

words! {
    /// The protocol generation of a server.
    Protocol {
        /// Detected by asking the server.
        Auto = "auto",
        /// The stateless revision.
        Modern = "modern",
        /// The revisions with a handshake.
        Legacy = "legacy",
    }
}

words! {
    /// The API that a model is called through.
    Provider {
        Anthropic = "anthropic",
        /// `OpenAI` and compatible APIs.
        Openai = "openai",
        Gemini = "gemini",
        /// A script file, for examples and tests.
        Script = "script",
    }
}

words! {
    Api {
        Chat = "chat",
        Responses = "responses",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub provider: Provider,
    /// The provider's name for it.
    pub model: Option<Template>,
    pub base_url: Option<Template>,
    /// Environment variable with the API key.
    pub api_key_env: Option<String>,
    pub api: Option<Api>,
    /// Price per million input and output tokens.
    pub price: Option<Price>,
    pub script: Option<String>,
}

/// A fault that tests may inject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub name: String,
    /// `None` for every tool of the server.
    pub tool: Option<String>,
    /// `None` for every server.
    pub server: Option<String>,
    pub kind: FaultKind,
    /// The delay of kinds `slow` and `model_slow`.
    pub delay_ms: u64,
    /// The number of failures of kind `recover_after`, and of faults of the model; 0 there for all requests.
    pub failures: u64,
    /// The HTTP status of kind `model_error`.
    pub status: u16,
    /// The events that kind `model_cut` passes on.
    pub events: u64,
}

#[derive(Debug, Clone)]
pub struct AgentTest {
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    pub marks: Marks,
    /// The models that it runs on, or the programs.
    pub models: Vec<String>,
    /// It runs on programs.
    pub is_program: bool,
    /// Declared with `models` or `programs`, so that names show the model.
    pub is_matrix: bool,
    pub servers: Vec<String>,
    pub prompt: String,
    pub prompt_as_written: Template,
    pub system: Option<String>,
    pub system_as_written: Option<Template>,
    /// The number of runs, or the most where they stop early.
    pub runs: u64,
    /// Runs stop when they settle `reliability`, but not before this many.
    pub settles_from: Option<u64>,
    pub max_turns: u64,
    pub max_tokens: u64,
    /// Sent only when given.
    pub temperature: Option<f64>,
    pub tags: Vec<String>,
    /// Indices into [`Suite::faults`].
    pub inject: Vec<usize>,
    pub expect: Vec<Assertion>,
    pub gates: Gates,
    /// A digest of the assertions and gates as written: runs with another one were judged by other rules.
    pub rules: String,
    /// Environment variables that affect which recording is used or how it is checked, and that were not read. Such a test has
    /// no checks and cannot be evaluated.
    pub unread: BTreeSet<String>,
}

/// Places in the file that a report points at when a test fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    pub name: Mark,
    pub gates: Vec<(GateKind, Mark)>,
    pub expect: Vec<Mark>,
    /// The entries of `calls` below `trajectory`.
    pub calls: Vec<Mark>,
    /// The servers of the test, by name.
    pub servers: Vec<(String, Mark)>,
}

impl Marks {
    /// What the error of a run is about.
    pub(crate) fn subject(&self, subject: &Subject) -> &Mark {
        let server = self.servers.iter().find(|(name, _)| *subject == Subject::Server(name.clone()));
        server.map_or(&self.name, |(_, mark)| mark)
    }
}

/// Gates, loaded with a suite or from a separate file.
#[derive(Debug, Clone, Default)]
pub struct Gates {
    pub trajectory: Option<TrajectoryGate>,
    pub trajectory_axes: Option<TrajectoryAxesGate>,
    pub golden_path: Option<GoldenPathGate>,
    pub stability: Option<StabilityGate>,
    pub reliability: Option<ReliabilityGate>,
    pub recovery: Option<RecoveryGate>,
    pub narrative: Option<NarrativeGate>,
}

impl Gates {
    /// Whether there is any per-run gate.
    pub fn judges_runs(&self) -> bool {
        self.trajectory.is_some()
            || self.trajectory_axes.is_some()
            || self.golden_path.is_some()
            || self.recovery.is_some()
            || self.narrative.is_some()
    }

    /// Virtual time after which an injected fault counts as a timeout: `recovery`'s, or its default without the gate.
    pub fn detection_budget_ms(&self) -> u64 {
        let default = || RecoveryParams::default().max_detection_ms;
        self.recovery.as_ref().map_or_else(default, |gate| gate.params().max_detection_ms)
    }

    pub fn is_empty(&self) -> bool {
        !self.judges_runs() && self.stability.is_none() && self.reliability.is_none()
    }
}

/// The result of loading: the value if there is no error, and all diagnostics.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// The value; absent when any diagnostic is an error.
    pub value: Option<T>,
    /// Errors and warnings, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Loaded<T> {
    fn new(value: Option<T>, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics
            .sort_by(|a, b| (a.place.start, a.severity, &a.message).cmp(&(b.place.start, b.severity, &b.message)));
        diagnostics.dedup();
        let sound = diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error);
        Self { value: value.filter(|_| sound), diagnostics }
    }
}

/// Loads a suite. `variables` resolves `${..}` outside `servers` and `models`.
pub fn load(source: &Source, variables: &Variables<'_>) -> Loaded<Suite> {
    lowered(source, lower::Lower::new(source, variables))
}

/// Loads an untrusted suite: the environment is not read. A reference to it takes its default or stays as written; where that
/// could affect a verdict, [`AgentTest::unread`] names it.
pub fn load_untrusted(source: &Source, suite_dir: &str) -> Loaded<Suite> {
    let variables = Variables { suite_dir, outside: &|_| None };
    lowered(source, lower::Lower::untrusted(source, &variables))
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
        lint::lint(suite, places, &mut lower.diagnostics.list);
    }
    lower.diagnostics.finish(suite.map(|(suite, _)| suite))
}

/// Loads gate blocks, `expect` and `tasks` from a separate file.
pub fn load_gates(source: &Source, variables: &Variables<'_>) -> Loaded<GateFile> {
    let root = match yaml::read(source) {
        Ok(root) => root,
        Err(diagnostics) => return Loaded::new(None, diagnostics),
    };
    let mut lower = lower::Lower::new(source, variables);
    let gates = lower.gate_file(root);
    lower.diagnostics.finish(gates)
}
