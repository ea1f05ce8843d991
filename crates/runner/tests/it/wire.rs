//! Providers over a loopback server that speaks each interface as documented: what is sent, what is made of the answer,
//! and what happens when there is none.

mod access;
mod anthropic;
mod chat;
mod gemini;
mod responses;
mod same_trace;
mod server;
mod transport;

use std::collections::BTreeMap;
use std::time::Duration;

use mcptest_core::suite::{Api, Model, Provider, Template, Variables};
use mcptest_core::trace::{Tokens, ToolResult};
use mcptest_runner::agent::{Exchange, Reply, RequestedArgs, RequestedCall};
use mcptest_runner::catalog::{Catalog, Tool};
use mcptest_runner::provider::{Access, AskError, Client, ModelRequest, Timeouts};
use serde_json::{Map, Value, json};
use server::{Answer, Request, Server};

/// The key of every test; no message may contain it.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// Long enough for a loaded machine, short enough for a test.
pub(crate) const PATIENCE: Timeouts =
    Timeouts { connect: Duration::from_secs(20), attempt: Duration::from_secs(20), pause: Duration::from_millis(5) };

/// An interface as a suite names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spoken(pub(crate) Provider, pub(crate) Option<Api>);

pub(crate) const MESSAGES: Spoken = Spoken(Provider::Anthropic, None);
pub(crate) const RESPONSES: Spoken = Spoken(Provider::Openai, Some(Api::Responses));
pub(crate) const CHAT: Spoken = Spoken(Provider::Openai, None);
pub(crate) const GEMINI: Spoken = Spoken(Provider::Gemini, None);

/// An entry of `models:` for a server of the tests.
pub(crate) fn entry(Spoken(provider, api): Spoken, base: &str) -> Model {
    Model {
        provider,
        model: Some(Template::parse("model-1").unwrap()),
        base_url: Some(Template::parse(base).unwrap()),
        api_key_env: Some("TEST_KEY".to_owned()),
        api,
        price: None,
        script: None,
    }
}

/// How a model of a server of the tests is reached.
pub(crate) fn access_to(spoken: Spoken, base: &str) -> Access {
    let outside = |name: &str| (name == "TEST_KEY").then(|| KEY.to_owned());
    let variables = Variables { suite_dir: ".", outside: &outside };
    Access::resolve("demo", Some(&entry(spoken, base)), &BTreeMap::new(), &variables).unwrap()
}

/// Calls a server that gives these answers. Returns what it received and what was noted.
pub(crate) async fn ask_at(
    spoken: Spoken,
    answers: Vec<Answer>,
    question: &ModelRequest<'_>,
) -> (Result<Reply, AskError>, Vec<Request>, Vec<String>) {
    let server = Server::start(answers).await;
    let notes = std::sync::Mutex::new(Vec::new());
    let note = |text: &str| notes.lock().unwrap().push(text.to_owned());
    let client = Client::with(PATIENCE);
    let reply = client.ask(&access_to(spoken, &server.base()), question, &note).await;
    (reply, server.requests(), notes.into_inner().unwrap())
}

/// The reply a body is read as.
pub(crate) async fn reply(spoken: Spoken, body: Value) -> Reply {
    ask_at(spoken, vec![Answer::json(&body)], &QUESTION).await.0.unwrap()
}

/// The message of the error a body leads to.
pub(crate) async fn failure(spoken: Spoken, body: Value) -> String {
    let error = ask_at(spoken, vec![Answer::json(&body)], &QUESTION).await.0.unwrap_err();
    format!("{} | {}", error.problem, error.hint())
}

/// The request that a question becomes, and its body.
pub(crate) async fn request(spoken: Spoken, question: &ModelRequest<'_>, any: Value) -> Request {
    let (reply, mut requests, _) = ask_at(spoken, vec![Answer::json(&any)], question).await;
    reply.unwrap();
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

/// The plainest question.
pub(crate) const QUESTION: ModelRequest<'_> =
    ModelRequest { system: None, prompt: "Find it.", exchanges: &[], tools: &[], max_tokens: 256, temperature: None };

/// One tool with a description and a schema, one without either.
pub(crate) fn tools() -> Catalog {
    let tool = |name: &str, description: Option<&str>, input_schema: Value| Tool {
        name: name.to_owned(),
        description: description.map(str::to_owned),
        input_schema,
        annotations: None,
        other: Map::new(),
    };
    let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] });
    Catalog::new([
        ("web".to_owned(), vec![tool("search", Some("Searches."), schema)]),
        ("db".to_owned(), vec![tool("query", None, json!(true))]),
    ])
}

pub(crate) fn found(text: &str) -> ToolResult {
    ToolResult {
        is_error: Some(false),
        content: Some(vec![json!({ "type": "text", "text": text }).into()]),
        ..ToolResult::default()
    }
}

pub(crate) fn broken(text: &str) -> ToolResult {
    mcptest_core::ledger::error_result(mcptest_core::trace::ErrorKind::Tool, None, text)
}

/// A reply with two calls, answered by a result and an error.
pub(crate) fn answered(reply: Reply) -> Vec<Exchange> {
    vec![Exchange { reply, results: vec![found("one"), broken("no such table")] }]
}

pub(crate) fn call(id: &str, wire: &str, args: Value, caller: Option<Value>) -> RequestedCall {
    let Value::Object(args) = args else { panic!("arguments are an object") };
    RequestedCall { id: id.to_owned(), wire: wire.to_owned(), args: RequestedArgs::Object(args), caller }
}

pub(crate) fn tokens(input: u64, output: u64, cached: Option<u64>, total: Option<u64>) -> Tokens {
    Tokens { input: Some(input), output: Some(output), cached, total }
}
