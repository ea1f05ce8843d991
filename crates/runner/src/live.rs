//! One run for real: its own servers, a model or a script, and the loop between them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcptest_core::TraceError;
use mcptest_core::redact::Redactor;
use mcptest_core::report::{Cell, Trouble};
use mcptest_core::suite::interpolate::TemplateError;
use mcptest_core::suite::{Protocol, Server, Template, Transport, Variables};
use mcptest_core::trace::{ErrorKind, ToolResult, Trace};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::agent::{Agent, Dispatch, Step, error_result};
use crate::catalogue::Catalogue;
use crate::clock::Stopwatch;
use crate::executor::Options;
use crate::fault::{Directive, Faults};
use crate::interrupt::Interrupt;
use crate::mcp::{Connection, Target};
use crate::plan::SuiteFile;
use crate::process::{Launch, Processes};
use crate::provider::script::Script;

/// What runs for real share.
pub(crate) struct Live {
    runtime: Runtime,
    processes: Processes,
    program: Option<PathBuf>,
}

/// A run to be made.
pub(crate) struct Request<'a> {
    pub(crate) file: &'a SuiteFile,
    pub(crate) cell: Cell<'a>,
    pub(crate) run: u64,
    pub(crate) script: &'a Script,
    pub(crate) variables: &'a Variables<'a>,
}

/// A run that was made.
pub(crate) struct Ran {
    pub(crate) trace: Trace,
    pub(crate) observed: Value,
}

impl Ran {
    /// The same without secrets.
    pub(crate) fn redacted(self, redactor: &Redactor) -> Result<Self, TraceError> {
        Ok(Self {
            trace: Trace::read(&redactor.value(self.trace.to_envelope()))?,
            observed: redactor.value(self.observed),
        })
    }
}

impl Live {
    pub(crate) fn new(options: &Options<'_>) -> Result<Self, Trouble> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| Trouble {
            message: format!("cannot start the threads that talk to servers: {error}"),
            hint: Some("check the limits on threads and open files".to_owned()),
        })?;
        Ok(Self { runtime, processes: options.processes.clone(), program: options.program.clone() })
    }

    /// Makes a run; nothing when the user stopped it.
    pub(crate) fn run(&self, request: &Request<'_>, interrupt: &Interrupt) -> Result<Option<Ran>, Trouble> {
        let wanted = self.wanted(request)?;
        self.runtime.block_on(async {
            tokio::select! {
                ran = self.converse(request, wanted) => ran.map(Some),
                () = interrupt.wait() => Ok(None),
            }
        })
    }

    async fn converse(&self, request: &Request<'_>, wanted: Vec<Wanted>) -> Result<Ran, Trouble> {
        let watch = Stopwatch::start();
        let servers = Servers::open(wanted, &self.processes).await?;
        let ran = talk(request, &servers).await;
        servers.close().await;
        let (mut trace, observed) = ran?;
        trace.conversation.duration_ms = Some(watch.ms());
        Ok(Ran { trace, observed })
    }

    fn wanted(&self, request: &Request<'_>) -> Result<Vec<Wanted>, Trouble> {
        let suite = &request.file.suite;
        let resolve = |name: &str, template: &Template| {
            template.resolve(&suite.variables, request.variables).map_err(|error| unresolved(name, &error))
        };
        let mut out = Vec::new();
        for name in &request.cell.test.servers {
            let Some(Server { transport, timeout_ms, protocol }) = suite.servers.get(name) else { continue };
            let Transport::Command { argv, env, cwd } = transport else {
                let message = format!("server `{name}` has a `url`, and servers are reached by `command` only so far");
                return Err(Trouble { message, hint: Some("start the server with `command:`".to_owned()) });
            };
            let mut argv: Vec<String> = argv.iter().map(|part| resolve(name, part)).collect::<Result<_, _>>()?;
            // A suite that starts the mock means the one that came with this program.
            if let (Some(first), Some(program)) = (argv.first_mut().filter(|first| *first == "mcptest"), &self.program)
            {
                *first = program.to_string_lossy().into_owned();
            }
            let env = env.iter().map(|(key, value)| Ok((key.clone(), resolve(name, value)?)));
            let launch = Launch {
                argv,
                env: env.collect::<Result<BTreeMap<_, _>, Trouble>>()?,
                cwd: cwd.as_ref().map(|cwd| resolve(name, cwd)).transpose()?.map(PathBuf::from),
            };
            let timeout = Duration::from_millis(*timeout_ms);
            out.push(Wanted { name: name.clone(), launch, timeout, protocol: *protocol });
        }
        Ok(out)
    }
}

