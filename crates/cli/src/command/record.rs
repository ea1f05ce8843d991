//! `mcptest record`: any command, once, between two recording proxies.

mod append;
pub(super) mod servers;

use std::io::Write;
use std::path::Path;

use mcptest_core::answer::Account;
use mcptest_core::diag::{Code, Failure};
use mcptest_core::ledger::{self, Derived, Ledger, ProgramEnd};
use mcptest_core::redact::Redactor;
use mcptest_runner::file::{self, Trust};
use mcptest_runner::mcp::Endpoint;
use mcptest_runner::process::{Launch, SpawnError};
use mcptest_runner::record::{Exit, Finished, Program, ProgramError, Recording, Setup, Streams, Upstreams};
use mcptest_runner::temp_file::TempFile;
use mcptest_runner::{runtime, secrets};

use self::append::Appender;
use super::Environment;
use crate::args::{ModelSide, Record};
use crate::exit;
use crate::input::{io_error, shown};
use crate::signals::Signals;

/// The largest answer in a file.
const MAX_ANSWER: u64 = 16 << 20;

/// Runs the command and returns its exit code.
pub(super) fn run(typed: &Record, environment: Environment<'_>, names: &[String], err: &mut impl Write) -> u8 {
    match record(typed, environment, names, err) {
        Ok(code) => code,
        Err(Stopped { failure, code }) => {
            // If standard error is closed, the exit code is all that is left to say it with.
            let _ = writeln!(err, "{failure}");
            code
        }
    }
}

/// Why nothing was recorded, and the exit code.
struct Stopped {
    failure: String,
    code: u8,
}

impl<P> From<Failure<P>> for Stopped
where
    Failure<P>: std::fmt::Display,
{
    fn from(failure: Failure<P>) -> Self {
        Self { failure: failure.to_string(), code: exit::RECORD_FAILED }
    }
}

fn record(typed: &Record, environment: Environment<'_>, names: &[String], err: &mut impl Write) -> Result<u8, Stopped> {
    let servers = servers::read(&typed.server)?;
    let upstreams = upstreams(environment)?;
    let out = Appender::check(&typed.out)?;
    if let Some(path) = &typed.ledger {
        Appender::check(path)?;
    }
    let shim = std::env::current_exe().map_err(|error| out_of_resources(&error))?;
    let signals = Signals::default();
    signals.listen();
    let runtime = runtime::build().map_err(|error| out_of_resources(&error))?;
    let secrets = known_secrets(environment, names, &servers);
    let (finished, ledger, redactor) = runtime.block_on(async {
        let setup = Setup {
            servers,
            processes: signals.processes.clone(),
            upstreams,
            secrets,
            shim: &shim,
            faults: Vec::new(),
            no_proxy: environment("NO_PROXY").or_else(|| environment("no_proxy")),
            rerun: None,
        };
        let recording = Recording::start(setup).await.map_err(|error| out_of_resources(&error))?;
        let launch = Launch { argv: typed.command.clone(), env: recording.variables(), cwd: None };
        let (processes, interrupt) = (&signals.processes, &signals.interrupt);
        let program = Program { launch, streams: Streams::Inherited, limit: None, player: None, processes, interrupt };
        let finished = program.run(std::io::stdout()).await;
        let finish = recording.finish();
        let (ledger, redactor) = if signals.interrupt.is_set() {
            // Servers have little time left: what was recorded must be written before the program is ended.
            tokio::join!(finish, signals.processes.end_all()).0
        } else {
            let recorded = finish.await;
            signals.processes.end_all().await;
            recorded
        };
        Ok::<_, Stopped>((finished.map_err(not_started)?, ledger, redactor))
    })?;
    save(typed, &out, &finished, &ledger, &redactor, err)
}

fn save(
    typed: &Record,
    out: &Appender,
    finished: &Finished,
    ledger: &Ledger,
    redactor: &Redactor,
    err: &mut impl Write,
) -> Result<u8, Stopped> {
    let code = if finished.was_stopped { exit::INTERRUPTED } else { finished.exit.code() };
    if let Some(how) = failed(finished) {
        let _ = writeln!(err, "mcptest: {how}");
    }
    let answer = answer(typed, finished);
    let known = answer.as_ref().ok().and_then(Option::as_deref).map(|answer| redactor.text(answer).into_owned());
    let end = ProgramEnd {
        answer: known,
        exit: Some(i64::from(finished.exit.code())),
        failed: None,
        incomplete: finished.was_stopped.then(|| "it was stopped".to_owned()),
        output: None,
        duration_ms: Some(finished.duration_ms),
        account: account(typed, finished, redactor),
    };
    let Derived { mut trace, notes, model_unseen, .. } = ledger::trace(ledger, end);
    if model_unseen && typed.model == ModelSide::Required && !finished.was_stopped {
        let hint = "let the client of the agent read its base URL from the environment, or record with --model unseen. \
                    Clients that sign their requests (Bedrock, Vertex) cannot be recorded";
        let failure = model_not_seen(hint).to_string();
        let code = if finished.exit == Exit::Code(0) { exit::RECORD_FAILED } else { code };
        return Err(Stopped { failure, code });
    }
    if let Some(path) = &typed.ledger {
        write_ledger(path, ledger)?;
    }
    if let Err(warning) = &answer {
        // The program did answer, but the model's last message is not necessarily that answer.
        (trace.final_response, trace.answer_source) = (None, None);
        let _ = writeln!(err, "{warning}");
    }
    let calls = trace.tool_calls.as_ref().map_or(0, Vec::len);
    out.append(&trace.to_envelope())?;
    for note in notes {
        let _ = writeln!(err, "{note}");
    }
    let incomplete = if finished.was_stopped { ", incomplete" } else { "" };
    let _ = writeln!(err, "mcptest: recorded a trace with {} in {}{incomplete}", counted(calls), shown(&typed.out));
    Ok(code)
}

