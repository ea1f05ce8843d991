//! Appends one line to a file that other recordings append to at the same time.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use mcptest_core::diag::{Code, Failure};
use mcptest_core::json;
use mcptest_runner::temp_file::TempFile;
use serde_json::Value;

use crate::input::shown;

/// A file that was checked to be writable before the recording begins. It is created with its first line.
pub(super) struct Appender {
    path: PathBuf,
}

impl Appender {
    pub(super) fn check(path: &Path) -> Result<Self, Failure> {
        let checked = match fs::metadata(path) {
            Ok(_) => open(path).map(drop),
            Err(error) if error.kind() == io::ErrorKind::NotFound => TempFile::create(path).map(drop),
            Err(error) => Err(error),
        };
        checked.map_err(|error| cannot_write(path, &error))?;
        Ok(Self { path: path.to_owned() })
    }

    /// Appends a value as one line, all of it or nothing.
    pub(super) fn append(&self, value: &Value) -> Result<(), Failure> {
        let mut line = json::canonical(value);
        line.push('\n');
        let appended = open(&self.path).and_then(|mut file| {
            // Held until the file is closed.
            file.lock()?;
            let end = file.seek(SeekFrom::End(0))?;
            // A last line without its end would swallow this one.
            if end > 0 {
                file.seek(SeekFrom::End(-1))?;
                let mut last = [0];
                file.read_exact(&mut last)?;
                if last != *b"\n" {
                    line.insert(0, '\n');
                }
            }
            file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).inspect_err(|_| {
                // Half a line would corrupt the file. If this fails too, the first error is reported.
                let _ = file.set_len(end);
            })
        });
        appended.map_err(|error| cannot_write(&self.path, &error))
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Opening a pipe would block until it has a reader.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(not_a_file());
    }
    File::options().read(true).append(true).create(true).open(path)
}

fn not_a_file() -> io::Error {
    io::Error::other("it is not a regular file")
}

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::error((), format!("{}: cannot be written: {error}", shown(path)))
        .code(Code::ReportNotWritten)
        .hint("choose a path that can be written")
}
