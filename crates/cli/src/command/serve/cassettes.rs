//! Recordings of tests that are code: cassettes like those of suites, in a folder next to the file with the tests.

use std::path::Path;

use mcptest_core::diag::Failure;
use mcptest_core::trace::Trace;
use mcptest_runner::cassette::{Cassette, CassetteError, Folder, VERSION};
use serde_json::{Value, json};

use super::protocol::{CassettesLoad, CassettesOf, CassettesSave, RecordedRun};
use crate::command::Stop;
use crate::report::text::one_line;

/// Where the recordings will be. Checks that they can be written, before a model is paid for.
pub(super) fn start(of: &CassettesOf) -> Result<Value, Stop> {
    folder(of).may_save(&of.test, &of.program, 1).map_err(|error| failed(of, &error))?;
    Ok(json!({}))
}

/// Writes all runs of a test.
pub(super) fn save(CassettesSave { of, inputs, runs }: CassettesSave) -> Result<Value, Stop> {
    let cassette = |(run, recorded): (u64, RecordedRun)| {
        let RecordedRun { trace, observed } = recorded;
        let trace = Trace::from_envelope(&trace)
            .map_err(|error| super::bad_request(format!("the trace of run {run} cannot be used: {error}")))?;
        let (test, model, inputs) = (of.test.clone(), of.program.clone(), inputs.clone());
        let (advisory, ledger, version, edited) = (None, None, VERSION, false);
        Ok(Cassette { test, model, run, inputs, observed, advisory, ledger, trace, version, edited })
    };
    let runs = (1..).zip(runs).map(cassette).collect::<Result<Vec<_>, Stop>>()?;
    folder(&of).save_all(&of.test, &of.program, &runs).map_err(|error| failed(&of, &error))?;
    Ok(json!({}))
}

/// The recorded runs of a test: where each one is, its text, and whether it was edited.
pub(super) fn load(CassettesLoad { of, inputs, runs }: &CassettesLoad) -> Result<Value, Stop> {
    let folder = folder(of);
    let loaded = folder.load_all(&of.test, &of.program, *runs, inputs).map_err(|error| failed(of, &error))?;
    let shown = |cassette: &Cassette| {
        let path = folder.path(&of.test, &of.program, cassette.run);
        json!({ "path": path.to_string_lossy(), "text": cassette.to_text(), "edited": cassette.edited })
    };
    Ok(json!({ "runs": loaded.iter().map(shown).collect::<Vec<_>>() }))
}

fn folder(of: &CassettesOf) -> Folder {
    Folder::of_code(Path::new(&of.file))
}

fn failed(of: &CassettesOf, error: &CassetteError) -> Stop {
    Failure::error((), one_line(&error.to_string())).code(error.code()).hint(error.hint(&of.record)).into()
}
