//! Plain files, read in bounded time and memory.
//!
//! A path in a suite or below its folder may lead to anything. A pipe that nobody writes to would be waited for for ever, a
//! device may have no end, and opening one may already do something.

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Opens a plain file for reading. A folder is left to whoever reads, for whom it is an error.
pub fn open(path: &Path) -> io::Result<File> {
    refuse(&fs::metadata(path)?)?;
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // What was a file a moment ago may be a pipe now. Opened like this it is not waited for; a file does not care.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    refuse(&file.metadata()?)?;
    Ok(file)
}

/// The bytes of a plain file, or nothing when it has more than `most`.
pub fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    read_all(open(path)?, most)
}

/// The bytes of an open file, or nothing when it has more than `most`.
pub fn read_all(file: File, most: u64) -> io::Result<Option<Vec<u8>>> {
    // Nothing of a file is read that is known to be too long, and it may grow meanwhile.
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
    let message = format!("it is {}, and only plain files are read", name(kind));
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
