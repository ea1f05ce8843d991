//! Packages: what core may pull in, which workspace crates may know each other, and why each dependency is there.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::Finding;
use crate::failure::Failure;
use crate::tree::Tree;

const CORE: &str = "mcptest-core";

/// Packages that would bring I/O, a clock, an executor or randomness into core.
const IMPURE: [&str; 9] = ["async-std", "chrono", "clap", "hyper", "rand", "reqwest", "rmcp", "tokio", "ureq"];

/// Who may depend on whom inside the workspace. An arrow of the first list may also be used by tests.
const ARROWS: [(&str, &[&str]); 5] = [
    (CORE, &[]),
    ("mcptest-runner", &[CORE]),
    ("mcptest-mock", &[CORE]),
    ("mcptest", &["mcptest-runner", "mcptest-mock", CORE]),
    ("xtask", &["mcptest", "mcptest-runner", "mcptest-mock", CORE]),
];

/// Arrows for tests only.
const TEST_ARROWS: [(&str, &str); 1] = [("mcptest-runner", "mcptest-mock")];

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Dev,
    Build,
}

/// A package of the workspace.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Its manifest, from the root of the workspace.
    pub(super) manifest: String,
    /// Direct dependencies by name.
    dependencies: Vec<(String, Kind)>,
}

/// The packages of a build.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) members: Vec<Member>,
    /// Package names by id.
    names: BTreeMap<String, String>,
    /// Normal dependencies by id, as resolved.
    normal: BTreeMap<String, Vec<String>>,
}

impl Graph {
    /// Reads the output of `cargo metadata`. Anything unexpected is an error: a graph with holes would pass checks.
    pub(super) fn parse(metadata: &str) -> Result<Self, Failure> {
        let root: Value = serde_json::from_str(metadata)
            .map_err(|error| Failure::broken(format!("the metadata is not JSON: {error}")))?;
        let workspace = format!("{}/", text(&root, "workspace_root")?.replace('\\', "/"));
        let inside: Vec<&str> = list(&root, "workspace_members")?.iter().filter_map(Value::as_str).collect();
        let mut graph = Self { members: Vec::new(), names: BTreeMap::new(), normal: BTreeMap::new() };
        for package in list(&root, "packages")? {
            let (id, name) = (text(package, "id")?, text(package, "name")?);
            graph.names.insert(id.to_owned(), name.to_owned());
            if inside.contains(&id) {
                let manifest = text(package, "manifest_path")?.replace('\\', "/");
                let dependencies = list(package, "dependencies")?.iter().map(dependency).collect::<Result<_, _>>()?;
                graph.members.push(Member {
                    name: name.to_owned(),
                    manifest: manifest.strip_prefix(&workspace).unwrap_or(&manifest).to_owned(),
                    dependencies,
                });
            }
        }
        let resolve = root.get("resolve").ok_or_else(|| missing("resolve"))?;
        for node in list(resolve, "nodes")? {
            let mut normal = Vec::new();
            for dep in list(node, "deps")? {
                let kinds = list(dep, "dep_kinds")?.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
                if kinds.contains(&Kind::Normal) {
                    normal.push(text(dep, "pkg")?.to_owned());
                }
            }
            graph.normal.insert(text(node, "id")?.to_owned(), normal);
        }
        if graph.members.len() != inside.len() {
            return Err(Failure::broken("the metadata lacks packages of the workspace".to_owned()));
        }
        Ok(graph)
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.get(id).map_or(id, String::as_str)
    }

    /// Every package that a normal build of `name` pulls in, each with the way to it.
    fn closure(&self, name: &str) -> BTreeMap<&str, String> {
        let starts = self.names.iter().filter(|(_, found)| *found == name).map(|(id, _)| id.as_str());
        let mut queue: VecDeque<(&str, String)> = starts.map(|id| (id, name.to_owned())).collect();
        let mut ways = BTreeMap::new();
        while let Some((id, way)) = queue.pop_front() {
            for next in self.normal.get(id).into_iter().flatten() {
                if !ways.contains_key(next.as_str()) {
                    let way = format!("{way} -> {}", self.name(next));
                    ways.insert(next.as_str(), way.clone());
                    queue.push_back((next, way));
                }
            }
        }
        ways.into_iter().map(|(id, way)| (self.name(id), way)).collect()
    }
}

