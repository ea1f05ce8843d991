//! Files named on the command line: their paths and texts. What cannot be read is an error, never skipped.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use mcptest_core::diag::{Code, Failure, Source, did_you_mean, printable};
use mcptest_core::suite::yaml::MAX_BYTES;
use mcptest_runner::file::{self, Trust};

/// A path that cannot be used, as typed.
pub(crate) type FileError = Failure<String>;

pub(crate) fn file_error(code: Code, path: &Path, message: impl Into<String>, hint: impl Into<String>) -> FileError {
    FileError::error(shown(path), message).code(code).hint(hint)
}

pub(crate) fn io_error(path: &Path, error: &io::Error) -> FileError {
    match file::error_code(error) {
        Code::NoSuchFile => file_error(Code::NoSuchFile, path, "no such file or folder", missing(path)),
        Code::PermissionDenied => {
            file_error(Code::PermissionDenied, path, "permission denied", "check its permissions")
        }
        code => file_error(code, path, format!("cannot be read: {error}"), "check the path"),
    }
}

pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The hint for a path that does not exist.
fn missing(path: &Path) -> String {
    if path.is_symlink() {
        return "it is a broken symbolic link".to_owned();
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Untrusted in any case: the names behind a link must not be revealed.
    let names = file::names(Path::new(&folder(path)), Trust::Untrusted).unwrap_or_else(|_| Vec::new());
    let names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
    match did_you_mean(&name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}`?", shown(&path.with_file_name(near))),
        None => "paths are relative to the current folder".to_owned(),
    }
}

/// The folder of a file, as typed; `.` for a bare name.
pub(crate) fn folder(path: &Path) -> String {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => shown(parent),
        _ => ".".to_owned(),
    }
}

/// The canonical path of a file, which need not exist. A link is a separate file.
pub(crate) fn place(path: &Path) -> PathBuf {
    Places::default().of(path)
}

/// Canonical paths of files that follow each other in a folder.
#[derive(Default)]
pub(crate) struct Places {
    /// The latest folder as typed, and what it is.
    latest: Option<(String, Option<PathBuf>)>,
}

impl Places {
    pub(crate) fn of(&mut self, path: &Path) -> PathBuf {
        let typed = folder(path);
        let known = self.latest.take().filter(|(folder, _)| *folder == typed);
        let (_, folder) = self.latest.insert(known.unwrap_or_else(|| {
            let canonical = fs::canonicalize(&typed).ok();
            (typed, canonical)
        }));
        folder.as_ref().zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name))
    }
}

/// Which files of a folder to read.
pub(crate) struct Wanted {
    /// Whether a file is one of them, by its name.
    pub(crate) is_meant: fn(&Path) -> bool,
    /// Whether to skip an entry with this name that is not a regular file. Otherwise reading it is an error.
    pub(crate) leaves_out_pipes: bool,
    /// The message for a folder without any.
    pub(crate) none: &'static str,
}

/// Suites, scripts, gates files and mock servers.
const WRITTEN: Wanted = Wanted {
    is_meant: |path| path.extension().is_some_and(|ext| ext == "yml" || ext == "yaml"),
    leaves_out_pipes: false,
    none: "no .yml or .yaml file in this folder or below it",
};

/// The files, each once: a file itself, or the YAML files of a folder in sorted order. `note` is called for what was skipped.
pub(crate) fn expand(paths: &[PathBuf], trust: Trust, note: &mut dyn FnMut(&str)) -> Vec<Result<PathBuf, FileError>> {
    let found = paths.iter().flat_map(|path| files(path, &WRITTEN, trust, note));
    let mut out: Vec<_> = found.map(|found| found.map(|found| found.path)).collect();
    let mut seen = BTreeSet::new();
    out.retain(|found| found.as_ref().map_or(true, |path| seen.insert(path.clone())));
    out
}

/// Most skipped paths of one folder that are listed.
const NAMED: usize = 5;

/// A file that was named, or found in a folder.
pub(crate) struct FoundFile {
    pub(crate) path: PathBuf,
    /// The size of a regular file in a folder; `None` where it was not asked for.
    pub(crate) size: Option<u64>,
}

/// The files of one path: a file itself, or the wanted files in and below a folder, sorted. `note` is called for what was
/// skipped.
pub(crate) fn files(
    path: &Path,
    wanted: &Wanted,
    trust: Trust,
    note: &mut dyn FnMut(&str),
) -> Vec<Result<FoundFile, FileError>> {
    if !path.is_dir() {
        return vec![Ok(FoundFile { path: path.to_owned(), size: None })];
    }
    let (mut out, mut left_out) = (Vec::new(), Vec::new());
    walk(path, wanted, trust, &mut out, &mut left_out);
    for (path, why) in left_out.iter().take(NAMED) {
        note(&format!("note: {}: skipped: {why}", printable(&shown(path))));
    }
    if let Some(more @ 1..) = left_out.len().checked_sub(NAMED) {
        note(&format!("note: {}: {more} more links and pipes were skipped", printable(&shown(path))));
    }
    if out.is_empty() {
        let hint = "hidden files and folders are skipped; name the file itself";
        out.push(Err(file_error(Code::EmptyFolder, path, wanted.none, hint)));
    }
    out
}

/// Skipped paths, and why.
type LeftOut = Vec<(PathBuf, &'static str)>;

fn walk(
    folder: &Path,
    wanted: &Wanted,
    trust: Trust,
    out: &mut Vec<Result<FoundFile, FileError>>,
    left_out: &mut LeftOut,
) {
    let names = match file::names(folder, trust) {
        Ok(names) => names,
        Err(error) => return out.push(Err(io_error(folder, &error))),
    };
    for name in names.into_iter().filter(|name| !name.as_encoded_bytes().starts_with(b".")) {
        let path = folder.join(name);
        // A link to a folder may be cyclic; a link to a file is a file. The target of an untrusted link is not even looked at;
        // reading it is an error.
        let about = path.symlink_metadata().ok();
        let own = about.as_ref().map(fs::Metadata::file_type);
        let is_link = own.is_some_and(|own| own.is_symlink());
        let kind = match trust {
            Trust::Trusted if is_link => path.metadata().map(|about| about.file_type()).ok(),
            Trust::Trusted | Trust::Untrusted => own,
        };
        if kind.is_some_and(|kind| kind.is_dir()) {
            if is_link {
                left_out.push((path, "it is a link to a folder; name it to read it"));
            } else {
                walk(&path, wanted, trust, out, left_out);
            }
        } else if (wanted.is_meant)(&path) {
            if wanted.leaves_out_pipes && kind.is_some_and(|kind| !kind.is_file()) {
                left_out.push((path, "it is not a regular file, and reading it could block forever"));
            } else {
                let size = about.filter(fs::Metadata::is_file).map(|about| about.len());
                out.push(Ok(FoundFile { path, size }));
            }
        }
    }
}

/// Whether a path is an open file from the shell, as in `mcptest score <(fetch-traces)`.
pub(crate) fn is_handed_over(path: &Path) -> bool {
    let places = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];
    places.iter().any(|place| path.starts_with(place))
}

/// Opens a named file: a regular file, or an open file from the shell. Other pipes may have no writer, and are refused.
pub(crate) fn open(path: &Path, trust: Trust) -> io::Result<File> {
    if is_handed_over(path) { File::open(path) } else { file::open(path, trust) }
}

/// The bytes of a named file, or nothing when it has more than `most`.
pub(crate) fn bytes(path: &Path, most: u64, trust: Trust) -> io::Result<Option<Vec<u8>>> {
    file::read_all(open(path, trust)?, most)
}

/// The text of a file.
pub(crate) fn read(path: &Path, trust: Trust) -> Result<Source, FileError> {
    let bytes = bytes(path, MAX_BYTES as u64, trust).map_err(|error| io_error(path, &error))?;
    let Some(bytes) = bytes else {
        let message = format!("has more than {MAX_BYTES} bytes, the limit");
        return Err(file_error(Code::FileTooLarge, path, message, "split it into several files"));
    };
    String::from_utf8(bytes).map(|text| Source::new(shown(path), text)).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = bytes[..at].split(|byte| *byte == b'\n').count();
        let hint = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            "it starts like UTF-16; save it as UTF-8"
        } else {
            "save it as UTF-8"
        };
        file_error(Code::NotUtf8, path, format!("is not UTF-8: byte {at} (0x{:02x}), on line {line}", bytes[at]), hint)
    })
}
