//! Every tool of every server of a test, under the name the model sees.
//!
//! The wire name is `<server>__<tool>`. Providers take letters, digits, `_` and `-`, at most 64 of them; a name they would
//! refuse is sanitized and made unique by a hash. The way back is this list, so nothing needs to be undone by rule.

use std::collections::{BTreeMap, BTreeSet};

use mcptest_core::redact::short_hash;
use serde_json::{Map, Value};

/// Longest name that every provider accepts.
const LONGEST: usize = 64;

/// A tool as a server offers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// What the server says about its effects.
    pub annotations: Option<Value>,
    /// Every other field, as received.
    pub other: Map<String, Value>,
}

/// A tool of a server, as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// The name the model calls it by.
    pub wire: String,
    /// The server that has it.
    pub server: String,
    pub tool: Tool,
}

/// The tools of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    offered: Vec<Offered>,
    by_wire: BTreeMap<String, usize>,
    servers: BTreeSet<String>,
}

impl Catalog {
    /// The tools of these servers, in their order.
    pub fn new(servers: impl IntoIterator<Item = (String, Vec<Tool>)>) -> Self {
        let mut out = Self::default();
        for (server, tools) in servers {
            out.servers.insert(server.clone());
            let mut names = BTreeSet::new();
            for tool in tools {
                let full = format!("{server}__{}", tool.name);
                // A duplicate name means the same tool.
                if !names.insert(tool.name.clone()) {
                    continue;
                }
                let mut wire = wire_name(&full);
                // A name can equal another name after sanitizing, so try until one is free.
                for attempt in 1.. {
                    if !out.by_wire.contains_key(&wire) {
                        break;
                    }
                    wire = sanitized(&full, attempt);
                }
                out.by_wire.insert(wire.clone(), out.offered.len());
                out.offered.push(Offered { wire, server: server.clone(), tool });
            }
        }
        out
    }

    pub fn offered(&self) -> &[Offered] {
        &self.offered
    }

    /// The tool with this wire name.
    pub fn by_wire(&self, wire: &str) -> Option<&Offered> {
        self.by_wire.get(wire).map(|at| &self.offered[*at])
    }

    /// The recorded name of an unknown tool: without the prefix of a server.
    pub fn without_prefix<'w>(&self, wire: &'w str) -> &'w str {
        match wire.split_once("__") {
            Some((server, tool)) if self.servers.contains(server) => tool,
            _ => wire,
        }
    }

    /// The tools of this name, on this server or on any.
    pub fn named<'a>(&'a self, tool: &'a str, server: Option<&'a str>) -> impl Iterator<Item = &'a Offered> {
        self.offered
            .iter()
            .filter(move |offered| offered.tool.name == tool && server.is_none_or(|server| offered.server == server))
    }
}

fn wire_name(full: &str) -> String {
    let plain = full.len() <= LONGEST && full.chars().all(is_plain);
    if plain { full.to_owned() } else { sanitized(full, 1) }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The allowed part of a name, and a hash of the full name that differs for each attempt.
fn sanitized(full: &str, attempt: usize) -> String {
    let kept: String = full.chars().map(|c| if is_plain(c) { c } else { '_' }).take(LONGEST - 9).collect();
    let hash = if attempt == 1 { short_hash(full) } else { short_hash(&format!("{full}\0{attempt}")) };
    format!("{kept}_{hash}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> Tool {
        Tool { name: name.to_owned(), description: None, input_schema: json!({}), annotations: None, other: Map::new() }
    }

    fn check(server: &str, tools: &[&str], expected: &[&str]) {
        let tools: Vec<Tool> = tools.iter().map(|name| tool(name)).collect();
        let catalog = Catalog::new([(server.to_owned(), tools.clone())]);
        let wires: Vec<&str> = catalog.offered().iter().map(|offered| offered.wire.as_str()).collect();
        assert_eq!(wires, expected);
        for (wire, tool) in wires.iter().zip(&tools) {
            assert!(wire.len() <= LONGEST && wire.chars().all(is_plain), "{wire}");
            assert_eq!(catalog.by_wire(wire).map(|offered| &offered.tool), Some(tool));
        }
    }

    #[test]
    fn plain_names_include_their_server_and_others_get_a_hash() {
        check("fs", &["read_file", "read-file"], &["fs__read_file", "fs__read-file"]);
        check("fs", &["read.file", "read/file"], &["fs__read_file_3d6b9878", "fs__read_file_b0f63943"]);
        check("fs", &["søk"], &["fs__s_k_72790039"]);
        let long = "x".repeat(128);
        check("fs", &[&long], &[&format!("fs__{}_b324a8dc", "x".repeat(51))]);
    }

    #[test]
    fn a_tool_cannot_hide_another_by_taking_the_name_it_would_be_given() {
        let free = sanitized("fs__read.file", 2);
        check("fs", &["read_file_3d6b9878", "read.file"], &["fs__read_file_3d6b9878", &free]);
        let catalog = Catalog::new([
            ("a".to_owned(), vec![tool("b__c"), tool("b__c"), tool(&sanitized("a__b__c", 1)["a__".len()..])]),
            ("a__b".to_owned(), vec![tool("c")]),
        ]);
        let found: Vec<&str> = catalog.offered().iter().map(|offered| offered.server.as_str()).collect();
        assert_eq!((found, catalog.by_wire.len()), (vec!["a", "a", "a__b"], 3));
    }

    #[test]
    fn a_tool_is_found_by_name_alone_or_on_its_server() {
        let catalog =
            Catalog::new([("a".to_owned(), vec![tool("get"), tool("put")]), ("b".to_owned(), vec![tool("get")])]);
        let wires = |tool, server| catalog.named(tool, server).map(|o| o.wire.as_str()).collect::<Vec<_>>();
        assert_eq!(wires("get", None), ["a__get", "b__get"]);
        assert_eq!(wires("get", Some("b")), ["b__get"]);
        assert_eq!(wires("drop", None), [""; 0]);
        assert_eq!(catalog.by_wire("get"), None);
    }
}
