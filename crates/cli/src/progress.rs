//! Live progress on a terminal: a line per run in progress. If standard error is not a terminal, only what a run waits for is
//! reported.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcptest_core::diag::printable;
use mcptest_runner::executor::{RunProgress, Starting};

use crate::console::{self, Stream};

/// How often the spinners turn.
const TICK: Duration = Duration::from_millis(120);
/// When a slow server is reported without a terminal: after this many seconds, and then every this many.
const SLOW_START: (u64, u64) = (5, 30);

/// The lines of all runs in progress.
pub(crate) struct Progress {
    view: View,
}

enum View {
    /// Drawn over and over.
    Terminal(Lines),
    /// Only what runs wait for, a line each.
    Plain,
}

struct Lines {
    all: MultiProgress,
    runs: Arc<Runs>,
    /// Starts the spinners with the first line.
    ticks: Once,
    /// Only runs that wait for a server have a line: the others end too quickly.
    waiting_only: bool,
}

/// The line of each run in progress, by name.
type Runs = Mutex<BTreeMap<String, ProgressBar>>;

/// Turns the spinners while there are lines. If no thread can be started, they do not move.
fn tick(runs: Weak<Runs>) {
    let _ = thread::Builder::new().spawn(move || {
        while let Some(runs) = runs.upgrade() {
            runs.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(ProgressBar::tick);
            drop(runs);
            thread::sleep(TICK);
        }
    });
}

impl Progress {
    /// Shows lines if standard error is a terminal. In a replay only runs that wait for a server have one: scripted runs without
    /// a recording.
    pub(crate) fn new(is_replay: bool) -> Self {
        let view = if std::io::stderr().is_terminal() {
            View::Terminal(Lines {
                all: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
                runs: Arc::default(),
                ticks: Once::new(),
                waiting_only: is_replay,
            })
        } else {
            View::Plain
        };
        Self { view }
    }

    pub(crate) fn update(&self, progress: &RunProgress<'_>) {
        let lines = match &self.view {
            View::Terminal(lines) => lines,
            View::Plain => {
                if let Some(note) = note(progress) {
                    // If standard error is closed, nothing can be reported.
                    let (mut stderr, name) = (std::io::stderr(), printable(progress.name));
                    let _ = writeln!(Stream::new(&mut stderr), "note: {name}: {note}");
                }
                return;
            }
        };
        let mut runs = lines.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let (0, Some(note)) = (progress.turn, progress.notice) {
            // A note before the first turn stays on the screen.
            let note = format!("note: {}: {}", printable(progress.name), printable(note));
            let _ = lines.all.println(console::escape(&note));
            return;
        }
        if progress.is_over {
            if let Some(line) = runs.remove(progress.name) {
                line.finish_and_clear();
                lines.all.remove(&line);
            }
            return;
        }
        let waits = progress.starting.is_some_and(|starting| starting.seconds > 0);
        if lines.waiting_only && !waits && !runs.contains_key(progress.name) {
            return;
        }
        lines.ticks.call_once(|| tick(Arc::downgrade(&lines.runs)));
        let line = runs.entry(progress.name.to_owned()).or_insert_with(|| {
            let line = lines.all.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                line.set_style(style);
            }
            line
        });
        line.set_message(console::escape(&status_line(progress)));
    }

    /// Prints without disturbing the lines.
    pub(crate) fn suspended<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.view {
            View::Terminal(lines) => lines.all.suspend(print),
            View::Plain => print(),
        }
    }
}

/// The progress of reading input, on a terminal: bytes, traces, and the time left.
pub(crate) struct ReadProgress {
    bar: ProgressBar,
    read: Arc<AtomicU64>,
    traces: Cell<u64>,
}

impl ReadProgress {
    /// Shown if standard error is a terminal and standard output is not.
    pub(crate) fn new(total: Option<u64>, read: &Arc<AtomicU64>) -> Self {
        let is_seen = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let template = match total {
            Some(_) => "{bar:30} {bytes} of {total_bytes}, {binary_bytes_per_sec}, {msg}, {eta} left",
            None => "{spinner} {bytes}, {binary_bytes_per_sec}, {msg}",
        };
        let bar = ProgressBar::with_draw_target(total, target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, read: Arc::clone(read), traces: Cell::new(0) }
    }

