//! A program that runs again: what it is answered from, what its environment lacks, and what is judged.
//!
//! It gets no key: values that the recording knows only by name are made up, and so are the keys of the providers that it used.

use std::collections::{BTreeMap, BTreeSet};

use mcptest_core::cassette;
use mcptest_core::diag::RunError;
use mcptest_core::ledger::rerun::{Ignore, Rerun};
use mcptest_core::ledger::{self, Ended, Interface, Ledger, ProgramEnd, ProgramResult, What};
use mcptest_core::suite::interpolate::TemplateError;
use mcptest_core::suite::{Program, Template, Variables};
use mcptest_core::trace::Trace;

use super::{ProgramRequest, ProgramRun};
use crate::live::LiveRun;
use crate::record::{Player, RerunSetup};

/// The keys of providers, with the interfaces that they are for.
const KEYS: [(&str, &[Interface]); 5] = [
    ("OPENAI_API_KEY", &[Interface::OpenaiChat, Interface::OpenaiResponses]),
    ("AZURE_OPENAI_API_KEY", &[]),
    ("ANTHROPIC_API_KEY", &[Interface::Anthropic]),
    ("GEMINI_API_KEY", &[Interface::Gemini]),
    ("GOOGLE_API_KEY", &[]),
];

/// How many lines of what a program printed are shown with a divergence.
const LAST_LINES: usize = 4;

/// The recording of a program that runs again.
pub(crate) struct RecordedRun {
    pub(crate) player: Player,
    /// The servers are started instead.
    pub(crate) live_tools: bool,
    duration_ms: Option<u64>,
    /// Variables that the recording knows by name only.
    names: BTreeSet<String>,
    interfaces: BTreeSet<Interface>,
}

/// A value for a variable that is not set. It is the same everywhere.
fn dummy_value(name: &str) -> String {
    format!("mcptest-rerun-{name}")
}

/// A text of the suite, with values that are made up for variables that are not set.
pub(super) fn resolve(
    template: &Template,
    own: &BTreeMap<String, String>,
    variables: &Variables<'_>,
) -> Result<String, TemplateError> {
    let mut missing: BTreeSet<String> = BTreeSet::new();
    loop {
        let outside =
            |name: &str| (variables.outside)(name).or_else(|| missing.contains(name).then(|| dummy_value(name)));
        match template.resolve(own, &Variables { suite_dir: variables.suite_dir, outside: &outside }) {
            Err(TemplateError::Unset(name)) if !missing.contains(&name) => {
                missing.insert(name);
            }
            resolved => return resolved,
        }
    }
}

impl RecordedRun {
    pub(crate) fn new(ledger: Ledger, trace: &Trace, program: &Program, live_tools: bool) -> Result<Self, RunError> {
        let ignored: Result<Vec<Ignore>, String> = program
            .ignore_request
            .iter()
            .map(|ignored| Ignore::new(&ignored.path, ignored.pattern.as_deref()))
            .collect();
        let ignored = ignored.map_err(|why| RunError::new(format!("`ignore_request` of the program: {why}")))?;
        let interfaces = ledger.entries.iter().filter_map(|entry| match &entry.what {
            What::Request(request) => request.interface,
            _ => None,
        });
        Ok(Self {
            live_tools,
            duration_ms: trace.conversation.duration_ms,
            names: ledger.redacted_names(),
            interfaces: interfaces.collect(),
            player: Player::new(Rerun::new(ledger, ignored)),
        })
    }

    pub(super) fn setup(&self, servers: &[String]) -> RerunSetup {
        RerunSetup { player: self.player.clone(), servers: if self.live_tools { Vec::new() } else { servers.to_vec() } }
    }

    /// Values that are made up, by the names that replace them in what is compared.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (String, String)> {
        let keys = KEYS.iter().map(|(name, _)| (*name).to_owned());
        self.names.iter().cloned().chain(keys).map(|name| (name.clone(), dummy_value(&name)))
    }

    /// What is set for the program. A key that is set is replaced, so that no request outside the recording can use it.
    pub(super) fn environment(&self, outside: &dyn Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
        let is_used = |interfaces: &[Interface]| interfaces.iter().any(|interface| self.interfaces.contains(interface));
        let keys = KEYS.iter().filter(|(name, interfaces)| is_used(interfaces) || outside(name).is_some());
        let names = self.names.iter().map(String::as_str).filter(|name| outside(name).is_none());
        keys.map(|(name, _)| *name).chain(names).map(|name| (name.to_owned(), dummy_value(name))).collect()
    }

    /// What happened, as a run to judge. `live` has the answers of servers that were started again.
    pub(super) fn judged(
        &self,
        request: &ProgramRequest<'_>,
        live: &Ledger,
        ran: ProgramResult,
    ) -> Result<ProgramRun, RunError> {
        let was_stopped = self.player.divergence().is_some();
        let notes = self.player.finish();
        let notes = notes.into_iter().map(|note| format!("{}: {note}", request.row)).collect();
        let happened = self.player.happened(self.live_tools.then_some(live));
        let duration_ms = self.duration_ms;
        let changed = if self.live_tools { self.player.changed_answer(live) } else { None };
        let with_cause = |how: String| match &changed {
            Some(changed) => format!("{how}\nits cause may be a server: {changed}"),
            None => how,
        };
        let diverged = self.player.divergence().map(with_cause).map(|how| match ran.ended {
            // It may have ended so early because of what it printed.
            Ended::Exit(code) if code != request.program.exit && !was_stopped => {
                let lines: Vec<&str> = ran.output.lines().collect();
                let lines = &lines[lines.len().saturating_sub(LAST_LINES)..];
                let printed = if lines.is_empty() {
                    String::new()
                } else {
                    format!("; its last lines:\n  {}", lines.join("\n  "))
                };
                format!("{how}\nit ended with exit code {code}{printed}")
            }
            Ended::TimedOut if !was_stopped => {
                format!("{how}\nit did not end within {} ms and was stopped", request.program.timeout_ms)
            }
            _ => how,
        });
        let mut derived = if was_stopped {
            // How it ended was decided here, and what it would have answered is unknown.
            let end = ProgramEnd { duration_ms, ..ProgramEnd::default() };
            let mut derived = ledger::trace(&happened, end);
            (derived.trace.final_response, derived.trace.answer_source) = (None, None);
            derived
        } else {
            let ran = ProgramResult { duration_ms: duration_ms.unwrap_or(ran.duration_ms), ..ran };
            match ledger::outcome(request.cell.model, request.program, &request.servers(), &happened, ran) {
                Ok(derived) => derived,
                // The divergence says more than that a run did not get far.
                Err(_) if diverged.is_some() => return Ok(ProgramRun { run: None, diverged, notes }),
                Err(error) => return Err(error),
            }
        };
        if !request.cell.test.inject.is_empty() {
            derived.mark(&happened.fault_hits);
        }
        let (observed, mut trace) = (derived.seen.observed(), derived.trace);
        trace.read_only = cassette::read_only_tools(&observed);
        let run = Some(LiveRun { trace, observed, advisory: None, ledger: None });
        Ok(ProgramRun { run, diverged, notes })
    }
}
