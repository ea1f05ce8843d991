//! From an agent: it runs once, between its servers and its model, and the suite has the gates that this run passes. The run is
//! recorded, so the suite can be replayed at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mcptest_core::Trace;
use mcptest_core::diag::{Code, Failure, Source, printable};
use mcptest_core::event::Event;
use mcptest_core::json;
use mcptest_core::report::Row;
use mcptest_core::suite::{self, Variables};
use mcptest_runner::file::Trust;
use mcptest_runner::mcp::Endpoint;
use mcptest_runner::plan::SuiteFile;

use super::draft::Draft;
use super::files::{File, SUITE, place};
use super::gates::Settled;
use super::secrets::{self, Real};
use super::server::called_in;
use super::yaml::{self, Dollar};
use super::{Environment, from_trace, stop};
use crate::args::Init;
use crate::command::record::servers;
use crate::command::run_suites;
use crate::input;
use crate::report::text::many;
use crate::words::CommandLine;

/// The files it consists of: the suite, and the folder of its recordings.
pub(super) const NAMES: [&str; 2] = [SUITE, RECORDINGS];

const RECORDINGS: &str = "cassettes/mcptest";

/// The default prompt.
const PROMPT: &str = "What can you do for me?";

/// The name of the program in the suite.
const PROGRAM: &str = "agent";

/// The gate while the agent runs for the first time.
const ANYTHING: &str = "    trajectory: { mode: superset, calls: [] }\n";

/// What was typed, as lines of a suite.
struct Typed<'a> {
    servers: Vec<(String, Real)>,
    program: Real,
    prompt: &'a str,
    /// Values that the suite reads from variables.
    values: BTreeMap<String, String>,
}

