//! What became of a run of a program: an error, a failed run, or a run to judge.
//!
//! A run that tested nothing is an error: the program did not start well, did not call its model through the proxy, or did
//! not use a server of the test. Anything that fails after the first request to the model is a failure of the agent.

use std::fmt::Write as _;

use super::{Derived, FaultHit, Ledger, ProgramEnd, derive};
use crate::answer::{Account, AnswerFormat};
use crate::diag::{Code, RunError};
use crate::json;
use crate::suite::{Input, ModelSide, Program};
use crate::trace::{AnswerSource, FaultMark, LazyText, Role, StopReason};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself. A signal is 128 and its number.
    Exit(u8),
    /// It was stopped at its time limit.
    TimedOut,
}

/// What the process of a program showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramResult {
    pub ended: Ended,
    /// Its answer, or why there is none to read.
    pub answer: Result<String, String>,
    /// The last lines of its output.
    pub output: String,
    pub duration_ms: u64,
    /// What it says about its own calls, or why that cannot be read.
    pub account: Option<Result<Account, String>>,
}

/// The trace of a run, or why the run cannot be judged. `servers` are those of the test, each with whether it is optional.
pub fn outcome(
    name: &str,
    program: &Program,
    servers: &[(&str, bool)],
    ledger: &Ledger,
    ran: ProgramResult,
) -> Result<Derived, RunError> {
    let ProgramResult { ended, answer, output, duration_ms, account } = ran;
    let failed = failure(program, ended, &answer);
    let end = ProgramEnd {
        answer: answer.clone().ok().filter(|answer| !answer.is_empty()),
        exit: match ended {
            Ended::Exit(code) => Some(i64::from(code)),
            Ended::TimedOut => None,
        },
        output: (failed.is_some() && !output.is_empty()).then(|| output.clone()),
        failed,
        incomplete: None,
        duration_ms: Some(duration_ms),
        account,
    };
    let mut derived = derive::trace(ledger, end);
    let about = About { name, program, ended, output: &output };
    about.check(servers, &derived)?;
    let trace = &mut derived.trace;
    match answer {
        Ok(answer) if answer.is_empty() => {
            (trace.final_response, trace.answer_source) = (Some(LazyText::default()), Some(AnswerSource::Program));
        }
        Ok(_) => {}
        // The model's last message is not necessarily the program's answer.
        Err(_) => (trace.final_response, trace.answer_source) = (None, None),
    }
    let mut notes = std::mem::take(&mut derived.notes);
    let client = derived.seen.servers.values().find_map(|server| server.client.as_ref());
    if let (Some(preset), Some((client, version))) = (program.preset, client) {
        notes.extend(preset.version_note(client, version));
    }
    if let Some(about) = &mut trace.program {
        if derived.model_unseen && about.failed.is_none() {
            trace.conversation.stop_reason = Some(StopReason::Completed);
        }
        about.notes = (!notes.is_empty()).then_some(notes);
    }
    Ok(derived)
}

impl Derived {
    /// A note if the answer on standard output is more than the last text of the model: it may contain logs.
    pub fn answer_note(&self, program: &Program) -> Option<String> {
        let turns = self.trace.conversation.turns.as_deref().unwrap_or(&[]);
        let last = turns.iter().rev().find(|turn| turn.role == Role::Assistant)?.content.as_deref()?.trim();
        let answer = self.trace.final_response.as_deref()?.trim();
        let more = answer.len() > last.len() && !last.is_empty() && answer.contains(last);
        if program.answer != AnswerFormat::Stdout || !more {
            return None;
        }
        let other = answer.replacen(last, "", 1);
        let first = other.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(format!(
            "all of standard output is the answer, also {:?}. If that is a log, print it to standard error, or say where the \
             answer is: `answer: file:PATH` or `answer: json:PATH`",
            json::cut(first, 60)
        ))
    }

    /// Marks the calls that were hit by faults.
    pub fn mark(&mut self, hits: &[FaultHit]) {
        let results = self.trace.tool_results.iter_mut().flatten();
        for (result, seq) in results.zip(&self.call_seqs) {
            let hit = hits.iter().find(|hit| Some(hit.seq) == *seq);
            if let (Some(result), Some(FaultHit { fault, .. })) = (result, hit) {
                let (name, kind, effect, ms) = (fault.name.clone(), fault.kind, fault.effect, fault.duration_ms);
                result.fault = Some(Box::new(FaultMark { effect, kind, ms, name }));
            }
        }
        if let Some(program) = &mut self.trace.program {
            program.faults = Some(hits.iter().map(|hit| hit.fault.clone()).collect());
        }
    }
}

/// Why the run of a program failed after it had begun.
fn failure(program: &Program, ended: Ended, answer: &Result<String, String>) -> Option<String> {
    let asked = &program.answer;
    match (ended, answer) {
        (Ended::TimedOut, _) => Some(format!("it did not end within {} ms and was stopped", program.timeout_ms)),
        (Ended::Exit(code), _) if code != program.exit => {
            Some(format!("its exit code is {code}, expected {} (`exit:`)", program.exit))
        }
        (_, Ok(answer)) if answer.trim().is_empty() => Some(format!("its answer is empty (`answer: {asked}`)")),
        (_, Ok(_)) => None,
        (_, Err(why)) => Some(format!("its answer cannot be read (`answer: {asked}`): {why}")),
    }
}

