//! Keys of suite files, gates files, scripts and mock servers.

use std::collections::BTreeSet;

use mcptest_core::eval::{GATES, GateKind};
use mcptest_core::keys::{Block, Key, ValueType, gate_keys};
use mcptest_core::suite::{GATE_FILE, SUITE};
use mcptest_mock::spec::FILE as MOCK_FILE;
use mcptest_runner::provider::script::SCRIPT;

use super::page::{Page, capital};

/// Maximum keys of one name that are explained individually.
const MOST: usize = 2;

/// A key and where it is.
struct Placed {
    /// The path to it from the root of its file: `agents[*].trajectory.max_extra`.
    path: String,
    /// The file it is in.
    file: &'static str,
    key: &'static Key,
}

/// Every key of every file. The keys of a gate are listed once, in suites.
fn all() -> Vec<Placed> {
    let mut out = Vec::new();
    for (file, block) in [("a suite", &SUITE), ("a script", &SCRIPT), ("a mock server", &MOCK_FILE)] {
        walk(file, "", block.keys.iter(), &mut out);
    }
    out
}

fn walk(file: &'static str, path: &str, keys: impl Iterator<Item = &'static Key>, out: &mut Vec<Placed>) {
    for key in keys {
        let here = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        out.push(Placed { path: here.clone(), file, key });
        let (below, mark) = below(&key.value_type);
        match below {
            Some(Below::Block(block)) => walk(file, &format!("{here}{mark}"), block.keys.iter(), out),
            Some(Below::Gate(kind)) => walk(file, &here, gate_keys(kind), out),
            None => {}
        }
    }
}

enum Below {
    Block(&'static Block),
    Gate(GateKind),
}

/// The keys below a value, and how its items are written.
fn below(takes: &ValueType) -> (Option<Below>, &'static str) {
    match takes {
        ValueType::Object(block) | ValueType::TextOr(block) | ValueType::IntegerOr(_, block) => {
            (Some(Below::Block(block)), "")
        }
        ValueType::Gate(kind) => (Some(Below::Gate(*kind)), ""),
        ValueType::List(_, inner) => (below(inner).0, "[*]"),
        ValueType::Map(inner) => (below(inner).0, ".NAME"),
        _ => (None, ""),
    }
}

/// The names of all keys.
pub(super) fn names() -> BTreeSet<&'static str> {
    all().iter().map(|placed| placed.key.name).collect()
}

/// The keys of a name, or the one at a path.
pub(super) fn explain(asked: &str, page: &mut Page) {
    let wanted = plain(asked);
    let is_gate = |name: &str| GATES.iter().any(|gate| gate.kind.name() == name);
    // A gate is explained as a gate.
    if is_gate(wanted.last().map_or("", String::as_str)) && wanted.len() == 1 {
        return;
    }
    let found: Vec<Placed> = all().into_iter().filter(|placed| fits(&plain(&placed.path), &wanted)).collect();
    // Keys with the same description in several places are explained once, with all the places.
    let mut alike: Vec<(&'static Key, Vec<&Placed>)> = Vec::new();
    for placed in &found {
        let same =
            alike.iter_mut().find(|(key, _)| key.meaning == placed.key.meaning && key.default == placed.key.default);
        match same {
            Some((_, places)) => places.push(placed),
            None => alike.push((placed.key, vec![placed])),
        }
    }
    if alike.len() > MOST {
        page.subject(asked, &format!("a key in {} places", found.len()));
        page.gap();
        for (key, places) in alike {
            page.entry(places.first().map_or("", |placed| placed.path.as_str()), key.meaning);
        }
        page.text("`mcptest explain` of one of these paths says more.");
        return;
    }
    for (key, places) in alike {
        let file = places.first().map_or("a suite", |placed| placed.file);
        page.subject(key.name, &format!("a key of {file}"));
        page.text(&format!("{}.", capital(key.meaning)));
        page.heading("About it");
        let paths: Vec<&str> = places.iter().map(|placed| placed.path.as_str()).collect();
        let shown: Vec<&str> = paths.iter().copied().take(4).collect();
        let more =
            if paths.len() > shown.len() { format!(" and {} more", paths.len() - shown.len()) } else { String::new() };
        page.item("path", &format!("{}{more}", shown.join(", ")));
        page.item("takes", &key.value_type.describe());
        match (key.required, key.default) {
            (true, _) => page.item("required", "yes"),
            (false, "") => page.item("left out", "nothing is set"),
            (false, default) => page.item("left out", &format!("`{default}`")),
        }
        if !key.example.is_empty() {
            page.item("example", &format!("{}: {}", key.name, key.example));
        }
        if GATE_FILE.keys.iter().any(|known| known.name == key.name) && file == "a suite" {
            page.item("also in", "a gates file, for `mcptest score`");
        }
    }
}

/// A path as the names of its keys: indices and `[*]` left out.
fn plain(path: &str) -> Vec<String> {
    let parts = path.split('.').map(|part| part.split('[').next().unwrap_or(part).to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// Whether a path ends with the given one. A user's own name matches `NAME` in the table; the end of a path must be a key of the
/// table.
fn fits(path: &[String], wanted: &[String]) -> bool {
    if wanted.is_empty() {
        return false;
    }
    let same = |path: &[String]| {
        path.len() >= wanted.len()
            && path[path.len() - wanted.len()..]
                .iter()
                .zip(wanted)
                .all(|(known, asked)| known == asked || (known == "NAME" && wanted.len() > 1))
    };
    // `servers.url` also means `servers.NAME.url`.
    let without: Vec<String> = path.iter().filter(|part| *part != "NAME").cloned().collect();
    let ends = path.last() == wanted.last();
    ends && (same(path) || same(&without))
}
