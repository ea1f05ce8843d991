//! The lines of traces and of groups.

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::text::{key, known, list, text, value, whole};
use super::{GroupLine, Scored};
use crate::eval::stability::{Measures, SUB_SCORES};
use crate::eval::{GateFailure, GateKind, Metrics, Verdict};
use crate::redact::by_shape;
use crate::report::RowVerdict;

/// One line about a trace, but for its input and its place there, which whoever prints it puts in front.
#[derive(Debug)]
pub struct TraceLine<'a> {
    /// The name its format gives it.
    pub id: Option<&'a str>,
    /// Its group.
    pub group: Option<&'a str>,
    /// What was found.
    pub scored: &'a Scored,
}

impl TraceLine<'_> {
    /// Appends the line, one JSON object.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Scored { verdict, checks, session, failures, .. } = self.scored;
        out.push(b'{');
        key("id", out);
        known(self.id, out);
        key("group", out);
        known(self.group, out);
        key("verdict", out);
        known(verdict.map(RowVerdict::as_str), out);
        let session = session.as_ref().map(session_metrics);
        let mut gates: Vec<(&'static str, &Metrics)> = Vec::with_capacity(checks.len() + 1);
        gates.extend(checks.iter().filter_map(|check| Some((check.gate?.info().prefix, &check.metrics))));
        gates.extend(session.as_ref().map(|session| (GateKind::Stability.info().prefix, session)));
        all_metrics(&mut gates, out);
        all_failures(failures.iter().map(|(gate, failure)| (*gate, failure)), out);
        out.push(b'}');
    }
}

impl Serialize for TraceLine<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        written(|line| self.write(line), out)
    }
}

impl GroupLine<'_> {
    /// Appends the line, one JSON object.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        key("group", out);
        text(self.name, out);
        key("runs", out);
        whole(self.runs, out);
        key("verdict", out);
        known(self.verdict.map(Verdict::as_str), out);
        let mut gates: Vec<_> = self.checks.iter().map(|check| (check.name, &check.metrics)).collect();
        all_metrics(&mut gates, out);
        all_failures(
            self.checks.iter().flat_map(|check| check.failures.iter().map(|failure| (check.name, failure))),
            out,
        );
        if !self.notes.is_empty() {
            key("notes", out);
            list(&self.notes, out, |note, out| text(note, out));
        }
        key("carry", out);
        self.carry.write(out);
        out.push(b'}');
    }
}

impl Serialize for GroupLine<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        written(|line| self.write(line), out)
    }
}

/// Hands what is written as text to a serializer, so that there is one spelling of a line.
fn written<S: Serializer>(write: impl FnOnce(&mut Vec<u8>), out: S) -> Result<S::Ok, S::Error> {
    use serde::ser::Error;
    let mut line = Vec::new();
    write(&mut line);
    let line = String::from_utf8(line).map_err(S::Error::custom)?;
    RawValue::from_string(line).map_err(S::Error::custom)?.serialize(out)
}

/// The metrics of every gate. Two gates may share an object, since their targets share a prefix.
fn all_metrics(gates: &mut [(&'static str, &Metrics)], out: &mut Vec<u8>) {
    key("metrics", out);
    out.push(b'{');
    gates.sort_by_key(|(prefix, _)| *prefix);
    for same in gates.chunk_by(|a, b| a.0 == b.0) {
        key(same[0].0, out);
        out.push(b'{');
        if let [(_, metrics)] = same {
            metrics.entries().iter().for_each(|metric| put(metric, out));
        } else {
            let mut lists: Vec<_> = same.iter().map(|(_, metrics)| metrics.entries()).collect();
            // Each is in order, and no two of them share a name.
            while let Some(list) = lists.iter_mut().filter(|list| !list.is_empty()).min_by_key(|list| list[0].0)
                && let Some(metric) = list.split_off_first()
            {
                put(metric, out);
            }
        }
        out.push(b'}');
    }
    out.push(b'}');
}

fn put((name, found): &(&'static str, Value), out: &mut Vec<u8>) {
    key(name, out);
    match found.as_u64() {
        Some(number) => whole(number, out),
        None => value(found, out),
    }
}

/// The four sub-scores of a session and the weakest of them.
fn session_metrics(session: &Measures) -> Metrics {
    let mut metrics = Metrics::of(GateKind::Stability.info());
    for (name, value) in SUB_SCORES.into_iter().zip(session.values()).rev() {
        metrics.set_known(name, value);
    }
    metrics.set_known("weakest_score", session.weakest().map(|(_, score)| score));
    metrics
}

/// Failures with the gate in front.
fn all_failures<'a>(failures: impl Iterator<Item = (&'static str, &'a GateFailure)>, out: &mut Vec<u8>) {
    key("failures", out);
    list(failures, out, |(gate, failure), out| {
        out.push(b'{');
        key("gate", out);
        text(gate, out);
        key("target", out);
        text(&failure.target, out);
        key("reason", out);
        // Reasons quote what was recorded, and lines are read by more people than recordings are.
        text(&by_shape(&failure.reason), out);
        out.push(b'}');
    });
}
