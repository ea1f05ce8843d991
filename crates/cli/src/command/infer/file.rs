//! Writes inferred gates as a gates file. Every line ends with its evidence.

use mcptest_core::infer::{Inferred, Line};
use mcptest_core::score::RecordKey;
use serde_json::Value;

use crate::command::init::yaml::{self, Dollar};

/// The blocks of a gates file, each with the name of its gate.
pub(in crate::command) fn blocks(inferred: &Inferred) -> Vec<(&'static str, Vec<String>)> {
    let Inferred { calls, no_calls, order, narrative, expect, left_out: _ } = inferred;
    let mut out = Vec::new();
    if let Some(evidence) = no_calls {
        out.push(("trajectory", vec![format!("trajectory: {{ mode: subset, calls: [] }}  # {evidence}")]));
    }
    if !calls.is_empty() {
        let lines = ["trajectory:", "  mode: superset", "  calls:"].map(str::to_owned);
        out.push(("trajectory", lines.into_iter().chain(items("    ", calls, &["name", "server", "args"])).collect()));
    }
    if !order.is_empty() {
        let lines = ["trajectory_axes:", "  order:"].map(str::to_owned);
        out.push(("trajectory_axes", lines.into_iter().chain(items("    ", order, &["first"])).collect()));
    }
    if let Some(evidence) = narrative {
        out.push(("narrative", vec![format!("narrative: {{}}  # {evidence}")]));
    }
    if !expect.is_empty() {
        let lines = std::iter::once("expect:".to_owned());
        out.push(("expect", lines.chain(items("  ", expect, &["target"])).collect()));
    }
    out
}

/// Items of a list, with these keys first.
fn items<'a>(indent: &'a str, lines: &'a [Line], first: &'a [&str]) -> impl Iterator<Item = String> {
    lines.iter().map(move |Line { value, evidence }| {
        let known = first.iter().filter_map(|key| Some((*key, value.get(*key)?)));
        let rest = value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value));
        let mut rest: Vec<(&str, &Value)> = rest.filter(|(key, _)| !first.contains(key)).collect();
        rest.sort_unstable_by_key(|(key, _)| *key);
        let members: Vec<String> =
            known.chain(rest).map(|(key, value)| format!("{key}: {}", yaml::value(value, Dollar::Sign))).collect();
        format!("{indent}- {{ {} }}  # {evidence}", members.join(", "))
    })
}

/// A task of the file, or the gates for all traces.
pub(super) struct Section {
    /// What a record of the task says; none for gates for all.
    pub(super) when: Option<(RecordKey, Value)>,
    /// How many of its runs were good.
    pub(super) good: usize,
    pub(super) runs: usize,
    pub(super) inferred: Inferred,
}

impl Section {
    /// The evidence for the whole section.
    fn runs(&self) -> String {
        let word = if self.runs == 1 { "run" } else { "runs" };
        match self.good {
            good if good == self.runs => format!("{good} good {word}"),
            good => format!("{good} good of {} {word}", self.runs),
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let indent = if self.when.is_some() { 4 } else { 0 };
        if let Some((key, value)) = &self.when {
            let key = yaml::text(&key.to_string(), Dollar::Plain);
            let value = yaml::value(value, Dollar::Sign);
            let about = self.runs();
            if self.inferred.is_empty() {
                out.push_str(&yaml::comment(2, &format!("{key} {value}: {about}, nothing to require")));
            } else {
                out.push_str(&format!("  - when: {{ {key}: {{ exact: {value} }} }}  # {about}\n"));
            }
        }
        for (gate, why) in &self.inferred.left_out {
            out.push_str(&yaml::comment(indent, &format!("{gate} is omitted: {why}")));
        }
        for line in blocks(&self.inferred).into_iter().flat_map(|(_, lines)| lines) {
            out.push_str(&format!("{:indent$}{line}\n", ""));
        }
        out
    }
}

pub(super) fn text(about: &[String], sections: &[Section]) -> String {
    let mut out: String = about.iter().map(|line| yaml::comment(0, line)).collect();
    if sections.iter().any(|section| section.when.is_some() && !section.inferred.is_empty()) {
        out.push_str("tasks:\n");
    }
    for section in sections {
        out.push_str(&section.text());
    }
    out
}