/// Runs the agent and drafts its suite. The recording is already written; it is removed when the second value is dropped.
pub(super) fn draft(
    typed: &Init,
    line: &str,
    (environment, names): (Environment<'_>, &[String]),
) -> Result<(Draft, Recorded), Failure> {
    let wanted = Typed::read(typed, line)?;
    let outside = |name: &str| wanted.values.get(name).cloned().or_else(|| environment(name));
    let recorded = Recorded::new(&typed.folder);
    let row = run(&typed.folder, &wanted.text(ANYTHING), (&outside, names))?;
    let trace = passed(row)?;
    let settled = from_trace::settled(&trace, &trace);
    let gates: String = settled.iter().map(Settled::text).collect();
    let text = wanted.text(&gates);
    let calls = trace.tool_calls.as_deref().unwrap_or(&[]);
    let called: Vec<String> = calls.iter().take(6).map(|call| json::cut(&printable(&call.name), 60)).collect();
    let more = if calls.len() > called.len() { ", .." } else { "" };
    let lines = vec![
        format!("The agent made {}: {}{more}.", many(calls.len(), "call"), called.join(", ")),
        format!(
            "The run is recorded below {}. Commit it with the suite.",
            place(&typed.folder, RECORDINGS)
        ),
        "`mcptest run` replays it. `mcptest run --rerun` runs the agent again without a key or a network,\nand `mcptest run \
         --record` records it again."
            .to_owned(),
    ];
    let mut notes = Vec::new();
    let hidden: Vec<String> = wanted.hidden().map(|name| format!("${{{name}}}")).collect();
    if !hidden.is_empty() {
        notes.push(format!(
            "values that may be secret were not written; the suite reads them from {}",
            hidden.join(", ")
        ));
    }
    let files = vec![File { name: SUITE, what: "the suite, with the gates that pass", text }];
    Ok((Draft { files, lines, notes }, recorded))
}

impl<'a> Typed<'a> {
    fn read(typed: &'a Init, line: &str) -> Result<Self, Failure> {
        let line = CommandLine::read(line).map_err(|why| {
            let hint = "write it as in a shell: --from-agent 'python agent.py'";
            stop(Code::BadArgument, format!("--from-agent: {why}"), hint)
        })?;
        let mut values = line.env.clone();
        let cwd: Vec<String> = called_in(&typed.folder).map(|folder| format!("cwd: {folder}")).into_iter().collect();
        let mut program = secrets::command(&line);
        program.lines.extend(cwd.iter().cloned());
        let quoted = |key: &str, text: &str| format!("{key}: {}", yaml::text(text, Dollar::Sign));
        program.lines.extend(typed.input.as_deref().map(|input| quoted("input", input)));
        program.lines.extend(typed.answer.as_deref().map(|answer| quoted("answer", answer)));
        let mut all = Vec::new();
        for (name, endpoint) in servers::read(&typed.server)? {
            let real = match endpoint {
                Endpoint::Command(launch) => {
                    values.extend(launch.env.clone());
                    let mut real = secrets::command(&CommandLine { env: launch.env, argv: launch.argv });
                    real.lines.extend(cwd.iter().cloned());
                    real
                }
                Endpoint::Url { url, .. } => {
                    let real = secrets::address(&url, None);
                    values.extend(real.hidden.iter().map(|name| (name.clone(), url.clone())));
                    real
                }
            };
            all.push((name, real));
        }
        let prompt = typed.prompt.as_deref().unwrap_or(PROMPT);
        Ok(Self { servers: all, program, prompt, values })
    }

    /// The variables that replace values.
    fn hidden(&self) -> impl Iterator<Item = &str> {
        let all = self.servers.iter().map(|(_, real)| real).chain([&self.program]);
        all.flat_map(|real| &real.hidden).map(String::as_str)
    }

    /// The suite with these gates.
    fn text(&self, gates: &str) -> String {
        let mut out: String = ABOUT.iter().map(|line| yaml::comment(0, line)).collect();
        let block = |name: &str, real: &Real| {
            let lines: String = real.lines.iter().flat_map(|line| ["    ", line, "\n"]).collect();
            format!("  {name}:\n{lines}")
        };
        if !self.servers.is_empty() {
            out.push_str("\nservers:\n");
            out.extend(self.servers.iter().map(|(name, real)| block(name, real)));
        }
        out.push_str("\nprograms:\n");
        out.push_str(&yaml::comment(2, ABOUT_PROGRAM));
        out.push_str(&block(PROGRAM, &self.program));
        out.push_str("\nagents:\n  - name: does what it did at first\n");
        out.push_str(&format!("    program: {PROGRAM}\n"));
        if !self.servers.is_empty() {
            let names: Vec<&str> = self.servers.iter().map(|(name, _)| name.as_str()).collect();
            out.push_str(&format!("    servers: [{}]\n", names.join(", ")));
        }
        out.push_str(&format!("    prompt: {}\n", yaml::text(self.prompt, Dollar::Sign)));
        out.push_str(gates);
        out.push_str(MORE);
        out
    }
}

const ABOUT: [&str; 2] = [
    "Generated by running an agent once. `mcptest run` replays that run, and needs no key, no network and no model. The gates below are \
     those that the run passes.",
    "After a change of the agent, `mcptest run --rerun` runs it again with the recorded answers of its model and servers. After a \
     change of the prompt or of anything above the gates, re-record: `mcptest run --record`.",
];

const ABOUT_PROGRAM: &str = "It finds its servers at MCPTEST_URL_<SERVER>, or in the file that MCPTEST_MCP_CONFIG names, and its model at the \
                             base URL of its SDK, such as OPENAI_BASE_URL. mcptest sets these.";

const MORE: &str = "
# Next: `mcptest explain trajectory` explains a gate, `mcptest explain faults` shows how to break a
# tool or the model on purpose, and `mcptest validate .` checks this file.
";

/// Runs and records the one test of a suite.
fn run(folder: &Path, text: &str, (outside, names): (Environment<'_>, &[String])) -> Result<Row, Failure> {
    let path = folder.join(SUITE);
    let source = Source::new(place(folder, SUITE), text);
    let loaded = suite::load(&source, &Variables { suite_dir: &input::folder(&path), outside });
    let Some(suite) = loaded.value else {
        let first = loaded.diagnostics.first().map(|found| found.render(&source)).unwrap_or_default();
        let message = format!("the suite would not be valid, so nothing was written\n{}", first.trim_end());
        return Err(Failure::error((), message).hint("change what was typed"));
    };
    let file = SuiteFile::new(source.name().to_owned(), path, suite, Trust::Trusted);
    let mut found = None;
    run_suites::record_one(&file, (outside, names), &mut |event| {
        if let Event::RowFinished(row) = event {
            found.get_or_insert(*row);
        }
    });
    found.ok_or_else(|| stop(Code::RunStopped, "stopped before the agent had ended", "run the command again"))
}

/// The trace of a run that can be the example of a test.
fn passed(row: Row) -> Result<Trace, Failure> {
    if let Some(error) = row.error {
        return Err(error.moved(()));
    }
    let trace = row.trace.ok_or_else(|| Failure::error((), "the agent was not run"))?;
    if let Some(why) = trace.program.as_ref().and_then(|program| program.failed.as_deref()) {
        let output = trace.program.as_ref().and_then(|program| program.output.as_deref()).unwrap_or_default();
        let printed: String = output.lines().flat_map(|line| ["\n  ", line]).collect();
        let printed =
            if printed.is_empty() { "; it printed nothing".to_owned() } else { format!("; its last lines:{printed}") };
        let hint = "a suite needs a run that works: fix the agent, or set how it is used with --input and --answer";
        return Err(Failure::error((), format!("the agent failed: {why}{printed}")).hint(hint));
    }
    if trace.tool_calls.as_ref().is_none_or(Vec::is_empty) {
        let message = "the agent made no call, and a suite checks calls";
        let hint = "name its servers with --server, and give it a task for their tools with --prompt";
        return Err(stop(Code::EmptyInput, message, hint));
    }
    Ok(*trace)
}

/// What the run left in a folder. Unless it is kept, it is removed.
pub(super) struct Recorded {
    folder: PathBuf,
    /// The folder was there before.
    was_there: bool,
    is_kept: bool,
}

impl Recorded {
    fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), was_there: folder.is_dir(), is_kept: false }
    }

    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // What cannot be removed stays, and so do folders with anything else in them.
        let recordings = self.folder.join(RECORDINGS);
        let _ = fs::remove_dir_all(&recordings);
        let _ = recordings.parent().map(fs::remove_dir);
        if !self.was_there {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}