/// The variable with the URL of a server.
pub fn url_variable(server: &str) -> String {
    format!("MCPTEST_URL_{}", server.to_ascii_uppercase().replace('-', "_"))
}

struct About<'a> {
    name: &'a str,
    program: &'a Program,
    ended: Ended,
    output: &'a str,
}

impl About<'_> {
    fn error(&self, code: Code, message: &str, hint: &str) -> RunError {
        let mut message = format!("program `{}` {message}", self.name);
        if self.output.is_empty() {
            message.push_str("; it printed nothing");
        } else {
            message.push_str("; its last lines:");
            for line in self.output.lines() {
                let _ = write!(message, "\n  {line}");
            }
        }
        RunError::new(message).code(code).hint(hint)
    }

    /// Whether the run got far enough to be judged.
    fn check(&self, servers: &[(&str, bool)], derived: &Derived) -> Result<(), RunError> {
        let seen = &derived.seen;
        let is_required = self.program.model == ModelSide::Required;
        let has_begun = !derived.model_unseen || (!is_required && seen.servers.values().any(|seen| seen.is_connected));
        if !has_begun {
            self.check_begin(is_required, servers, derived)?;
        }
        for (server, is_optional) in servers {
            let found = seen.servers.get(*server);
            if found.is_some_and(|found| found.is_connected) || (*is_optional && found.is_none()) {
                continue;
            }
            return Err(match found.map(|found| found.problem.as_deref()) {
                None => {
                    let hint = format!(
                        "let it read its servers from the file that MCPTEST_MCP_CONFIG names, or the URL from {}; if it \
                         does not need the server, write `connect: optional` there",
                        url_variable(server)
                    );
                    self.error(Code::ServerNotUsed, &format!("never connected to server `{server}`"), &hint)
                }
                Some(problem) => {
                    let why = problem.unwrap_or("no answer came");
                    let message = format!("could not connect to server `{server}` ({why})");
                    self.error(Code::ServerNotUsed, &message, "check the server's `command:` or `url:`")
                }
            });
        }
        let Some((_, last)) = seen.requests else { return Ok(()) };
        let late = servers.iter().find(|(server, _)| {
            seen.servers.get(*server).and_then(|seen| seen.listed).is_some_and(|listed| listed > last)
        });
        match late {
            None => Ok(()),
            Some((server, _)) => {
                let message = format!("did not call its model after the tools of server `{server}` were listed");
                let hint = "the model cannot have known the tools: let the program connect to its servers first";
                Err(self.error(Code::ToolsNotOffered, &message, hint))
            }
        }
    }

    /// What to change in a program that gave up. `alone` is a server that it did not connect to.
    fn early_hint(&self, alone: Option<&str>, servers: &[(&str, bool)]) -> String {
        let output = self.output.to_lowercase();
        if ["a tty", "/dev/tty", "a terminal", "inappropriate ioctl"].iter().any(|word| output.contains(word)) {
            return "there is no terminal in a suite: start it with its option for scripts".to_owned();
        }
        match alone {
            None if !servers.is_empty() && self.program.model == ModelSide::Required => {
                "it reached its servers: check the key of its model, and let the client read its base URL from the environment"
                    .to_owned()
            }
            _ => {
                let prompt = match &self.program.input {
                    Input::Stdin => "on its standard input".to_owned(),
                    Input::Arg => "its last argument".to_owned(),
                    Input::Env(name) => format!("in the variable {name}"),
                };
                let url = alone.map_or_else(String::new, |server| {
                    format!(", and the server is at the URL in {}", url_variable(server))
                });
                format!("fix what it prints; the prompt is {prompt} (`input:`){url}")
            }
        }
    }

    /// The error of a run without a request to the model, or without any request.
    fn check_begin(&self, is_required: bool, servers: &[(&str, bool)], derived: &Derived) -> Result<(), RunError> {
        let whom = if is_required { "its model" } else { "any server" };
        match self.ended {
            Ended::TimedOut => {
                let ms = self.program.timeout_ms;
                let message = format!("did not call {whom} within {ms} ms and was stopped");
                let hint = "if it waits for a terminal or for more input, change its `command:`; with `input: arg` the prompt \
                            is its last argument and standard input is empty; `timeout_ms:` gives it more time";
                Err(self.error(Code::ProgramEndedEarly, &message, hint))
            }
            Ended::Exit(code) if code != self.program.exit => {
                let is_connected =
                    |server: &str| derived.seen.servers.get(server).is_some_and(|seen| seen.is_connected);
                let alone = servers.iter().find(|(server, _)| !is_connected(server));
                let without = alone.map_or_else(String::new, |(server, _)| format!(", and without server `{server}`"));
                let message = format!("ended with exit code {code} before it called {whom}{without}");
                Err(self.error(
                    Code::ProgramEndedEarly,
                    &message,
                    &self.early_hint(alone.map(|(server, _)| *server), servers),
                ))
            }
            Ended::Exit(_) if is_required => {
                let message = "ended, but no request to its model went through the proxy";
                let hint = "let the client of the model read its base URL from the environment, or write `model: unseen`. \
                            Clients that sign their requests (Bedrock, Vertex) cannot be recorded";
                Err(self.error(Code::ModelUnseen, message, hint))
            }
            Ended::Exit(_) => Ok(()),
        }
    }
}
