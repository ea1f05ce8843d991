//! The names under which clients offer the tools of servers to a model.
//!
//! A client puts the server in front, in one of several ways, and replaces characters that model APIs do not take. Here all of
//! those read the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::answer::AccountCall;

/// A server and one of its tools.
pub(in crate::ledger) type Tool = (String, String);

pub(in crate::ledger) struct Names {
    by_name: BTreeMap<String, Vec<Candidate>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    tool: Tool,
    /// The name says which server.
    has_server: bool,
}

/// What is left of a name when every character that some client replaces is replaced.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

impl Names {
    pub(in crate::ledger) fn new(tools: &BTreeSet<Tool>) -> Self {
        let mut by_name: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
        for tool in tools {
            let (server, name) = (plain(&tool.0), plain(&tool.1));
            let forms = [
                (format!("mcp__{server}__{name}"), true),
                (format!("{server}__{name}"), true),
                (format!("mcp_{server}_{name}"), true),
                (format!("{server}_{name}"), true),
                (name, false),
            ];
            for (form, has_server) in forms {
                let all = by_name.entry(form).or_default();
                if !all.iter().any(|known| known.tool == *tool) {
                    all.push(Candidate { tool: tool.clone(), has_server });
                }
            }
        }
        Self { by_name }
    }

    /// The tool of a server that a program says it called. A name without a server is one of its own tools.
    pub(in crate::ledger) fn of_account(&self, call: &AccountCall) -> Option<Tool> {
        let name = match call.server.as_deref() {
            Some("") => return None,
            Some(server) => format!("{server}__{}", call.name),
            None => call.name.clone(),
        };
        let meant = self.by_name.get(&plain(&name))?.iter().filter(|meant| meant.has_server);
        let mut tools: Vec<&Tool> = meant.map(|meant| &meant.tool).collect();
        tools.dedup();
        match tools.as_slice() {
            [tool] => Some((*tool).clone()),
            // The name is ambiguous, or no server has this tool.
            _ => None,
        }
    }

    /// The tools that a name in a model's call may mean. A name without a server does not mean a tool that the same request
    /// offers under a name with its server: then the program has its own tool with that name.
    pub(super) fn tools(&self, name: &str, offered: &BTreeSet<String>) -> Vec<Tool> {
        let Some(meant) = self.by_name.get(&plain(name)) else { return Vec::new() };
        let is_offered_with_server = |tool: &Tool| {
            offered.iter().filter(|other| *other != name).any(|other| {
                let same = self.by_name.get(&plain(other)).into_iter().flatten();
                same.into_iter().any(|other| other.has_server && other.tool == *tool)
            })
        };
        let keep = |one: &&Candidate| one.has_server || !is_offered_with_server(&one.tool);
        meant.iter().filter(keep).map(|one| one.tool.clone()).collect()
    }
}

/// Whether a call that carries the id of a model's call can be that call: clients shorten long names.
pub(super) fn may_be(name: &str, tool: &str) -> bool {
    const LONG: usize = 60;
    name.len() >= LONG || plain(name).ends_with(&plain(tool))
}

/// The names of the tools that a request offers, of one element of its `tools`.
pub(super) fn offered(tool: &Value, out: &mut BTreeSet<String>) {
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    for inner in [Some(tool), tool.get("function"), tool.get("custom")].into_iter().flatten() {
        out.extend(name(inner));
    }
    for key in ["functionDeclarations", "function_declarations", "tools"] {
        for inner in tool.get(key).and_then(Value::as_array).into_iter().flatten() {
            let space = name(tool).map_or_else(String::new, |space| format!("{}__", space.trim_end_matches('_')));
            out.extend(name(inner).map(|name| format!("{space}{name}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_clients_mean_the_tool() {
        let tool = |server: &str, name: &str| (server.to_owned(), name.to_owned());
        let names = Names::new(&BTreeSet::from([tool("my-shop", "refund.order"), tool("web", "search")]));
        let none = BTreeSet::new();
        for name in [
            "mcp__my-shop__refund_order",
            "my-shop__refund.order",
            "mcp_my-shop_refund_order",
            "my_shop_refund_order",
            "refund.order",
            "refund_order",
        ] {
            assert_eq!(names.tools(name, &none), [tool("my-shop", "refund.order")], "{name}");
        }
        assert_eq!(names.tools("refund", &none), []);
        assert_eq!(names.tools("other__search", &none), []);
        assert_eq!(names.tools("search", &BTreeSet::from(["search".to_owned()])), [tool("web", "search")]);
        let both = BTreeSet::from(["search".to_owned(), "mcp__web__search".to_owned()]);
        assert_eq!(names.tools("search", &both), []);
        assert_eq!(names.tools("mcp__web__search", &both), [tool("web", "search")]);
    }
}
