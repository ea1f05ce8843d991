//! What is to be run: suites, their cells, and what the runs of a cell start from. Nothing is started here.

use std::path::PathBuf;

use mcptest_core::diag::Source;
use mcptest_core::redact::Redactor;
use mcptest_core::report::{Cell, Trouble};
use mcptest_core::suite::yaml::MAX_BYTES;
use mcptest_core::suite::{AgentTest, Provider, Suite};
use serde_json::Value;

use crate::cassette;
use crate::file;
use crate::provider::script::{self, Script};

/// A suite that can be used.
#[derive(Debug)]
pub struct SuiteFile {
    /// The file, as it was typed.
    pub shown: String,
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub suite: Suite,
}

/// A cell that is meant, and how often.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// Its suite.
    pub file: &'a SuiteFile,
    /// Test and model.
    pub cell: Cell<'a>,
    /// How many runs.
    pub runs: u64,
}

/// What the runs of a cell start from.
#[derive(Debug, Clone, PartialEq)]
pub struct Basis {
    /// What a recording is held against.
    pub inputs: Value,
    /// What answers for a scripted model.
    pub script: Option<Script>,
}

impl SuiteFile {
    /// Whether a script answers for a model.
    pub fn is_scripted(&self, model: &str) -> bool {
        self.suite.models.get(model).is_some_and(|model| model.provider == Provider::Script)
    }

    /// What the runs of a test on a model start from.
    pub fn basis(&self, test: &AgentTest, model: &str) -> Result<Basis, Trouble> {
        let script = match self.suite.models.get(model).and_then(|model| model.script.as_deref()) {
            Some(script) => Some(self.script(script)?),
            None => None,
        };
        let inputs = cassette::inputs(&self.suite, test, model, script.as_ref().map(|script| &*script.hash));
        // Whoever writes a key into a suite need not find it in every recording and report as well. What is looked for is
        // the same on every machine, so both sides of a comparison are.
        Ok(Basis { inputs: Redactor::new([]).value(inputs), script })
    }

    /// The script of a model: a path from the folder of the suite.
    fn script(&self, script: &str) -> Result<Script, Trouble> {
        let path = self.path.with_file_name(script);
        let unreadable = |why: String| Trouble {
            message: format!("script {}: {why}", path.display()),
            hint: Some("`script:` is a path from the folder of the suite".to_owned()),
        };
        let bytes = file::read(&path, MAX_BYTES as u64)
            .map_err(|error| unreadable(format!("cannot be read: {error}")))?
            .ok_or_else(|| unreadable(format!("has more than {MAX_BYTES} bytes, the limit")))?;
        let text = String::from_utf8(bytes)
            .map_err(|error| unreadable(format!("is not UTF-8: byte {}", error.utf8_error().valid_up_to())))?;
        let source = Source::new(path.to_string_lossy(), text);
        let loaded = script::load(&source);
        loaded.value.ok_or_else(|| {
            let told: Vec<String> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
            Trouble { message: format!("the script cannot be used\n{}", told.join("\n")), hint: None }
        })
    }
}
