//! Executes a plan: many runs at once, events in the order of the files.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;

use mcptest_core::diag::{Code, RunError, shell_word};
use mcptest_core::eval::reliability::Requirement;
use mcptest_core::event::Event;
use mcptest_core::ledger::Ledger;
use mcptest_core::report::{Attempt, Cell, Evidence, Family, Origin, Row, RowVerdict};
use mcptest_core::suite::Variables;
use serde_json::Value;

use crate::budget::Budget;
use crate::cassette::{Cassette, CassetteError, Folder, Lock, Orphans, VERSION, fingerprint};
use crate::file::Trust;
use crate::interrupt::Interrupt;
use crate::live::{self, Live, LiveRun};
use crate::model::ModelSource;
use crate::plan::{CellInputs, Planned, SuiteFile};
use crate::process::Processes;
use crate::program::{ProgramRequest, rerun};
use crate::provider::Access;

mod notes;

use notes::RunNotes;

/// Where traces come from, and whether they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// From cassettes; no model is called.
    Replay,
    /// From models and servers; the runs are recorded.
    Record,
    /// From models and servers; nothing is recorded.
    Live,
    /// Rerun programs with the answers of their cassettes. Everything else is replayed.
    Rerun {
        /// The servers are started instead.
        live_tools: bool,
        /// What a program did before it diverged is judged.
        judges: bool,
    },
}

/// How to execute a plan.
pub struct Options<'a> {
    pub mode: Mode,
    pub jobs: usize,
    /// Skip everything after the first row that does not pass.
    pub fail_fast: bool,
    /// An inconclusive test is not a reason to skip the rest.
    pub allow_inconclusive: bool,
    /// The path of this program, for servers whose command is `mcptest`.
    pub program: Option<PathBuf>,
    pub environment: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// The environment variables that are set.
    pub names: &'a [String],
    /// Set when the user wants to stop.
    pub interrupt: &'a Interrupt,
    pub processes: &'a Processes,
    pub budget: &'a Budget,
    /// Called when a live run makes progress.
    pub on_progress: &'a (dyn Fn(&RunProgress<'_>) + Sync),
}

/// The progress of a live run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunProgress<'a> {
    /// The name of its row.
    pub name: &'a str,
    /// The current turn, from 1; 0 while its servers start.
    pub turn: usize,
    pub calls: usize,
    /// Tokens so far, if the provider reports them.
    pub tokens: Option<u64>,
    /// Their cost, if there is a price.
    pub cost: Option<f64>,
    pub notice: Option<&'a str>,
    /// The servers that have not started yet.
    pub starting: Option<Starting<'a>>,
    /// The run is over; this is its last update.
    pub is_over: bool,
}

/// Servers that a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starting<'a> {
    /// Their names, in order.
    pub servers: &'a [&'a str],
    /// How long the run has waited.
    pub seconds: u64,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("mode", &self.mode).field("jobs", &self.jobs).finish_non_exhaustive()
    }
}

/// The result of one run.
type Attempted = (Option<Origin>, Attempt);

/// What all runs of a cell share.
struct CellState {
    /// Set by the first run.
    prepared: OnceLock<Result<Prepared, RunError>>,
    runs: Mutex<CellRuns>,
    /// A run of it ended, so that further ones may begin.
    ended: Condvar,
    left: AtomicUsize,
    /// Runs whose recordings have the old format.
    old: AtomicUsize,
    /// What to say about runs of programs.
    notes: Mutex<BTreeMap<u64, Vec<String>>>,
}

impl CellState {
    /// Keeps what to say about a run.
    fn note(&self, run: u64, notes: Vec<String>) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).insert(run, notes);
    }
}

/// The runs of a cell so far.
struct CellRuns {
    attempts: Vec<Option<Attempted>>,
    /// Where runs stop early: the last that began, and how far they have settled the question.
    started: u64,
    settling: Settling,
}

/// The outcomes of the first runs of a cell, ordered by run number regardless of the order in which they end.
#[derive(Default)]
struct Settling {
    runs: u64,
    passes: u64,
    /// After how many runs it was settled.
    settled: Option<u64>,
    /// A run could not be carried out, so no further one can help.
    is_broken: bool,
}

