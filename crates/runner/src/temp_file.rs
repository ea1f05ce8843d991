//! Atomic writes: a file is written under a temporary name in the same folder and gets its own name once it is complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many names are tried. A killed program leaves its file, and in containers different programs often have the same
/// process id.
const TRIES: usize = 1000;

/// A file under a temporary name. Unless it gets its own name, it is removed when dropped.
#[derive(Debug)]
pub struct TempFile {
    path: PathBuf,
    target: PathBuf,
    file: File,
}

impl TempFile {
    /// Creates a file under a hidden name that no other file has.
    pub fn create(target: &Path) -> io::Result<Self> {
        for count in 0..TRIES {
            let path = hidden(target, &format!("{}-{count}.tmp", std::process::id()))?;
            match File::create_new(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return Ok(Self { file: created?, path, target: target.to_owned() }),
            }
        }
        Err(io::Error::other(format!("killed programs left {TRIES} temporary files in its folder; remove them")))
    }

    /// Creates a file under the same hidden name every time, replacing what a killed program left there. The caller holds a
    /// lock, so no other program uses the name.
    pub fn create_locked(target: &Path) -> io::Result<Self> {
        let path = hidden(target, "new")?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Created and never opened: a link or a pipe of this name would lead elsewhere.
        Ok(Self { file: File::create_new(&path)?, path, target: target.to_owned() })
    }

    /// Gives the file its own name. A file that has the name is replaced.
    pub fn replace(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)
    }

    /// Gives the file its own name, unless another file has it.
    pub fn place_new(self) -> io::Result<()> {
        self.file.sync_all()?;
        match fs::hard_link(&self.path, &self.target) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            // Not every file system supports links. Without them, checking the name first must suffice.
            Err(_) if fs::symlink_metadata(&self.target).is_err() => fs::rename(&self.path, &self.target),
            linked => linked,
        }
    }
}

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // After a rename nothing has this name. Otherwise the first error is reported.
        let _ = fs::remove_file(&self.path);
    }
}

fn hidden(target: &Path, ending: &str) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it names no file"))?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{ending}"));
    Ok(target.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_killed_programs_left_are_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("report.json");
        let name = |count: usize| folder.path().join(format!(".report.json.{}-{count}.tmp", std::process::id()));
        fs::write(name(0), "left").unwrap();
        let created = TempFile::create(&target).unwrap();
        assert_eq!(created.path, name(1));
        for count in 2..TRIES {
            fs::write(name(count), "").unwrap();
        }
        let refused = TempFile::create(&target).unwrap_err().to_string();
        assert_eq!(refused, "killed programs left 1000 temporary files in its folder; remove them");
        drop(created);
        assert!(!name(1).exists());
        assert_eq!(fs::read_to_string(name(0)).unwrap(), "left");
    }

    #[test]
    fn a_file_replaces_another_only_where_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let write = |text: &str| {
            let mut file = TempFile::create(&target).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file
        };
        write("first").place_new().unwrap();
        assert_eq!(write("second").place_new().unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "first");
        write("third").replace().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "third");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
