//! One live run: its own servers, a model or a script, and the loop between them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcptest_core::JsonError;
use mcptest_core::cassette;
use mcptest_core::diag::{Code, RunError, Subject};
use mcptest_core::json;
use mcptest_core::ledger::{Ledger, error_result, message_of};
use mcptest_core::redact::Redactor;
use mcptest_core::report::Cell;
use mcptest_core::suite::interpolate::TemplateError;
use mcptest_core::suite::{AgentTest, Protocol, Server, Template, Transport, Variables};
use mcptest_core::trace::{ErrorKind, ToolResult, Trace};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::agent::{Agent, Dispatch, Step};
use crate::budget::Budget;
use crate::catalog::Catalog;
use crate::clock::Stopwatch;
use crate::executor::{Options, RunProgress, Starting};
use crate::fault::{FaultAction, Faults};
use crate::interrupt::Interrupt;
use crate::mcp::{Connection, Endpoint, InvalidHeaderMark, Target};
use crate::model::{Model, ModelSource};
use crate::plan::SuiteFile;
use crate::process::{Launch, Processes};
use crate::provider::Client;

pub(crate) struct Live {
    pub(crate) runtime: Runtime,
    pub(crate) client: Client,
    pub(crate) processes: Processes,
    /// The path of mcptest itself.
    pub(crate) program: Option<PathBuf>,
}

pub(crate) struct Request<'a> {
    pub(crate) file: &'a SuiteFile,
    pub(crate) cell: Cell<'a>,
    pub(crate) run: u64,
    pub(crate) runs: usize,
    pub(crate) source: ModelSource<'a>,
    pub(crate) budget: &'a Budget,
    pub(crate) on_progress: &'a (dyn Fn(&RunProgress<'_>) + Sync),
    pub(crate) variables: &'a Variables<'a>,
    pub(crate) redactor: &'a Redactor,
}

pub(crate) struct LiveRun {
    pub(crate) trace: Trace,
    pub(crate) observed: Value,
    pub(crate) advisory: Option<Value>,
    /// What passed around a program.
    pub(crate) ledger: Option<Ledger>,
}

impl LiveRun {
    pub(crate) fn redacted(self, redactor: &Redactor) -> Result<Self, JsonError> {
        let mut trace = Trace::from_envelope(&redactor.value(self.trace.to_envelope()))?;
        for result in trace.tool_results.iter_mut().flatten().flatten() {
            let is_own = result.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Tool);
            let message = is_own.then(|| message_of(result));
            if let (Some(error), Some(message)) = (&mut result.error, message) {
                error.message = message;
            }
        }
        let observed = redactor.value(self.observed);
        trace.read_only = cassette::read_only_tools(&observed);
        let advisory = self.advisory.map(|advisory| redactor.value(advisory));
        Ok(Self { trace, observed, advisory, ledger: self.ledger })
    }
}

impl Live {
    pub(crate) fn new(options: &Options<'_>) -> Result<Self, RunError> {
        let runtime = crate::runtime::build().map_err(|error| {
            let hint = "raise the limit on open files (`ulimit -n`)";
            RunError::new(format!("cannot connect to servers: {error}")).code(Code::OutOfResources).hint(hint)
        })?;
        Ok(Self {
            runtime,
            client: Client::default(),
            processes: options.processes.clone(),
            program: options.program.clone(),
        })
    }

    /// Executes a run; `None` if the user stopped it or the budget is used up.
    pub(crate) fn run(&self, request: &Request<'_>, interrupt: &Interrupt) -> Result<Option<LiveRun>, RunError> {
        let configs = self.server_configs(request.file, request.cell.test, request.variables)?;
        self.runtime.block_on(async {
            tokio::select! {
                ran = self.run_async(request, configs) => ran,
                () = interrupt.wait() => Ok(None),
            }
        })
    }

    async fn run_async(&self, request: &Request<'_>, configs: Vec<ServerConfig>) -> Result<Option<LiveRun>, RunError> {
        let watch = Stopwatch::start();
        let mut model = Model::new(request);
        let servers = Servers::connect(configs, &self.processes, |starting| model.starting(starting)).await?;
        for note in servers.notes() {
            model.note(&note);
        }
        let finished = agent_loop(request, &servers, &mut model).await;
        let observed = servers.observed();
        servers.close().await;
        let Some((mut trace, advisory)) = finished? else { return Ok(None) };
        trace.conversation.duration_ms = Some(watch.ms());
        Ok(Some(LiveRun { trace, observed, advisory, ledger: None }))
    }

