//! One live run of a program: its own servers and proxies, its process, and the trace that the ledgers give.

pub(crate) mod rerun;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcptest_core::answer::AnswerFormat;
use mcptest_core::cassette;
use mcptest_core::diag::{Code, RunError, did_you_mean};
use mcptest_core::json;
use mcptest_core::ledger::{self, Ended, ProgramResult};
use mcptest_core::redact::Redactor;
use mcptest_core::report::Cell;
use mcptest_core::suite::interpolate::TemplateError;
use mcptest_core::suite::{Fault, Input, Program, Template, Variables};

use crate::budget::Budget;
use crate::executor::RunProgress;
use crate::file::{self, Trust};
use crate::interrupt::Interrupt;
use crate::live::{Live, LiveRun, unresolved};
use crate::plan::SuiteFile;
use crate::process::{Launch, SpawnError, printable};
use crate::record::{self, Finished, PrivateFolder, ProgramError, Recording, Setup, Streams, Upstreams};
use crate::secrets;

/// The largest answer in a file.
const MAX_ANSWER: u64 = 16 << 20;
/// How much of the end of its output a message shows. The last line often says most, and reports cut long messages at their end.
const LAST_LINES: usize = 12;
const LAST_CHARS: usize = 480;
const LONGEST_LINE: usize = 200;

/// A run of a program.
pub(crate) struct ProgramRequest<'a> {
    pub(crate) file: &'a SuiteFile,
    pub(crate) cell: Cell<'a>,
    pub(crate) program: &'a Program,
    /// The name of the run.
    pub(crate) row: &'a str,
    pub(crate) variables: &'a Variables<'a>,
    /// The environment variables that are set.
    pub(crate) names: &'a [String],
    pub(crate) budget: &'a Budget,
    pub(crate) on_progress: &'a (dyn Fn(&RunProgress<'_>) + Sync),
    /// The recording that answers, if the program runs again.
    pub(crate) rerun: Option<rerun::RecordedRun>,
}

/// A run of a program that ended.
pub(crate) struct ProgramRun {
    pub(crate) run: Option<LiveRun>,
    /// How it diverged from its recording.
    pub(crate) diverged: Option<String>,
    pub(crate) notes: Vec<String>,
}

/// The folders of one run. They are removed with it.
struct Folders {
    _root: PrivateFolder,
    /// An empty folder for configuration and anything else.
    home: PathBuf,
    /// The copy of the workspace.
    workspace: Option<PathBuf>,
}

impl Live {
    /// Runs a program once; `None` if the user stopped it or the budget is used up.
    pub(crate) fn run_program(
        &self,
        request: &ProgramRequest<'_>,
        interrupt: &Interrupt,
    ) -> Result<Option<ProgramRun>, RunError> {
        let servers = if request.rerun.as_ref().is_none_or(|rerun| rerun.live_tools) {
            let configs = self.server_configs(request.file, request.cell.test, request.variables)?;
            configs.into_iter().map(|config| (config.name, config.endpoint)).collect()
        } else {
            Vec::new()
        };
        let folders = request.folders()?;
        let upstreams = if request.rerun.is_some() { Upstreams::none() } else { request.upstreams()? };
        let shim = self.program.clone().unwrap_or_else(|| PathBuf::from("mcptest"));
        let setup = Setup {
            servers,
            processes: self.processes.clone(),
            upstreams,
            secrets: request.secrets(&folders),
            shim: &shim,
            faults: request.faults(),
            no_proxy: (request.variables.outside)("NO_PROXY").or_else(|| (request.variables.outside)("no_proxy")),
            rerun: request.rerun.as_ref().map(|rerun| rerun.setup(&request.cell.test.servers)),
        };
        self.runtime.block_on(async {
            let Some(reservation) = request.budget.reserve(0, 0, None).await else { return Ok(None) };
            request.report_progress(false);
            let recording = Recording::start(setup).await.map_err(|error| out_of_resources(&error))?;
            let (launch, streams) = request.launch(&recording.variables(), &folders)?;
            let cwd = launch.cwd.clone();
            let limit = Some(Duration::from_millis(request.program.timeout_ms));
            let player = request.rerun.as_ref().map(|rerun| &rerun.player);
            let program = record::Program { launch, streams, limit, player, processes: &self.processes, interrupt };
            let finished = program.run(io::sink()).await;
            let (ledger, redactor) = recording.finish().await;
            request.report_progress(true);
            let finished = finished.map_err(|error| request.not_started(error))?;
            if finished.was_stopped {
                return Ok(None);
            }
            let ran = request.ran(&finished, cwd.as_deref(), &redactor);
            if let Some(rerun) = &request.rerun {
                return rerun.judged(request, &ledger, ran).map(Some);
            }
            let mut derived = ledger::outcome(request.cell.model, request.program, &request.servers(), &ledger, ran)?;
            reservation.settle(&derived.trace.conversation.tokens);
            if !request.cell.test.inject.is_empty() {
                derived.mark(&ledger.fault_hits);
            }
            let note = derived.answer_note(request.program);
            let notes = note.into_iter().map(|note| format!("{}: {note}", request.row)).collect();
            let (observed, mut trace) = (derived.seen.observed(), derived.trace);
            trace.read_only = cassette::read_only_tools(&observed);
            let run = Some(LiveRun { trace, observed, advisory: None, ledger: Some(ledger) });
            Ok(Some(ProgramRun { run, diverged: None, notes }))
        })
    }
}

