//! Gate blocks: parameters read from the tree, compiled by the gates themselves.

use std::collections::BTreeSet;

use super::Gates;
use super::lower::{Lower, flag, number, text, texts, whole, word};
use super::yaml::{Content, Node};
use crate::assertion::{Assertion, Scope};
use crate::diag::Problems;
use crate::eval::{
    AxesParams, CallRule, Confidence, DependencyEdge, Expect, ExpectedArgs, ExpectedCall, ExtractionMode, GateKind,
    GoldenPath, GoldenPathGate, MatchMode, Narrative, NarrativeParams, OrderEdge, RecoveryGate, RecoveryParams,
    ReliabilityGate, StabilityGate, StatusRule, Trajectory, TrajectoryAxes, TrajectoryParams,
};

/// Stands for a name that is missing, so that positions stay those of the file; the key tables have said so.
const MISSING: &str = "?";

impl Lower<'_> {
    /// Every gate block of a map.
    pub(super) fn gates(&mut self, node: &Node, servers: Option<&BTreeSet<String>>) -> Gates {
        let block = |kind: GateKind| node.get(kind.name());
        Gates {
            trajectory: block(GateKind::Trajectory).and_then(|block| self.trajectory(block, servers)),
            trajectory_axes: block(GateKind::TrajectoryAxes).and_then(|block| self.axes(block, servers)),
            golden_path: block(GateKind::GoldenPath).map(|block| self.golden_path(block, servers)),
            stability: block(GateKind::Stability)
                .map(|block| StabilityGate { expect: self.expect(block, GateKind::Stability) }),
            reliability: block(GateKind::Reliability).map(|block| self.reliability(block)),
            recovery: block(GateKind::Recovery).map(|block| self.recovery(block)),
            narrative: block(GateKind::Narrative).and_then(|block| self.narrative(block, servers)),
        }
    }

    /// The `expect` list of a test, over the trace.
    pub(super) fn envelope_assertions(&mut self, node: &Node) -> Vec<Assertion> {
        node.get("expect").map_or_else(Vec::new, |list| self.assertions(list, Scope::Envelope))
    }

    fn expect(&mut self, block: &Node, kind: GateKind) -> Expect {
        match block.get("expect") {
            Some(list) => Expect::Own(self.assertions(list, Scope::Gate(kind))),
            None => Expect::Default,
        }
    }

    fn assertions(&mut self, list: &Node, scope: Scope) -> Vec<Assertion> {
        let mut out = Vec::new();
        for item in list.items() {
            let (Some(target), Some(matcher)) = (text(item, "target"), item.get("matcher")) else { continue };
            match Assertion::compile(scope, &target, &matcher.to_json(), text(item, "message")) {
                Ok(assertion) => out.push(assertion),
                Err(problems) => self.problems(item, problems),
            }
        }
        out
    }

    /// Problems inside a block, at their places in the file.
    fn problems(&mut self, block: &Node, problems: Problems) {
        for problem in problems.0 {
            let span = block.place(&problem.path, problem.on_key);
            // The key tables may have said so already.
            if !self.diagnostics.iter().any(|known| known.span == span) {
                self.error(span, problem.message, problem.hint);
            }
        }
    }

    fn compiled<T>(&mut self, block: &Node, result: Result<T, Problems>) -> Option<T> {
        result.map_err(|problems| self.problems(block, problems)).ok()
    }

    /// An error when the name of a tool carries the prefix of a server: no call is recorded under such a name.
    pub(super) fn prefixed(
        &mut self,
        node: Option<&Node>,
        servers: Option<&BTreeSet<String>>,
        hint: impl FnOnce(&str, &str) -> String,
    ) {
        let Some((node, name)) = node.and_then(|node| Some((node, node.text()?))) else { return };
        if let Some((server, bare)) = name.split_once("__")
            && servers.is_some_and(|all| all.contains(server))
        {
            let message = format!("`{name}` carries the prefix of server `{server}`");
            self.error(node.span.clone(), message, Some(hint(server, bare)));
        }
    }

    fn trajectory(&mut self, block: &Node, servers: Option<&BTreeSet<String>>) -> Option<Trajectory> {
        let mut calls = Vec::new();
        for item in block.get("calls").map_or(&[][..], Node::items) {
            let name = text(item, "name").unwrap_or_else(|| MISSING.to_owned());
            self.prefixed(item.get("name"), servers, |server, bare| {
                format!("write `name: {bare}` and `server: {server}`")
            });
            calls.push(CallRule {
                call: ExpectedCall { name, args: call_args(item.get("args")) },
                server: text(item, "server"),
                optional: flag(item, "optional").unwrap_or(false),
                status: word(item, "status", StatusRule::from_word).unwrap_or(StatusRule::Any),
                ignore_args: texts(item, "ignore_args"),
            });
        }
        let params = TrajectoryParams {
            mode: word(block, "mode", MatchMode::parse).unwrap_or(MatchMode::Strict),
            max_extra: whole(block, "max_extra").and_then(|most| usize::try_from(most).ok()),
            calls,
            expect: self.expect(block, GateKind::Trajectory),
        };
        self.compiled(block, Trajectory::new(params))
    }

    fn axes(&mut self, block: &Node, servers: Option<&BTreeSet<String>>) -> Option<TrajectoryAxes> {
        let items = |key: &str| block.get(key).map_or(&[][..], Node::items);
        for item in items("dependencies").iter().chain(items("order")) {
            for key in ["producer", "consumer", "first", "second"] {
                self.prefixed(item.get(key), servers, |_, bare| format!("write `{key}: {bare}`"));
            }
        }
        // Two names that are missing are not the same name.
        let end = |item: &Node, key: &str| text(item, key).unwrap_or_else(|| format!("{MISSING}{key}"));
        let dependency = |item: &Node| DependencyEdge {
            producer: end(item, "producer"),
            consumer: end(item, "consumer"),
            via: text(item, "via"),
            required: flag(item, "required").unwrap_or(false),
        };
        let order = |item: &Node| OrderEdge {
            first: end(item, "first"),
            second: end(item, "second"),
            required: flag(item, "required").unwrap_or(false),
        };
        let params = AxesParams {
            dependencies: items("dependencies").iter().map(dependency).collect(),
            order: items("order").iter().map(order).collect(),
            expect: self.expect(block, GateKind::TrajectoryAxes),
        };
        self.compiled(block, TrajectoryAxes::new(params))
    }

    /// A list of tools, each without a server's prefix.
    fn bare_names(&mut self, block: &Node, key: &str, servers: Option<&BTreeSet<String>>) {
        for item in block.get(key).map_or(&[][..], Node::items) {
            self.prefixed(Some(item), servers, |_, bare| format!("write `{bare}`"));
        }
    }

    fn golden_path(&mut self, block: &Node, servers: Option<&BTreeSet<String>>) -> GoldenPathGate {
        self.bare_names(block, "calls", servers);
        let golden = GoldenPath {
            calls: texts(block, "calls"),
            allow_extra_steps: flag(block, "allow_extra_steps").unwrap_or(false),
            penalize_backtracking: flag(block, "penalize_backtracking").unwrap_or(true),
            penalize_repeated_tools: flag(block, "penalize_repeated_tools").unwrap_or(true),
        };
        GoldenPathGate { golden, expect: self.expect(block, GateKind::GoldenPath) }
    }

    fn reliability(&mut self, block: &Node) -> ReliabilityGate {
        let level = whole(block, "confidence").and_then(|level| u32::try_from(level).ok());
        let confidence = level.and_then(|level| Confidence::from_percent(level).ok()).unwrap_or_default();
        ReliabilityGate { confidence, expect: self.expect(block, GateKind::Reliability) }
    }

    fn recovery(&mut self, block: &Node) -> RecoveryGate {
        let default = RecoveryParams::default();
        RecoveryGate {
            params: RecoveryParams {
                max_detection_ms: whole(block, "max_detection_ms").unwrap_or(default.max_detection_ms),
                max_recovery_ms: whole(block, "max_recovery_ms"),
                require_clean_timeout: flag(block, "require_clean_timeout").unwrap_or(default.require_clean_timeout),
                require_hit: flag(block, "require_hit").unwrap_or(default.require_hit),
                require_call: flag(block, "require_call").unwrap_or(default.require_call),
                expect: self.expect(block, GateKind::Recovery),
            },
        }
    }

    fn narrative(&mut self, block: &Node, servers: Option<&BTreeSet<String>>) -> Option<Narrative> {
        self.bare_names(block, "mutating_tools", servers);
        self.bare_names(block, "readonly_tools", servers);
        let aliases = block.get("aliases").map_or(&[][..], Node::entries).iter().map(|entry| {
            let tools = match &entry.value.content {
                Content::Text { text, .. } => vec![text.clone()],
                _ => entry.value.items().iter().filter_map(|item| item.text().map(str::to_owned)).collect(),
            };
            (entry.key.clone(), tools)
        });
        let params = NarrativeParams {
            mutating_tools: texts(block, "mutating_tools"),
            readonly_tools: texts(block, "readonly_tools"),
            mutating_verbs: texts(block, "mutating_verbs"),
            aliases: aliases.collect(),
            synonyms: flag(block, "synonyms").unwrap_or(true),
            max_divergence_score: number(block, "max_divergence_score"),
            mode: match flag(block, "llm_assisted") {
                Some(true) => ExtractionMode::LlmAssisted,
                _ => ExtractionMode::RuleBased,
            },
            expect: self.expect(block, GateKind::Narrative),
        };
        self.compiled(block, Narrative::new(params))
    }
}

fn call_args(node: Option<&Node>) -> ExpectedArgs {
    let Some(node) = node else { return ExpectedArgs::Any };
    let shape = |key: &str| node.get(key).map(Node::to_json);
    if node.text() == Some("ignore") {
        ExpectedArgs::Ignore
    } else if let Some(value) = shape("exact") {
        ExpectedArgs::Exact(value)
    } else if let Some(value) = shape("subset") {
        ExpectedArgs::Subset(value)
    } else if let Some(value) = shape("schema") {
        ExpectedArgs::Schema(value)
    } else {
        ExpectedArgs::Any
    }
}