fn missing(key: &str) -> Failure {
    Failure::broken(format!("the metadata lacks `{key}`, or it is of another type"))
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, Failure> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| missing(key))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], Failure> {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| missing(key))
}

fn dependency(value: &Value) -> Result<(String, Kind), Failure> {
    Ok((text(value, "name")?.to_owned(), kind(value)?))
}

fn kind(value: &Value) -> Result<Kind, Failure> {
    match value.get("kind") {
        Some(Value::Null) => Ok(Kind::Normal),
        Some(Value::String(word)) if word == "dev" => Ok(Kind::Dev),
        Some(Value::String(word)) if word == "build" => Ok(Kind::Build),
        _ => Err(missing("kind")),
    }
}

/// Core pulls in nothing that does I/O, tells the time, runs tasks or draws numbers.
pub(super) fn purity(graph: &Graph) -> Vec<Finding> {
    let Some(core) = graph.member(CORE) else {
        return vec![Finding::in_file("Cargo.toml", format!("the workspace has no package {CORE}"))];
    };
    let ways = graph.closure(CORE);
    let impure = ways.iter().filter(|(name, _)| IMPURE.contains(*name));
    impure.map(|(_, way)| Finding::in_file(&core.manifest, format!("core must stay pure, but {way}"))).collect()
}

/// Workspace crates depend on each other only as the list above allows.
pub(super) fn arrows(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, _) in ARROWS {
        if graph.member(name).is_none() {
            findings.push(Finding::in_file("Cargo.toml", format!("the workspace has no package {name}")));
        }
    }
    for member in &graph.members {
        let Some((from, allowed)) = ARROWS.iter().find(|(name, _)| *name == member.name) else {
            findings
                .push(Finding::in_file(&member.manifest, "a package that the list of allowed arrows does not know"));
            continue;
        };
        for (to, kind) in &member.dependencies {
            let listed =
                allowed.contains(&to.as_str()) || (*kind == Kind::Dev && TEST_ARROWS.contains(&(*from, to.as_str())));
            if graph.member(to).is_some() && !listed {
                let how = if *kind == Kind::Dev { " in tests" } else { "" };
                findings.push(Finding::in_file(&member.manifest, format!("{from} must not depend on {to}{how}")));
            }
        }
    }
    findings
}