impl ProgramRequest<'_> {
    fn report_progress(&self, is_over: bool) {
        (self.on_progress)(&RunProgress { name: self.row, is_over, ..RunProgress::default() });
    }

    /// A text of the suite with its references resolved. What a recording sets takes precedence over the environment.
    fn resolve(&self, template: &Template, set: &BTreeMap<String, String>) -> Result<String, RunError> {
        self.resolve_with(template, &[set])
    }

    fn resolve_with(&self, template: &Template, sets: &[&BTreeMap<String, String>]) -> Result<String, RunError> {
        let set = |name: &str| sets.iter().find_map(|set| set.get(name)).cloned();
        let outside = |name: &str| set(name).or_else(|| (self.variables.outside)(name));
        let variables = Variables { suite_dir: self.variables.suite_dir, outside: &outside };
        let resolved = match &self.rerun {
            Some(_) => rerun::resolve(template, &self.file.suite.variables, &variables),
            None => template.resolve(&self.file.suite.variables, &variables),
        };
        resolved.map_err(|error| {
            let found = unresolved(&format!("program `{}`", self.cell.model), &error);
            // The user cannot set what mcptest sets.
            let near = match &error {
                TemplateError::Unset(name) if name.starts_with("MCPTEST_") => {
                    Some(did_you_mean(name, sets.iter().flat_map(|set| set.keys()).map(String::as_str)))
                }
                _ => None,
            };
            match near {
                Some(Some(near)) => found.hint(format!("did you mean `${{{near}}}`?")),
                Some(None) => found.hint("there is a variable `MCPTEST_URL_<SERVER>` for each server of the test"),
                None => found,
            }
        })
    }

    /// The faults that the test injects, in order.
    fn faults(&self) -> Vec<Fault> {
        // What answers from a recording repeats the recorded faults.
        let injects = |fault: &&Fault| match &self.rerun {
            None => true,
            Some(rerun) => rerun.live_tools && !fault.kind.targets_model(),
        };
        self.cell.test.inject.iter().filter_map(|at| self.cell.faults.get(*at)).filter(injects).cloned().collect()
    }

    /// The servers of the test, each with whether the program may leave it alone.
    fn servers(&self) -> Vec<(&str, bool)> {
        let is_optional = |name: &String| self.file.suite.servers.get(name).is_some_and(|server| server.is_optional);
        self.cell.test.servers.iter().map(|name| (name.as_str(), is_optional(name))).collect()
    }

    /// The addresses of the models: those that the suite sets for the program, else its defaults.
    fn upstreams(&self) -> Result<Upstreams, RunError> {
        let mut set = BTreeMap::new();
        for name in Upstreams::names() {
            if let Some(template) = self.program.env.get(name) {
                set.insert(name, self.resolve(template, &BTreeMap::new())?);
            }
        }
        let variable = |name: &str| set.get(name).cloned().or_else(|| (self.variables.outside)(name));
        Upstreams::new(&variable).map_err(|error| {
            RunError::new(error.to_string()).code(Code::BadBaseUrl).hint("write it as https://host/path")
        })
    }

    /// The values that are never written, and the paths that differ from run to run.
    fn secrets(&self, folders: &Folders) -> Vec<(String, String)> {
        let mut out = secrets::known(&self.file.suite, self.variables).values;
        out.extend(secrets::inherited(self.variables.outside, self.names));
        for (name, value) in self.program.env.iter().filter(|(name, _)| secrets::names_a_secret(name)) {
            // One that needs the recording is not a secret.
            if let Ok(value) = self.resolve(value, &BTreeMap::new()) {
                out.push((name.clone(), value));
            }
        }
        out.extend(self.rerun.iter().flat_map(rerun::RecordedRun::secrets));
        let path = |name: &str, path: &Path| (name.to_owned(), path.to_string_lossy().into_owned());
        out.push(path("home", &folders.home));
        out.extend(folders.workspace.as_deref().map(|folder| path("workspace", folder)));
        out
    }

    fn folders(&self) -> Result<Folders, RunError> {
        let root = PrivateFolder::new().map_err(|error| out_of_resources(&error))?;
        let home = root.path().join("home");
        fs::create_dir(&home).map_err(|error| out_of_resources(&error))?;
        let mut workspace = None;
        if let Some(template) = &self.program.workspace {
            let from = PathBuf::from(self.resolve(template, &BTreeMap::new())?);
            let copy = root.path().join("workspace");
            copy_folder(&from, &copy).map_err(|error| {
                let message = format!("the workspace {} cannot be copied: {error}", from.display());
                RunError::new(message)
                    .code(file::error_code(&error))
                    .hint("`workspace:` names a folder; `${SUITE_DIR}/folder` is one next to the suite")
            })?;
            workspace = Some(copy);
        }
        Ok(Folders { _root: root, home, workspace })
    }

    /// What to start, and what it reads.
    fn launch(&self, set: &BTreeMap<String, String>, folders: &Folders) -> Result<(Launch, Streams), RunError> {
        let mut own = set.clone();
        own.insert("MCPTEST_HOME".to_owned(), folders.home.to_string_lossy().into_owned());
        let urls = self.cell.test.servers.iter().filter_map(|name| {
            let url = set.get(&ledger::url_variable(name))?;
            Some((name.clone(), url.clone()))
        });
        let urls: Vec<(String, String)> = urls.collect();
        let mut argv = self.program.argv(&urls, |word, one| self.resolve_with(word, &[one, &own]))?;
        for (path, text) in &self.program.files {
            let text = Program::file_text(text, &urls, |line, one| self.resolve_with(line, &[one, &own]))?;
            write_file(&folders.home.join(path), &text).map_err(|error| out_of_resources(&error))?;
        }
        let mut env = BTreeMap::new();
        for (name, value) in &self.program.env {
            env.insert(name.clone(), self.resolve(value, &own)?);
        }
        let cwd = match (&folders.workspace, &self.program.cwd) {
            (Some(workspace), _) => Some(workspace.clone()),
            (None, Some(cwd)) => {
                let cwd = PathBuf::from(self.resolve(cwd, &own)?);
                if cwd.starts_with(&folders.home) {
                    fs::create_dir_all(&cwd).map_err(|error| out_of_resources(&error))?;
                }
                Some(cwd)
            }
            (None, None) => None,
        };
        env.extend(self.rerun.iter().flat_map(|rerun| rerun.environment(self.variables.outside)));
        // The proxies have the last word: what they do not see is not recorded.
        env.extend(own);
        let prompt = &self.cell.test.prompt;
        let stdin = match &self.program.input {
            Input::Stdin => prompt.clone(),
            Input::Arg => {
                argv.push(prompt.clone());
                String::new()
            }
            Input::Env(name) => {
                env.insert(name.clone(), prompt.clone());
                String::new()
            }
        };
        Ok((Launch { argv, env, cwd }, Streams::Kept(stdin)))
    }

    /// What the process showed, without secrets.
    fn ran(&self, finished: &Finished, cwd: Option<&Path>, redactor: &Redactor) -> ProgramResult {
        let ended = if finished.timed_out { Ended::TimedOut } else { Ended::Exit(finished.exit.code()) };
        let clean = |text: &str| redactor.text(text).into_owned();
        let answer = self.answer(finished, cwd).map(|text| clean(&text)).map_err(|why| clean(&why));
        // The output of a program that was stopped may be incomplete.
        let stdout = finished.stdout.as_deref().filter(|_| !finished.timed_out);
        let account = stdout.and_then(|stdout| self.program.answer.account(&String::from_utf8_lossy(stdout)));
        let account = account.map(|account| match account {
            Ok(account) => Ok(account.redacted(redactor)),
            Err(error) => Err(clean(&error.to_string())),
        });
        let output = clean(&last_lines(finished));
        ProgramResult { ended, answer, output, duration_ms: finished.duration_ms, account }
    }

    fn answer(&self, finished: &Finished, cwd: Option<&Path>) -> Result<String, String> {
        let too_large = || "it is larger than 16 MB".to_owned();
        let bytes = match &self.program.answer {
            AnswerFormat::File(path) => {
                let read = file::read(&cwd.unwrap_or(Path::new("")).join(path), MAX_ANSWER, Trust::Trusted);
                let unread = |error: io::Error| match error.kind() {
                    io::ErrorKind::NotFound => {
                        format!("there is no file `{path}` in its working folder, which `cwd:` or `workspace:` sets")
                    }
                    _ => format!("the file `{path}`: {error}"),
                };
                read.map_err(unread)?.ok_or_else(too_large)?
            }
            _ => finished.stdout.clone().ok_or_else(too_large)?,
        };
        self.program.answer.read(&String::from_utf8_lossy(&bytes)).map_err(|error| error.to_string())
    }

    fn not_started(&self, error: ProgramError) -> RunError {
        let name = self.cell.model;
        match error {
            ProgramError::Spawn(SpawnError::NotFound(program)) => {
                let hint = if program.contains('/') {
                    "check the path in `command:`; a relative path begins at the program's `cwd:`"
                } else {
                    "check `command:`; install the program, or put its folder in PATH"
                };
                let message = format!("program `{name}` cannot be started: `{program}` was not found");
                RunError::new(message).code(Code::ProgramNotFound).hint(hint)
            }
            ProgramError::Spawn(error) => {
                let hint = match &error {
                    SpawnError::NoFolder(_) => "check `cwd` of the program",
                    other => other.hint(),
                };
                let message = format!("program `{name}` cannot be started: {error}");
                RunError::new(message).code(Code::ProgramNotStarted).hint(hint)
            }
            ProgramError::Resources(error) => out_of_resources(&error),
        }
    }
}

