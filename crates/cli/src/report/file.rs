//! A report as a file: there whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::beside;

/// Writes a file by way of another one beside it, so that nobody ever reads half a report.
pub(super) fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A link stays a link: what it leads to is replaced.
    let path = match fs::canonicalize(path) {
        Ok(found) => found,
        Err(_) => path.to_owned(),
    };
    match fs::metadata(&path) {
        // A device or a pipe is written to; replacing it would take it away from everybody else.
        Ok(found) if !found.is_file() && !found.is_dir() => {
            return fill(File::options().write(true).open(&path)?, content).map(drop);
        }
        Ok(found) if found.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
        _ => {}
    }
    let (beside, file) = beside::create(&path)?;
    let written = fill(file, content).and_then(|file| file.sync_all()).and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // It may not even be there; the first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Adds to a file that others add to as well, as long as it stays below `most` bytes; `text` is told how many there are left.
pub(super) fn append(path: &Path, most: usize, text: impl FnOnce(usize) -> String) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    let there = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let room = most.saturating_sub(there);
    let text = text(room);
    if text.len() <= room {
        file.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn fill(file: File, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        for text in ["a long first text", "short"] {
            write(&path, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(folder.path()), ["report.json"]);
    }

    #[test]
    fn a_report_that_breaks_off_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        fs::write(&path, "old").unwrap();
        let broken = write(&path, |out| {
            out.write_all(&vec![b'x'; 100_000])?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(broken.unwrap_err().to_string(), "no more");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(folder.path()), ["report.json"]);
    }

    #[test]
    fn a_folder_and_a_missing_folder_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let refused = write(folder.path(), |_| Ok(())).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::IsADirectory);
        let missing = write(&folder.path().join("no/report.json"), |_| Ok(())).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn what_is_added_to_a_file_leaves_what_is_there_and_keeps_to_the_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.md");
        append(&path, 10, |room| "a".repeat(room - 4)).unwrap();
        append(&path, 10, |room| "b".repeat(room)).unwrap();
        append(&path, 10, |room| "c".repeat(room + 1)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "aaaaaabbbb");
        assert!(append(folder.path(), 10, |_| String::new()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_what_is_no_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, |out| out.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(write(&socket, |out| out.write_all(b"x")).is_err());
        assert!(!fs::metadata(&socket).unwrap().is_file());
    }
}
