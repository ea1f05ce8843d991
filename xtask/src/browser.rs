//! `cargo xtask browser`: opens pages of the HTML report from disk in Chromium and checks what they show.
//!
//! The checks are in `xtask/browser/`, with the pinned versions of the driver. Chromium comes from the system, or is installed by
//! its package manager.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::cargo;
use crate::failure::Failure;
use crate::out;
use crate::servers::{self, bounded};

const HERE: &str = "xtask/browser";
/// In order of preference.
const BROWSERS: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const INSTALL_LIMIT: Duration = Duration::from_mins(5);
const LIMIT: Duration = Duration::from_mins(6);

/// A browser and its driver, installed.
pub(crate) struct Ready {
    folder: PathBuf,
    browser: &'static str,
}

pub(crate) fn prepare(root: &Path) -> Result<Ready, Failure> {
    let folder = cargo::target_folder(root)?.join("browser");
    fs::create_dir_all(&folder).map_err(|error| Failure::io("create", &folder, &error))?;
    let browser = browser(&folder)?;
    servers::npm("browser", &folder.join("driver"), &root.join(HERE).join("package-lock.json"))?;
    Ok(Ready { folder, browser })
}

impl Ready {
    /// Checks the pages: the main checks, or all of them.
    pub(crate) fn check(&self, root: &Path, all: bool) -> Result<(), Failure> {
        let program = cargo::build_program(root)?.join("mcptest");
        out::say(&format!("opening pages in {}", self.browser));
        let mut node = Command::new("node");
        node.arg(root.join(HERE).join("pages.mjs")).arg(root).arg(&self.folder).arg(&program).arg(self.browser);
        node.arg(if all { "all" } else { "main" });
        let log = self.folder.join("pages.log");
        let outcome = bounded(&mut node, &log, LIMIT);
        let said = fs::read_to_string(&log).map_err(|error| Failure::io("read", &log, &error))?;
        out::say(said.trim_end());
        outcome.map_err(|failure| Failure::failed(format!("a page does not show what it must: {failure}")))
    }
}

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
        (None, Err(failure)) => Err(Failure::broken(format!("Chromium cannot be installed: {failure}"))),
        (None, Ok(())) => Err(Failure::broken("Chromium was installed, but is not where it should be".to_owned())),
    }
}
