//! Rules about packages: what core may pull in, which crates of the workspace may depend on each other, which foreign crates were
//! reviewed, and which lints apply.

use std::collections::BTreeMap;

use super::Finding;
use crate::cargo::{Metadata, Package};
use crate::tree::Tree;

const CORE: &str = "mcptest-core";

/// Packages that would bring I/O, a clock, an executor or randomness into core.
const IMPURE: [&str; 9] = ["async-std", "chrono", "clap", "hyper", "rand", "reqwest", "rmcp", "tokio", "ureq"];

/// Which packages of the workspace each one may depend on, and which ones in tests only.
const LAYERS: [(&str, &[&str], &[&str]); 5] = [
    (CORE, &[], &[]),
    ("mcptest-runner", &[CORE], &["mcptest-mock"]),
    ("mcptest-mock", &[CORE], &[]),
    ("mcptest", &["mcptest-runner", "mcptest-mock", CORE], &[]),
    ("xtask", &["mcptest", "mcptest-runner", "mcptest-mock", CORE], &[]),
];

/// The reviewed list: one crate per line, with what it runs during the build.
const REVIEWED: &str = "docs/decisions/dependencies.txt";

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The systems that the program is built for.
const SYSTEMS: [&str; 4] =
    ["aarch64-apple-darwin", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "x86_64-unknown-linux-gnu"];

/// The cargo command that lists what a package is made of, one `name vVERSION` per line.
pub(super) fn tree_of(package: &str, edges: &str) -> String {
    let systems = SYSTEMS.map(|system| format!(" --target {system}")).concat();
    format!("tree --locked --package {package} --edges {edges} --prefix none --no-dedupe{systems}")
}

/// Core depends on nothing impure.
pub(super) fn purity(core_tree: &str) -> Vec<Finding> {
    let names = core_tree.lines().filter_map(|line| line.split(' ').next());
    let mut impure: Vec<&str> = names.filter(|name| IMPURE.contains(name)).collect();
    impure.sort_unstable();
    impure.dedup();
    let message = |name: &str| {
        format!("core must stay pure, but depends on {name}: see `cargo tree -p {CORE} -e normal -i {name}`")
    };
    impure.into_iter().map(|name| Finding::in_file("crates/core/Cargo.toml", message(name))).collect()
}

/// Dependencies inside the workspace point one way.
pub(super) fn layers(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in metadata.members() {
        let mut report = |message: String| findings.push(Finding::in_file(&member.manifest_path, message));
        let Some((_, normal, in_tests)) = LAYERS.iter().find(|(name, ..)| *name == member.name) else {
            report("`tidy::layers` does not know this package".to_owned());
            continue;
        };
        for dependency in &member.dependencies {
            let name = dependency.name.as_str();
            let is_inside = LAYERS.iter().any(|(known, ..)| *known == name);
            let is_test = dependency.kind.as_deref() == Some("dev");
            if is_inside && !normal.contains(&name) && !(is_test && in_tests.contains(&name)) {
                report(format!("{} must not depend on {name}", member.name));
            }
        }
    }
    findings
}

/// The reviewed list names exactly the crates that the program is made of, and what they run during the build. All of them come
/// from the registry.
pub(super) fn reviewed(metadata: &Metadata, program_tree: &str, tree: &Tree) -> Vec<Finding> {
    let mut actual: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    let mut findings = Vec::new();
    for package in metadata.foreign() {
        if package.source.as_deref() != Some(REGISTRY) {
            let message = format!("{} {} does not come from crates.io", package.name, package.version);
            findings.push(Finding::in_file("Cargo.lock", message));
        }
        let line = format!("{} v{}", package.name, package.version);
        if program_tree.lines().any(|found| found == line || found.starts_with(&format!("{line} "))) {
            let (script, is_macro) = actual.entry(&package.name).or_default();
            *script |= has_target(package, "custom-build");
            *is_macro |= has_target(package, "proc-macro");
        }
    }
    let mut previous = "";
    for (line, number) in tree.get(REVIEWED).unwrap_or("").lines().zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, runs) = line.split_once(' ').unwrap_or((line, ""));
        let mut report = |message: String| findings.push(Finding::at_line(REVIEWED, number, message));
        if name <= previous {
            report(format!("{name} is a duplicate or out of order"));
        }
        previous = name;
        match actual.remove(name).map(runs_during_build) {
            None => report(format!("{name} is not part of the program: remove the line")),
            Some(expected) if expected != runs => {
                report(format!("{name} runs `{expected}` during the build, not `{runs}`"));
            }
            Some(_) => {}
        }
    }
    findings.extend(actual.into_iter().map(|(name, runs)| {
        let line = format!("{name} {}", runs_during_build(runs));
        let message = format!("{name} is new: review it, then add the line `{}`", line.trim_end());
        Finding::in_file(REVIEWED, message)
    }));
    findings
}

fn has_target(package: &Package, kind: &str) -> bool {
    package.targets.iter().flat_map(|target| &target.kind).any(|found| found == kind)
}

fn runs_during_build((script, is_macro): (bool, bool)) -> &'static str {
    match (script, is_macro) {
        (false, false) => "",
        (true, false) => "script",
        (false, true) => "macro",
        (true, true) => "script macro",
    }
}

