//! `trajectory_axes`: order and data flow between calls, and nothing else about them.
//!
//! An edge is broken when a later call has no earlier call before it. `via` requires more: the value that the consumer
//! used must appear in an earlier result of the producer.

mod finder;
mod provenance;

use serde::Serialize;

use super::gate::{Expect, GateKind, GateOutcome, Judge, NO_CALLS};
use super::metrics::Metrics;
use crate::diag::{Code, Problem, Problems};
use crate::target::Target;
use crate::trace::{ToolCall, ToolResult, Trace};

/// The consumer may run only after its producer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DependencyEdge {
    /// The tool that returns the value.
    pub producer: String,
    /// The tool that uses it.
    pub consumer: String,
    /// Path in the consumer's arguments to the value that must come from the producer.
    pub via: Option<String>,
    /// The consumer must be called.
    pub required: bool,
}

/// The second tool may run only after the first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderEdge {
    /// The tool that must be called first.
    pub first: String,
    /// The tool that must be called later.
    pub second: String,
    /// The second tool must be called.
    pub required: bool,
}

/// Parameters of the gate.
#[derive(Debug, Clone, Default)]
pub struct TrajectoryAxesParams {
    /// Data-flow edges.
    pub dependencies: Vec<DependencyEdge>,
    /// Order edges.
    pub order: Vec<OrderEdge>,
    /// What is asserted.
    pub expect: Expect,
}

/// Which axis an edge belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Data flow.
    Dependency,
    /// Order.
    Order,
}

/// Whether the calls satisfy an edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeState {
    /// Every later call had its earlier call.
    Held,
    /// The later call was never made, so there was nothing to break.
    NotExercised,
    /// Why it is broken.
    Broken(String),
    /// The evidence for it was not recorded.
    Unknown(String),
}

/// One edge as found in a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EdgeResult {
    /// Data flow or order.
    pub axis: Axis,
    /// The edge as `earlier -> later`.
    pub edge: String,
    /// Whether the calls satisfy it.
    pub state: EdgeState,
    /// Whether the later tool was called.
    pub exercised: bool,
}

impl Axis {
    fn metric(self) -> &'static str {
        match self {
            Self::Dependency => "dependency_satisfaction",
            Self::Order => "order_satisfaction",
        }
    }
}

