//! What a mock server offers: tools, resources and prompts, loaded once and never changed.
//!
//! `blocks` has the key tables, `load` distinguishes a manifest from a snapshot, `manifest` and `snapshot` read them, `answers`
//! reads the answers of a tool.

mod answers;
mod blocks;
mod load;
mod manifest;
mod snapshot;

use mcptest_core::matcher::Schema;
use mcptest_core::template::Template;
use mcptest_core::{Matcher, Target};
use serde_json::Value;

use crate::answer::Answer;
pub use answers::BLOCKS;
pub(crate) use answers::violations;
pub use blocks::{ANNOTATIONS, ANSWER, ARGUMENT, FILE, MESSAGE, PROMPT, RESOURCE, RULE, SERVER, TOOL};
pub use load::load;

#[derive(Debug, Clone)]
pub struct Spec {
    pub name: String,
    pub version: String,
    pub instructions: Option<String>,
    pub tools: Vec<Tool>,
    pub resources: Vec<Resource>,
    pub prompts: Vec<Prompt>,
    pub(crate) playlists: usize,
}

#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    pub(crate) listing: Value,
    pub(crate) input: Schema,
    pub(crate) output: Option<Schema>,
    /// The first rule that matches answers.
    pub(crate) rules: Vec<Rule>,
    /// The answer if no rule matches.
    pub(crate) default_answer: DefaultAnswer,
}

/// What a tool answers if no rule matches.
#[derive(Debug, Clone)]
pub(crate) enum DefaultAnswer {
    Given(Playlist),
    /// A value that matches its output schema.
    Sample(Value),
    /// A text that echoes the call.
    Echo,
    /// An error: the rules should cover every call.
    NoRule,
}

/// Answers played in order; the last one repeats.
#[derive(Debug, Clone)]
pub(crate) struct Playlist {
    /// Its index in the counters.
    pub(crate) number: usize,
    /// At least one.
    pub(crate) answers: Vec<Answer>,
}

/// An answer for some arguments.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// All of them must match.
    pub(crate) when: Vec<(Target, Matcher)>,
    pub(crate) playlist: Playlist,
}

#[derive(Debug, Clone)]
pub struct Resource {
    pub uri: String,
    pub(crate) listing: Value,
    pub(crate) contents: Value,
}

#[derive(Debug, Clone)]
pub struct Prompt {
    pub name: String,
    pub(crate) listing: Value,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Vec<Argument>,
    /// Roles and texts.
    pub(crate) messages: Vec<(String, Template)>,
}

/// An argument of a prompt.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) required: bool,
}

impl Spec {
    /// The tool of a name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}
