//! The tools of a server, from the pages of `tools/list`. Pure.

use std::collections::BTreeSet;

use mcptest_core::json;
use serde_json::Value;

use super::error::Problem;
use crate::catalog::Tool;

/// The most tools a server may have.
pub const MAX_TOOLS: usize = 10_000;
/// The most pages its list may have.
const MAX_PAGES: usize = 1000;
/// The most memory that all pages may take together, in bytes.
const MAX_COST: u64 = 64 * 1024 * 1024;

/// A list of tools while its pages arrive.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub(super) tools: Vec<Tool>,
    names: BTreeSet<String>,
    cursors: BTreeSet<String>,
    pages: usize,
}

impl Catalog {
    /// Adds a page and returns the cursor of the next one. `cost` is the memory of all pages so far.
    pub(super) fn page(&mut self, result: Value, cost: u64) -> Result<Option<String>, Problem> {
        self.pages += 1;
        if self.pages > MAX_PAGES {
            return Err(Problem::TooManyPages(MAX_PAGES));
        }
        if cost > MAX_COST {
            return Err(Problem::ToolListTooLong(MAX_COST));
        }
        let Value::Object(mut page) = result else {
            return Err(refused(format!("{}, not an object", json::describe(&result))));
        };
        let tools = match page.remove("tools") {
            Some(Value::Array(tools)) => tools,
            None => return Err(refused("a result without `tools`".to_owned())),
            Some(other) => return Err(refused(format!("`tools` that is {}, not a list", json::describe(&other)))),
        };
        if self.tools.len() + tools.len() > MAX_TOOLS {
            return Err(Problem::TooManyTools(MAX_TOOLS));
        }
        for entry in tools {
            let tool = tool(entry).map_err(|what| Problem::BadTool(format!("tool {} {what}", self.tools.len() + 1)))?;
            if !self.names.insert(tool.name.clone()) {
                return Err(Problem::BadTool(format!("duplicate tool `{}`", json::cut(&tool.name, 80))));
            }
            self.tools.push(tool);
        }
        match page.remove("nextCursor") {
            None | Some(Value::Null) => Ok(None),
            // Servers in languages without optional strings send this at the end.
            Some(Value::String(cursor)) if cursor.is_empty() => Ok(None),
            Some(Value::String(cursor)) if self.cursors.contains(&cursor) => {
                Err(Problem::Cycle(json::excerpt(&Value::String(cursor), 80)))
            }
            Some(Value::String(cursor)) => {
                self.cursors.insert(cursor.clone());
                Ok(Some(cursor))
            }
            Some(other) => Err(refused(format!("`nextCursor` that is {}, not text", json::describe(&other)))),
        }
    }
}

fn refused(what: String) -> Problem {
    Problem::Refused { step: "tools/list".to_owned(), what }
}