    /// Counts traces that are done.
    pub(crate) fn advance(&self, traces: u64) {
        let traces = self.traces.get() + traces;
        self.traces.set(traces);
        if self.bar.is_hidden() {
            return;
        }
        let rate = traces as f64 / self.bar.elapsed().as_secs_f64().max(0.001);
        self.bar.set_message(format!("{traces} traces, {rate:.0} per second"));
        self.bar.set_position(self.read.load(Ordering::Relaxed));
    }

    /// Prints without disturbing the bar.
    pub(crate) fn pause<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Such as `books a seat [gpt-5] #2: turn 3, 4 calls, 1820 tokens, 0.0121`.
fn status_line(progress: &RunProgress<'_>) -> String {
    let mut text = match progress.starting {
        Some(starting) => format!("{}: {}", printable(progress.name), waiting(starting)),
        None => format!("{}: turn {}", printable(progress.name), progress.turn),
    };
    match progress.calls {
        0 => {}
        1 => text.push_str(", 1 call"),
        calls => text.push_str(&format!(", {calls} calls")),
    }
    if let Some(tokens) = progress.tokens {
        text.push_str(&format!(", {tokens} tokens"));
    }
    if let Some(cost) = progress.cost {
        text.push_str(&format!(", cost {cost:.4}"));
    }
    if let Some(notice) = progress.notice {
        text.push_str(&format!(", {}", printable(notice)));
    }
    text
}

/// What is reported without a terminal.
fn note(progress: &RunProgress<'_>) -> Option<String> {
    let (first, every) = SLOW_START;
    let is_due = |seconds: u64| seconds == first || (seconds > first && seconds.is_multiple_of(every));
    match (progress.notice, progress.starting) {
        (Some(notice), _) => Some(printable(notice).into_owned()),
        (None, Some(starting)) if is_due(starting.seconds) => Some(waiting(starting)),
        (None, _) => None,
    }
}

/// Such as ``waiting for server `files` (5 s)``.
fn waiting(starting: Starting<'_>) -> String {
    let word = if starting.servers.len() == 1 { "server" } else { "servers" };
    let names: Vec<String> = starting.servers.iter().map(|name| format!("`{}`", printable(name))).collect();
    let seconds = if starting.seconds > 0 { format!(" ({} s)", starting.seconds) } else { String::new() };
    format!("waiting for {word} {} to start{seconds}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_start() -> RunProgress<'static> {
        RunProgress { name: "t", ..RunProgress::default() }
    }

    #[test]
    fn a_line_names_the_servers_that_have_not_started() {
        let progress = |servers: &'static [&'static str], seconds| RunProgress {
            starting: Some(Starting { servers, seconds }),
            ..at_start()
        };
        assert_eq!(status_line(&progress(&["files"], 0)), "t: waiting for server `files` to start");
        assert_eq!(
            status_line(&progress(&["db", "files"], 12)),
            "t: waiting for servers `db`, `files` to start (12 s)"
        );
    }

    #[test]
    fn without_a_terminal_a_slow_start_is_reported_after_five_seconds_and_every_thirty() {
        let note =
            |seconds| note(&RunProgress { starting: Some(Starting { servers: &["files"], seconds }), ..at_start() });
        let reported: Vec<u64> = (0..100).filter(|seconds| note(*seconds).is_some()).collect();
        assert_eq!(reported, [5, 30, 60, 90]);
        assert_eq!(note(5).as_deref(), Some("waiting for server `files` to start (5 s)"));
    }

    #[test]
    fn a_line_shows_turn_calls_tokens_cost_and_pending_servers() {
        let progress = RunProgress { name: "t\u{1b}", turn: 1, ..at_start() };
        assert_eq!(status_line(&progress), "t\\u{1b}: turn 1");
        let notice = Some("429; retrying in 2 s (attempt 2 of 4)");
        let progress = RunProgress { turn: 3, calls: 4, tokens: Some(1820), cost: Some(0.01214), notice, ..progress };
        assert_eq!(
            status_line(&progress),
            "t\\u{1b}: turn 3, 4 calls, 1820 tokens, cost 0.0121, 429; retrying in 2 s (attempt 2 of 4)"
        );
        assert_eq!(
            status_line(&RunProgress { calls: 1, tokens: None, cost: None, notice: None, ..progress }),
            "t\\u{1b}: turn 3, 1 call"
        );
    }
}