impl Settling {
    /// Whether no further run is needed.
    fn is_over(&self) -> bool {
        self.settled.is_some() || self.is_broken
    }

    /// Counts runs that have ended, up to the first that has not.
    fn advance(&mut self, attempts: &[Option<Attempted>], cell: &Cell<'_>, rule: &Requirement) {
        while !self.is_over() {
            let next = usize::try_from(self.runs).ok().and_then(|at| attempts.get(at)?.as_ref());
            match next {
                None => return,
                Some((_, Attempt::Traced(evidence))) => {
                    self.runs += 1;
                    self.passes += u64::from(cell.passes(&evidence.trace));
                    self.settled = rule.is_settled_at(self.passes, self.runs).then_some(self.runs);
                }
                Some((_, Attempt::Broken(_) | Attempt::Skipped)) => self.is_broken = true,
            }
        }
    }
}

/// What all runs of a cell need.
struct Prepared {
    cell_inputs: CellInputs,
    /// Runs are replayed from cassettes.
    replays: bool,
    /// The last recorded run, where they are replayed.
    recorded: u64,
}

struct Executor<'a> {
    plan: &'a [Planned<'a>],
    options: &'a Options<'a>,
    cells: Vec<CellState>,
    /// Folders to record into, each with its lock or why it could not be locked.
    locks: BTreeMap<PathBuf, Result<Lock, CassetteError>>,
    live: OnceLock<Result<Live, RunError>>,
    /// The recordings of each suite that belong to no test, loaded when a recording is missing.
    orphans: BTreeMap<&'a Path, OnceLock<Orphans>>,
}

/// Executes a plan and emits the results, cell by cell.
pub fn execute(plan: &[Planned<'_>], options: &Options<'_>, events: &mut dyn FnMut(Event)) {
    let state = |planned: &Planned<'_>| {
        let runs = usize::try_from(planned.runs).unwrap_or(usize::MAX);
        CellState {
            prepared: OnceLock::new(),
            runs: Mutex::new(CellRuns {
                attempts: (0..runs).map(|_| None).collect(),
                started: 0,
                settling: Settling::default(),
            }),
            ended: Condvar::new(),
            left: AtomicUsize::new(runs),
            old: AtomicUsize::new(0),
            notes: Mutex::default(),
        }
    };
    let mut locks = BTreeMap::new();
    if options.mode == Mode::Record {
        for planned in plan {
            let folder = planned.file.cassettes();
            locks.entry(folder.root().to_owned()).or_insert_with(|| folder.lock_to_record());
        }
    }
    let orphans = plan.iter().map(|planned| (&*planned.file.path, OnceLock::new())).collect();
    let cells = plan.iter().map(state).collect();
    let executor = Executor { plan, options, cells, locks, live: OnceLock::new(), orphans };
    executor.run(events);
}

impl<'a> Executor<'a> {
    fn run(&self, events: &mut dyn FnMut(Event)) {
        let tasks: Vec<(usize, u64)> =
            (0..).zip(self.plan).flat_map(|(at, planned)| (1..=planned.runs).map(move |run| (at, run))).collect();
        let next = AtomicUsize::new(0);
        let finished = || {
            while let Some((at, run)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Some(rows) = self.one(*at, *run) {
                    return Some((*at, rows));
                }
            }
            None
        };
        let (send, receive) = mpsc::channel::<(usize, Vec<Row>)>();
        thread::scope(|scope| {
            let wanted = self.options.jobs.clamp(1, tasks.len().max(1));
            let mut jobs = 0;
            while jobs < wanted {
                let send = send.clone();
                let job = move || {
                    // Stop when nothing receives the results anymore.
                    while finished().is_some_and(|cell| send.send(cell).is_ok()) {}
                };
                if thread::Builder::new().spawn_scoped(scope, job).is_err() {
                    break;
                }
                jobs += 1;
            }
            drop(send);
            if jobs < wanted && self.options.mode != Mode::Replay {
                let jobs = jobs.max(1);
                events(Event::Note(format!(
                    "running {jobs} at once instead of {wanted}: no more threads (`ulimit -u`)"
                )));
            }
            // Without worker threads this thread does the work.
            let alone = (jobs == 0).then_some(finished).into_iter().flat_map(iter::from_fn);
            let is_over = || {
                next.fetch_max(tasks.len(), Ordering::Relaxed);
            };
            self.emit(alone.chain(receive), events, &is_over);
        });
    }

