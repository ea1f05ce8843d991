//! Gate blocks: reads the parameters from the tree and builds the gates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Gates;
use super::lower::Lower;
use super::yaml::{Content, Node};
use crate::assertion::{Assertion, Scope};
use crate::diag::{Code, Problems};
use crate::eval::{
    CallRule, Confidence, DependencyEdge, Dimensions, Expect, ExpectedArgs, ExpectedCall, ExtractionMode, FaultScope,
    GateKind, GoldenPath, GoldenPathGate, GoldenPathParams, MatchMode, NarrativeGate, NarrativeParams, OrderEdge,
    RecoveryGate, RecoveryParams, ReliabilityGate, ReliabilityParams, StabilityGate, StabilityParams, StatusRule,
    TrajectoryAxesGate, TrajectoryAxesParams, TrajectoryGate, TrajectoryParams, WithinTurn,
};

/// Placeholder for a missing name, which the key tables report. It keeps indices equal to those of the file.
const MISSING: &str = "?";

impl Lower<'_> {
    /// Every gate block of a map.
    pub(super) fn gates(&mut self, node: &Node, servers: Option<&BTreeSet<String>>) -> Gates {
        let block = |kind: GateKind| node.get(kind.name());
        Gates {
            trajectory: block(GateKind::Trajectory).and_then(|block| self.trajectory(block, servers)),
            trajectory_axes: block(GateKind::TrajectoryAxes).and_then(|block| self.axes(block, servers)),
            golden_path: block(GateKind::GoldenPath).and_then(|block| self.golden_path(block, servers)),
            stability: block(GateKind::Stability).and_then(|block| self.stability(block)),
            reliability: block(GateKind::Reliability).and_then(|block| self.reliability(block)),
            recovery: block(GateKind::Recovery).and_then(|block| self.recovery(block, servers)),
            narrative: block(GateKind::Narrative).and_then(|block| self.narrative(block, servers)),
        }
    }

    /// The `expect` list of a test, over the trace.
    pub(super) fn envelope_assertions(&mut self, node: &Node) -> Vec<Assertion> {
        node.get("expect").map_or_else(Vec::new, |list| self.assertions(list, Scope::Envelope))
    }

    fn expect(&mut self, block: &Node, kind: GateKind) -> Expect {
        match block.get("expect").map(|list| self.assertions(list, Scope::Gate(kind))) {
            Some(assertions) if !assertions.is_empty() => Expect::Custom(assertions),
            // An empty list, or one without a valid assertion, has been reported.
            _ => Expect::Default,
        }
    }

    fn assertions(&mut self, list: &Node, scope: Scope) -> Vec<Assertion> {
        let mut out = Vec::new();
        for item in list.items() {
            let (Some(target), Some(matcher)) = (item.text_at("target"), item.get("matcher")) else { continue };
            match Assertion::compile(scope, &target, &matcher.to_json(), item.text_at("message")) {
                Ok(assertion) => out.push(assertion),
                Err(problems) => self.diagnostics.problems(item, problems),
            }
        }
        out
    }

    fn report_problems<T>(&mut self, block: &Node, result: Result<T, Problems>) -> Option<T> {
        result.map_err(|problems| self.diagnostics.problems(block, problems)).ok()
    }

    /// Reports a tool name with the prefix of a server: no call is recorded under that name.
    pub(super) fn reject_server_prefix(
        &mut self,
        node: Option<&Node>,
        servers: Option<&BTreeSet<String>>,
        hint: impl FnOnce(&str, &str) -> String,
    ) {
        let Some((node, name)) = node.and_then(|node| Some((node, node.text()?))) else { return };
        if let Some((server, bare)) = name.split_once("__")
            && servers.is_some_and(|all| all.contains(server))
        {
            let message = format!("`{name}` has the prefix of server `{server}`");
            self.error(Code::PrefixedToolName, node.span.clone(), message, hint(server, bare));
        }
    }

    fn trajectory(&mut self, block: &Node, servers: Option<&BTreeSet<String>>) -> Option<TrajectoryGate> {
        let mut calls = Vec::new();
        for item in block.items_at("calls") {
            let name = item.text_at("name").unwrap_or_else(|| MISSING.to_owned());
            self.reject_server_prefix(item.get("name"), servers, |server, bare| {
                format!("write `name: {bare}` and `server: {server}`")
            });
            calls.push(CallRule {
                call: ExpectedCall { name, args: call_args(item.get("args")) },
                server: item.text_at("server"),
                optional: item.flag_at("optional").unwrap_or(false),
                status: item.word_at("status", StatusRule::from_word),
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
        self.report_problems(block, TrajectoryGate::new(params))
    }

    fn axes(&mut self, block: &Node, servers: Option<&BTreeSet<String>>) -> Option<TrajectoryAxesGate> {
        let items = |key: &str| block.items_at(key);
        for item in items("dependencies").iter().chain(items("order")) {
            for key in ["producer", "consumer", "first", "second"] {
                self.reject_server_prefix(item.get(key), servers, |_, bare| format!("write `{key}: {bare}`"));
            }
        }
        // Two missing names are not the same name.
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
        let params = TrajectoryAxesParams {
            dependencies: items("dependencies").iter().map(dependency).collect(),
            order: items("order").iter().map(order).collect(),
            expect: self.expect(block, GateKind::TrajectoryAxes),
        };
        self.report_problems(block, TrajectoryAxesGate::new(params))
    }

    /// Checks that no tool of a list has the prefix of a server.
    fn reject_prefixes_in(&mut self, block: &Node, key: &str, servers: Option<&BTreeSet<String>>) {
        for item in block.items_at(key) {
            self.reject_server_prefix(Some(item), servers, |_, bare| format!("write `{bare}`"));
        }
    }

    fn golden_path(&mut self, block: &Node, servers: Option<&BTreeSet<String>>) -> Option<GoldenPathGate> {
        self.reject_prefixes_in(block, "calls", servers);
        let golden = GoldenPath {
            calls: block.texts_at("calls"),
            allow_extra_steps: block.flag_at("allow_extra_steps").unwrap_or(false),
            penalize_backtracking: block.flag_at("penalize_backtracking").unwrap_or(true),
            penalize_repeated_tools: block.flag_at("penalize_repeated_tools").unwrap_or(true),
        };
        let params = GoldenPathParams { golden, expect: self.expect(block, GateKind::GoldenPath) };
        self.report_problems(block, GoldenPathGate::new(params))
    }

    fn stability(&mut self, block: &Node) -> Option<StabilityGate> {
        let chosen = block.get("dimensions").map(|_| Dimensions::named(&block.texts_at("dimensions")));
        let params =
            StabilityParams { dimensions: chosen.unwrap_or_default(), expect: self.expect(block, GateKind::Stability) };
        self.report_problems(block, StabilityGate::new(params))
    }

    fn reliability(&mut self, block: &Node) -> Option<ReliabilityGate> {
        let level = block.whole_at("confidence").and_then(|level| u32::try_from(level).ok());
        let confidence = level.and_then(|level| Confidence::from_percent(level).ok()).unwrap_or_default();
        let params = ReliabilityParams {
            confidence,
            at_least: block.number_at("at_least"),
            settles_from: None,
            expect: self.expect(block, GateKind::Reliability),
        };
        self.report_problems(block, ReliabilityGate::new(params))
    }

    fn recovery(&mut self, block: &Node, servers: Option<&BTreeSet<String>>) -> Option<RecoveryGate> {
        let default = RecoveryParams::default();
        // A gates file has no servers. Its traces come from elsewhere, and nothing was injected into them.
        let faults = if servers.is_some() { FaultScope::Injected } else { FaultScope::Any };
        let params = RecoveryParams {
            max_detection_ms: block.whole_at("max_detection_ms").unwrap_or(default.max_detection_ms),
            max_recovery_ms: block.whole_at("max_recovery_ms"),
            require_clean_timeout: block.flag_at("require_clean_timeout").unwrap_or(default.require_clean_timeout),
            require_hit: block.flag_at("require_hit").unwrap_or(default.require_hit),
            require_call: block.flag_at("require_call").unwrap_or(default.require_call),
            faults: block.word_at("faults", FaultScope::from_word).unwrap_or(faults),
            expect: self.expect(block, GateKind::Recovery),
        };
        self.report_problems(block, RecoveryGate::new(params))
    }

    fn narrative(&mut self, block: &Node, servers: Option<&BTreeSet<String>>) -> Option<NarrativeGate> {
        self.reject_prefixes_in(block, "mutating_tools", servers);
        self.reject_prefixes_in(block, "readonly_tools", servers);
        let aliases = block.entries_at("aliases").iter().map(|entry| {
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
        self.report_problems(block, NarrativeGate::new(params))
    }
}

fn call_args(node: Option<&Node>) -> ExpectedArgs {
    let Some(node) = node else { return ExpectedArgs::Any };
    let shape = |key: &str| node.get(key).map(Node::to_json);
    // `any` as written; without `args`, they are not checked.
    if matches!(node.text(), Some("any" | "ignore")) {
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
