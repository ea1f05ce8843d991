//! A report as a file, written atomically.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use mcptest_runner::file::Trust;
use mcptest_runner::temp_file::TempFile;

use crate::input;

/// Writes a file by renaming a temporary file next to it, so that no reader sees half a report. Nothing is written through a
/// link: the person who created it would choose which file is replaced. In untrusted folders, no folder may be a link either.
pub(super) fn write(
    path: &Path,
    trust: Trust,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let is_handed_over = input::is_handed_over(path);
    if !is_handed_over && path.is_symlink() {
        return Err(linked());
    }
    if !is_handed_over && trust == Trust::Untrusted {
        mcptest_runner::file::open(Path::new(&input::folder(path)), trust)?;
    }
    // `/dev/fd/3` and similar paths lead to an open file, which is replaced if it is a regular file.
    let path = match fs::canonicalize(path) {
        Ok(found) if is_handed_over => found,
        _ => path.to_owned(),
    };
    match fs::metadata(&path) {
        // A device or a pipe is written to, not replaced: other programs use it too.
        Ok(found) if !found.is_file() && !found.is_dir() => {
            return fill(File::options().write(true).open(&path)?, content).map(drop);
        }
        Ok(found) if found.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
        _ => {}
    }
    fill(TempFile::create(&path)?, content)?.replace()
}

/// Appends to a file that others append to as well, up to `most` bytes in all. `text` gets the number of bytes left.
pub(super) fn append(path: &Path, most: usize, text: impl FnOnce(usize) -> String) -> io::Result<()> {
    if path.is_symlink() {
        return Err(linked());
    }
    let mut file = File::options().append(true).create(true).open(path)?;
    let there = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let room = most.saturating_sub(there);
    let text = text(room);
    if text.len() <= room {
        file.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn linked() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link, and reports are not written through one")
}

fn fill<F: Write>(file: F, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<F> {
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
    fn a_file_is_replaced_atomically_without_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        for text in ["a long first text", "short"] {
            write(&path, Trust::Trusted, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(folder.path()), ["report.json"]);
    }

    #[test]
    fn an_interrupted_report_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        fs::write(&path, "old").unwrap();
        let broken = write(&path, Trust::Trusted, |out| {
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
        let refused = write(folder.path(), Trust::Trusted, |_| Ok(())).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::IsADirectory);
        let missing = write(&folder.path().join("no/report.json"), Trust::Trusted, |_| Ok(())).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn appending_keeps_existing_content_and_respects_the_limit() {
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
    fn links_are_not_followed_and_only_regular_files_are_replaced() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(folder.path()).unwrap().join(name);
        fs::write(at("file"), "old").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink("folder", at("linked")).unwrap();
        let refused = |path: &str, trust| write(&at(path), trust, |out| out.write_all(b"new")).unwrap_err().to_string();
        for path in ["link", "dangling"] {
            assert_eq!(refused(path, Trust::Trusted), linked().to_string());
            assert_eq!(append(&at(path), 10, |_| "new".to_owned()).unwrap_err().to_string(), linked().to_string());
        }
        assert!(at("link").is_symlink() && !at("nowhere").exists());
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "old");
        let folders = format!("`{}` is a symbolic link, and links are not followed here", at("linked").display());
        assert_eq!(refused("linked/report", Trust::Untrusted), folders);
        write(&at("linked/report"), Trust::Trusted, |out| out.write_all(b"new")).unwrap();
        write(&at("folder/report"), Trust::Untrusted, |out| out.write_all(b"newer")).unwrap();
        assert_eq!(fs::read_to_string(at("folder/report")).unwrap(), "newer");
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(write(&socket, Trust::Trusted, |out| out.write_all(b"x")).is_err());
        assert!(!fs::metadata(&socket).unwrap().is_file());
    }
}
