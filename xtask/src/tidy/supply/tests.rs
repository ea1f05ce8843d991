//! Every rule about what comes from others, shown refusing.

use serde_json::{Value, json};

use super::super::lines;
use super::*;

fn package(name: &str, version: &str) -> Value {
    json!({
        "id": format!("{name}@{version}"), "name": name, "version": version, "license": "MIT",
        "source": format!("registry+{REGISTRY}"), "targets": [{ "kind": ["lib"] }],
    })
}

/// A workspace of `mcptest` with these packages, all of which it is made of.
fn supply(packages: &[Value]) -> Supply {
    let own = json!({
        "id": "own", "name": "mcptest", "version": "0.1.0", "license": "MIT", "source": null, "targets": [],
    });
    let all: Vec<Value> = [own].into_iter().chain(packages.iter().cloned()).collect();
    let line = |one: &Value| format!("{} v{} (x)", one["name"].as_str().unwrap(), one["version"].as_str().unwrap());
    let tree = all.iter().map(line).collect::<Vec<_>>().join("\n");
    Supply::parse(&json!({ "workspace_members": ["own"], "packages": all }).to_string(), &tree).unwrap()
}

fn with(mut package: Value, key: &str, value: Value) -> Value {
    package[key] = value;
    package
}

#[test]
fn a_licence_that_is_not_accepted_not_there_or_not_readable_is_found() {
    let of = |name: &str, licence: Value| with(package(name, "1.0.0"), "license", licence);
    let found = licences(&supply(&[
        of("a", json!("GPL-3.0")),
        of("b", json!(null)),
        of("c", json!("MIT AND")),
        of("d", json!("GPL-3.0 OR MIT")),
    ]));
    assert_eq!(
        lines(&found),
        [
            "Cargo.lock: a 1.0.0 is licensed as `GPL-3.0`, which is not accepted",
            "Cargo.lock: b 1.0.0 names no licence",
            "Cargo.lock: the licence of c 1.0.0 cannot be read: `MIT AND`",
        ]
    );
}

#[test]
fn two_versions_without_a_reason_and_a_reason_without_two_versions_are_found() {
    let mut packages: Vec<Value> =
        SEVERAL.iter().flat_map(|(name, _)| [package(name, "1.0.0"), package(name, "2.0.0")]).collect();
    assert_eq!(duplicates(&supply(&packages)), []);
    packages.pop();
    packages.extend([package("a", "2.0.0"), package("a", "1.0.0"), package("b", "1.0.0")]);
    assert_eq!(
        lines(&duplicates(&supply(&packages))),
        [
            "Cargo.lock: a is there several times: 1.0.0, 2.0.0".to_owned(),
            format!(
                "xtask/src/tidy/supply.rs: {} is there once, so that no reason for several versions is needed",
                SEVERAL[SEVERAL.len() - 1].0
            ),
        ]
    );
}

#[test]
fn the_reviewed_list_is_neither_short_nor_long_nor_silent_about_what_runs() {
    let kind = |words: &[&str]| json!([{ "kind": ["lib"] }, { "kind": words }]);
    let supply = supply(&[
        package("a", "1.0.0"),
        with(package("b", "1.0.0"), "targets", kind(&["custom-build"])),
        with(package("c", "1.0.0"), "targets", kind(&["proc-macro"])),
        // A script of one version is a script of the crate.
        with(package("d", "1.0.0"), "targets", kind(&["custom-build"])),
        with(package("d", "2.0.0"), "targets", kind(&["proc-macro"])),
    ]);
    let found = |text: &str| lines(&reviewed(&supply, &Tree::from([(REVIEWED, text)])));
    assert_eq!(found("# why\n\na\nb script\nc macro\nd script macro\n"), [] as [String; 0]);
    assert_eq!(
        found("a script\nb\nc\nz\n"),
        [
            "docs/decisions/dependencies.txt:1: a runs while the program is built: nothing, not `script`",
            "docs/decisions/dependencies.txt:2: b runs while the program is built: script, not ``",
            "docs/decisions/dependencies.txt:3: c runs while the program is built: macro, not ``",
            "docs/decisions/dependencies.txt:4: z is no part of the program any more: take it out",
            "docs/decisions/dependencies.txt: d is new: look at what it is, then add the line `d script macro`",
        ]
    );
    assert_eq!(
        found("a\nc macro\nb script\nd script macro\n"),
        ["docs/decisions/dependencies.txt:3: b stands twice or out of order"]
    );
    assert_eq!(
        lines(&reviewed(&supply, &Tree::from([("a", "b")]))),
        ["docs/decisions/dependencies.txt: the list of reviewed crates is gone"]
    );
}

