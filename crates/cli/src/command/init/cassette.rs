//! What a cassette contains besides its trace: the tools of its servers, and how those were reached.

use mcptest_core::json;
use mcptest_core::redact::Redactor;
use serde_json::{Map, Value};

use super::yaml::{self, Dollar};

/// Defaults of a suite, which need not be written.
const USUAL: [(&str, &str); 2] = [("protocol", "\"auto\""), ("timeout_ms", "30000")];

/// Servers of a recorded run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cassette {
    /// The tools of all servers.
    pub(super) tools: Vec<Listed>,
    /// The servers by name, as in the suite; references are not expanded.
    servers: Vec<(String, Map<String, Value>)>,
}

/// A tool as its server listed it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) schema: Value,
}

impl Cassette {
    /// The servers in a record, redacted; `None` if the record is not a cassette.
    pub(super) fn of(record: &str) -> Option<Self> {
        let record = json::parse(record).ok()?;
        record.get("mcptest").and(record.get("trace"))?;
        let redactor = Redactor::new([]);
        let of = |key: &str| record.get(key)?.get("servers")?.as_object().cloned();
        let mut out = Self::default();
        for observed in of("observed")?.values() {
            let tools = observed.get("tools").and_then(Value::as_array);
            out.tools.extend(tools.into_iter().flatten().filter_map(|tool| listed(&redactor.value(tool.clone()))));
        }
        for (name, server) in of("inputs")? {
            if let Value::Object(server) = redactor.value(server) {
                out.servers.push((name, server));
            }
        }
        (!out.servers.is_empty()).then_some(out)
    }

    /// The tool with this name, if exactly one server has it.
    pub(super) fn tool(&self, name: &str) -> Option<&Listed> {
        let mut named = self.tools.iter().filter(|tool| tool.name == name);
        named.next().filter(|_| named.next().is_none())
    }

    /// The lines of a suite for the real servers, and a comment about them.
    pub(super) fn real(&self) -> (String, Vec<String>) {
        let mut about = match self.servers.as_slice() {
            [_] => "The recorded answers, from a mock. The real server was this one: put these lines in place of `command`.",
            _ => "The recorded answers, from a mock. The real servers were these: put them in its place, and their names \
                  into `servers` of the test.",
        }
        .to_owned();
        let lines: Vec<String> = match self.servers.as_slice() {
            [(_, server)] => keys(server),
            many => many.iter().map(|(name, server)| format!("{name}: {{ {} }}", keys(server).join(", "))).collect(),
        };
        if lines.iter().any(|line| line.contains("${SUITE_DIR}")) {
            about.push_str(" `${SUITE_DIR}` was the folder of the suite that recorded the run.");
        }
        if self.servers.iter().any(|(_, server)| server.contains_key("url")) {
            about.push_str(" A cassette does not contain the `bearer_token_env` of a URL.");
        }
        (about, lines)
    }
}

fn listed(tool: &Value) -> Option<Listed> {
    let text = |key: &str| tool.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Listed { name: text("name")?, description: text("description"), schema: tool.get("input_schema")?.clone() })
}

/// The keys of a server as in a suite, `command` or `url` first.
fn keys(server: &Map<String, Value>) -> Vec<String> {
    let is_usual = |key: &str, value: &str| USUAL.contains(&(key, value));
    let mut keys: Vec<(&String, &Value)> =
        server.iter().filter(|(key, value)| !is_usual(key, &value.to_string())).collect();
    keys.sort_unstable_by_key(|(key, _)| (!matches!(key.as_str(), "command" | "url"), *key));
    // References stay references.
    keys.into_iter().map(|(key, value)| format!("{key}: {}", yaml::value(value, Dollar::Plain))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cassette(servers: &Value) -> Cassette {
        let record = json!({
            "mcptest": 1, "trace": {}, "inputs": { "servers": servers },
            "observed": { "servers": {
                "a": { "tools": [{ "name": "look", "input_schema": { "type": "object" } }, { "name": "both", "input_schema": {} }] },
                "b": { "tools": [{ "name": "both", "input_schema": {} }] },
            } },
        });
        Cassette::of(&record.to_string()).unwrap()
    }

    #[test]
    fn a_tool_is_known_where_one_server_has_it() {
        let cassette = cassette(&json!({ "a": { "command": ["x"] } }));
        assert_eq!(cassette.tool("look").map(|tool| &tool.schema), Some(&json!({ "type": "object" })));
        assert_eq!(cassette.tool("both"), None);
        assert_eq!(cassette.tool("other"), None);
        assert_eq!(Cassette::of("{ \"tool_calls\": [] }"), None);
    }

    #[test]
    fn a_server_is_written_as_in_the_suite() {
        let usual = json!({ "a": { "protocol": "auto", "timeout_ms": 30000, "cwd": "${SUITE_DIR}", "command": ["run", "${KEY}"] } });
        assert_eq!(
            cassette(&usual).real(),
            (
                "The recorded answers, from a mock. The real server was this one: put these lines in place of `command`. \
                 `${SUITE_DIR}` was the folder of the suite that recorded the run."
                    .to_owned(),
                vec!["command: [run, \"${KEY}\"]".to_owned(), "cwd: \"${SUITE_DIR}\"".to_owned()]
            )
        );
        let two = json!({ "a": { "url": "https://a.test", "timeout_ms": 5 }, "b": { "command": ["run"] } });
        assert_eq!(
            cassette(&two).real(),
            (
                "The recorded answers, from a mock. The real servers were these: put them in its place, and their names \
                 into `servers` of the test. A cassette does not contain the `bearer_token_env` of a URL."
                    .to_owned(),
                vec!["a: { url: \"https://a.test\", timeout_ms: 5 }".to_owned(), "b: { command: [run] }".to_owned()]
            )
        );
    }
}
