//! The inputs of a recording, from the suite: a difference makes a cassette stale. References to environment variables stay
//! as written, so a recording is valid on every machine and contains no secret; the suite's own variables are expanded.
//! Gates, `expect`, tags, `runs`, prices and the names of key variables may change freely.

use std::collections::BTreeMap;

use mcptest_core::suite::{AgentTest, Fault, ModelSide, Program, Server, Suite, Template, Transport};
use serde_json::{Map, Value, json};

/// The inputs of a test on a model. `script` is the hash of the model's script.
pub fn inputs(suite: &Suite, test: &AgentTest, model: &str, script: Option<&str>) -> Value {
    let mut out = Map::new();
    let as_written = |template: &Template| template.within_suite(&suite.variables_as_written);
    out.insert("prompt".to_owned(), as_written(&test.prompt_as_written).into());
    put(&mut out, "system", test.system_as_written.as_ref().map(as_written));
    match suite.programs.get(model).filter(|_| test.is_program) {
        Some(program) => drop(out.insert("program".to_owned(), program_inputs(model, program, &as_written))),
        None => {
            out.insert("model".to_owned(), model_inputs(suite, test, model, script, &as_written));
            out.insert("max_turns".to_owned(), test.max_turns.into());
        }
    }
    let servers =
        test.servers.iter().filter_map(|name| Some((name.clone(), server(suite.servers.get(name)?, &as_written))));
    out.insert("servers".to_owned(), Value::Object(servers.collect()));
    let faults = test.inject.iter().filter_map(|at| suite.faults.get(*at));
    out.insert("inject".to_owned(), faults.map(fault).collect());
    Value::Object(out)
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

fn model_inputs(
    suite: &Suite,
    test: &AgentTest,
    name: &str,
    script: Option<&str>,
    as_written: &dyn Fn(&Template) -> String,
) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), name.into());
    out.insert("max_tokens".to_owned(), test.max_tokens.into());
    put(&mut out, "temperature", test.temperature);
    if let Some(model) = suite.models.get(name) {
        out.insert("provider".to_owned(), model.provider.as_str().into());
        put(&mut out, "model", model.model.as_ref().map(as_written));
        put(&mut out, "base_url", model.base_url.as_ref().map(as_written));
        put(&mut out, "api", model.api.map(mcptest_core::suite::Api::as_str));
    }
    put(&mut out, "script_sha256", script);
    Value::Object(out)
}

/// What a program is started with. What only compares or bounds its runs may change freely.
fn program_inputs(name: &str, program: &Program, as_written: &dyn Fn(&Template) -> String) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), name.into());
    out.insert("command".to_owned(), program.command.iter().map(as_written).collect());
    if !program.env.is_empty() {
        out.insert("env".to_owned(), all(&program.env, as_written));
    }
    if !program.files.is_empty() {
        out.insert("files".to_owned(), all(&program.files, as_written));
    }
    put(&mut out, "cwd", program.cwd.as_ref().map(as_written));
    put(&mut out, "workspace", program.workspace.as_ref().map(as_written));
    out.insert("input".to_owned(), program.input.to_string().into());
    out.insert("answer".to_owned(), program.answer.to_string().into());
    out.insert("exit".to_owned(), program.exit.into());
    out.insert("timeout_ms".to_owned(), program.timeout_ms.into());
    if program.model == ModelSide::Unseen {
        out.insert("model".to_owned(), program.model.as_str().into());
    }
    Value::Object(out)
}

fn server(server: &Server, as_written: &dyn Fn(&Template) -> String) -> Value {
    let mut out = Map::new();
    match &server.transport {
        Transport::Command { argv, env, cwd } => {
            out.insert("command".to_owned(), argv.iter().map(as_written).collect());
            if !env.is_empty() {
                out.insert("env".to_owned(), all(env, as_written));
            }
            put(&mut out, "cwd", cwd.as_ref().map(as_written));
        }
        Transport::Url { url, headers, .. } => {
            out.insert("url".to_owned(), as_written(url).into());
            if !headers.is_empty() {
                out.insert("headers".to_owned(), all(headers, as_written));
            }
        }
    }
    out.insert("protocol".to_owned(), server.protocol.as_str().into());
    out.insert("timeout_ms".to_owned(), server.timeout_ms.into());
    Value::Object(out)
}

fn all(map: &BTreeMap<String, Template>, as_written: &dyn Fn(&Template) -> String) -> Value {
    Value::Object(map.iter().map(|(name, value)| (name.clone(), as_written(value).into())).collect())
}

fn fault(fault: &Fault) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), fault.name.clone().into());
    out.insert("kind".to_owned(), fault.kind.as_str().into());
    put(&mut out, "tool", fault.tool.clone());
    put(&mut out, "server", fault.server.clone());
    match fault.kind {
        mcptest_core::trace::FaultKind::Slow => drop(out.insert("delay_ms".to_owned(), json!(fault.delay_ms))),
        mcptest_core::trace::FaultKind::RecoverAfter => {
            out.insert("failures".to_owned(), json!(fault.failures));
        }
        kind if kind.targets_model() => {
            let numbers = [("delay_ms", fault.delay_ms), ("failures", fault.failures), ("events", fault.events)];
            out.extend(numbers.into_iter().filter(|(_, n)| *n > 0).map(|(key, n)| (key.to_owned(), json!(n))));
            if kind == mcptest_core::trace::FaultKind::ModelError {
                out.insert("status".to_owned(), json!(fault.status));
            }
        }
        _ => {}
    }
    Value::Object(out)
}