    /// Executes one run. Returns the rows of its cell after the last run.
    fn one(&self, at: usize, run: u64) -> Option<Vec<Row>> {
        let (state, planned) = (self.cells.get(at)?, self.plan.get(at)?);
        let rule = planned.cell.settles();
        if rule.is_some() && !self.begins(planned, state, run) {
            return self.end(planned, state);
        }
        let attempt = if self.options.interrupt.is_set() || self.options.budget.is_over() {
            (None, Attempt::Skipped)
        } else {
            self.attempt(planned, state, run)
        };
        if let Attempt::Traced(evidence) = &attempt.1 {
            note_program(planned, state, run, evidence);
        }
        let mut runs = state.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let CellRuns { attempts, settling, .. } = &mut *runs;
        if let Some(slot) = usize::try_from(run - 1).ok().and_then(|run| attempts.get_mut(run)) {
            *slot = Some(attempt);
        }
        if let Some(rule) = &rule {
            settling.advance(attempts, &planned.cell, rule);
        }
        drop(runs);
        state.ended.notify_all();
        self.end(planned, state)
    }

    /// Whether a run of a cell that stops early begins. None does once it is settled, except those before one that has begun:
    /// which runs count must not depend on how long each takes. A run waits until it is at most as far ahead of the first that
    /// has not ended as there are runs at once: what is learned from that one may make it superfluous, and runs cost money.
    fn begins(&self, planned: &Planned<'_>, state: &CellState, run: u64) -> bool {
        let prepared = state.prepared.get_or_init(|| self.prepare(planned));
        let runs_again = matches!(self.options.mode, Mode::Rerun { .. });
        if let Ok(Prepared { replays, recorded, .. }) = prepared
            && (*replays || runs_again && planned.cell.test.is_program)
            && run > (*recorded).max(1)
        {
            return false;
        }
        let is_replay = prepared.as_ref().is_ok_and(|prepared| prepared.replays);
        let mut runs = state.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead = self.options.jobs.max(1) as u64;
        // Runs are taken in order, so the first that has not ended never waits.
        while !is_replay && !runs.settling.is_over() && run > runs.settling.runs + ahead {
            runs = state.ended.wait(runs).unwrap_or_else(PoisonError::into_inner);
        }
        if !is_replay && runs.settling.is_over() && run > runs.started {
            return false;
        }
        runs.started = runs.started.max(run);
        true
    }

    /// Counts a run that ended or is not needed. Returns the rows of its cell after the last one.
    fn end(&self, planned: &Planned<'_>, state: &CellState) -> Option<Vec<Row>> {
        if state.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        let mut runs = state.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut attempts: Vec<Option<Attempted>> = std::mem::take(&mut runs.attempts);
        if planned.cell.settles().is_some() {
            attempts.truncate(usize::try_from(runs.started).unwrap_or(usize::MAX));
            let unrecorded = self.end_early(planned, state, &runs.settling, &mut attempts);
            attempts.extend(unrecorded.map(|error| Some((None, Attempt::Broken(error)))));
        }
        Some(planned.cell.rows(attempts.into_iter().map(|made| made.unwrap_or((None, Attempt::Skipped))).collect()))
    }