/// Every direct dependency is named in a decision, which says why it is there.
pub(super) fn reasons(graph: &Graph, tree: &Tree) -> Vec<Finding> {
    let decisions: Vec<&str> =
        tree.files().filter(|(path, _)| path.starts_with("docs/decisions/")).map(|(_, text)| text).collect();
    let mut findings = Vec::new();
    for member in &graph.members {
        for (name, _) in &member.dependencies {
            let quoted = format!("`{name}`");
            if graph.member(name).is_none() && !decisions.iter().any(|text| text.contains(&quoted)) {
                let message = format!("no file in docs/decisions/ says why {quoted} is needed");
                findings.push(Finding::in_file(&member.manifest, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;
    use serde_json::json;

    const ALL: [&str; 5] = [CORE, "mcptest-runner", "mcptest-mock", "mcptest", "xtask"];

    /// A workspace of the five packages with these dependencies: from, kind, to.
    fn graph(edges: &[(&str, &str, &str)]) -> Graph {
        Graph::parse(&metadata(edges).to_string()).unwrap()
    }

    fn metadata(edges: &[(&str, &str, &str)]) -> Value {
        let mut names: Vec<&str> = ALL.to_vec();
        for (from, _, to) in edges {
            names.extend([from, to].into_iter().filter(|name| !ALL.contains(*name)));
        }
        names.dedup();
        let kind = |word: &str| if word == "normal" { Value::Null } else { json!(word) };
        let of = |name: &str| edges.iter().filter(move |(from, _, _)| *from == name).collect::<Vec<_>>();
        let packages: Vec<Value> = names
            .iter()
            .map(|name| {
                let deps: Vec<_> = of(name).iter().map(|(_, k, to)| json!({ "name": to, "kind": kind(k) })).collect();
                json!({ "id": name, "name": name, "manifest_path": format!("/w/{name}/Cargo.toml"), "dependencies": deps })
            })
            .collect();
        let nodes: Vec<Value> = names
            .iter()
            .map(|name| {
                let dep = |k: &str, to: &str| json!({ "pkg": to, "dep_kinds": [{ "kind": kind(k) }] });
                let deps: Vec<_> = of(name).iter().map(|(_, k, to)| dep(k, to)).collect();
                json!({ "id": name, "deps": deps })
            })
            .collect();
        json!({
            "workspace_root": "/w",
            "workspace_members": ALL,
            "packages": packages,
            "resolve": { "nodes": nodes },
        })
    }

    #[test]
    fn an_impure_package_is_found_however_far_away_and_the_way_to_it_is_shown() {
        let found = purity(&graph(&[(CORE, "normal", "middle"), ("middle", "normal", "tokio")]));
        assert_eq!(
            lines(&found),
            ["mcptest-core/Cargo.toml: core must stay pure, but mcptest-core -> middle -> tokio"]
        );
    }

    #[test]
    fn every_impure_package_is_refused_as_a_normal_dependency_only() {
        for name in IMPURE {
            assert_eq!(purity(&graph(&[(CORE, "normal", name)])).len(), 1, "{name}");
            assert_eq!(purity(&graph(&[(CORE, "dev", name)])), [], "{name}");
            assert_eq!(purity(&graph(&[("mcptest-runner", "normal", name)])), [], "{name}");
        }
    }

    #[test]
    fn the_arrows_of_the_house_are_allowed() {
        let found = arrows(&graph(&[
            ("mcptest", "normal", "mcptest-runner"),
            ("mcptest", "normal", "mcptest-mock"),
            ("mcptest", "normal", CORE),
            ("mcptest-runner", "normal", CORE),
            ("mcptest-mock", "normal", CORE),
            ("mcptest-runner", "dev", "mcptest-mock"),
            ("xtask", "normal", "mcptest"),
            (CORE, "normal", "serde"),
        ]));
        assert_eq!(found, []);
    }

    #[test]
    fn every_other_arrow_is_found() {
        for (from, kind, to, message) in [
            (CORE, "normal", "mcptest-runner", "mcptest-core must not depend on mcptest-runner"),
            (CORE, "dev", "mcptest-mock", "mcptest-core must not depend on mcptest-mock in tests"),
            ("mcptest-runner", "normal", "mcptest-mock", "mcptest-runner must not depend on mcptest-mock"),
            ("mcptest-runner", "build", "mcptest-mock", "mcptest-runner must not depend on mcptest-mock"),
            ("mcptest-mock", "dev", "mcptest-runner", "mcptest-mock must not depend on mcptest-runner in tests"),
            ("mcptest", "normal", "xtask", "mcptest must not depend on xtask"),
        ] {
            let found = arrows(&graph(&[(from, kind, to)]));
            assert_eq!(lines(&found), [format!("{from}/Cargo.toml: {message}")]);
        }
    }

    #[test]
    fn a_package_that_the_list_does_not_know_is_found() {
        let mut value = metadata(&[]);
        value["packages"][4]["name"] = json!("fifth");
        let found = arrows(&Graph::parse(&value.to_string()).unwrap());
        assert_eq!(
            lines(&found),
            [
                "Cargo.toml: the workspace has no package xtask",
                "xtask/Cargo.toml: a package that the list of allowed arrows does not know",
            ]
        );
    }

    #[test]
    fn a_dependency_without_a_reason_is_found_whatever_it_is_for() {
        let graph = graph(&[(CORE, "normal", "serde"), (CORE, "dev", "proptest"), ("xtask", "normal", CORE)]);
        let tree = Tree::from([("docs/decisions/0001.md", "`serde` reads JSON; proptest is not quoted")]);
        assert_eq!(
            lines(&reasons(&graph, &tree)),
            ["mcptest-core/Cargo.toml: no file in docs/decisions/ says why `proptest` is needed"]
        );
    }

    #[test]
    fn metadata_with_holes_is_an_error_and_not_a_smaller_graph() {
        for path in ["/packages", "/resolve", "/workspace_members", "/packages/0/name", "/resolve/nodes/0/deps"] {
            let mut value = metadata(&[(CORE, "normal", "serde")]);
            *value.pointer_mut(path).unwrap() = Value::Null;
            assert!(Graph::parse(&value.to_string()).is_err(), "{path}");
        }
        assert!(Graph::parse("not JSON").is_err());
        let mut value = metadata(&[]);
        value["packages"].as_array_mut().unwrap().pop();
        assert!(Graph::parse(&value.to_string()).is_err());
    }
}