/// Every package takes the lints of the workspace, and those forbid unsafe code.
pub(super) fn lints(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.files().filter(|(path, _)| {
        (path.starts_with("crates/") || path.starts_with("xtask/")) && path.ends_with("/Cargo.toml")
    });
    let due = manifests.map(|(path, text)| (path, text, "[lints]\nworkspace = true\n"));
    let root =
        ("Cargo.toml", tree.get("Cargo.toml").unwrap_or(""), "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n");
    let missing = due.chain([root]).filter(|(_, text, lines)| !text.contains(lines));
    missing.map(|(path, _, lines)| Finding::in_file(path, format!("lacks the lines\n{lines}"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::lines;
    use super::*;

    fn package(name: &str, source: &str, kinds: &[&str], dependencies: &[(&str, Value)]) -> Value {
        let dependencies: Vec<Value> =
            dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
        json!({
            "id": name, "name": name, "version": "1.0.0", "manifest_path": format!("{name}/Cargo.toml"),
            "source": source, "dependencies": dependencies, "targets": [{ "kind": kinds }],
        })
    }

    fn metadata(members: &[&str], packages: &[Value]) -> Metadata {
        let value = json!({ "workspace_members": members, "packages": packages, "target_directory": "target" });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_impure_package_in_core_is_found_once() {
        let expected = "crates/core/Cargo.toml: core must stay pure, but depends on tokio: \
                        see `cargo tree -p mcptest-core -e normal -i tokio`";
        assert_eq!(lines(&purity("mcptest-core v1\nserde v1\ntokio v1\ntokio v1\n")), [expected]);
        for name in IMPURE {
            assert_eq!(purity(&format!("{name} v1.0.0\n")).len(), 1, "{name}");
        }
    }

    #[test]
    fn a_dependency_that_points_the_wrong_way_is_found() {
        let (normal, dev, build) = (Value::Null, json!("dev"), json!("build"));
        let members = LAYERS.map(|(name, ..)| name);
        for (from, to, kind, is_allowed) in [
            ("mcptest", "mcptest-runner", &normal, true),
            ("mcptest-runner", CORE, &normal, true),
            ("mcptest-runner", "mcptest-mock", &dev, true),
            ("mcptest-runner", "mcptest-mock", &normal, false),
            ("mcptest-runner", "mcptest-mock", &build, false),
            ("mcptest-mock", "mcptest-runner", &dev, false),
            (CORE, "mcptest-mock", &dev, false),
            (CORE, "serde", &normal, true),
            ("mcptest", "xtask", &normal, false),
        ] {
            let found = layers(&metadata(&members, &[package(from, "", &[], &[(to, kind.clone())])]));
            let expected = format!("{from}/Cargo.toml: {from} must not depend on {to}");
            assert_eq!(lines(&found), if is_allowed { vec![] } else { vec![expected] }, "{from} {to} {kind}");
        }
        assert_eq!(layers(&metadata(&["fifth"], &[package("fifth", "", &[], &[])])).len(), 1);
    }

    #[test]
    fn the_reviewed_list_must_match_the_dependencies() {
        let packages = [
            package("a", REGISTRY, &["lib"], &[]),
            package("b", REGISTRY, &["lib", "custom-build"], &[]),
            package("c", REGISTRY, &["proc-macro"], &[]),
            package("only-tests", REGISTRY, &["lib"], &[]),
        ];
        let shipped = "mcptest v1.0.0\na v1.0.0\nb v1.0.0\nc v1.0.0 (proc-macro)\n";
        let found = |text: &str| lines(&reviewed(&metadata(&[], &packages), shipped, &Tree::from([(REVIEWED, text)])));
        assert_eq!(found("# why\n\na\nb script\nc macro\n"), [""; 0]);
        assert_eq!(
            found("b\na script\nz\n"),
            [
                "docs/decisions/dependencies.txt:1: b runs `script` during the build, not ``",
                "docs/decisions/dependencies.txt:2: a is a duplicate or out of order",
                "docs/decisions/dependencies.txt:2: a runs `` during the build, not `script`",
                "docs/decisions/dependencies.txt:3: z is not part of the program: remove the line",
                "docs/decisions/dependencies.txt: c is new: review it, then add the line `c macro`",
            ]
        );
        let fork = metadata(&[], &[package("a", "git+https://example.com/a#1", &["lib"], &[])]);
        assert_eq!(lines(&reviewed(&fork, "", &Tree::default())), ["Cargo.lock: a 1.0.0 does not come from crates.io"]);
    }

    #[test]
    fn a_package_without_the_lints_and_a_workspace_that_allows_unsafe_code_are_found() {
        let forbids = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
        let takes = "[package]\n\n[lints]\nworkspace = true\n";
        let found = |root: &str, manifest: &str| {
            lints(&Tree::from([("Cargo.toml", root), ("crates/a/Cargo.toml", manifest)])).len()
        };
        assert_eq!(found(forbids, takes), 0);
        assert_eq!(found("[workspace.lints.rust]\nunsafe_code = \"deny\"\n", takes), 1);
        assert_eq!(found(forbids, "[package]\n\n[lints.rust]\nworkspace = true\n"), 1);
    }
}
