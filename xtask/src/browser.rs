//! `cargo xtask browser`: opens pages of the HTML report from disk in Chromium and checks what they show.
//!
//! The checks are in `xtask/browser/`, with the pinned versions of the driver. Chromium comes from the system.

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
const LIMIT: Duration = Duration::from_mins(6);

/// A browser and its driver, installed.
pub(crate) struct Ready {
    folder: PathBuf,
    browser: &'static str,
}

pub(crate) fn prepare(root: &Path) -> Result<Ready, Failure> {
    let folder = cargo::target_folder(root)?.join("browser");
    fs::create_dir_all(&folder).map_err(|error| Failure::io("create", &folder, &error))?;
    let browser = BROWSERS.into_iter().find(|path| Path::new(path).exists());
    let browser =
        browser.ok_or_else(|| Failure::broken(format!("no browser: none of {} exists", BROWSERS.join(", "))))?;
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
        let log_text = fs::read_to_string(&log).map_err(|error| Failure::io("read", &log, &error))?;
        out::say(log_text.trim_end());
        outcome.map_err(|failure| Failure::failed(format!("a page does not show what it must: {failure}")))
    }
}