    /// The servers of a test, with their references resolved.
    pub(crate) fn server_configs(
        &self,
        file: &SuiteFile,
        test: &AgentTest,
        variables: &Variables<'_>,
    ) -> Result<Vec<ServerConfig>, RunError> {
        let suite = &file.suite;
        let mut out = Vec::new();
        for name in &test.servers {
            let Some(Server { transport, timeout_ms, protocol, .. }) = suite.servers.get(name) else { continue };
            let resolve = |template: &Template| {
                let unresolved = |error| server_unresolved(name, &error);
                template.resolve(&suite.variables, variables).map_err(unresolved)
            };
            let resolve_all = |map: &BTreeMap<String, Template>| {
                map.iter().map(|(key, value)| Ok((key.clone(), resolve(value)?))).collect::<Result<_, RunError>>()
            };
            let endpoint = match transport {
                Transport::Command { argv, env, cwd } => {
                    let mut argv: Vec<String> = argv.iter().map(resolve).collect::<Result<_, _>>()?;
                    // `mcptest` in a suite means this program.
                    if let Some(program) = &self.program
                        && argv.first().is_some_and(|first| first == "mcptest")
                    {
                        argv[0] = program.to_string_lossy().into_owned();
                    }
                    let cwd = cwd.as_ref().map(resolve).transpose()?.map(PathBuf::from);
                    Endpoint::Command(Launch { argv, env: resolve_all(env)?, cwd })
                }
                Transport::Url { url, headers, bearer_token_env } => {
                    let token = |variable: &String| {
                        // Looked up like every other variable, and like the redactor does it.
                        let value = suite.variables.get(variable).cloned();
                        let value = value.or_else(|| (variables.outside)(variable));
                        let value = value.filter(|value| !value.is_empty());
                        let unset = || TemplateError::Unset(variable.clone());
                        value.ok_or_else(|| server_unresolved(name, &unset()))
                    };
                    let bearer = bearer_token_env.as_ref().map(token).transpose()?;
                    Endpoint::Url { url: resolve(url)?, headers: resolve_all(headers)?, bearer }
                }
            };
            let timeout = Duration::from_millis(*timeout_ms);
            out.push(ServerConfig { name: name.clone(), endpoint, timeout, protocol: *protocol });
        }
        Ok(out)
    }
}

fn server_unresolved(server: &str, error: &TemplateError) -> RunError {
    unresolved(&format!("server `{server}`"), error).moved(Subject::Server(server.to_owned()))
}

/// The error of a reference that cannot be resolved. `what` is the part of the suite that has it.
pub(crate) fn unresolved(what: &str, error: &TemplateError) -> RunError {
    let message = format!("{what}: {error}");
    let (code, hint) = match error {
        TemplateError::Unset(name) => {
            (Code::VariableNotSet, format!("set {name}, or write `${{{name}:-default}}` in the suite"))
        }
        _ => (Code::MalformedVariable, "fix it in the suite".to_owned()),
    };
    RunError::new(message).code(code).hint(hint)
}

/// A server to connect to.
pub(crate) struct ServerConfig {
    pub(crate) name: String,
    pub(crate) endpoint: Endpoint,
    timeout: Duration,
    protocol: Protocol,
}

/// The servers of one run.
struct Servers(BTreeMap<String, Arc<Connection>>);

