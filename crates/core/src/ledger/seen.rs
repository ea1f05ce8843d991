//! Which models and servers a program contacted, and what its servers reported about themselves.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The contacts of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// The positions of the first and of the last request to a model API that is read.
    pub requests: Option<(u64, u64)>,
    /// Every server that the program contacted, by name.
    pub servers: BTreeMap<String, ServerSeen>,
}

/// What a server reported about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerSeen {
    /// It answered a request.
    pub is_connected: bool,
    /// The position of the first list of its tools.
    pub listed: Option<u64>,
    /// What the program calls itself: name and version.
    pub client: Option<(String, String)>,
    /// The last error in the way of an answer.
    pub problem: Option<String>,
    info: Option<Value>,
    protocol: Option<String>,
    /// Its tools as it listed them, by name.
    tools: BTreeMap<String, Value>,
}

impl ServerSeen {
    /// Notes what a request says about the program.
    pub(super) fn asked(&mut self, params: Option<&Value>) {
        let places = ["/clientInfo", "/_meta/io.modelcontextprotocol~1clientInfo"];
        let client = places.iter().find_map(|place| params?.pointer(place));
        let word = |key: &str| client?.get(key)?.as_str().map(str::to_owned);
        if let (None, Some(name), Some(version)) = (&self.client, word("name"), word("version")) {
            self.client = Some((name, version));
        }
    }

    pub(super) fn answered(&mut self, seq: u64, method: &str, result: &Value) {
        self.is_connected = true;
        let info = ["/serverInfo", "/_meta/io.modelcontextprotocol~1serverInfo"];
        match method {
            "initialize" | "server/discover" => {
                self.info = info.iter().find_map(|place| result.pointer(place)).cloned();
                let versions = [result.get("protocolVersion"), result.pointer("/supportedVersions/0")];
                self.protocol = versions.into_iter().flatten().next().and_then(Value::as_str).map(str::to_owned);
            }
            "tools/list" => {
                self.listed.get_or_insert(seq);
                for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
                    if let Some(name) = tool.get("name").and_then(Value::as_str) {
                        self.tools.insert(name.to_owned(), tool.clone());
                    }
                }
            }
            _ => {}
        }
    }

    fn observed(&self) -> Value {
        let tool = |tool: &Value| {
            let mut map = tool.as_object().cloned().unwrap_or_else(Map::new);
            if let Some(schema) = map.remove("inputSchema") {
                map.insert("input_schema".to_owned(), schema);
            }
            Value::Object(map)
        };
        let tools: Vec<Value> = self.tools.values().map(tool).collect();
        json!({ "server": self.info, "protocol": self.protocol, "tools": tools })
    }
}

impl Seen {
    /// What the servers reported, in the form that recordings of models have it.
    pub fn observed(&self) -> Value {
        let servers = self.servers.iter().filter(|(_, seen)| seen.is_connected);
        json!({ "servers": Value::Object(servers.map(|(name, seen)| (name.clone(), seen.observed())).collect()) })
    }
}
