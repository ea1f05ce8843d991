//! What comes from others: licences, versions, sources, and the reviewed list of what the program is built from.
//!
//! `cargo xtask gen` writes the same lists into `deny.toml`, for those who have `cargo deny`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Finding;
use super::licence;
use crate::cargo::cargo;
use crate::failure::Failure;
use crate::tree::Tree;

/// The reviewed list: a crate per line, with what it may do while the program is built.
pub(super) const REVIEWED: &str = "docs/decisions/dependencies.txt";

/// The only place that crates come from.
pub(crate) const REGISTRY: &str = "https://github.com/rust-lang/crates.io-index";

/// The systems that the program is built for.
pub(crate) const SYSTEMS: [&str; 4] =
    ["aarch64-apple-darwin", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "x86_64-unknown-linux-gnu"];

/// Crates of which several versions are accepted, and why.
pub(crate) const SEVERAL: [(&str, &str); 6] = [
    ("bit-set", "`fancy-regex` is behind `proptest`, which is part of tests only"),
    ("bit-vec", "below `bit-set`"),
    ("getrandom", "`ring` and `ahash` are each behind the tests; it asks the system for bytes and does little else"),
    ("r-efi", "below `getrandom`, on a system this program is not built for"),
    ("syn", "macros move to its third version one by one; it runs in the compiler and is no part of the program"),
    ("windows-sys", "`ring` is behind the others, on a system this program is not built for"),
];

/// A package of the lock file.
#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    source: Option<String>,
    is_member: bool,
    /// What of it runs while others are built.
    acts: Acts,
}

/// What a package may do while the program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Acts {
    has_script: bool,
    is_macro: bool,
}

impl Acts {
    fn words(self) -> &'static str {
        match (self.has_script, self.is_macro) {
            (false, false) => "",
            (true, false) => "script",
            (false, true) => "macro",
            (true, true) => "script macro",
        }
    }
}

/// Every package that a build of the workspace may pull in, and those that the program is made of.
#[derive(Debug)]
pub(super) struct Supply {
    packages: Vec<Package>,
    /// Name and version of what the program is made of, on any of its systems.
    shipped: BTreeSet<(String, String)>,
}

impl Supply {
    /// Reads the output of `cargo metadata` and of `cargo tree`. Anything unexpected is an error: a list with holes would
    /// pass checks.
    pub(super) fn parse(metadata: &str, tree: &str) -> Result<Self, Failure> {
        let broken = |what: &str| Failure::broken(format!("the metadata lacks `{what}`, or it is of another type"));
        let root: Value = serde_json::from_str(metadata)
            .map_err(|error| Failure::broken(format!("the metadata is not JSON: {error}")))?;
        let list =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().ok_or_else(|| broken(key));
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let members = list(&root, "workspace_members")?;
        let mut packages = Vec::new();
        for package in list(&root, "packages")? {
            let mut acts = Acts::default();
            for target in list(&package, "targets")? {
                let kinds = list(&target, "kind")?;
                acts.has_script |= kinds.contains(&Value::from("custom-build"));
                acts.is_macro |= kinds.contains(&Value::from("proc-macro"));
            }
            packages.push(Package {
                name: text(&package, "name").ok_or_else(|| broken("name"))?,
                version: text(&package, "version").ok_or_else(|| broken("version"))?,
                licence: text(&package, "license"),
                source: text(&package, "source"),
                is_member: package.get("id").is_some_and(|id| members.contains(id)),
                acts,
            });
        }
        let mut shipped = BTreeSet::new();
        for line in tree.lines().filter(|line| !line.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let (Some(name), Some(version)) = (words.next(), words.next().and_then(|word| word.strip_prefix('v')))
            else {
                return Err(Failure::broken(format!("`cargo tree` printed `{line}`, which names no version")));
            };
            shipped.insert((name.to_owned(), version.to_owned()));
        }
        let known = |(name, version): &(String, String)| {
            packages.iter().any(|package| package.name == *name && package.version == *version)
        };
        match shipped.iter().find(|one| !known(one)) {
            Some((name, version)) => Err(Failure::broken(format!("`cargo metadata` does not know {name} {version}"))),
            None if shipped.is_empty() => Err(Failure::broken("`cargo tree` printed nothing".to_owned())),
            None => Ok(Self { packages, shipped }),
        }
    }

    fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| !package.is_member)
    }
}

