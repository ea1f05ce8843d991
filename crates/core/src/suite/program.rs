//! A program of a suite: an agent of the user's own, and how mcptest talks to it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::Template;
use crate::answer::AnswerFormat;
use crate::trace::words;

/// The prefix of variables that a recording sets for a program. They are not secrets.
pub(super) const OWN_VARIABLES: &str = "MCPTEST_";

/// One entry of `programs`.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Program and arguments.
    pub command: Vec<Template>,
    /// Added to the inherited environment.
    pub env: BTreeMap<String, Template>,
    pub cwd: Option<Template>,
    /// A folder that each run gets a fresh copy of.
    pub workspace: Option<Template>,
    pub input: Input,
    pub answer: AnswerFormat,
    /// Time limit of one run.
    pub timeout_ms: u64,
    /// The exit code of a run that went well.
    pub exit: u8,
    pub model: ModelSide,
    /// What changes from run to run in its model requests.
    pub ignore_request: Vec<Ignored>,
}

/// How a program gets the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Input {
    #[default]
    Stdin,
    /// As the last argument.
    Arg,
    /// In an environment variable.
    Env(String),
}

/// How inputs are written.
pub(super) const INPUTS: &str = "stdin, arg or env:NAME";

impl FromStr for Input {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "stdin" => Ok(Self::Stdin),
            None if text == "arg" => Ok(Self::Arg),
            Some(("env", name)) if super::interpolate::is_name(name) => Ok(Self::Env(name.to_owned())),
            Some(("env", name)) => Err(format!("`{name}` is not a name of a variable")),
            _ => Err(format!("expected {INPUTS}")),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::Arg => f.write_str("arg"),
            Self::Env(name) => write!(f, "env:{name}"),
        }
    }
}

words! {
    /// Whether the model requests of a program have to be seen.
    ModelSide {
        /// A run whose model was not seen is an error.
        Required = "required",
        /// Only calls of tools are recorded.
        Unseen = "unseen",
    }
}

/// What is not compared when a program runs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// A JSON pointer into the body of a model request. `*` is any item or key.
    pub path: String,
    /// Only what this regular expression matches in the text there; `None` for all of the value.
    pub pattern: Option<String>,
}
