//! The paths of a cell's runs as a tree: which tools were called in which order, how many runs took each path, and how many
//! of those passed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::trace::{StopReason, ToolResult, Trace};

/// The ways of many runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The first is where all runs start.
    nodes: Vec<Node>,
    /// Runs whose calls were not recorded.
    unknown: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Node {
    label: String,
    runs: usize,
    passed: usize,
    children: BTreeMap<String, usize>,
}

/// A part of the path that several runs share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The number of branches before it.
    pub depth: usize,
    /// For each parting before it whether it is on the last of the ways from there.
    pub is_last: Vec<bool>,
    /// The tools that were called, then how the run ended, where it ended here.
    pub steps: Vec<String>,
    /// Runs that went along.
    pub runs: usize,
    /// Those of them that passed.
    pub passed: usize,
    /// Whether runs ended here.
    pub is_end: bool,
}

/// The ending of a run that finished with an answer.
const ANSWERED: &str = "answered";

impl Default for Paths {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], unknown: 0 }
    }
}

impl Paths {
    pub fn add(&mut self, trace: Option<&Trace>, passed: bool) {
        let Some(steps) = trace.and_then(path_of) else {
            self.unknown += 1;
            return;
        };
        let mut at = 0;
        self.pass(at, passed);
        for step in steps {
            at = self.child(at, &step);
            self.pass(at, passed);
        }
    }

    /// Runs whose path is known.
    pub fn runs(&self) -> usize {
        self.nodes[0].runs
    }

    /// Runs whose calls were not recorded.
    pub fn unknown(&self) -> usize {
        self.unknown
    }

    /// The number of the call at which runs first diverge; `None` if all took the same path.
    pub fn first_split(&self) -> Option<usize> {
        let mut at = 0;
        for number in 0.. {
            let children = &self.nodes[at].children;
            match children.len() {
                0 => return None,
                1 => at = *children.values().next()?,
                _ => return Some(number),
            }
        }
        None
    }

    /// The tree, from its root, each part once and before those that go on from it; the ways most runs took come first.
    pub fn branches(&self) -> Vec<Branch> {
        let mut out = Vec::new();
        let mut open: Vec<(usize, Vec<bool>)> = Vec::new();
        let push = |parent: usize, is_last: &[bool], open: &mut Vec<(usize, Vec<bool>)>| {
            let mut children: Vec<usize> = self.nodes[parent].children.values().copied().collect();
            // Nodes are numbered by first appearance, so ties stay in run order.
            children.sort_by_key(|child| (std::cmp::Reverse(self.nodes[*child].runs), *child));
            for (at, child) in children.iter().enumerate().rev() {
                let mut is_last = is_last.to_vec();
                if children.len() > 1 {
                    is_last.push(at + 1 == children.len());
                }
                open.push((*child, is_last));
            }
        };
        push(0, &[], &mut open);
        while let Some((first, is_last)) = open.pop() {
            let mut steps = vec![self.nodes[first].label.clone()];
            let mut at = first;
            while let [(_, child)] = &*self.nodes[at].children.iter().take(2).collect::<Vec<_>>() {
                at = **child;
                steps.push(self.nodes[at].label.clone());
            }
            let node = &self.nodes[at];
            let is_end = node.children.is_empty();
            // That a run answered is only shown if there is nothing else to show.
            if is_end && steps.len() > 1 && steps.last().is_some_and(|step| step == ANSWERED) {
                steps.pop();
            }
            out.push(Branch {
                depth: is_last.len(),
                is_last: is_last.clone(),
                steps,
                runs: node.runs,
                passed: node.passed,
                is_end,
            });
            push(at, &is_last, &mut open);
        }
        out
    }

    fn pass(&mut self, at: usize, passed: bool) {
        let node = &mut self.nodes[at];
        node.runs += 1;
        node.passed += usize::from(passed);
    }

    fn child(&mut self, parent: usize, label: &str) -> usize {
        if let Some(found) = self.nodes[parent].children.get(label) {
            return *found;
        }
        let at = self.nodes.len();
        self.nodes.push(Node { label: label.to_owned(), ..Node::default() });
        self.nodes[parent].children.insert(label.to_owned(), at);
        at
    }
}

/// The steps of a run: the tools that were called, then how it ended; none if the calls were not recorded.
pub fn path_of(trace: &Trace) -> Option<Vec<Cow<'_, str>>> {
    let calls = trace.tool_calls.as_ref()?;
    let mut steps: Vec<Cow<'_, str>> = Vec::with_capacity(calls.len() + 1);
    for (number, call) in calls.iter().enumerate() {
        let failed = trace.result(number).and_then(ToolResult::failed) == Some(true);
        steps.push(if failed { Cow::Owned(format!("{} (failed)", call.name)) } else { Cow::Borrowed(&*call.name) });
    }
    if calls.is_empty() {
        steps.push(Cow::Borrowed("no call"));
    }
    steps.push(Cow::Borrowed(ending(trace)));
    Some(steps)
}

/// How a run ended, in a word or two.
fn ending(trace: &Trace) -> &'static str {
    let has_text = trace.final_response.as_deref().map(|text| !text.trim().is_empty());
    match (trace.conversation.stop_reason, has_text) {
        (Some(StopReason::MaxTurns), _) => "out of turns",
        (Some(StopReason::MaxTokens), _) => "cut off",
        (Some(StopReason::Refused), _) => "refused",
        (Some(StopReason::Error), _) => "broke off",
        (_, Some(true)) => ANSWERED,
        (_, Some(false)) => "gave up",
        (_, None) => "ended",
    }
}