impl EdgeResult {
    /// The edge and why it is broken, if it is.
    fn broken(&self) -> Option<(&str, &str)> {
        match &self.state {
            EdgeState::Broken(why) => Some((&self.edge, why)),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
struct Edge {
    axis: Axis,
    earlier: String,
    later: String,
    /// Indices of the two in the gate's `tools`.
    places: [usize; 2],
    /// As `earlier -> later`.
    name: String,
    via: Option<Target>,
    required: bool,
}

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct TrajectoryAxesGate {
    edges: Vec<Edge>,
    /// The tools of all edges, sorted, each once.
    tools: Vec<String>,
    expect: Expect,
}

impl TrajectoryAxesGate {
    /// Compiles the edges. Paths of problems start at the gate's block.
    pub fn new(params: TrajectoryAxesParams) -> Result<Self, Problems> {
        let mut problems = params.expect.problems();
        let mut edges = Vec::new();
        for (at, edge) in params.dependencies.into_iter().enumerate() {
            let via = edge.via.as_deref().map(Target::parse).transpose().unwrap_or_else(|error| {
                let path = format!("/dependencies/{at}/via");
                problems.push(Problem::new(Code::MalformedTarget, path, format!("invalid path: {error}")));
                None
            });
            let (earlier, later, required) = (edge.producer, edge.consumer, edge.required);
            check_self(&earlier, &later, || format!("/dependencies/{at}"), &mut problems);
            edges.push(Edge::new(Axis::Dependency, earlier, later, via, required));
        }
        for (at, edge) in params.order.into_iter().enumerate() {
            let (earlier, later, required) = (edge.first, edge.second, edge.required);
            check_self(&earlier, &later, || format!("/order/{at}"), &mut problems);
            edges.push(Edge::new(Axis::Order, earlier, later, None, required));
        }
        let mut tools: Vec<_> = edges.iter().flat_map(|edge| [edge.earlier.clone(), edge.later.clone()]).collect();
        tools.sort_unstable();
        tools.dedup();
        for edge in &mut edges {
            edge.places = [&edge.earlier, &edge.later].map(|name| tools.partition_point(|tool| tool < name));
        }
        problems.or(Self { edges, tools, expect: params.expect })
    }

    /// Whether no run can fail it.
    pub(crate) fn accepts_any_trace(&self) -> bool {
        self.edges.is_empty() && matches!(self.expect, Expect::Default)
    }

    /// Scores a run.
    pub fn evaluate(&self, trace: &Trace) -> GateOutcome<Vec<EdgeResult>> {
        self.judged(trace, Judge::default())
    }

    pub(crate) fn judged(&self, trace: &Trace, mut judge: Judge) -> GateOutcome<Vec<EdgeResult>> {
        let gate = GateKind::TrajectoryAxes.info();
        if let Some(why) = trace.incomplete() {
            return judge.incomplete(gate, why);
        }
        let Some(calls) = &trace.tool_calls else {
            return judge.without_evidence(gate, &self.expect, NO_CALLS);
        };
        let by_tool = ByTool::new(&self.tools, calls);
        let evaluate =
            |edge: &Edge| edge.evaluate(trace, calls, by_tool.of(edge.places[0]), by_tool.of(edge.places[1]));
        let results: Vec<_> = self.edges.iter().map(evaluate).collect();
        let mut metrics = Metrics::of(gate);
        axis(&results, Axis::Dependency, &mut metrics);
        metrics.set("edges_exercised", results.iter().filter(|result| result.exercised).count());
        axis(&results, Axis::Order, &mut metrics);
        if matches!(self.expect, Expect::Default) {
            // A broken edge decides, regardless of another edge's missing evidence.
            for bound in gate.default.iter().filter(|bound| metrics.get(bound.metric).is_none()) {
                let on_axis = |result: &&EdgeResult| result.axis.metric() == bound.metric;
                for (edge, why) in results.iter().filter(on_axis).filter_map(EdgeResult::broken) {
                    judge.fail(format!("{}.{}", gate.prefix, bound.metric), format!("{edge}: {why}"));
                }
            }
        }
        judge.expect(gate, &self.expect, &metrics, |metric| {
            if metric == "edges_exercised" {
                let idle = results.iter().filter(|result| !result.exercised);
                return idle.map(|result| format!("{}: the later tool was never called", result.edge).into()).collect();
            }
            let on_axis = results.iter().filter(|result| result.axis.metric() == metric);
            on_axis.filter_map(EdgeResult::broken).map(|(edge, why)| [edge, ": ", why].concat().into()).collect()
        });
        judge.outcome(metrics, results, |results| line(results))
    }
}

/// Calls grouped by tool.
struct ByTool {
    /// Indices of the calls, ascending, one tool after the other.
    calls: Vec<usize>,
    /// Where the calls of each tool end.
    ends: Vec<usize>,
}

impl ByTool {
    fn new(tools: &[String], calls: &[ToolCall]) -> Self {
        let mut out = Self { calls: Vec::with_capacity(calls.len()), ends: Vec::with_capacity(tools.len()) };
        for tool in tools {
            out.calls.extend(calls.iter().enumerate().filter(|(_, call)| call.name == *tool).map(|(at, _)| at));
            out.ends.push(out.calls.len());
        }
        out
    }

    fn of(&self, tool: usize) -> &[usize] {
        let start = if tool == 0 { 0 } else { self.ends[tool - 1] };
        &self.calls[start..self.ends[tool]]
    }
}

fn check_self(earlier: &str, later: &str, path: impl Fn() -> String, problems: &mut Problems) {
    if earlier == later {
        let problem =
            Problem::new(Code::SelfEdge, path(), format!("an edge from `{earlier}` to itself can never be satisfied"));
        problems.push(problem.hint("name two different tools"));
    }
}

/// Percent of the axis' edges that are satisfied, rounded down; 100 without edges.
fn axis(results: &[EdgeResult], axis: Axis, metrics: &mut Metrics) {
    let name = axis.metric();
    let on_axis = || results.iter().filter(|result| result.axis == axis);
    let unknown = on_axis().find_map(|result| match &result.state {
        EdgeState::Unknown(why) => Some(format!("{}: {why}", result.edge)),
        _ => None,
    });
    if let Some(why) = unknown {
        metrics.lacks_evidence(name, why);
        return;
    }
    let held = on_axis().filter(|result| matches!(result.state, EdgeState::Held | EdgeState::NotExercised)).count();
    metrics.set(name, (held * 100).checked_div(on_axis().count()).unwrap_or(100));
}

fn line(results: &[EdgeResult]) -> String {
    let count = |wanted: fn(&EdgeState) -> bool| results.iter().filter(|result| wanted(&result.state)).count();
    let idle = count(|state| *state == EdgeState::NotExercised);
    let mut line = format!("{} of {} edges satisfied", count(|state| *state == EdgeState::Held) + idle, results.len());
    if idle > 0 {
        line.push_str(&format!(", {idle} not exercised"));
    }
    let unknown = count(|state| matches!(state, EdgeState::Unknown(_)));
    if unknown > 0 {
        line.push_str(&format!(", {unknown} not assessable"));
    }
    line
}

impl Edge {
    fn new(axis: Axis, earlier: String, later: String, via: Option<Target>, required: bool) -> Self {
        let name = format!("{earlier} -> {later}");
        Self { axis, earlier, later, places: [0; 2], name, via, required }
    }

    fn evaluate(&self, trace: &Trace, calls: &[ToolCall], earlier: &[usize], later: &[usize]) -> EdgeResult {
        // A call that was refused was never made. It still needs what should come before it.
        let is_made = |at: &&usize| !trace.result(**at).is_some_and(ToolResult::is_refused);
        let exercised = later.iter().any(|at| is_made(&at));
        let state = match (later.first(), earlier.iter().find(is_made)) {
            (None, _) if self.required => EdgeState::Broken(format!("{} was never called", self.later)),
            (Some(second), _) if self.required && !exercised => {
                EdgeState::Broken(format!("tool_calls[{second}] ({}) was refused and never made", self.later))
            }
            (None, _) => EdgeState::NotExercised,
            (Some(second), None) => EdgeState::Broken(format!(
                "tool_calls[{second}] ({}) has no call of {} before it",
                self.later, self.earlier
            )),
            (Some(second), Some(first)) if second < first => EdgeState::Broken(format!(
                "tool_calls[{second}] ({}) ran before any call of {}",
                self.later, self.earlier
            )),
            _ => match &self.via {
                Some(via) => provenance::check(trace, calls, earlier, later, via),
                None => EdgeState::Held,
            },
        };
        EdgeResult { axis: self.axis, edge: self.name.clone(), state, exercised }
    }
}
