//! The methods of the protocol, except `tools/call`.

use mcptest_core::template::Scope;
use serde_json::{Map, Value, json};

use super::message::{INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, Refusal, Request};
use super::{Era, LEGACY_VERSIONS, MODERN_VERSION, Plan, Send, Server};
use crate::answer::ARGUMENTS;
use crate::spec::Prompt;
use crate::state::{Counters, Session};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Initialize,
    Ping,
    Discover,
    ListTools,
    CallTool,
    ListResources,
    ListResourceTemplates,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl Server {
    /// The method with this name, if the era has it and the server offers it.
    fn method(&self, name: &str, era: Era) -> Option<Method> {
        let resources = |method| (!self.spec.resources.is_empty()).then_some(method);
        let prompts = |method| (!self.spec.prompts.is_empty()).then_some(method);
        match (name, era) {
            ("initialize", Era::Legacy) => Some(Method::Initialize),
            ("ping", Era::Legacy) => Some(Method::Ping),
            ("server/discover", Era::Modern) => Some(Method::Discover),
            ("tools/list", _) => Some(Method::ListTools),
            ("tools/call", _) => Some(Method::CallTool),
            ("resources/list", _) => resources(Method::ListResources),
            ("resources/templates/list", _) => resources(Method::ListResourceTemplates),
            ("resources/read", _) => resources(Method::ReadResource),
            ("prompts/list", _) => prompts(Method::ListPrompts),
            ("prompts/get", _) => prompts(Method::GetPrompt),
            _ => None,
        }
    }

    pub(super) fn dispatch(
        &self,
        state: &mut Counters,
        session: &mut Session,
        request: &Request,
        era: Era,
    ) -> Result<Plan, Refusal> {
        if era == Era::Modern
            && let Err(plan) = Self::envelope(request)
        {
            return Ok(plan);
        }
        let Some(method) = self.method(&request.method, era) else {
            return Err(Refusal {
                code: METHOD_NOT_FOUND,
                message: "Method not found".to_owned(),
                data: Some(json!(request.method)),
                rejected: era == Era::Modern,
            });
        };
        let greeted = session.initialized || era == Era::Modern;
        if !greeted && !matches!(method, Method::Initialize | Method::Ping) {
            // The same message as in the official Python SDK.
            return Err(Refusal { data: Some(json!("")), ..Refusal::params("Invalid request parameters") });
        }
        let result = match method {
            Method::CallTool => return self.call(state, request, era),
            Method::Initialize => self.initialize(session, &request.params)?,
            Method::Ping => json!({}),
            Method::Discover => self.discover(),
            Method::ListTools => {
                let tools = self.spec.tools.iter().map(|tool| listed(&tool.listing, era));
                page("tools", tools, &request.params)?
            }
            Method::ListResources => {
                page("resources", self.spec.resources.iter().map(|it| it.listing.clone()), &request.params)?
            }
            Method::ListResourceTemplates => page("resourceTemplates", std::iter::empty(), &request.params)?,
            Method::ListPrompts => {
                page("prompts", self.spec.prompts.iter().map(|it| it.listing.clone()), &request.params)?
            }
            Method::ReadResource => self.read_resource(&request.params, era)?,
            Method::GetPrompt => self.prompt(&request.params)?,
        };
        let cached = !matches!(method, Method::Initialize | Method::Ping | Method::GetPrompt);
        let reply = self.reply(&request.id, result, era, cached);
        Ok(Plan::now(request.id.clone(), Send::Message(reply)))
    }

    /// A reply with a result, and what the era adds to every result.
    pub(super) fn reply(&self, id: &Value, mut result: Value, era: Era, cached: bool) -> Value {
        if let (Era::Modern, Value::Object(map)) = (era, &mut result) {
            map.insert("resultType".to_owned(), json!("complete"));
            map.insert("_meta".to_owned(), json!({ "io.modelcontextprotocol/serverInfo": self.info() }));
            if cached {
                // Do not cache: a test must see every request.
                map.insert("ttlMs".to_owned(), json!(0));
                map.insert("cacheScope".to_owned(), json!("private"));
            }
        }
        json!({ "jsonrpc": "2.0", "id": id, "result": result })
    }

    fn info(&self) -> Value {
        json!({ "name": self.spec.name, "version": self.spec.version })
    }

    fn capabilities(&self) -> Value {
        let mut out = Map::from_iter([("tools".to_owned(), json!({}))]);
        if !self.spec.resources.is_empty() {
            out.insert("resources".to_owned(), json!({}));
        }
        if !self.spec.prompts.is_empty() {
            out.insert("prompts".to_owned(), json!({}));
        }
        Value::Object(out)
    }

    fn with_instructions(&self, mut result: Value) -> Value {
        if let Some(text) = &self.spec.instructions {
            result["instructions"] = json!(text);
        }
        result
    }

    fn initialize(&self, session: &mut Session, params: &Value) -> Result<Value, Refusal> {
        let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
            return Err(Refusal::params("Invalid params: `protocolVersion` must be a string"));
        };
        let newest = LEGACY_VERSIONS[LEGACY_VERSIONS.len() - 1];
        let version = LEGACY_VERSIONS.into_iter().find(|known| *known == asked).unwrap_or(newest);
        session.initialized = true;
        Ok(self.with_instructions(json!({
            "protocolVersion": version, "capabilities": self.capabilities(), "serverInfo": self.info(),
        })))
    }

    fn discover(&self) -> Value {
        self.with_instructions(json!({
            "supportedVersions": [MODERN_VERSION], "capabilities": self.capabilities(),
        }))
    }

    fn read_resource(&self, params: &Value, era: Era) -> Result<Value, Refusal> {
        let uri = text(params, "uri")?;
        match self.spec.resources.iter().find(|resource| resource.uri == uri) {
            Some(resource) => Ok(json!({ "contents": [resource.contents] })),
            None => Err(Refusal {
                code: if era == Era::Modern { INVALID_PARAMS } else { RESOURCE_NOT_FOUND },
                message: format!("Resource not found: {uri}"),
                data: Some(json!({ "uri": uri })),
                rejected: false,
            }),
        }
    }

    fn prompt(&self, params: &Value) -> Result<Value, Refusal> {
        let name = text(params, "name")?;
        let Some(prompt) = self.spec.prompts.iter().find(|prompt| prompt.name == name) else {
            return Err(Refusal::params(format!("Unknown prompt: {name}")));
        };
        let arguments = prompt_arguments(prompt, params)?;
        let scope = Scope::new(ARGUMENTS, arguments);
        let mut messages = Vec::new();
        for (role, template) in &prompt.messages {
            let text = template.text(&scope).map_err(|missing| Refusal::params(missing.to_string()))?;
            messages.push(json!({ "role": role, "content": { "type": "text", "text": text } }));
        }
        let mut result = json!({ "messages": messages });
        if let Some(description) = &prompt.description {
            result["description"] = json!(description);
        }
        Ok(result)
    }
}

