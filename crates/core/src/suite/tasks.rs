//! Gates files: checks for all traces, and tasks with checks for some of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Gates;
use super::blocks::{GATE_FILE, TASK};
use super::lint;
use super::lower::{Lower, has_misspelled, is_check};
use super::yaml::{Content, Node};
use crate::assertion::Assertion;
use crate::diag::Code;
use crate::eval::GATES;
use crate::json;
use crate::matcher::Matcher;
use crate::score::RecordKey;

/// What a gates file checks.
#[derive(Debug, Clone, Default)]
pub struct GateFile {
    /// Assertions on every trace.
    pub expect: Vec<Assertion>,
    /// Gates for all traces.
    pub gates: Gates,
    /// In the order written.
    pub tasks: Vec<Task>,
    /// The file as a value, its variables replaced: equal for files with the same checks, regardless of layout.
    pub content: Value,
}

/// Checks for the traces of one task.
#[derive(Debug, Clone)]
pub struct Task {
    /// Line of its first key, from 1.
    pub line: usize,
    /// Conditions on the records of the task. All must match.
    pub when: Vec<(RecordKey, Matcher)>,
    /// `when` as written, in one line.
    pub about: String,
    /// Whether it may have no records.
    pub optional: bool,
    /// Assertions on every trace of the task; they replace those for all.
    pub expect: Vec<Assertion>,
    /// Each replaces the same gate for all.
    pub gates: Gates,
}

/// Most characters of `when` in a message.
const MAX_ABOUT: usize = 100;

impl GateFile {
    /// Whether any trace may be judged in a group.
    pub fn judges_groups(&self) -> bool {
        self.all().any(|(_, gates)| gates.stability.is_some() || gates.reliability.is_some())
    }

    /// The checks for all traces, and those of each task.
    fn all(&self) -> impl Iterator<Item = (&[Assertion], &Gates)> {
        let tasks = self.tasks.iter().map(|task| (task.expect.as_slice(), &task.gates));
        std::iter::once((self.expect.as_slice(), &self.gates)).chain(tasks)
    }
}

impl Lower<'_> {
    pub(super) fn gate_file(&mut self, root: Node) -> Option<GateFile> {
        let root = self.interpolate(root, &BTreeMap::new());
        self.diagnostics.block(&root, "a gates file", &GATE_FILE.all());
        let Content::Map(entries) = &root.content else { return None };
        if entries.is_empty() {
            self.error(Code::AssertsNothing, root.span.clone(), "the file checks nothing", "add `expect:` or a gate");
            return None;
        }
        let expect = self.envelope_assertions(&root);
        let gates = self.gates(&root, None);
        let judges_runs = !expect.is_empty() || gates.judges_runs();
        let tasks: Vec<Task> = root.items_at("tasks").iter().filter_map(|node| self.task(node, judges_runs)).collect();
        if self.is_sound() {
            lint::gate_file(&expect, &gates, tasks.is_empty(), &root, &mut self.diagnostics.list);
            for (task, node) in tasks.iter().zip(root.items_at("tasks")) {
                lint::gate_file(&task.expect, &task.gates, !gates.judges_runs(), node, &mut self.diagnostics.list);
            }
        }
        Some(GateFile { expect, gates, tasks, content: root.to_json() })
    }

    /// One task; `judges_runs` says whether the file has checks for single runs of all tasks.
    fn task(&mut self, node: &Node, judges_runs: bool) -> Option<Task> {
        let first = node.entries().first()?;
        let (line, _) = self.source.place(first.key_span.start);
        let checks: Vec<_> = GATES.iter().map(|gate| gate.kind.name()).chain(["expect"]).collect();
        if !node.entries().iter().any(|entry| is_check(&entry.key)) && !has_misspelled(node, &TASK, &checks) {
            let hint = "add `expect:` or a gate such as `trajectory:`";
            self.error(Code::AssertsNothing, first.key_span.clone(), "the task checks nothing", hint);
        }
        let when = self.when(node);
        let expect = self.envelope_assertions(node);
        let gates = self.gates(node, None);
        if gates.reliability.is_some() && !judges_runs && expect.is_empty() && !gates.judges_runs() {
            let hint = "add `expect:` or a per-run gate; `reliability` counts the runs that pass them";
            let place = node.place("/reliability", true);
            self.error(Code::ReliabilityWithoutChecks, place, "`reliability` has no per-run checks to count", hint);
        }
        let written = node.get("when").map_or_else(String::new, |when| json::canonical(&when.to_json()));
        Some(Task {
            line,
            when,
            about: json::cut(&written, MAX_ABOUT),
            optional: node.flag_at("optional").unwrap_or(false),
            expect,
            gates,
        })
    }

    fn when(&mut self, node: &Node) -> Vec<(RecordKey, Matcher)> {
        let mut out = Vec::new();
        if let Some(when) = node.get("when")
            && matches!(&when.content, Content::Map(entries) if entries.is_empty())
        {
            let hint = "add a path in the records and a matcher, or move the gates to the top of the file";
            self.error(
                Code::EmptyValue,
                when.span.clone(),
                "`when` is empty, so every trace belongs to the task",
                hint,
            );
        }
        for entry in node.entries_at("when") {
            let key = match RecordKey::parse(&entry.key) {
                Ok(key) => Some(key),
                Err(error) => {
                    let message = format!("invalid path `{}`: {error}", entry.key);
                    let hint =
                        "write a path in the record, as in `task.id`, or a part of its input, as in `\"{stem}\"`";
                    self.error(Code::MalformedTarget, entry.key_span.clone(), message, hint);
                    None
                }
            };
            let value = entry.value.to_json();
            let matcher = match Matcher::parse(&value) {
                Ok(matcher) => Some(matcher),
                Err(problems) => {
                    self.diagnostics.problems(&entry.value, problems);
                    None
                }
            };
            if let (Some(key), Some(Matcher::Exact(expected))) = (&key, &matcher)
                && key.is_text()
                && !expected.is_string()
            {
                let message = format!("`{key}` is text and never equals {}", json::excerpt(expected, 40));
                let hint = format!("write `exact: \"{}\"`", json::cut(&json::canonical(expected), 40));
                self.error(Code::WrongType, entry.value.span.clone(), message, hint);
            }
            out.extend(key.zip(matcher));
        }
        out
    }
}
