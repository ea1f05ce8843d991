//! The text files of the repository, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// Folders that tools fill.
const FILLED: [&str; 4] = ["target/", "fuzz/target/", "fuzz/corpus/", "fuzz/artifacts/"];

/// Folders with a dot that belong to the project; others belong to tools.
const DOT_FOLDERS: [&str; 3] = [".cargo", ".ci", ".github"];

pub(crate) fn is_document(path: &str) -> bool {
    has_extension(path, "md")
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// Text files by their path from the root, with `/` as the separator.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    /// Paths of files that are not text, such as pictures.
    others: BTreeSet<String>,
}

impl Tree {
    /// Reads everything below `root` except build output and folders of tools.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<(), Failure> {
        let entries = fs::read_dir(folder).map_err(|error| Failure::io("read", folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| Failure::io("read", folder, &error))?;
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                return Err(Failure::broken(format!("{} has a name that is not text", path.display())));
            };
            let kind = entry.file_type().map_err(|error| Failure::io("read", &path, &error))?;
            // The target of a link is in the tree already, or does not belong to it. In a linked worktree `.git` is a file.
            if kind.is_symlink() || name == ".git" {
                continue;
            }
            if kind.is_dir() {
                let of_tools = name.starts_with('.') && !DOT_FOLDERS.contains(&name.as_str());
                let folder = format!("{prefix}{name}/");
                if !of_tools && !FILLED.contains(&folder.as_str()) {
                    self.read_folder(&path, &folder)?;
                }
            } else {
                let bytes = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
                let path = format!("{prefix}{name}");
                match String::from_utf8(bytes) {
                    Ok(text) => drop(self.files.insert(path, text)),
                    Err(_) => drop(self.others.insert(path)),
                }
            }
        }
        Ok(())
    }

    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Every text file, in the order of the paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Whether there is a file or a folder with this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let mut files = self.files.keys().chain(&self.others);
        files.any(|file| file == path || file.starts_with(&folder))
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        Self {
            files: files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect(),
            others: BTreeSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_read_without_build_output_and_folders_of_tools() {
        let tree = Tree::read(crate::root().unwrap()).unwrap();
        for path in ["Cargo.toml", ".ci/run", "xtask/src/tree.rs", "crates/core", "docs/report-page.png"] {
            assert!(tree.has(path), "{path}");
        }
        assert!(!tree.has(".git") && !tree.has("target") && !tree.has("crates/cor"));
        assert!(matches!(Tree::read(Path::new("no/such/folder")), Err(Failure::Broken(_))));
    }
}
