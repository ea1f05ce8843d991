//! Gate blocks: parameters read from the tree, compiled by the gates themselves.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Gates;
use super::lower::Lower;
use super::yaml::{Content, Node};
use crate::assertion::{Assertion, Scope};
use crate::diag::Problems;
use crate::eval::{
    AxesParams, CallRule, Confidence, DependencyEdge, Expect, ExpectedArgs, ExpectedCall, ExtractionMode, GateKind,
    GoldenPath, GoldenPathGate, MatchMode, Narrative, NarrativeParams, OrderEdge, RecoveryGate, RecoveryParams,
    ReliabilityGate, StabilityGate, StatusRule, Trajectory, TrajectoryAxes, TrajectoryParams, WithinTurn,
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
            let (Some(target), Some(matcher)) = (item.text_at("target"), item.get("matcher")) else { continue };
            match Assertion::compile(scope, &target, &matcher.to_json(), item.text_at("message")) {
                Ok(assertion) => out.push(assertion),
                Err(problems) => self.notes.problems(item, problems),
            }
        }
        out
    }

    fn compiled<T>(&mut self, block: &Node, result: Result<T, Problems>) -> Option<T> {
        result.map_err(|problems| self.notes.problems(block, problems)).ok()
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
            let name = item.text_at("name").unwrap_or_else(|| MISSING.to_owned());
            self.prefixed(item.get("name"), servers, |server, bare| {
                format!("write `name: {bare}` and `server: {server}`")
            });
            calls.push(CallRule {
                call: ExpectedCall { name, args: call_args(item.get("args")) },
                server: item.text_at("server"),
                optional: item.flag_at("optional").unwrap_or(false),
                status: item.word_at("status", StatusRule::from_word).unwrap_or(StatusRule::Any),
                ignore_args: item.texts_at("ignore_args"),
            });
        }
        let params = TrajectoryParams {
            mode: block.word_at("mode", MatchMode::parse).unwrap_or(MatchMode::Strict),
            within_turn: block.word_at("within_turn", WithinTurn::from_word).unwrap_or(WithinTurn::Ordered),
            max_extra: block.whole_at("max_extra").and_then(|most| usize::try_from(most).ok()),
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
        let end = |item: &Node, key: &str| item.text_at(key).unwrap_or_else(|| format!("{MISSING}{key}"));
        let dependency = |item: &Node| DependencyEdge {
            producer: end(item, "producer"),
            consumer: end(item, "consumer"),
            via: item.text_at("via"),
            required: item.flag_at("required").unwrap_or(false),
        };
        let order = |item: &Node| OrderEdge {
            first: end(item, "first"),
            second: end(item, "second"),
            required: item.flag_at("required").unwrap_or(false),
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
            calls: block.texts_at("calls"),
            allow_extra_steps: block.flag_at("allow_extra_steps").unwrap_or(false),
            penalize_backtracking: block.flag_at("penalize_backtracking").unwrap_or(true),
            penalize_repeated_tools: block.flag_at("penalize_repeated_tools").unwrap_or(true),
        };
        GoldenPathGate { golden, expect: self.expect(block, GateKind::GoldenPath) }
    }

    fn reliability(&mut self, block: &Node) -> ReliabilityGate {
        let level = block.whole_at("confidence").and_then(|level| u32::try_from(level).ok());
        let confidence = level.and_then(|level| Confidence::from_percent(level).ok()).unwrap_or_default();
        ReliabilityGate { confidence, expect: self.expect(block, GateKind::Reliability) }
    }

    fn recovery(&mut self, block: &Node) -> RecoveryGate {
        let default = RecoveryParams::default();
        RecoveryGate {
            params: RecoveryParams {
                max_detection_ms: block.whole_at("max_detection_ms").unwrap_or(default.max_detection_ms),
                max_recovery_ms: block.whole_at("max_recovery_ms"),
                require_clean_timeout: block.flag_at("require_clean_timeout").unwrap_or(default.require_clean_timeout),
                require_hit: block.flag_at("require_hit").unwrap_or(default.require_hit),
                require_call: block.flag_at("require_call").unwrap_or(default.require_call),
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
            mutating_tools: block.texts_at("mutating_tools"),
            readonly_tools: block.texts_at("readonly_tools"),
            mutating_verbs: block.texts_at("mutating_verbs"),
            aliases: aliases.collect(),
            max_divergence_score: block.number_at("max_divergence_score"),
            mode: match block.flag_at("llm_assisted") {
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
    } else if let Some(Value::Object(matchers)) = shape("match") {
        ExpectedArgs::Match(matchers)
    } else {
        ExpectedArgs::Any
    }
}
