//! Which tasks of the gates file have a record.

use std::collections::BTreeSet;
use std::path::Path;

use mcptest_core::diag::{Code, Failure};
use mcptest_core::score::Scorer;
use mcptest_core::suite::Task;

use crate::console::Stream;
use crate::exit;
use crate::report::text::many;

#[derive(Default)]
pub(super) struct MatchedTasks {
    met: BTreeSet<u32>,
    /// Traces of no task.
    without: usize,
}

impl MatchedTasks {
    /// Takes in the tasks of a trace; `None` if the gates file has no tasks.
    pub(super) fn add(&mut self, tasks: Option<&[u32]>) {
        let Some(tasks) = tasks else { return };
        self.without += usize::from(tasks.is_empty());
        self.met.extend(tasks);
    }

    /// The tasks that no record belongs to, each with its line in the gates file. `unread` records had errors.
    pub(super) fn unmet(&self, scorer: &Scorer, gates: Option<&Path>, unread: usize) -> Vec<(usize, Failure<String>)> {
        let file = gates.map_or_else(String::new, |path| path.display().to_string());
        let tasks = scorer.tasks().iter().zip(0_u32..);
        let unmet = tasks.filter(|(task, at)| !task.optional && !self.met.contains(at));
        let failure = |task: &Task| {
            // A record that could not be read or evaluated may belong to it.
            let record = if unread == 0 { "record" } else { "record without an error" };
            let message = format!("no {record} belongs to this task: {}", task.about);
            let hint = "correct its `when:`, or write `optional: true`";
            let failure = Failure::error(format!("{file}:{}", task.line), message).code(Code::UnmetTask).hint(hint);
            (task.line, failure)
        };
        unmet.map(|(task, _)| failure(task)).collect()
    }

    /// Reports tasks that no record belongs to, and records without a task. Returns the exit code.
    pub(super) fn finish(&self, scorer: &Scorer, unmet: Vec<(usize, Failure<String>)>, err: &mut Stream<'_>) -> u8 {
        if self.without > 0 && !scorer.tasks().is_empty() {
            let verb = if self.without == 1 { "belongs" } else { "belong" };
            err.complain(format!("note: {} {verb} to no task", many(self.without, "trace")));
        }
        let count = unmet.len();
        unmet.into_iter().take(MAX_LISTED).for_each(|(_, failure)| err.complain(failure));
        if let Some(more @ 1..) = count.checked_sub(MAX_LISTED) {
            err.complain(format!("error: and {more} more tasks"));
        }
        if count > 0 { exit::ERROR } else { exit::OK }
    }
}

/// Most tasks that are listed.
const MAX_LISTED: usize = 20;