/// One tool; the error continues after "tool 3".
fn tool(entry: Value) -> Result<Tool, String> {
    let Value::Object(mut map) = entry else { return Err(format!("is {}, not an object", json::describe(&entry))) };
    let name = match map.remove("name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        None => return Err("has no `name`".to_owned()),
        Some(other) => return Err(format!("has a `name` that is {}", json::describe(&other))),
    };
    let called = json::cut(&name, 80);
    let description = match map.remove("description") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => return Err(format!("(`{called}`) has a `description` that is {}", json::describe(&other))),
    };
    let input_schema = match map.remove("inputSchema") {
        Some(schema @ Value::Object(_)) => schema,
        None => return Err(format!("(`{called}`) has no `inputSchema`")),
        Some(other) => return Err(format!("(`{called}`) has an `inputSchema` that is {}", json::describe(&other))),
    };
    let annotations = map.remove("annotations").filter(|annotations| !annotations.is_null());
    Ok(Tool { name, description, input_schema, annotations, other: map })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(name: &str) -> Value {
        json!({ "name": name, "inputSchema": {} })
    }

    fn problem(page: Value) -> String {
        Catalog::default().page(page, 0).unwrap_err().to_string()
    }

    #[test]
    fn nothing_of_a_tool_is_lost() {
        let mut catalog = Catalog::default();
        let page = json!({ "tools": [{
            "name": "a", "description": "d", "inputSchema": { "type": "object", "x-new": 1 },
            "annotations": { "readOnlyHint": true, "y": 2 }, "outputSchema": {}, "z": [3],
        }] });
        assert_eq!(catalog.page(page, 0).unwrap(), None);
        let expected = Tool {
            name: "a".to_owned(),
            description: Some("d".to_owned()),
            input_schema: json!({ "type": "object", "x-new": 1 }),
            annotations: Some(json!({ "readOnlyHint": true, "y": 2 })),
            other: json!({ "outputSchema": {}, "z": [3] }).as_object().cloned().unwrap(),
        };
        assert_eq!(catalog.tools, [expected]);
    }

    #[test]
    fn a_list_ends_where_no_cursor_is_given() {
        for end in [json!({ "tools": [] }), json!({ "tools": [], "nextCursor": null, "x": 1 })] {
            assert_eq!(Catalog::default().page(end, 0).unwrap(), None);
        }
        assert_eq!(Catalog::default().page(json!({ "tools": [], "nextCursor": "" }), 0).unwrap(), None);
        let next = Catalog::default().page(json!({ "tools": [], "nextCursor": "b" }), 0).unwrap();
        assert_eq!(next.as_deref(), Some("b"));
    }

    #[test]
    fn a_repeated_cursor_is_found_in_a_cycle_of_any_length() {
        let mut catalog = Catalog::default();
        for cursor in ["a", "b", "c"] {
            catalog.page(json!({ "tools": [], "nextCursor": cursor }), 0).unwrap();
        }
        let circle = catalog.page(json!({ "tools": [], "nextCursor": "a" }), 0).unwrap_err();
        assert_eq!(circle.to_string(), "`tools/list` loops: the cursor \"a\" was returned twice");
    }

    #[test]
    fn each_bound_holds_on_both_sides() {
        let page = |count: usize| json!({ "tools": (0..count).map(|n| entry(&n.to_string())).collect::<Vec<_>>() });
        assert!(Catalog::default().page(page(MAX_TOOLS), MAX_COST).is_ok());
        assert_eq!(problem(page(MAX_TOOLS + 1)), "lists more than 10000 tools");
        let long = Catalog::default().page(page(0), MAX_COST + 1).unwrap_err();
        assert_eq!(long.to_string(), "`tools/list` takes more than 67108864 bytes of memory");

        let mut endless = Catalog::default();
        for n in 0..MAX_PAGES {
            endless.page(json!({ "tools": [], "nextCursor": n.to_string() }), 0).unwrap();
        }
        let more = endless.page(json!({ "tools": [], "nextCursor": "x" }), 0).unwrap_err();
        assert_eq!(more.to_string(), "`tools/list` has more than 1000 pages");
    }

    #[test]
    fn a_wrong_page_says_what_is_wrong_with_it() {
        let answered = "responded to `tools/list` with";
        let wrong = "`tools/list` is invalid:";
        let cases = [
            (json!([]), format!("{answered} a list of 0, not an object")),
            (json!({}), format!("{answered} a result without `tools`")),
            (json!({ "tools": 1 }), format!("{answered} `tools` that is a number (1), not a list")),
            (
                json!({ "tools": [], "nextCursor": 1 }),
                format!("{answered} `nextCursor` that is a number (1), not text"),
            ),
            (json!({ "tools": [entry("a"), 1] }), format!("{wrong} tool 2 is a number (1), not an object")),
            (json!({ "tools": [{}] }), format!("{wrong} tool 1 has no `name`")),
            (json!({ "tools": [entry("")] }), format!("{wrong} tool 1 has a `name` that is a string (\"\")")),
            (json!({ "tools": [{ "name": "a" }] }), format!("{wrong} tool 1 (`a`) has no `inputSchema`")),
            (
                json!({ "tools": [{ "name": "a", "inputSchema": true }] }),
                format!("{wrong} tool 1 (`a`) has an `inputSchema` that is a boolean (true)"),
            ),
            (
                json!({ "tools": [{ "name": "a", "inputSchema": {}, "description": 1 }] }),
                format!("{wrong} tool 1 (`a`) has a `description` that is a number (1)"),
            ),
            (json!({ "tools": [entry("a"), entry("a")] }), format!("{wrong} duplicate tool `a`")),
        ];
        for (page, expected) in cases {
            assert_eq!(problem(page), expected);
        }
    }
}