    /// Ends a cell whose runs stop early. Returns what keeps its runs from an answer, if anything does.
    fn end_early(
        &self,
        planned: &Planned<'_>,
        state: &CellState,
        settling: &Settling,
        attempts: &mut Vec<Option<Attempted>>,
    ) -> Option<RunError> {
        let is_scripted = matches!(attempts.first(), Some(Some((Some(Origin::Scripted), _))));
        if let Some(runs) = settling.settled.filter(|_| is_scripted) {
            // How many more began depends on the machine. A script would do the same again, so nothing is lost without them.
            attempts.truncate(usize::try_from(runs).unwrap_or(usize::MAX));
        }
        let (file, cell, count) = (planned.file, planned.cell, attempts.len() as u64);
        let Some(Ok(Prepared { replays, .. })) = state.prepared.get() else { return None };
        if *replays && settling.settled.is_none() && !settling.is_broken && count < planned.runs {
            let max = planned.runs;
            let message = format!("the recorded runs end after {count}, neither settled nor at the maximum of {max}");
            let hint = format!("record it: mcptest run --record {}", file.shown);
            return Some(RunError::new(message).code(Code::NoRecording).hint(hint));
        }
        if self.options.mode != Mode::Record || !attempts.iter().flatten().any(|(origin, _)| origin.is_some()) {
            return None;
        }
        // Older recordings beyond the last run belong to another sequence of runs.
        let folder = file.cassettes();
        let runs = folder.runs(&cell.test.name, cell.model);
        let removed = runs.and_then(|runs| {
            let beyond = runs.into_iter().filter(|run| *run > count);
            beyond.map(|run| folder.path(&cell.test.name, cell.model, run)).try_for_each(|path| folder.remove(&path))
        });
        removed.err().map(|error| cassette_error(&error, None))
    }

    /// Emits cells in the order of the plan, each as soon as all before it were emitted. `is_over` is called when the rest can
    /// be skipped.
    fn emit(&self, cells: impl Iterator<Item = (usize, Vec<Row>)>, events: &mut dyn FnMut(Event), is_over: &dyn Fn()) {
        let mut waiting: BTreeMap<usize, Vec<Row>> = BTreeMap::new();
        let mut next = 0;
        let mut over = false;
        let mut file: Option<&Path> = None;
        let mut seen = RunNotes::default();
        let mut emit =
            |planned: &'a Planned<'a>, rows: Vec<Row>, seen: &mut RunNotes, events: &mut dyn FnMut(Event)| {
                if file != Some(&planned.file.path) {
                    file = Some(&planned.file.path);
                    events(Event::SuiteStarted { file: planned.file.shown.clone() });
                }
                seen.settle(planned, &rows);
                for row in rows {
                    seen.edited += usize::from(row.edited && row.family == Family::Run);
                    events(Event::RowFinished(Box::new(row)));
                }
                let (test, model) = (planned.cell.test.name.clone(), planned.cell.model.to_owned());
                events(Event::CellFinished { test, model });
            };
        for (at, rows) in cells {
            waiting.insert(at, rows);
            while let Some(rows) = waiting.remove(&next) {
                let planned = &self.plan[next];
                let CellState { old, notes, .. } = &self.cells[next];
                let old = old.load(Ordering::Relaxed);
                next += 1;
                if over {
                    emit(planned, skipped(planned), &mut seen, events);
                    continue;
                }
                if self.options.fail_fast && rows.iter().any(|row| self.stops(row.verdict)) {
                    // Every cell after this one is reported as skipped.
                    over = true;
                    is_over();
                }
                seen.old += old;
                emit(planned, rows, &mut seen, events);
                let notes = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
                notes.into_values().flatten().for_each(|note| events(Event::Note(note)));
            }
        }
        // Cells that were not finished.
        for planned in &self.plan[next..] {
            emit(planned, skipped(planned), &mut seen, events);
        }
        seen.notes().into_iter().for_each(|note| events(Event::Note(note)));
    }

    /// Whether nothing runs after a row with this verdict, under `fail_fast`.
    fn stops(&self, verdict: RowVerdict) -> bool {
        verdict.is_bad() && !(verdict == RowVerdict::Inconclusive && self.options.allow_inconclusive)
    }

