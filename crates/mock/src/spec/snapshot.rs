//! Reads a snapshot: the `tools/list` reply of a real server, which is listed unchanged.

use mcptest_core::diag::Code;
use mcptest_core::matcher::Schema;
use mcptest_core::suite::Diagnostics;
use mcptest_core::suite::yaml::{Content, Node};
use serde_json::{Value, json};

use super::manifest::{check_tool_name, check_unique, default_answer, first_key};
use super::{Spec, Tool};

/// The name of a server from a snapshot, which does not contain one.
const NAME: &str = "mcptest-mock";

/// The version of a server without one.
pub(super) const VERSION: &str = "0.0.0";

pub(super) fn read(notes: &mut Diagnostics, root: &Node, list: &Node) -> Option<Spec> {
    let Content::List(items) = &list.content else {
        let message = format!("`tools` takes a list, found {}", list.describe());
        notes.error(
            Code::InvalidMockServer,
            list.span.clone(),
            message,
            Some("give the `tools/list` reply as the server sent it".to_owned()),
        );
        return None;
    };
    let reply = root.get("result").unwrap_or(root);
    if let Some(cursor) = reply.get("nextCursor").filter(|cursor| cursor.text().is_some()) {
        let message = "the list is incomplete: this is its first page";
        notes.warning(
            Code::InvalidMockServer,
            cursor.span.clone(),
            message,
            Some("request the other pages and combine their tools".to_owned()),
        );
    }
    check_unique(notes, items, "name", "tool");
    let tools = items.iter().filter_map(|item| tool(notes, item)).collect();
    Some(Spec {
        name: NAME.to_owned(),
        version: VERSION.to_owned(),
        instructions: None,
        tools,
        resources: Vec::new(),
        prompts: Vec::new(),
        playlists: 0,
    })
}

/// One tool. Unknown keys (icons, `_meta`, annotations, future ones) are listed unchanged.
fn tool(notes: &mut Diagnostics, node: &Node) -> Option<Tool> {
    let Content::Map(_) = &node.content else {
        let message = format!("a tool is a map, found {}", node.describe());
        notes.error(
            Code::InvalidMockServer,
            node.span.clone(),
            message,
            Some("each has `name` and `inputSchema`".to_owned()),
        );
        return None;
    };
    let Some(name) = node.get("name").and_then(Node::text).filter(|name| !name.is_empty()) else {
        let at = node.get("name").map_or_else(|| first_key(node), |at| at.span.clone());
        notes.error(Code::InvalidMockServer, at, "a tool has no `name`", Some("add `\"name\": \"..\"`".to_owned()));
        return None;
    };
    check_tool_name(notes, node, name);
    let mut listing = node.to_json();
    let input = match node.get("inputSchema") {
        Some(at) => schema(notes, at),
        None => {
            let message = format!("the tool `{name}` has no `inputSchema`; any arguments are accepted");
            let hint = node.get("input_schema").map_or(
                "every tool of a real server has one",
                |_| "a snapshot spells it `inputSchema`; `input_schema` belongs to a file with `mock_server`",
            );
            notes.warning(Code::InvalidMockServer, first_key(node), message, Some(hint.to_owned()));
            listing["inputSchema"] = json!({ "type": "object" });
            Schema::foreign(&json!({ "type": "object" })).ok()
        }
    };
    let output_at = node.get("outputSchema");
    let output = output_at.and_then(|at| schema(notes, at));
    let (default_answer, output) = default_answer(notes, output, output_at.map(|at| at.span.clone()), name);
    if output.is_none()
        && let Value::Object(map) = &mut listing
    {
        map.remove("outputSchema");
    }
    Some(Tool { name: name.to_owned(), listing, input: input?, output, rules: Vec::new(), default_answer })
}

fn schema(notes: &mut Diagnostics, at: &Node) -> Option<Schema> {
    if !matches!(at.content, Content::Map(_)) {
        let message = format!("a schema of a tool is a map, found {}", at.describe());
        notes.error(
            Code::InvalidMockServer,
            at.span.clone(),
            message,
            Some("write `{ \"type\": \"object\" }` for any arguments".to_owned()),
        );
        return None;
    }
    Schema::foreign(&at.to_json()).map_err(|problems| notes.problems(at, problems)).ok()
}