impl Servers {
    /// Connects to all of them at once. If one fails, the others are closed. `starting` is called every second with those that
    /// are not connected yet.
    async fn connect(
        configs: Vec<ServerConfig>,
        processes: &Processes,
        starting: impl Fn(Starting<'_>),
    ) -> Result<Self, RunError> {
        let mut opening = JoinSet::new();
        let mut waiting: BTreeSet<String> = configs.iter().map(|server| server.name.clone()).collect();
        for ServerConfig { name, endpoint, timeout, protocol } in configs {
            let processes = processes.clone();
            opening.spawn(async move {
                let target = Target { name: &name, endpoint, timeout, protocol, processes: &processes };
                let opened = Connection::open(&target).await;
                (name, opened)
            });
        }
        let mut servers = Self(BTreeMap::new());
        let mut failed: BTreeMap<String, RunError> = BTreeMap::new();
        let mut ticks = interval(Duration::from_secs(1));
        let mut seconds = 0;
        while !opening.is_empty() {
            let joined = tokio::select! {
                joined = opening.join_next() => joined,
                _ = ticks.tick() => None,
            };
            let Some(joined) = joined else {
                let servers: Vec<&str> = waiting.iter().map(String::as_str).collect();
                starting(Starting { servers: &servers, seconds });
                seconds += 1;
                continue;
            };
            if let Ok((name, _)) = &joined {
                waiting.remove(name);
            }
            match joined {
                Ok((name, Ok(connection))) => drop(servers.0.insert(name, Arc::new(connection))),
                Ok((name, Err(error))) => {
                    failed.insert(name, RunError::from(&error));
                }
                Err(error) => {
                    let trouble = RunError::new(format!("a server could not be started: {error}"));
                    failed.insert(String::new(), trouble);
                }
            }
        }
        // The first failure by name is reported, so that output is deterministic.
        match failed.into_values().next() {
            Some(trouble) => {
                servers.close().await;
                Err(trouble)
            }
            None => Ok(servers),
        }
    }

    fn catalog(&self, order: &[String]) -> Catalog {
        let tools = |name: &String| Some((name.clone(), self.0.get(name)?.tools().to_vec()));
        Catalog::new(order.iter().filter_map(tools))
    }

    /// Notes about the servers for the user.
    fn notes(&self) -> Vec<String> {
        let note = |server: &String, (tool, why): &(String, InvalidHeaderMark)| {
            let tool = json::cut(tool, 80);
            format!("tool `{tool}` of server `{server}` is not offered: its `x-mcp-header` is invalid: {why}")
        };
        self.0.iter().flat_map(|(name, server)| server.forbidden().iter().map(move |entry| note(name, entry))).collect()
    }

    /// What the servers report about themselves.
    fn observed(&self) -> Value {
        let server = |connection: &Connection| {
            let observed = connection.observed();
            let tools = connection.tools().iter().map(|tool| {
                let mut out = Map::new();
                out.insert("name".to_owned(), tool.name.clone().into());
                if let Some(description) = &tool.description {
                    out.insert("description".to_owned(), description.clone().into());
                }
                out.insert("input_schema".to_owned(), tool.input_schema.clone());
                out.extend(tool.other.clone());
                if let Some(annotations) = &tool.annotations {
                    out.insert("annotations".to_owned(), annotations.clone());
                }
                Value::Object(out)
            });
            json!({ "server": observed.server, "protocol": observed.protocol, "tools": tools.collect::<Vec<_>>() })
        };
        let servers = self.0.iter().map(|(name, connection)| (name.clone(), server(connection)));
        json!({ "servers": Value::Object(servers.collect()) })
    }

    async fn close(self) {
        let mut closing = JoinSet::new();
        for connection in self.0.into_values().filter_map(Arc::into_inner) {
            closing.spawn(connection.close());
        }
        while closing.join_next().await.is_some() {}
    }
}

/// The loop between model and servers; `None` if the budget is used up.
async fn agent_loop(
    request: &Request<'_>,
    servers: &Servers,
    model: &mut Model<'_>,
) -> Result<Option<(Trace, Option<Value>)>, RunError> {
    let Request { cell, file, .. } = request;
    let catalog = servers.catalog(&cell.test.servers);
    let mut faults = Faults::new(cell.test, &file.suite.faults);
    let mut agent = Agent::new(cell.test, &catalog);
    let mut step = Step::Ask;
    loop {
        model.report_progress(&agent);
        step = match step {
            Step::Ask => match model.reply(&agent, &catalog).await? {
                Some(reply) => agent.replied(reply),
                None => return Ok(None),
            },
            Step::Call(calls) => {
                let answers = dispatch(calls, &mut faults, servers).await;
                agent.answered(answers)
            }
            Step::Done => break,
        };
    }
    let trace = agent.into_trace(cell.model);
    let advisory = model.advise(&trace).await;
    Ok(Some((trace, advisory)))
}

/// Makes calls in parallel; the answers are in the order of the calls.
async fn dispatch(calls: Vec<Dispatch>, faults: &mut Faults<'_>, servers: &Servers) -> Vec<ToolResult> {
    let mut answers: Vec<Option<ToolResult>> = calls.iter().map(|_| None).collect();
    let mut running = JoinSet::new();
    for (at, call) in calls.into_iter().enumerate() {
        // Faults are counted in the order of the calls, regardless of which finishes first.
        let mark = match faults.next_action(&call.server, &call.tool) {
            FaultAction::Answer(answer) => {
                answers[at] = Some(*answer);
                continue;
            }
            FaultAction::SendMarked(mark) => Some(Box::new(mark)),
            FaultAction::Send => None,
        };
        let Some(connection) = servers.0.get(&call.server).cloned() else { continue };
        running.spawn(async move {
            let watch = Stopwatch::start();
            let mut answer = connection.call(&call.tool, call.args).await;
            answer.duration_ms = Some(watch.ms());
            answer.fault = mark;
            (at, answer)
        });
    }
    while let Some(joined) = running.join_next().await {
        if let Ok((at, answer)) = joined {
            answers[at] = Some(answer);
        }
    }
    let lost = || error_result(ErrorKind::Transport, None, "the call was lost");
    answers.into_iter().map(|answer| answer.unwrap_or_else(lost)).collect()
}