    fn attempt(&self, planned: &Planned<'_>, state: &CellState, run: u64) -> Attempted {
        let prepared = match state.prepared.get_or_init(|| self.prepare(planned)) {
            Ok(prepared) => prepared,
            Err(trouble) => return (None, Attempt::Broken(with_fd_hint(trouble.clone()))),
        };
        if prepared.replays {
            return (Some(Origin::Replayed), self.replay(planned, prepared, state, run));
        }
        if let Mode::Rerun { live_tools, judges } = self.options.mode
            && planned.cell.test.is_program
        {
            let attempt = match self.rerun_program(planned, prepared, state, run, (live_tools, judges)) {
                Ok(Some(evidence)) => Attempt::Traced(evidence),
                Ok(None) => return (None, Attempt::Skipped),
                Err(trouble) => Attempt::Broken(with_fd_hint(trouble)),
            };
            return (Some(Origin::Rerun), attempt);
        }
        let origin = if prepared.cell_inputs.script.is_some() { Origin::Scripted } else { Origin::Live };
        // A scripted test without recordings runs, but not without a word if it only lost them to a new name.
        if self.options.mode == Mode::Replay
            && run == 1
            && let Some(former) = self.former_name(planned, &planned.file.cassettes(), &prepared.cell_inputs.inputs)
        {
            let hint = rename_hint(planned, &former).map_or_else(String::new, |hint| format!("; {hint}"));
            let note = format!("{}: it ran its script; {}{hint}", planned.cell.test.name, recorded_as(&former));
            state.note(run, vec![note]);
        }
        let attempt = match self.go_live(planned, prepared, state, run) {
            Ok(Some(attempt)) => Attempt::Traced(attempt),
            Ok(None) => return (None, Attempt::Skipped),
            Err(trouble) => Attempt::Broken(with_fd_hint(trouble)),
        };
        (Some(origin), attempt)
    }

    fn prepare(&self, planned: &Planned<'_>) -> Result<Prepared, RunError> {
        let (file, cell) = (planned.file, planned.cell);
        let is_trusted = file.trust == Trust::Trusted;
        if !cell.test.unread.is_empty() {
            return Err(unread(&cell.test.unread));
        }
        if !is_trusted && self.options.mode != Mode::Replay {
            let what = if matches!(self.options.mode, Mode::Rerun { .. }) { "runs again" } else { "can be recorded" };
            let message = format!("{SEALED}, so nothing {what}");
            return Err(RunError::new(message)
                .code(Code::UntrustedSuite)
                .hint("replay it, or run it without `--untrusted`"));
        }
        let cell_inputs = file.cell_inputs(cell.test, cell.model)?;
        // A scripted test runs live if it has no recordings, unless it is untrusted and starts servers. If recordings cannot be
        // listed, that is an error.
        let may_run = cell_inputs.script.is_some() && (is_trusted || cell.test.servers.is_empty());
        let needs_runs = may_run || cell.settles().is_some();
        let reads = matches!(self.options.mode, Mode::Replay | Mode::Rerun { .. });
        let recorded = if reads && needs_runs {
            file.cassettes().runs(&cell.test.name, cell.model).map_err(|error| cassette_error(&error, None))?
        } else {
            Vec::new()
        };
        let runs_again = self.options.mode != Mode::Replay && cell.test.is_program;
        let replays = reads && !runs_again && (!may_run || !recorded.is_empty());
        Ok(Prepared { cell_inputs, replays, recorded: recorded.last().copied().unwrap_or(0) })
    }

