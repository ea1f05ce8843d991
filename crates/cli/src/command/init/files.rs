//! Writes all files or none, and never overwrites.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use mcptest_core::diag::{Code, Failure};
use mcptest_runner::temp_file::TempFile;

use super::stop;
use crate::input::shown;

/// The suite, which `mcptest run` finds by default.
pub(super) const SUITE: &str = "mcptest.yml";

/// `mcptest run` would find this one too, and two are ambiguous.
const OTHER_SUITE: &str = "mcptest.yaml";

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    /// Its path from the folder.
    pub(super) name: &'static str,
    /// What it is, for the user.
    pub(super) what: &'static str,
    pub(super) text: String,
}

/// The path of a file, without a leading `./`.
pub(super) fn place(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    shown(path.strip_prefix(".").unwrap_or(&path))
}

/// An error that lists every existing file.
pub(super) fn refuse_existing(folder: &Path, names: &[&str]) -> Result<(), Failure> {
    let found: Vec<String> = names
        .iter()
        .chain([&OTHER_SUITE])
        // A broken link counts too.
        .filter(|name| fs::symlink_metadata(folder.join(name)).is_ok())
        .map(|name| place(folder, name))
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    let (exist, it) = if found.len() == 1 { ("exists", "it") } else { ("exist", "them") };
    let message = format!("{} already {exist}, and nothing is overwritten", found.join(", "));
    Err(stop(
        Code::FileExists,
        message,
        format!("move {it} away, or name another folder, as in `mcptest init tests/first`"),
    ))
}

/// Writes the files. When one cannot be written, everything that this call created is removed.
pub(super) fn write(folder: &Path, files: &[File]) -> Result<(), Failure> {
    let mut created = Created::default();
    let mut written = Vec::new();
    for file in files {
        let target = folder.join(file.name);
        let temp_file = created.temp_file(&target, &file.text).map_err(|error| unwritten(folder, file, &error))?;
        written.push((file, target, temp_file));
    }
    for (file, target, temp_file) in written {
        temp_file.place_new().map_err(|error| unwritten(folder, file, &error))?;
        created.files.push(target);
    }
    created.is_complete = true;
    Ok(())
}

fn unwritten(folder: &Path, file: &File, error: &io::Error) -> Failure {
    let (code, why) = match error.kind() {
        ErrorKind::AlreadyExists => (Code::FileExists, "it already exists, and nothing is overwritten".to_owned()),
        ErrorKind::NotADirectory => (Code::FileNotWritten, "its folder is a file".to_owned()),
        _ => (Code::FileNotWritten, error.to_string()),
    };
    let message = format!("{} cannot be written: {why}", place(folder, file.name));
    stop(code, message, "check the folder and its permissions, or name another folder; nothing was left behind")
}

/// Files created by this call so far. Dropping it removes them unless it is complete.
#[derive(Debug, Default)]
struct Created {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    is_complete: bool,
}

impl Created {
    fn temp_file(&mut self, target: &Path, text: &str) -> io::Result<TempFile> {
        if let Some(folder) = target.parent() {
            self.folder(folder)?;
        }
        let mut file = TempFile::create(target)?;
        file.write_all(text.as_bytes())?;
        Ok(file)
    }

    /// Creates a folder with those above it.
    fn folder(&mut self, folder: &Path) -> io::Result<()> {
        let mut missing: Vec<&Path> =
            folder.ancestors().filter(|path| !path.as_os_str().is_empty()).take_while(|path| !path.exists()).collect();
        missing.reverse();
        for path in missing {
            fs::create_dir(path)?;
            self.folders.push(path.to_owned());
        }
        Ok(())
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        if self.is_complete {
            return;
        }
        // What cannot be removed stays.
        for path in &self.files {
            let _ = fs::remove_file(path);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &'static str) -> File {
        File { name, what: "", text: format!("text of {name}") }
    }

    /// Every path below a folder, sorted.
    fn tree(folder: &Path) -> Vec<String> {
        let mut out = Vec::new();
        let mut pending = vec![folder.to_owned()];
        while let Some(next) = pending.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                out.push(shown(path.strip_prefix(folder).unwrap()));
                if path.is_dir() {
                    pending.push(path);
                }
            }
        }
        out.sort();
        out
    }

    #[test]
    fn files_are_written_with_their_folders_and_nothing_else() {
        let here = tempfile::tempdir().unwrap();
        write(&here.path().join("a/b"), &[file("x.yml"), file("sub/y.yml")]).unwrap();
        assert_eq!(tree(here.path()), ["a", "a/b", "a/b/sub", "a/b/sub/y.yml", "a/b/x.yml"]);
        assert_eq!(fs::read_to_string(here.path().join("a/b/sub/y.yml")).unwrap(), "text of sub/y.yml");
    }

    #[test]
    fn a_failure_midway_takes_everything_back() {
        let here = tempfile::tempdir().unwrap();
        fs::write(here.path().join("taken"), "mine").unwrap();
        // The second file fails before any has its name.
        let stop = write(here.path(), &[file("new/x.yml"), file("taken/y.yml")]).unwrap_err();
        assert!(stop.message.contains("taken/y.yml cannot be written"), "{}", stop.message);
        assert_eq!(tree(here.path()), ["taken"]);
        // The second file fails when the first has its name already.
        let stop = write(here.path(), &[file("new/x.yml"), file("taken")]).unwrap_err();
        assert!(stop.message.contains("taken cannot be written"), "{}", stop.message);
        assert_eq!(tree(here.path()), ["taken"]);
        assert_eq!(fs::read_to_string(here.path().join("taken")).unwrap(), "mine");
    }
}
