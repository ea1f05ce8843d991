//! `cargo xtask browser`: the pages of the html report, opened from disk in a real browser.
//!
//! The versions of what drives the browser stand in `xtask/browser/`, beside the script that holds the pages against what they
//! must show. The browser itself is Chromium, from the system. Where it or a registry is out of reach the check says so and is
//! skipped; a page that does not hold fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::cargo::cargo;
use crate::failure::Failure;
use crate::out;
use crate::servers::{bounded, target_folder};

/// Where the versions and the script stand.
const HERE: &str = "xtask/browser";
/// The browsers that will do, best first.
const BROWSERS: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/// How long installing may take.
const INSTALL_LIMIT: Duration = Duration::from_mins(5);
/// How long the check may take.
const LIMIT: Duration = Duration::from_mins(6);

pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let folder = target_folder(root)?.join("browser");
    fs::create_dir_all(&folder).map_err(|error| Failure::io("make", &folder, &error))?;
    let ready = browser(&folder).and_then(|browser| drivers(root, &folder).map(|()| browser));
    let browser = match ready {
        Ok(browser) => browser,
        Err(why) => {
            out::say(&format!("skipped: no page was opened in a browser: {why}"));
            return Ok(());
        }
    };
    let program = program(root, &folder)?;
    out::say(&format!("opening pages in {browser}"));
    let log = folder.join("pages.log");
    let script = root.join(HERE).join("pages.mjs");
    let mut node = Command::new("node");
    node.arg(&script).arg(root).arg(&folder).arg(&program).arg(browser);
    let outcome = bounded(&mut node, &log, LIMIT);
    let told = fs::read_to_string(&log).map_err(|error| Failure::io("read", &log, &error))?;
    out::say(told.trim_end());
    outcome.map_err(|failure| Failure::refused(format!("a page does not show in a browser what it must: {failure}")))
}

/// A browser that is there, or was put there by the package manager of the system.
fn browser(folder: &Path) -> Result<&'static str, Failure> {
    let found = || BROWSERS.into_iter().find(|path| Path::new(path).exists());
    if let Some(path) = found() {
        return Ok(path);
    }
    let apt = |words: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(["-y", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=30"]).args(words);
        bounded(apt.env("DEBIAN_FRONTEND", "noninteractive"), &folder.join("apt.log"), INSTALL_LIMIT)
    };
    let installed = apt(&["update"]).and_then(|()| apt(&["install", "--no-install-recommends", "chromium"]));
    match (found(), installed) {
        (Some(path), _) => Ok(path),
        (None, Err(failure)) => {
            Err(Failure::broken(format!("Chromium is not there and cannot be installed: {failure}")))
        }
        (None, Ok(())) => Err(Failure::broken("Chromium was installed and is not there".to_owned())),
    }
}

/// Installs what drives the browser, unless these very versions are there.
fn drivers(root: &Path, folder: &Path) -> Result<(), Failure> {
    let pins = root.join(HERE);
    let lock = pins.join("package-lock.json");
    let wanted = fs::read_to_string(&lock).map_err(|error| Failure::io("read", &lock, &error))?;
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    for name in ["package.json", "package-lock.json"] {
        let from = pins.join(name);
        fs::copy(&from, folder.join(name)).map_err(|error| Failure::io("copy", &from, &error))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=60000"]);
    bounded(npm.current_dir(folder), &folder.join("npm.log"), INSTALL_LIMIT)?;
    fs::write(&stamp, wanted).map_err(|error| Failure::io("write", &stamp, &error))
}

/// The program whose pages are opened, built as the tests are.
fn program(root: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let status = cargo(root).args(["build", "-q", "--locked", "-p", "mcptest"]).status();
    let status = status.map_err(|error| Failure::broken(format!("cannot start `cargo build`: {error}")))?;
    if !status.success() {
        return Err(Failure::refused(format!("`cargo build -p mcptest` failed ({status})")));
    }
    Ok(folder.with_file_name("debug").join("mcptest"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_version_is_pinned_and_no_registry_is_named() {
        let read = |name: &str| -> Value {
            serde_json::from_str(&fs::read_to_string(crate::root().unwrap().join(HERE).join(name)).unwrap()).unwrap()
        };
        let (package, lock) = (read("package.json"), read("package-lock.json"));
        for (name, version) in package["dependencies"].as_object().unwrap() {
            let locked = &lock["packages"][format!("node_modules/{name}")];
            assert_eq!(&locked["version"], version, "{name}");
            assert!(locked["integrity"].is_string() && locked.get("resolved").is_none(), "{name}");
        }
        assert_eq!(lock["packages"].as_object().unwrap().len(), 3);
    }

    #[test]
    fn drivers_whose_stamp_fits_are_left_alone() {
        let root = crate::root().unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::copy(root.join(HERE).join("package-lock.json"), folder.path().join("installed")).unwrap();
        assert_eq!(drivers(root, folder.path()), Ok(()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