    /// Executes a live run; `None` if the user stopped it.
    fn go_live(
        &self,
        planned: &Planned<'_>,
        prepared: &Prepared,
        state: &CellState,
        run: u64,
    ) -> Result<Option<Box<Evidence>>, RunError> {
        let (file, cell) = (planned.file, planned.cell);
        let folder = file.cassettes();
        if let Some(Err(error)) = self.locks.get(folder.root()) {
            return Err(cassette_error(error, None));
        }
        if self.options.mode == Mode::Record {
            folder.may_save(&cell.test.name, cell.model, run).map_err(|error| cassette_error(&error, None))?;
        }
        let live = self.live.get_or_init(|| Live::new(self.options)).as_ref().map_err(Clone::clone)?;
        let suite_dir = suite_dir(file);
        let variables = Variables { suite_dir: &suite_dir, outside: &self.options.environment };
        let redactor = crate::secrets::redactor(&file.suite, &variables);
        let clean = |error: RunError| RunError {
            message: redactor.text(&error.message).into_owned(),
            hint: error.hint.map(|hint| redactor.text(&hint).into_owned()),
            ..error
        };
        let on_progress = |progress: &RunProgress<'_>| {
            // Providers echo requests, which contain tool results that are not redacted yet.
            let notice = progress.notice.map(|notice| redactor.text(notice));
            (self.options.on_progress)(&RunProgress { notice: notice.as_deref(), ..*progress });
        };
        if let Some(program) = file.suite.programs.get(cell.model).filter(|_| cell.test.is_program) {
            let runs = usize::try_from(planned.runs).unwrap_or(usize::MAX);
            let request = ProgramRequest {
                file,
                cell,
                program,
                row: &cell.row_name(runs, Some(run), None),
                variables: &variables,
                names: self.options.names,
                budget: self.options.budget,
                on_progress: &on_progress,
                rerun: None,
            };
            let Some(ran) = live.run_program(&request, self.options.interrupt).map_err(clean)? else { return Ok(None) };
            state.note(run, ran.notes);
            return ran.run.map(|ran| self.kept(planned, prepared, run, ran)).transpose();
        }
        let model = file.suite.models.get(cell.model);
        let access;
        let source = match &prepared.cell_inputs.script {
            Some(script) => ModelSource::Script(script.player(run)),
            None => {
                access = Access::resolve(cell.model, model, &file.suite.variables, &variables)
                    .map_err(|error| clean(RunError::from(&error)))?
                    .with_redactor(&redactor);
                let price = model.and_then(|model| model.price);
                ModelSource::Provider { client: &live.client, access: &access, price }
            }
        };
        let request = live::Request {
            file,
            cell,
            run,
            runs: usize::try_from(planned.runs).unwrap_or(usize::MAX),
            source,
            variables: &variables,
            redactor: &redactor,
            budget: self.options.budget,
            on_progress: &on_progress,
        };
        let Some(ran) = live.run(&request, self.options.interrupt).map_err(clean)? else { return Ok(None) };
        let ran = ran.redacted(&redactor).map_err(|error| {
            RunError::new(format!("the trace cannot be read back: {error}")).hint("please report this")
        })?;
        self.kept(planned, prepared, run, ran).map(Some)
    }

    /// Runs a program again; `None` if the user stopped it.
    fn rerun_program(
        &self,
        planned: &Planned<'_>,
        prepared: &Prepared,
        state: &CellState,
        run: u64,
        (live_tools, judges): (bool, bool),
    ) -> Result<Option<Box<Evidence>>, RunError> {
        let (file, cell) = (planned.file, planned.cell);
        let Some(program) = file.suite.programs.get(cell.model) else { return Ok(None) };
        let cassette = self.load(planned, prepared, state, run)?;
        let folder = file.cassettes();
        let ledger = folder.load_ledger(&cassette).map_err(|error| cassette_error(&error, Some(planned)))?;
        let live = self.live.get_or_init(|| Live::new(self.options)).as_ref().map_err(Clone::clone)?;
        let suite_dir = suite_dir(file);
        let variables = Variables { suite_dir: &suite_dir, outside: &self.options.environment };
        let runs = usize::try_from(planned.runs).unwrap_or(usize::MAX);
        let row = cell.row_name(runs, Some(run), None);
        let request = ProgramRequest {
            file,
            cell,
            program,
            row: &row,
            variables: &variables,
            names: self.options.names,
            budget: self.options.budget,
            on_progress: self.options.on_progress,
            rerun: Some(rerun::RecordedRun::new(ledger, &cassette.trace, program, live_tools)?),
        };
        let Some(ran) = live.run_program(&request, self.options.interrupt)? else { return Ok(None) };
        let mut notes = ran.notes;
        if let Some(how) = ran.diverged {
            let message = format!("program `{}` diverged from its recording: {how}", cell.model);
            if !judges {
                let record = record_command(planned, "re-record");
                let hint = format!("fix the program, or if the change is intended, {record}");
                return Err(RunError::new(message).code(Code::Diverged).hint(hint));
            }
            let first = message.lines().next().unwrap_or_default();
            notes.push(format!("{row}: it was judged up to where {first}"));
        }
        state.note(run, notes);
        let Some(LiveRun { trace, .. }) = ran.run else { return Ok(None) };
        Ok(Some(Box::new(Evidence { trace, edited: cassette.edited, ..Evidence::default() })))
    }

    /// The evidence of a live run. It is recorded first, if runs are.
    fn kept(
        &self,
        planned: &Planned<'_>,
        prepared: &Prepared,
        run: u64,
        ran: LiveRun,
    ) -> Result<Box<Evidence>, RunError> {
        let LiveRun { trace, observed, advisory, ledger } = ran;
        if self.options.mode != Mode::Record {
            return Ok(Box::new(Evidence { trace, advisory, ..Evidence::default() }));
        }
        let (folder, cell) = (planned.file.cassettes(), planned.cell);
        let save = |ledger: &Ledger| folder.save_ledger(&cell.test.name, cell.model, run, ledger);
        let ledger = ledger.as_ref().map(save).transpose().map_err(|error| cassette_error(&error, None))?;
        let cassette = Cassette {
            test: cell.test.name.clone(),
            model: cell.model.to_owned(),
            run,
            inputs: prepared.cell_inputs.inputs.clone(),
            observed,
            advisory,
            ledger,
            trace,
            version: VERSION,
            edited: false,
        };
        let saved = folder.save(&cassette).map_err(|error| cassette_error(&error, None))?;
        Ok(Box::new(Evidence { recorded: true, ..evidence(saved) }))
    }

    fn replay(&self, planned: &Planned<'_>, prepared: &Prepared, state: &CellState, run: u64) -> Attempt {
        match self.load(planned, prepared, state, run) {
            Ok(cassette) => Attempt::Traced(Box::new(evidence(cassette))),
            Err(trouble) => Attempt::Broken(with_fd_hint(trouble)),
        }
    }

    /// The recording of a run.
    fn load(
        &self,
        planned: &Planned<'_>,
        prepared: &Prepared,
        state: &CellState,
        run: u64,
    ) -> Result<Cassette, RunError> {
        let folder = planned.file.cassettes();
        let (test, inputs) = (&planned.cell.test.name, &prepared.cell_inputs.inputs);
        match folder.load(test, planned.cell.model, run, inputs) {
            Ok(cassette) => {
                state.old.fetch_add(usize::from(cassette.version < VERSION), Ordering::Relaxed);
                Ok(cassette)
            }
            Err(error) => {
                let former = match &error {
                    CassetteError::Missing { .. } => self.former_name(planned, &folder, inputs),
                    _ => None,
                };
                let mut trouble = former
                    .map_or_else(|| cassette_error(&error, Some(planned)), |former| renamed(&error, planned, &former));
                let is_missing = matches!(error, CassetteError::Missing { .. });
                if is_missing && prepared.cell_inputs.script.is_some() && planned.file.trust == Trust::Untrusted {
                    trouble.message = format!("{}; {SEALED}", trouble.message);
                    trouble.code = Some(Code::UntrustedSuite);
                }
                Err(trouble)
            }
        }
    }

    /// The name under which a test without recordings was recorded with the same inputs.
    fn former_name(&self, planned: &Planned<'_>, folder: &Folder, inputs: &Value) -> Option<String> {
        if folder.has(&planned.cell.test.name).unwrap_or(true) {
            return None;
        }
        let orphans = self.orphans.get(&*planned.file.path)?.get_or_init(|| Orphans::of(planned.file));
        orphans.with(&fingerprint(inputs)).map(str::to_owned)
    }
}

