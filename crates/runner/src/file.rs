//! Regular files, read in bounded time and memory.
//!
//! A path in a suite or below its folder may lead to anything. Reading a pipe without a writer blocks forever, a device may be
//! endless, and opening one can have side effects.

use std::ffi::OsString;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};

use mcptest_core::diag::Code;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The author may run programs here: paths are followed wherever they lead.
    Trusted,
    /// The author is unknown: no part of a path may be a symbolic link.
    Untrusted,
}

/// Opens a regular file for reading. A folder is opened too; reading it is an error.
pub fn open(path: &Path, trust: Trust) -> io::Result<File> {
    match trust {
        Trust::Trusted => {
            refuse(&fs::metadata(path)?)?;
            let mut options = File::options();
            options.read(true);
            #[cfg(unix)]
            {
                use std::os::unix::fs::OpenOptionsExt as _;
                // The file may have been replaced by a pipe since the check. With this flag opening it does not block.
                options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
            }
            plain(options.open(path)?)
        }
        Trust::Untrusted => walk::open(None, path).and_then(plain),
    }
}

/// Opens a regular file below a folder, without `..` and without following links.
pub fn open_below(folder: &Path, path: &Path) -> io::Result<File> {
    if !is_below(path) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is outside the folder"));
    }
    walk::open(Some(folder), path).and_then(plain)
}

/// Whether a path, as written, stays below the folder it starts from.
pub fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The names in a folder, sorted.
pub fn names(folder: &Path, trust: Trust) -> io::Result<Vec<OsString>> {
    let mut names = match trust {
        Trust::Trusted => fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?,
        Trust::Untrusted => walk::names(folder)?,
    };
    names.sort_unstable();
    Ok(names)
}

/// The bytes of a regular file, or nothing when it has more than `most`.
pub fn read(path: &Path, most: u64, trust: Trust) -> io::Result<Option<Vec<u8>>> {
    read_all(open(path, trust)?, most)
}

/// An open file, if it is a regular file or a folder.
fn plain(file: File) -> io::Result<File> {
    refuse(&file.metadata()?)?;
    Ok(file)
}

/// The bytes of an open file, or nothing when it has more than `most`.
pub fn read_all(file: File, most: u64) -> io::Result<Option<Vec<u8>>> {
    // A file that is too long is not read. It may also grow while it is read.
    if file.metadata()?.len() > most {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

fn refuse(found: &Metadata) -> io::Result<()> {
    let kind = found.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    let message = format!("it is {}, and only regular files are read", name(kind));
    Err(io::Error::new(ErrorKind::InvalidInput, message))
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn name(_: FileType) -> &'static str {
    "no file"
}

/// A link that is not followed.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is a symbolic link, and links are not followed here", .0.display())]
struct Linked(PathBuf);

fn linked(path: &Path) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, Linked(path.to_owned()))
}

/// The code for a file that cannot be read.
pub fn error_code(error: &io::Error) -> Code {
    match error.kind() {
        ErrorKind::NotFound => Code::NoSuchFile,
        ErrorKind::PermissionDenied => Code::PermissionDenied,
        _ if is_link_error(error) => Code::SymbolicLink,
        _ => Code::ReadFailed,
    }
}

/// Whether a file was not opened because a part of its path is a link.
fn is_link_error(error: &io::Error) -> bool {
    error.get_ref().and_then(|inner| inner.downcast_ref::<Linked>()).is_some()
}

