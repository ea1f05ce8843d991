//! `mcptest score --merge`: judges groups whose runs were scored in parts. The verdicts of traces are added up, so the
//! result is the same as for the whole corpus in one run.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mcptest_core::diag::{Code, printable};
use mcptest_core::report::RowVerdict;
use mcptest_core::score::{Groups, Merged, Scorer};

use super::summary::Summary;
use super::tasks::MatchedTasks;
use super::{Complaints, Stop, lines};
use crate::args::{Output, Score};
use crate::console::{Console, printed};
use crate::corpus::RecordError;
use crate::corpus::frames::{Frames, Item};
use crate::corpus::source::Source;

pub(super) fn run(typed: &Score, scorer: &Scorer, sources: &[Source], console: &mut Console<'_>) -> Result<u8, Stop> {
    let Console { out, err } = console;
    let mut complaints = Complaints::default();
    let mut groups = Groups::default();
    let mut summary = Summary::default();
    let (mut unread, mut traces) = (0, 0_u64);
    let mut met = MatchedTasks::default();
    let has_tasks = !scorer.tasks().is_empty();
    for source in sources {
        // Groups come after their traces, so a truncated part lacks them.
        // Of each its runs, and its records that could not be read.
        let mut open: BTreeMap<String, [i128; 2]> = BTreeMap::new();
        let (mut is_foreign, mut is_unmarked) = (false, false);
        let is_nothing = each_line(source, typed, &mut |found| {
            let fault = match found {
                Ok((offset, line)) => match groups.merge(line) {
                    Ok(Merged::Group { group, runs, unread, rules }) => {
                        is_foreign |= rules.as_deref() != scorer.rules();
                        let left = open.entry(group).or_default();
                        left[0] -= i128::from(runs);
                        left[1] -= i128::from(unread);
                        return;
                    }
                    Ok(Merged::Trace { group, tasks, rules, verdict }) => {
                        match (rules.as_deref(), scorer.trace_rules()) {
                            (None, Some(_)) => is_unmarked = true,
                            (found, expected) => is_foreign |= found != expected,
                        }
                        // An incomplete recording has a verdict even where no gate judges single runs.
                        let is_due = scorer.judges_trace(group.is_some());
                        is_foreign |= is_due.is_some_and(|is_due| verdict.is_some() != is_due)
                            && verdict != Some(RowVerdict::Unassessable);
                        met.add(has_tasks.then_some(&tasks));
                        summary.trace(verdict);
                        traces += 1;
                        if let Some(group) = group {
                            open.entry(group).or_default()[0] += 1;
                        }
                        return;
                    }
                    Ok(Merged::Unread { group }) => {
                        unread += 1;
                        if let Some(group) = group {
                            open.entry(group).or_default()[1] += 1;
                        }
                        return;
                    }
                    Err(error) => foreign(offset, error.to_string()),
                },
                Err(fault) => fault,
            };
            complaints.fault(&source.name, &fault, err);
        });
        if is_nothing {
            // When work is split some parts are empty, but so is the output of a part that failed at its start.
            err.complain(format!("note: {}: this part is empty", printable(&source.name)));
        }
        let mut complain = |code: Code, message: String, hint: &str| {
            complaints.fault(&source.name, &RecordError::error(None, message).code(code).hint(hint), err);
        };
        if let Some((group, _)) = open.iter().find(|(_, left)| **left != [0, 0]) {
            let message = format!("the traces and the line of the group {group:?} do not match");
            complain(
                Code::NotScoreOutput,
                message,
                "pass the complete output of every part; merged output cannot be merged again",
            );
        }
        if is_foreign {
            let message = "it was not scored with the gates and the outcome of this merge".to_owned();
            complain(
                Code::GatesMismatch,
                message,
                "score every part with the same --gates and --outcome as the merge, or all without",
            );
        } else if is_unmarked {
            let message = "it has traces that do not say which gates judged them".to_owned();
            complain(
                Code::GatesMismatch,
                message,
                "score this part again with the gates of the merge; its lines are edited or from an older version",
            );
        }
    }
    // For people the summary says it all: the traces are not here.
    let prints = super::output(typed) == Output::Jsonl;
    let mut broken_out = None;
    lines::groups(groups.lines(scorer), super::threads(&typed.reading), &mut |part| {
        part.groups.iter().for_each(|line| summary.group(line));
        if prints && broken_out.is_none() {
            broken_out = out.write_all(&part.text).err();
        }
    });
    if prints && groups.is_empty() && traces > 0 && broken_out.is_none() {
        // Without it the output would be that of an empty part, and merging it again would lose its failures.
        broken_out = writeln!(out, "{{\"merged\":true,\"traces\":{traces}}}").err();
    }
    complaints.finish(err);
    let faults = complaints.count() + unread;
    let code = super::finish(typed, scorer, &summary, &groups, faults, err);
    let code = code.max(met.finish(scorer, met.unmet(scorer, typed.gates.as_deref(), faults), err));
    printed(broken_out.map_or(Ok(()), Err))?;
    Ok(code)
}

/// A line that `mcptest score` did not write.
fn foreign(offset: u64, message: String) -> RecordError {
    let hint = "inputs must be outputs of `mcptest score`; merged output cannot be merged again";
    RecordError::error(Some(offset), message).code(Code::NotScoreOutput).hint(hint)
}

/// A line with its offset, or an error.
type Found<'a> = Result<(u64, &'a str), RecordError>;

/// Passes on every line of a source. Returns whether it is empty.
fn each_line(source: &Source, typed: &Score, take: &mut dyn FnMut(Found<'_>)) -> bool {
    let mut is_nothing = false;
    let input = match source.open(&Arc::new(AtomicU64::new(0))) {
        Ok(input) => input,
        Err(refusal) => {
            take(Err(refusal.moved(None)));
            return false;
        }
    };
    for item in Frames::new(input, typed.reading.max_record_bytes(), &|_| None) {
        match item {
            Item::Batch(batch) => {
                for range in &batch.values {
                    take(Ok((batch.offset + range.start as u64, &batch.text[range.clone()])));
                }
            }
            Item::Broken(error) => take(Err(error)),
            Item::Nothing(_) => is_nothing = true,
        }
    }
    is_nothing
}