/// Keeps what the recording of a program says about how it was made, for the report.
fn note_program(planned: &Planned<'_>, state: &CellState, run: u64, evidence: &Evidence) {
    let Some(notes) = evidence.trace.program.as_ref().and_then(|program| program.notes.as_ref()) else { return };
    let runs = usize::try_from(planned.runs).unwrap_or(usize::MAX);
    let row = planned.cell.row_name(runs, Some(run), None);
    let mut all = state.notes.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(run).or_default().extend(notes.iter().map(|note| format!("{row}: {note}")));
}

fn evidence(cassette: Cassette) -> Evidence {
    let Cassette { trace, advisory, edited, .. } = cassette;
    Evidence { trace, advisory, edited, recorded: false }
}

/// Why an untrusted test does not run live.
const SEALED: &str = "`--untrusted` starts no server and calls no model";

/// The error of an untrusted test whose checks refer to environment variables.
pub fn unread(names: &BTreeSet<String>) -> RunError {
    let listed: Vec<String> = names.iter().map(|name| format!("`${{{name}}}`")).collect();
    RunError::new(format!(
        "it depends on environment variables, which `--untrusted` does not read: {}",
        listed.join(", ")
    ))
    .code(Code::UntrustedSuite)
    .hint("set the value under `variables:`, or write a default, as in `${NAME:-default}`")
}