/// The arguments of a prompt, which are strings.
fn prompt_arguments(prompt: &Prompt, params: &Value) -> Result<Value, Refusal> {
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => json!({}),
        Some(arguments) if arguments.as_object().is_some_and(|map| map.values().all(Value::is_string)) => {
            arguments.clone()
        }
        Some(_) => return Err(Refusal::params("Invalid params: `arguments` must be an object of strings")),
    };
    let missing = prompt.arguments.iter().find(|it| it.required && arguments.get(&it.name).is_none());
    match missing {
        Some(missing) => Err(Refusal::params(format!("Missing required argument: {}", missing.name))),
        None => Ok(arguments),
    }
}

/// A required string of a request.
pub(super) fn text<'a>(params: &'a Value, key: &str) -> Result<&'a str, Refusal> {
    let found = params.get(key).and_then(Value::as_str);
    found.ok_or_else(|| Refusal::params(format!("Invalid params: `{key}` must be a string")))
}

/// Everything on one page. There are no other pages, so every cursor is invalid.
fn page(key: &str, items: impl Iterator<Item = Value>, params: &Value) -> Result<Value, Refusal> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(json!({ key: items.collect::<Value>() })),
        Some(cursor) => Err(Refusal::params(format!("Unknown cursor: {}", mcptest_core::json::excerpt(cursor, 80)))),
    }
}

/// A tool, as listed. In the legacy era an output schema must describe an object.
fn listed(tool: &Value, era: Era) -> Value {
    let mut tool = tool.clone();
    if let (Era::Legacy, Value::Object(map)) = (era, &mut tool)
        && map.get("outputSchema").is_some_and(|schema| schema.get("type") != Some(&json!("object")))
    {
        map.remove("outputSchema");
    }
    tool
}
