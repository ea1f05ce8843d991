//! Runs cargo the way a person does.
//!
//! Cargo sets variables about a package for the program it runs. A second cargo started from there would pass them on to build
//! scripts, some of which run again whenever one of them changes: everything that depends on such crates would be rebuilt each
//! time `cargo xtask` and a plain `cargo` take turns.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::failure::Failure;

/// The variables about a package.
pub(crate) const PACKAGE_VARIABLES: [&str; 10] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_MANIFEST_PATH",
    "CARGO_PKG_AUTHORS",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// A cargo in `folder`.
pub(crate) fn command(folder: &Path, line: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(folder).args(line.split(' '));
    for name in PACKAGE_VARIABLES {
        cargo.env_remove(name);
    }
    cargo
}

/// Runs a cargo command that must succeed.
pub(crate) fn run(root: &Path, line: &str, variables: &[(&str, &str)]) -> Result<(), Failure> {
    let status = command(root, line).envs(variables.iter().copied()).status();
    let status = status.map_err(|error| Failure::broken(format!("cannot start `cargo {line}`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::failed(format!("`cargo {line}` failed ({status})"))) }
}

/// Runs a cargo command and returns what it prints.
pub(crate) fn output(root: &Path, line: &str) -> Result<String, Failure> {
    let output = command(root, line).output();
    let output = output.map_err(|error| Failure::broken(format!("cannot start `cargo {line}`: {error}")))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::broken(format!("`cargo {line}` failed: {}", stderr.trim_end())));
    }
    String::from_utf8(output.stdout).map_err(|_| Failure::broken(format!("`cargo {line}` printed invalid UTF-8")))
}

/// What `cargo metadata` prints, as far as it is used here.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    workspace_members: Vec<String>,
    target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: String,
    pub(crate) source: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency.
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
}

impl Metadata {
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let text = output(root, "metadata --format-version 1 --locked")?;
        serde_json::from_str(&text)
            .map_err(|error| Failure::broken(format!("`cargo metadata` printed something unexpected: {error}")))
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| !self.workspace_members.contains(&package.id))
    }
}

/// The target folder, wherever the settings of cargo put it.
pub(crate) fn target_folder(root: &Path) -> Result<PathBuf, Failure> {
    Metadata::read(root).map(|metadata| metadata.target_directory)
}

/// Builds the program and returns the folder it is in.
pub(crate) fn build_program(root: &Path) -> Result<PathBuf, Failure> {
    run(root, "build -q --locked -p mcptest", &[])?;
    Ok(target_folder(root)?.join("debug"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_about_this_package_are_not_passed_on() {
        let command = command(Path::new("."), "build");
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        // Cargo set them for this very test.
        assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
        let set = std::env::vars_os().map(|(name, _)| name).filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_VERSION") || name == "CARGO_PKG_NAME"
        });
        for name in set {
            assert!(removed.contains(&name.as_os_str()), "{}", name.display());
        }
    }
}