fn skipped(planned: &Planned<'_>) -> Vec<Row> {
    let runs = planned.cell.test.settles_from.map_or(planned.runs, |min| min.min(planned.runs));
    planned.cell.rows((0..runs).map(|_| (None, Attempt::Skipped)).collect())
}

/// Adds a hint when a system limit caused the error, which is recognized by its error number.
fn with_fd_hint(trouble: RunError) -> RunError {
    let says = |number: &i32| trouble.message.contains(&format!("(os error {number})"));
    let limit = LIMITS.iter().find(|(numbers, _)| numbers.iter().any(says));
    match limit {
        Some((_, limit)) if cfg!(unix) => {
            let hint = format!("run fewer tests at once (`--jobs`), or raise the limit on {limit}");
            trouble.code(Code::OutOfResources).hint(hint)
        }
        _ => trouble,
    }
}

/// System limits, by the numbers of their errors.
const LIMITS: [(&[i32], &str); 3] = [
    (&[23, 24], "open files (`ulimit -n`)"),
    (&[11, 35], "processes and threads (`ulimit -u`)"),
    (&[12], "memory (`ulimit -v`)"),
];

/// The absolute folder of a suite, for servers with another working folder.
fn suite_dir(file: &SuiteFile) -> String {
    let folder = match file.path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
}

/// The error for a test without a recording when a removed test was recorded with the same inputs.
fn renamed(error: &CassetteError, planned: &Planned<'_>, former: &str) -> RunError {
    let RunError { message, hint, .. } = cassette_error(error, Some(planned));
    let hint = match rename_hint(planned, former) {
        Some(rename) => Some(hint.map_or_else(|| rename.clone(), |record| format!("{rename}; otherwise {record}"))),
        None => hint,
    };
    let message = format!("{message}; {}", recorded_as(former));
    RunError { hint, ..RunError::new(message).code(Code::RenamedTest) }
}

fn recorded_as(former: &str) -> String {
    format!("`{former}`, which is no longer a test, was recorded with the same inputs")
}

/// How to keep the recordings of a renamed test; `None` for a name that no shell takes.
fn rename_hint(planned: &Planned<'_>, former: &str) -> Option<String> {
    let words = [&*planned.file.shown, former, &*planned.cell.test.name];
    // An argument that begins with a dash would be parsed as a flag.
    let dashes = if words.iter().any(|word| word.starts_with('-')) { " --" } else { "" };
    let [Some(suite), Some(old), Some(new)] = words.map(shell_word) else { return None };
    Some(format!("if the test was renamed: mcptest cassette rename{dashes} {suite} {old} {new}"))
}

/// How to record the runs of a cell, for the first time or again.
fn record_command(Planned { file, cell, runs }: &Planned<'_>, verb: &str) -> String {
    // More runs than in the suite are recorded only with the flag.
    let more = if *runs > cell.test.runs { format!(" --runs {runs}") } else { String::new() };
    format!("{verb} it: mcptest run --record{more} {}", file.shown)
}

/// The error of a cassette with its hint.
fn cassette_error(error: &CassetteError, replayed: Option<&Planned<'_>>) -> RunError {
    let verb = if error.code() == Code::NoRecording { "record" } else { "re-record" };
    let record = replayed.map_or_else(|| format!("{verb} it with --record"), |planned| record_command(planned, verb));
    RunError::new(error.to_string()).code(error.code()).hint(error.hint(&record))
}