fn out_of_resources(error: &io::Error) -> RunError {
    let hint = "raise the limits on open files (`ulimit -n`) and on processes and threads (`ulimit -u`)";
    RunError::new(format!("cannot start: {error}")).code(Code::OutOfResources).hint(hint)
}

/// The end of what a program printed: of its standard error, or of its standard output if there is none.
fn last_lines(finished: &Finished) -> String {
    let stdout = finished.stdout.as_deref().map(|bytes| printable(&bytes[bytes.len().saturating_sub(16 << 10)..]));
    let stdout = stdout.unwrap_or_default();
    let printed = if finished.stderr.trim().is_empty() { &stdout } else { &finished.stderr };
    // Lines without letters or digits, such as the carets of tracebacks, carry no information.
    let lines = printed.lines().rev().filter(|line| line.contains(char::is_alphanumeric));
    let mut left = LAST_CHARS;
    let mut last: Vec<String> = lines
        .take(LAST_LINES)
        .map(|line| json::cut(line.trim_end(), LONGEST_LINE))
        .take_while(|line| {
            let is_first = left == LAST_CHARS;
            let count = line.chars().count();
            let fits = count <= left;
            left = left.saturating_sub(count.max(1));
            fits || is_first
        })
        .collect();
    last.reverse();
    last.join("\n")
}

/// Writes a file, with the folders that it is in.
fn write_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Copies a folder with all that is in it. Links are copied as links.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            copy_link(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(fs::read_link(from)?, to)
}

#[cfg(not(unix))]
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(drop)
}
