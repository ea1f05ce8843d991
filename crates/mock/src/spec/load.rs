//! From a file to a server: a manifest with `mock_server`, or a snapshot of a real server's tools.

use mcptest_core::diag::{Code, Source};
use mcptest_core::suite::yaml::{self, Content, Node};
use mcptest_core::suite::{Diagnostics, Loaded};

use super::manifest::Manifest;
use super::{FILE, Spec, snapshot};

/// The key of a manifest.
const MANIFEST: &str = "mock_server";

/// Loads a server. Reports every error of the file.
pub fn load(source: &Source) -> Loaded<Spec> {
    let root = match yaml::read(source) {
        Ok(root) => root,
        Err(diagnostics) => return Loaded { value: None, diagnostics },
    };
    let mut notes = Diagnostics::default();
    let spec = match (root.get(MANIFEST), tools_of(&root)) {
        (Some(_), Some(_)) => {
            let message = "the file has both `mock_server` and a list of tools next to it";
            let hint = "keep one: `mock_server` for answers of your own, or the `tools/list` reply of a real server";
            notes.error(Code::InvalidMockServer, second_list(&root), message, Some(hint.to_owned()));
            None
        }
        (None, Some(tools)) => snapshot::read(&mut notes, &root, tools),
        (Some(server), None) => {
            notes.check(&root, "the file", &FILE);
            Manifest::new(&mut notes).server(server)
        }
        (None, None) => {
            no_server(&mut notes, &root);
            None
        }
    };
    notes.finish(spec)
}

/// The list of a snapshot: a bare list, `tools`, or the `result` of a complete reply.
fn tools_of(root: &Node) -> Option<&Node> {
    match &root.content {
        Content::List(_) => Some(root),
        _ => root.get("tools").or_else(|| root.get("result")?.get("tools")),
    }
}

/// Where the second list of tools is.
fn second_list(root: &Node) -> std::ops::Range<usize> {
    let second = root.entries().iter().find(|entry| entry.key == "tools" || entry.key == "result");
    second.map_or(root.span.clone(), |entry| entry.key_span.clone())
}

fn no_server(notes: &mut Diagnostics, root: &Node) {
    let hint = "write `mock_server:` with `name` and `tools` below it, or give the `tools/list` reply of a real server";
    match root.entries().first() {
        // The key table finds misspelled keys.
        Some(_) if !looks_like_a_suite(root) => notes.check(root, "the file", &FILE),
        Some(first) => {
            notes.error(
                Code::NotASuite,
                first.key_span.clone(),
                "this is a suite, not a mock server",
                Some(hint.to_owned()),
            );
        }
        None => {
            let message = format!("the file has no `mock_server` and no tools, found {}", root.describe());
            notes.error(Code::NotASuite, root.span.clone(), message, Some(hint.to_owned()));
        }
    }
}

fn looks_like_a_suite(root: &Node) -> bool {
    root.get("agents").is_some() || root.get("servers").is_some()
}