/// What `cargo tree` says the program is made of, on all of its systems.
pub(super) fn tree(root: &Path) -> Result<String, Failure> {
    let mut command = cargo(root);
    command.args(["tree", "--locked", "--package", "mcptest", "--edges", "normal,build", "--prefix", "none"]);
    command.args(["--no-dedupe", "--format", "{p}"]);
    for system in SYSTEMS {
        command.args(["--target", system]);
    }
    let output = command.output().map_err(|error| Failure::broken(format!("cannot start `cargo tree`: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::broken(format!("`cargo tree` failed: {}", said.trim_end())));
    }
    String::from_utf8(output.stdout).map_err(|_| Failure::broken("`cargo tree` printed no text".to_owned()))
}

/// Every package may be used under an accepted licence.
pub(super) fn licences(supply: &Supply) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Package { name, version, licence, .. } in &supply.packages {
        let message = match licence.as_deref().map(|licence| (licence, licence::is_met(licence))) {
            Some((_, Some(true))) => continue,
            Some((licence, Some(false))) => {
                format!("{name} {version} is licensed as `{licence}`, which is not accepted")
            }
            Some((licence, None)) => format!("the licence of {name} {version} cannot be read: `{licence}`"),
            None => format!("{name} {version} names no licence"),
        };
        findings.push(Finding::in_file("Cargo.lock", message));
    }
    findings
}

/// No crate is there in two versions without a reason, and no reason is left when its crate is gone.
pub(super) fn duplicates(supply: &Supply) -> Vec<Finding> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in supply.foreign() {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let mut findings = Vec::new();
    for (name, versions) in &mut versions {
        versions.sort_unstable();
        if !SEVERAL.iter().any(|(accepted, _)| accepted == name) {
            let message = format!("{name} is there several times: {}", versions.join(", "));
            findings.push(Finding::in_file("Cargo.lock", message));
        }
    }
    for (name, _) in SEVERAL.iter().filter(|(name, _)| !versions.contains_key(name)) {
        let message = format!("{name} is there once, so that no reason for several versions is needed");
        findings.push(Finding::in_file("xtask/src/tidy/supply.rs", message));
    }
    findings
}

/// The reviewed list names exactly what the program is made of, and what of it runs while it is built.
pub(super) fn reviewed(supply: &Supply, tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.get(REVIEWED) else {
        return vec![Finding::in_file(REVIEWED, "the list of reviewed crates is gone")];
    };
    let mut made_of: BTreeMap<&str, Acts> = BTreeMap::new();
    for package in supply.foreign() {
        if supply.shipped.contains(&(package.name.clone(), package.version.clone())) {
            let acts = made_of.entry(&package.name).or_default();
            acts.has_script |= package.acts.has_script;
            acts.is_macro |= package.acts.is_macro;
        }
    }
    let mut findings = Vec::new();
    let mut last = "";
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let (name, acts) = line.split_once(' ').unwrap_or((line, ""));
        let found = |message: String| Finding::at_line(REVIEWED, at + 1, message);
        if name <= last {
            findings.push(found(format!("{name} stands twice or out of order")));
        }
        last = name;
        match made_of.remove(name) {
            None => findings.push(found(format!("{name} is no part of the program any more: take it out"))),
            Some(is) if is.words() != acts.trim() => {
                let is = if is.words().is_empty() { "nothing" } else { is.words() };
                findings.push(found(format!("{name} runs while the program is built: {is}, not `{}`", acts.trim())));
            }
            Some(_) => {}
        }
    }
    for (name, acts) in made_of {
        let line = format!("{name} {}", acts.words());
        let message = format!("{name} is new: look at what it is, then add the line `{}`", line.trim_end());
        findings.push(Finding::in_file(REVIEWED, message));
    }
    findings
}

/// Every package is a member of the workspace or comes from the registry, in the lock file of `fuzz/` too.
pub(super) fn sources(supply: &Supply, tree: &Tree) -> Vec<Finding> {
    let due = format!("registry+{REGISTRY}");
    let mut findings = Vec::new();
    for Package { name, version, source, .. } in supply.foreign() {
        let source = source.as_deref().unwrap_or("a folder");
        if source != due {
            let message = format!("{name} {version} comes from {source}, not from the registry");
            findings.push(Finding::in_file("Cargo.lock", message));
        }
    }
    let locked = |path: &str| tree.get(path).map(|text| text.lines().enumerate().collect::<Vec<_>>());
    for (at, line) in locked("fuzz/Cargo.lock").into_iter().flatten() {
        let source = line.strip_prefix("source = ").map(|quoted| quoted.trim_matches('"'));
        if let Some(source) = source.filter(|source| *source != due) {
            let message = format!("a package comes from {source}, not from the registry");
            findings.push(Finding::at_line("fuzz/Cargo.lock", at + 1, message));
        }
    }
    findings
}

/// The lints that every member takes forbid unsafe code.
pub(super) fn no_unsafe(tree: &Tree) -> Vec<Finding> {
    let mut section = "";
    for line in tree.get("Cargo.toml").unwrap_or("").lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[workspace.lints.rust]" && line == "unsafe_code = \"forbid\"" {
            return Vec::new();
        }
    }
    let message = "lacks `unsafe_code = \"forbid\"` under `[workspace.lints.rust]`";
    vec![Finding::in_file("Cargo.toml", message)]
}

/// Asks `cargo deny`, where it is installed, to hold the lock file against `deny.toml`. It fetches nothing.
pub(super) fn deny(cargo: impl Fn() -> Command) -> Result<Vec<Finding>, Failure> {
    let installed = cargo().args(["deny", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return Ok(Vec::new());
    }
    let mut command = cargo();
    command.args(["deny", "--offline", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
    let output = command.output().map_err(|error| Failure::broken(format!("cannot start `cargo deny`: {error}")))?;
    if output.status.success() {
        return Ok(Vec::new());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Ok(vec![Finding::in_file("deny.toml", format!("`cargo deny` says no:\n{}", said.trim_end()))])
}

#[cfg(test)]
mod tests;