/// Opens a path one name at a time, each relative to the open folder before it, so that concurrent changes cannot redirect it.
#[cfg(unix)]
mod walk {
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::{Component, Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

    use super::linked;

    /// Opens a path, from a folder or from the current one, without following a link.
    pub(super) fn open(from: Option<&Path>, path: &Path) -> io::Result<File> {
        let mut at = match from.filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => {
                Some(openat(CWD, folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
            }
            None => None,
        };
        let mut seen = PathBuf::new();
        let mut parts = path.components().filter(|part| *part != Component::CurDir).peekable();
        if parts.peek().is_none() {
            at = Some(step(at.as_ref(), OsStr::new("."), Path::new("."), true)?);
        }
        while let Some(part) = parts.next() {
            seen.push(part);
            at = Some(step(at.as_ref(), part.as_os_str(), &seen, parts.peek().is_none())?);
        }
        at.map(File::from).ok_or_else(|| io::Error::other("it names nothing"))
    }

    /// The names in a folder.
    pub(super) fn names(folder: &Path) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::new(OwnedFd::from(open(None, folder)?))? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Opens the entry with this name in a folder. All but the last must be folders.
    fn step(at: Option<&OwnedFd>, name: &OsStr, seen: &Path, is_last: bool) -> io::Result<OwnedFd> {
        let at: BorrowedFd<'_> = at.map_or(CWD, AsFd::as_fd);
        let own = if is_last { OFlags::RDONLY | OFlags::NONBLOCK } else { FOLDER };
        let opened = openat(at, name, own | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty());
        opened.map_err(|error| {
            let found = statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
            let is_link = found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink);
            if is_link { linked(seen) } else { error.into() }
        })
    }

    /// How a folder on the path is opened: if possible, without requiring permission to list it.
    #[cfg(target_os = "linux")]
    const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
    #[cfg(not(target_os = "linux"))]
    const FOLDER: OFlags = OFlags::DIRECTORY;
}

/// Checks a path before opening it. A concurrent change can still redirect it.
#[cfg(not(unix))]
mod walk {
    use std::ffi::OsString;
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};

    use super::linked;

    pub(super) fn open(from: Option<&Path>, path: &Path) -> io::Result<File> {
        File::open(looked_at(from, path)?)
    }

    pub(super) fn names(folder: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(looked_at(None, folder)?)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn looked_at(from: Option<&Path>, path: &Path) -> io::Result<PathBuf> {
        let mut seen = from.map_or_else(PathBuf::new, Path::to_owned);
        for part in path.components() {
            seen.push(part);
            if seen.is_symlink() {
                return Err(linked(&seen));
            }
        }
        Ok(seen)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn outcome(opened: io::Result<File>) -> String {
        opened.map_or_else(
            |error| error.to_string(),
            |file| String::from_utf8(read_all(file, 99).unwrap().unwrap()).unwrap(),
        )
    }

    #[test]
    fn an_untrusted_suite_cannot_escape_its_folder_by_links_or_parent_paths() {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        fs::create_dir_all(root.join("suite/deep")).unwrap();
        fs::write(root.join("secret"), "secret").unwrap();
        fs::write(root.join("suite/deep/file"), "file").unwrap();
        symlink("../secret", root.join("suite/link")).unwrap();
        symlink("deep", root.join("suite/folder")).unwrap();
        symlink("suite", root.join("linked")).unwrap();
        symlink("nowhere", root.join("suite/dangling")).unwrap();
        for (path, expected) in [
            ("suite/deep/file", "file".to_owned()),
            ("./suite/./deep/../deep/file", "file".to_owned()),
            ("suite/link", linked(&root.join("suite/link")).to_string()),
            ("suite/folder/file", linked(&root.join("suite/folder")).to_string()),
            ("linked/deep/file", linked(&root.join("linked")).to_string()),
            ("suite/dangling", linked(&root.join("suite/dangling")).to_string()),
            ("suite/none", "No such file or directory (os error 2)".to_owned()),
            ("suite/deep/file/more", "Not a directory (os error 20)".to_owned()),
        ] {
            assert_eq!(outcome(open(&root.join(path), Trust::Untrusted)), expected, "{path}");
        }
        for (path, expected) in [
            ("deep/file", "file".to_owned()),
            ("link", linked(Path::new("link")).to_string()),
            ("folder/file", linked(Path::new("folder")).to_string()),
            ("../secret", "it is outside the folder".to_owned()),
            ("deep/../../secret", "it is outside the folder".to_owned()),
            ("/etc/passwd", "it is outside the folder".to_owned()),
        ] {
            // The location of the folder itself is the caller's choice.
            assert_eq!(outcome(open_below(&root.join("linked"), Path::new(path))), expected, "{path}");
        }
        let found = |folder: &str| names(&root.join(folder), Trust::Untrusted).map_err(|error| error.to_string());
        assert_eq!(found("suite"), Ok(["dangling", "deep", "folder", "link"].map(OsString::from).to_vec()));
        assert_eq!(found("linked"), Err(linked(&root.join("linked")).to_string()));
    }
}
