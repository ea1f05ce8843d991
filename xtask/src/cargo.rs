//! Cargo as a person starts it.
//!
//! Cargo tells a program that it runs which package it belongs to, in variables. A second cargo started from there would hand
//! them on to build scripts, some of which are run again whenever one of them changes: everything that depends on such a crate
//! would be built anew, each time `cargo xtask` and a cargo of a person take turns.

use std::path::Path;
use std::process::Command;

/// What cargo says of the package of the program it runs.
pub(crate) const OF_THE_PACKAGE: [&str; 10] = [
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

/// A cargo in the root of the repository.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root);
    for name in OF_THE_PACKAGE {
        cargo.env_remove(name);
    }
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_about_this_package_is_handed_on() {
        let command = cargo(Path::new("."));
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        // What cargo told this very test is what has to be gone.
        assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
        let told = std::env::vars_os().map(|(name, _)| name).filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_VERSION") || name == "CARGO_PKG_NAME"
        });
        for name in told {
            assert!(removed.contains(&name.as_os_str()), "{}", name.display());
        }
    }
}
