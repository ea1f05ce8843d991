//! What to run: suites, their cells, and the inputs of a cell. Nothing is started here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mcptest_core::diag::{Code, RunError, Source};
use mcptest_core::redact::Redactor;
use mcptest_core::report::Cell;
use mcptest_core::suite::yaml::MAX_BYTES;
use mcptest_core::suite::{AgentTest, Model, Provider, Suite};
use serde_json::Value;

use crate::cassette::{self, Folder};
use crate::file::{self, Trust};
use crate::provider::script::{self, Script};

/// A suite that was loaded.
#[derive(Debug)]
pub struct SuiteFile {
    /// The path, as typed.
    pub shown: String,
    pub path: PathBuf,
    pub suite: Suite,
    /// An untrusted suite starts no server, calls no model, and reads nothing outside its folder.
    pub trust: Trust,
    /// The scripts of its models by their paths in the suite, each loaded once.
    scripts: Mutex<BTreeMap<String, Result<Arc<Script>, RunError>>>,
}

/// A cell to run, and how often.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    pub file: &'a SuiteFile,
    pub cell: Cell<'a>,
    pub runs: u64,
}

/// The inputs that all runs of a cell share.
#[derive(Debug, Clone, PartialEq)]
pub struct CellInputs {
    /// What a recording must match.
    pub inputs: Value,
    /// The script of a scripted model.
    pub script: Option<Arc<Script>>,
}

impl SuiteFile {
    pub fn new(shown: String, path: PathBuf, suite: Suite, trust: Trust) -> Self {
        Self { shown, path, suite, trust, scripts: Mutex::default() }
    }

    /// Whether a test runs on a script.
    pub fn is_scripted(&self, test: &AgentTest, model: &str) -> bool {
        let is_script = |model: &Model| model.provider == Provider::Script;
        !test.is_program && self.suite.models.get(model).is_some_and(is_script)
    }

    /// Where its runs are recorded.
    pub fn cassettes(&self) -> Folder {
        Folder::of(&self.path).with(self.trust)
    }

    /// The inputs of a test on a model.
    pub fn cell_inputs(&self, test: &AgentTest, model: &str) -> Result<CellInputs, RunError> {
        let of_suite = self.suite.models.get(model).filter(|_| !test.is_program);
        let script = match of_suite.and_then(|model| model.script.as_deref()) {
            Some(script) => Some(self.script(script)?),
            None => None,
        };
        let inputs = cassette::inputs(&self.suite, test, model, script.as_ref().map(|script| &*script.hash));
        // A key that is written in a suite must not end up in recordings and reports. The patterns are the same on every
        // machine, so both sides of a comparison are redacted in the same way.
        Ok(CellInputs { inputs: Redactor::new([]).value(inputs), script })
    }

    /// The script at a path from the folder of the suite.
    fn script(&self, script: &str) -> Result<Arc<Script>, RunError> {
        let mut scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        scripts.entry(script.to_owned()).or_insert_with(|| self.load_script(script).map(Arc::new)).clone()
    }

    fn load_script(&self, script: &str) -> Result<Script, RunError> {
        let path = self.path.with_file_name(script);
        let unreadable = |code: Code, why: String| {
            let hint = "`script:` is a path relative to the suite's folder";
            RunError::new(format!("script {}: {why}", path.display())).code(code).hint(hint)
        };
        // A suite may name any file. A report must not quote one that is not part of the suite.
        let (opened, is_own) = match self.trust {
            Trust::Trusted => {
                let folder = self.path.parent().unwrap_or(Path::new(""));
                let below = file::open_below(folder, Path::new(script));
                let is_own = below.is_ok();
                (below.or_else(|_| file::open(&path, Trust::Trusted)), is_own)
            }
            Trust::Untrusted if file::is_below(Path::new(script)) => (file::open(&path, Trust::Untrusted), true),
            Trust::Untrusted => {
                let why = "it is outside the suite's folder, and `--untrusted` reads nothing there";
                return Err(unreadable(Code::UntrustedSuite, why.to_owned()));
            }
        };
        let bytes = opened
            .and_then(|file| file::read_all(file, MAX_BYTES as u64))
            .map_err(|error| unreadable(file::error_code(&error), format!("cannot be read: {error}")))?
            .ok_or_else(|| unreadable(Code::FileTooLarge, format!("has more than {MAX_BYTES} bytes, the limit")))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            unreadable(Code::NotUtf8, format!("is not UTF-8: byte {}", error.utf8_error().valid_up_to()))
        })?;
        let source = Source::new(path.to_string_lossy(), text);
        let loaded = script::load(&source);
        loaded.value.ok_or_else(|| {
            if !is_own {
                let name = source.name();
                let message = format!("the script {name} has errors and is outside the suite's folder");
                let hint = format!("`mcptest validate {name}` shows them");
                return RunError::new(message).code(Code::ScriptUnusable).hint(hint);
            }
            let errors: Vec<String> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
            RunError::new(format!("the script has errors\n{}", errors.join("\n"))).code(Code::ScriptUnusable)
        })
    }
}
