//! Folders that only this user can read, removed when the run ends.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use super::listen::token;

/// A folder among the temporary files. It is removed with all that is in it when dropped.
#[derive(Debug)]
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// A folder under a name that cannot be guessed.
    pub(crate) fn new() -> io::Result<Self> {
        Self::named(&token()?)
    }

    pub(super) fn named(token: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("mcptest-{token}"));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        // Programs show where they are, and they show it without links.
        Ok(Self(fs::canonicalize(&path).unwrap_or(path)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What is left can be read by this user only.
        let _ = fs::remove_dir_all(&self.0);
    }
}