/// How the command failed; none if it succeeded or was stopped.
fn failed(finished: &Finished) -> Option<String> {
    match finished.exit {
        _ if finished.was_stopped => None,
        Exit::Code(0) => None,
        Exit::Code(code) => Some(format!("the command failed with exit status {code}")),
        Exit::Signal(signal) => Some(format!("the command was killed by signal {signal}")),
        Exit::Unknown => Some("the command failed with an unknown exit status".to_owned()),
    }
}

/// No model request went through the proxy.
pub(super) fn model_not_seen(hint: &str) -> Failure {
    let message = "the model was not seen: no request to a known model API went through the proxy";
    Failure::error((), message).code(Code::ModelUnseen).hint(hint)
}

fn counted(calls: usize) -> String {
    if calls == 1 { "1 tool call".to_owned() } else { format!("{calls} tool calls") }
}

/// The values of variables whose names say that they are secret, of the program and of its servers.
pub(super) fn known_secrets(
    environment: Environment<'_>,
    names: &[String],
    servers: &[(String, Endpoint)],
) -> Vec<(String, String)> {
    let mut out = secrets::inherited(environment, names);
    for (_, endpoint) in servers {
        if let Endpoint::Command(Launch { env, .. }) = endpoint {
            let names: Vec<String> = env.keys().cloned().collect();
            out.extend(secrets::inherited(&|name| env.get(name).cloned(), &names));
        }
    }
    out
}

/// Where the variables lead model clients to.
pub(super) fn upstreams(environment: Environment<'_>) -> Result<Upstreams, Failure> {
    Upstreams::new(environment).map_err(|error| {
        Failure::error((), error.to_string()).code(Code::BadBaseUrl).hint("write it as https://host/path")
    })
}

/// What the program answered. Without an answer the last reply of the model is the final response.
fn answer(typed: &Record, finished: &Finished) -> Result<Option<String>, Failure> {
    use mcptest_core::answer::AnswerFormat;
    if finished.was_stopped {
        return Ok(None);
    }
    let bytes = match &typed.answer {
        AnswerFormat::File(path) => {
            let path = Path::new(path);
            let read = file::read(path, MAX_ANSWER, Trust::Trusted);
            read.map_err(|error| no_answer(&io_error(path, &error).to_string()))?
        }
        _ => finished.stdout.clone(),
    };
    let Some(bytes) = bytes else {
        return Err(no_answer("it is larger than 16 MB"));
    };
    let text = String::from_utf8_lossy(&bytes);
    let answer = typed.answer.read(&text).map_err(|error| no_answer(&error.to_string()))?;
    Ok((!answer.is_empty()).then_some(answer))
}

/// What the program reports about its own calls. The output of one that was stopped may be incomplete.
fn account(typed: &Record, finished: &Finished, redactor: &Redactor) -> Option<Result<Account, String>> {
    let stdout = finished.stdout.as_deref().filter(|_| !finished.was_stopped)?;
    let account = typed.answer.account(&String::from_utf8_lossy(stdout))?;
    Some(match account {
        Ok(account) => Ok(account.redacted(redactor)),
        Err(error) => Err(redactor.text(&error.to_string()).into_owned()),
    })
}

fn no_answer(why: &str) -> Failure {
    Failure::warning((), format!("the answer of the program cannot be read: {why}"))
        .code(Code::NoAnswer)
        .hint("use --answer to say where the program writes its answer")
}

fn write_ledger(path: &Path, ledger: &Ledger) -> Result<(), Failure> {
    let written = TempFile::create(path).and_then(|mut file| {
        file.write_all(ledger.to_lines().as_bytes())?;
        file.replace()
    });
    written.map_err(|error| append::cannot_write(path, &error))
}

pub(super) fn out_of_resources(error: &std::io::Error) -> Failure {
    let hint = "raise the limits on open files (`ulimit -n`) and on processes and threads (`ulimit -u`)";
    Failure::error((), format!("cannot start: {error}")).code(Code::OutOfResources).hint(hint)
}

fn not_started(error: ProgramError) -> Stopped {
    match error {
        ProgramError::Spawn(SpawnError::NotFound(program)) => {
            let message = format!("program `{program}` not found");
            let failure = Failure::error((), message).code(Code::ProgramNotFound).hint("check the command after `--`");
            Stopped { failure: failure.to_string(), code: exit::NOT_FOUND }
        }
        ProgramError::Spawn(error) => {
            Failure::error((), error.to_string()).code(Code::ProgramNotStarted).hint(error.hint()).into()
        }
        ProgramError::Resources(error) => out_of_resources(&error).into(),
    }
}
