//! A row as JSON, written piece by piece with its keys in order: a report holds thousands of traces, and none of them has
//! to exist as a value first.

use super::{Note, Origin, Row, RowVerdict, SuiteReport, Totals, grid};
use crate::assertion::AssertionDiff;
use crate::diag::{Code, Mark};
use crate::eval::{GateFailure, GateKind};
use crate::json::Layout;
use crate::judge::{CheckResult, Receipt, Recovered, Visual};

impl Row {
    /// Writes the row, with its trace.
    pub fn write(&self, out: &mut Layout) {
        out.object(|out| self.write_keys(out));
    }

    /// Writes the keys of the row into an object that is open.
    pub fn write_keys(&self, out: &mut Layout) {
        text(out, "advisory", self.advisory.as_deref());
        out.key("checks").list(&self.checks, check);
        plain(out, "duration_ms", self.duration_ms);
        plain(out, "edited", self.edited.then_some(true));
        if let Some(error) = &self.error {
            out.key("error").object(|out| {
                text(out, "code", error.code.map(Code::as_str));
                text(out, "hint", error.hint.as_deref());
                text(out, "message", Some(&error.message));
            });
        }
        text(out, "family", Some(self.family.as_str()));
        text(out, "gate", self.gate.map(GateKind::name));
        plain(out, "line", Some(self.line));
        if let Some(found) = &self.mark {
            out.key("mark").object(|out| mark(out, found));
        }
        text(out, "model", Some(&self.model));
        text(out, "name", Some(&self.name));
        text(out, "origin", self.origin.map(Origin::as_str));
        if !self.receipts.is_empty() {
            out.key("receipts").list(&self.receipts, receipt);
        }
        plain(out, "recorded", self.recorded.then_some(true));
        plain(out, "run", self.run);
        plain(out, "runs", self.runs);
        text(out, "test", Some(&self.test));
        if let Some(trace) = &self.trace {
            out.key("trace");
            trace.write(out);
        }
        verdict(out, self.verdict);
    }
}

impl SuiteReport {
    /// Writes the keys that come before the rows.
    pub fn write_head(&self, out: &mut Layout) {
        text(out, "file", Some(&self.file));
        let lines = grid(&self.rows);
        if !lines.is_empty() {
            out.key("grid").list(lines, |out, line| {
                out.object(|out| {
                    out.key("cells").list(line.cells, |out, cell| {
                        out.object(|out| {
                            text(out, "model", Some(&cell.model));
                            plain(out, "passed", Some(cell.passed));
                            plain(out, "runs", Some(cell.runs));
                            verdict(out, cell.verdict);
                        });
                    });
                    text(out, "test", Some(&line.test));
                });
            });
        }
        text(out, "refused", self.refused.as_deref());
    }
}

impl Note {
    /// Writes the note.
    pub fn write(&self, out: &mut Layout) {
        out.object(|out| {
            plain(out, "rows", Some(self.rows));
            plain(out, "stopped", self.is_stop.then_some(true));
            plain(out, "suites", Some(self.suites));
            text(out, "text", Some(&self.text));
        });
    }
}

impl Totals {
    /// Writes the counts.
    pub fn write(&self, out: &mut Layout) {
        out.object(|out| {
            let mut verdicts = RowVerdict::ALL.to_vec();
            verdicts.sort_unstable_by_key(|verdict| verdict.as_str());
            for verdict in verdicts {
                plain(out, verdict.as_str(), Some(self.of(verdict)));
            }
        });
    }
}

/// What was not judged has no verdict, as in the lines of `score`.
fn verdict(out: &mut Layout, verdict: RowVerdict) {
    match verdict {
        RowVerdict::Unjudged => out.key("verdict").plain("null"),
        judged => out.key("verdict").text(judged.as_str()),
    }
}

fn text(out: &mut Layout, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        out.key(key).text(value);
    }
}

fn plain(out: &mut Layout, key: &str, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        out.key(key).plain(value);
    }
}

fn check(out: &mut Layout, check: &CheckResult) {
    out.object(|out| {
        out.key("failures").list(&check.failures, failure);
        text(out, "line", Some(&check.line));
        out.key("metrics").object(|out| {
            for (name, value) in check.metrics.iter() {
                out.key(name).value(value);
            }
        });
        text(out, "name", Some(check.name));
        if let Some(found) = &check.picture {
            out.key("picture").object(|out| picture(out, found));
        }
        text(out, "verdict", Some(check.verdict.as_str()));
    });
}

fn picture(out: &mut Layout, picture: &Visual) {
    match picture {
        Visual::Calls(calls) => out.key("calls").list(calls, |out, call| {
            out.object(|out| {
                plain(out, "call", call.call);
                text(out, "name", Some(&call.name));
                plain(out, "optional", call.optional.then_some(true));
            });
        }),
        Visual::Claims(claims) => out.key("claims").list(claims, |out, claim| {
            out.object(|out| {
                plain(out, "backed", claim.backed);
                plain(out, "call", claim.call);
                plain(out, "end", Some(claim.end));
                text(out, "note", claim.note.as_deref());
                plain(out, "start", Some(claim.start));
                text(out, "stem", Some(&claim.stem));
                plain(out, "weak", claim.weak.then_some(true));
            });
        }),
    }
}

fn failure(out: &mut Layout, failure: &GateFailure) {
    out.object(|out| {
        if !failure.diffs.is_empty() {
            out.key("diffs").list(&failure.diffs, diff);
        }
        text(out, "reason", Some(&failure.reason));
        text(out, "target", Some(&failure.target));
    });
}

fn diff(out: &mut Layout, diff: &AssertionDiff) {
    out.object(|out| {
        for (key, value) in [("actual", &diff.actual), ("expected", &diff.expected)] {
            if let Some(value) = value {
                out.key(key).value(value);
            }
        }
        text(out, "note", Some(&diff.note));
        text(out, "path", Some(&diff.path));
    });
}

fn mark(out: &mut Layout, mark: &Mark) {
    plain(out, "column", Some(mark.column));
    plain(out, "length", Some(mark.length));
    plain(out, "line", Some(mark.line));
    plain(out, "start", Some(mark.start));
    text(out, "text", Some(&mark.text));
}

fn receipt(out: &mut Layout, receipt: &Receipt) {
    out.object(|out| {
        text(out, "fault", Some(&receipt.fault));
        out.key("injected").list(&receipt.injected, Layout::plain);
        text(out, "kind", Some(receipt.kind.as_str()));
        out.key("met").list(&receipt.met, Layout::plain);
        plain(out, "ms", Some(receipt.ms));
        out.key("recovered");
        match receipt.recovered {
            Recovered::Unmet => out.text("unmet"),
            Recovered::Answer => out.text("answer"),
            Recovered::Not => out.text("not"),
            Recovered::Call(at) => out.object(|out| plain(out, "call", Some(at))),
        }
    });
}