#[test]
fn a_crate_that_only_tests_use_needs_no_review() {
    let metadata = json!({ "workspace_members": [], "packages": [package("a", "1.0.0"), package("b", "1.0.0")] });
    let supply = Supply::parse(&metadata.to_string(), "a v1.0.0\n").unwrap();
    assert_eq!(reviewed(&supply, &Tree::from([(REVIEWED, "a\n")])), []);
}

#[test]
fn a_package_from_a_repository_a_folder_or_another_registry_is_found() {
    let of = |name: &str, source: Value| with(package(name, "1.0.0"), "source", source);
    let supply = supply(&[
        package("a", "1.0.0"),
        of("b", json!("git+https://example.com/b#1")),
        of("c", json!("registry+https://example.com/index")),
        of("d", json!(null)),
    ]);
    let lock = format!("source = \"registry+{REGISTRY}\"\nsource = \"git+https://example.com/e#1\"\n");
    assert_eq!(
        lines(&sources(&supply, &Tree::from([("fuzz/Cargo.lock", &*lock)]))),
        [
            "Cargo.lock: b 1.0.0 comes from git+https://example.com/b#1, not from the registry",
            "Cargo.lock: c 1.0.0 comes from registry+https://example.com/index, not from the registry",
            "Cargo.lock: d 1.0.0 comes from a folder, not from the registry",
            "fuzz/Cargo.lock:2: a package comes from git+https://example.com/e#1, not from the registry",
        ]
    );
}

#[test]
fn lints_that_do_not_forbid_unsafe_code_are_found() {
    let found = |text: &str| no_unsafe(&Tree::from([("Cargo.toml", text)])).len();
    assert_eq!(found("[workspace.lints.rust]\nunsafe_code = \"forbid\"\n"), 0);
    assert_eq!(found("[workspace.lints.rust]\nunsafe_code = \"deny\"\n"), 1);
    assert_eq!(found("[workspace.lints.clippy]\nunsafe_code = \"forbid\"\n"), 1);
    assert_eq!(found("[workspace.lints.rust]\n# unsafe_code = \"forbid\"\n"), 1);
    assert_eq!(no_unsafe(&Tree::from([("a", "")])).len(), 1);
}

#[test]
fn a_list_with_holes_is_an_error_and_not_a_shorter_list() {
    let good = json!({ "workspace_members": [], "packages": [package("a", "1.0.0")] });
    assert!(Supply::parse(&good.to_string(), "a v1.0.0\n").is_ok());
    for tree in ["", "a\n", "a 1.0.0\n", "a v2.0.0\n", "b v1.0.0\n"] {
        assert!(Supply::parse(&good.to_string(), tree).is_err(), "{tree:?}");
    }
    for path in ["/packages", "/workspace_members", "/packages/0/name", "/packages/0/version", "/packages/0/targets"] {
        let mut value = good.clone();
        *value.pointer_mut(path).unwrap() = Value::Null;
        assert!(Supply::parse(&value.to_string(), "a v1.0.0\n").is_err(), "{path}");
    }
}

#[test]
fn cargo_deny_is_asked_where_it_is_installed_and_its_no_is_a_finding() {
    use std::os::unix::fs::PermissionsExt as _;
    let asked = |script: &str| {
        let here = tempfile::tempdir().unwrap();
        let program = here.path().join("cargo-deny");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        // The program is found before any other of its name.
        let (_, path) = std::env::vars_os().find(|(name, _)| name == "PATH").unwrap();
        let folders = [here.path().to_path_buf()].into_iter().chain(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).unwrap();
        let cargo = || {
            let mut command = cargo(crate::root().unwrap());
            command.env("PATH", &path);
            command
        };
        lines(&deny(cargo).unwrap())
    };
    assert_eq!(asked("exit 0"), [] as [String; 0]);
    assert_eq!(asked("exit 1"), [] as [String; 0]);
    assert_eq!(
        asked("test \"$2\" = --version || { echo \"$*\" >&2; exit 1; }"),
        ["deny.toml: `cargo deny` says no:\ndeny --offline check --hide-inclusion-graph licenses bans sources"]
    );
}