fn unresolved(server: &str, error: &TemplateError) -> Trouble {
    let message = format!("server `{server}`: {error}");
    let hint = match error {
        TemplateError::Unset(name) => format!("set {name}, or write `${{{name}:-default}}` in the suite"),
        _ => "correct it in the suite".to_owned(),
    };
    Trouble { message, hint: Some(hint) }
}

/// A server to be started.
struct Wanted {
    name: String,
    launch: Launch,
    timeout: Duration,
    protocol: Protocol,
}

/// The servers of one run.
struct Servers(BTreeMap<String, Arc<Connection>>);

impl Servers {
    /// Starts all of them at once. When one fails, the others are ended.
    async fn open(wanted: Vec<Wanted>, processes: &Processes) -> Result<Self, Trouble> {
        let mut opening = JoinSet::new();
        for Wanted { name, launch, timeout, protocol } in wanted {
            let processes = processes.clone();
            opening.spawn(async move {
                let target = Target { name: &name, launch, timeout, protocol, processes: &processes };
                let opened = Connection::open(&target).await;
                (name, opened)
            });
        }
        let mut servers = Self(BTreeMap::new());
        let mut failed: BTreeMap<String, Trouble> = BTreeMap::new();
        while let Some(joined) = opening.join_next().await {
            match joined {
                Ok((name, Ok(connection))) => drop(servers.0.insert(name, Arc::new(connection))),
                Ok((name, Err(error))) => {
                    let trouble = Trouble { message: error.to_string(), hint: Some(error.hint().to_owned()) };
                    failed.insert(name, trouble);
                }
                Err(error) => {
                    let trouble = Trouble { message: format!("a server could not be started: {error}"), hint: None };
                    failed.insert(String::new(), trouble);
                }
            }
        }
        // Of several failures the first by name is told, so that the same failures read the same.
        match failed.into_values().next() {
            Some(trouble) => {
                servers.close().await;
                Err(trouble)
            }
            None => Ok(servers),
        }
    }

    fn catalogue(&self, order: &[String]) -> Catalogue {
        let tools = |name: &String| Some((name.clone(), self.0.get(name)?.tools().to_vec()));
        Catalogue::new(order.iter().filter_map(tools))
    }

    /// What the servers say of themselves.
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

/// The loop between script and servers.
async fn talk(request: &Request<'_>, servers: &Servers) -> Result<(Trace, Value), Trouble> {
    let Request { cell, file, .. } = request;
    let catalogue = servers.catalogue(&cell.test.servers);
    let mut faults = Faults::new(cell.test, &file.suite.faults);
    let mut agent = Agent::new(cell.test, &catalogue);
    let mut player = request.script.player(request.run);
    let mut step = Step::Ask;
    loop {
        step = match step {
            Step::Ask => {
                let reply = player.reply(&catalogue, agent.results());
                let failed = |error: crate::provider::script::ScriptError| Trouble {
                    message: error.to_string(),
                    hint: Some(error.hint().to_owned()),
                };
                agent.replied(reply.map_err(failed)?)
            }
            Step::Call(calls) => {
                let answers = dispatch(calls, &mut faults, servers).await;
                agent.answered(answers)
            }
            Step::Done => return Ok((agent.into_trace(cell.model), servers.observed())),
        };
    }
}

/// Makes calls all at once; the answers come back in the order of the calls.
async fn dispatch(calls: Vec<Dispatch>, faults: &mut Faults<'_>, servers: &Servers) -> Vec<ToolResult> {
    let mut answers: Vec<Option<ToolResult>> = calls.iter().map(|_| None).collect();
    let mut running = JoinSet::new();
    for (at, call) in calls.into_iter().enumerate() {
        // Faults are counted in the order of the calls, whatever finishes first.
        let mark = match faults.strike(&call.server, &call.tool) {
            Directive::Answer(answer) => {
                answers[at] = Some(*answer);
                continue;
            }
            Directive::SendMarked(mark) => Some(Box::new(mark)),
            Directive::Send => None,
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
