//! What the tests share.

use mcptest_core::diag::Source;
use mcptest_core::suite::{self, Suite, Variables};
use mcptest_runner::catalog::{Catalog, Tool};
use serde_json::json;

/// A suite that must load.
pub(crate) fn suite(text: &str) -> Suite {
    let source = Source::new("suite.yml", text);
    let variables = Variables { suite_dir: ".", outside: &|_| None };
    let loaded = suite::load(&source, &variables);
    let reported: Vec<String> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
    loaded.value.unwrap_or_else(|| panic!("{}", reported.join("\n")))
}

/// A suite with one scripted test; `more` is indented like its keys.
pub(crate) fn one_test(more: &str) -> Suite {
    suite(&format!(
        "servers: {{ web: {{ command: [web] }}, db: {{ command: [db] }} }}\n\
         models: {{ demo: {{ provider: script, script: demo.yml }} }}\n\
         faults:\n\
         \x20 - {{ name: dead, target: {{ tool: search }}, kind: hang }}\n\
         \x20 - {{ name: stuck, target: {{ server: db }}, kind: wedged }}\n\
         \x20 - {{ name: late, target: {{ tool: search }}, kind: slow, delay_ms: 2000 }}\n\
         \x20 - {{ name: flaky, target: {{ tool: search, server: web }}, kind: recover_after, failures: 2 }}\n\
         \x20 - {{ name: broken, target: {{ tool: search }}, kind: error }}\n\
         \x20 - {{ name: sorry, target: {{ tool: search }}, kind: is_error }}\n\
         \x20 - {{ name: gone, target: {{ tool: search }}, kind: drop }}\n\
         agents:\n\
         \x20 - name: finds it\n\
         \x20   model: demo\n\
         \x20   servers: [web, db]\n\
         \x20   prompt: Find it.\n\
         \x20   expect: [{{ target: tool_names, matcher: {{ contains: search }} }}]\n{more}"
    ))
}

/// `web` has search and open, `db` has query; both have ping.
pub(crate) fn catalog() -> Catalog {
    let tools = |names: &[&str]| {
        names
            .iter()
            .map(|name| Tool {
                name: (*name).to_owned(),
                description: None,
                input_schema: json!({ "type": "object" }),
                annotations: None,
                other: serde_json::Map::new(),
            })
            .collect()
    };
    Catalog::new([("web".to_owned(), tools(&["search", "open", "ping"])), ("db".to_owned(), tools(&["query", "ping"]))])
}
