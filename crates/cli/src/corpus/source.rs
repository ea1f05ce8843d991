//! The inputs: files, folders of files, and standard input.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use mcptest_core::diag::{Code, Failure};
use mcptest_runner::file::Trust;
use serde_json::Value;

use super::eval_archive::{self, EvalArchive};
use super::unpack::Unpacked;
use crate::input::{self, FileError, FoundFile, Places, Wanted, file_error, io_error};

const RECORDS: Wanted = Wanted {
    is_meant: is_named_like_records,
    leaves_out_pipes: true,
    none: "no .json, .jsonl, .ndjson, .binpb (plain, .gz or .zst), .eval or .traj file in this folder or below it",
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Its path as typed, or `-`.
    pub(crate) name: String,
    /// Its size as stored; unknown for pipes.
    pub(crate) size: Option<u64>,
    /// Files with more of the same sessions: Claude Code writes its sub-agents to separate files, and repeats some of their
    /// lines in the file of the session.
    pub(super) companions: Vec<Source>,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    StandardInput,
    Stream(Stream),
    File(PathBuf),
    /// It cannot be used, which is reported in order.
    Refused(FileError),
}

/// Bytes that are read once.
#[derive(Clone)]
struct Stream(Arc<Mutex<Option<Box<dyn Read + Send>>>>);

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stream {}

impl Source {
    /// Bytes that arrive from elsewhere.
    pub(crate) fn stream(name: String, input: Box<dyn Read + Send>) -> Self {
        Self::new(name, None, Place::Stream(Stream(Arc::new(Mutex::new(Some(input))))))
    }

    /// Whether it is not a file, so that it may be empty.
    pub(crate) fn is_pipe(&self) -> bool {
        matches!(self.place, Place::StandardInput | Place::Stream(_))
    }

    /// Its decompressed bytes. The stored bytes that were read are added to `progress`.
    pub(crate) fn open(&self, progress: &Arc<AtomicU64>) -> Result<Unpacked, FileError> {
        let path = match &self.place {
            Place::StandardInput => return Ok(Unpacked::new(Box::new(io::stdin()), Arc::clone(progress))),
            Place::Stream(stream) => {
                let input = stream.0.lock().unwrap_or_else(PoisonError::into_inner).take();
                return Ok(Unpacked::new(input.unwrap_or_else(|| Box::new(io::empty())), Arc::clone(progress)));
            }
            Place::File(path) => path,
            Place::Refused(refusal) => return Err(refusal.clone()),
        };
        let file = input::open(path, Trust::Trusted).map_err(|error| read_error(path, &error))?;
        // Anything else that can be opened is a regular file, or a folder.
        let is_regular = if input::is_handed_over(path) {
            file.metadata().map_err(|error| read_error(path, &error))?.is_file()
        } else {
            true
        };
        open_file(file, is_regular, progress).map_err(|failure| {
            // On some systems opening a folder succeeds, and only reading it fails.
            if path.is_dir() {
                file_error(Code::ReadFailed, path, "is a folder", "it was a file a moment ago; start again")
            } else {
                failure.moved(input::shown(path))
            }
        })
    }

    fn new(name: String, size: Option<u64>, place: Place) -> Self {
        Self { name, size, companions: Vec::new(), place }
    }
}

/// An error of the system about an input. What is not a file may still be standard input.
fn read_error(path: &Path, error: &io::Error) -> FileError {
    let failure = io_error(path, error);
    match error.kind() {
        io::ErrorKind::InvalidInput => {
            failure.hint(format!("to read a pipe, make it standard input: `- < {}`", input::shown(path)))
        }
        _ => failure,
    }
}

/// The decompressed bytes of a file, or the document in an archive.
fn open_file(mut file: fs::File, is_regular: bool, progress: &Arc<AtomicU64>) -> Result<Unpacked, Failure> {
    if !is_regular {
        // A pipe is not an archive, and cannot be read twice.
        return Ok(Unpacked::new(Box::new(file), Arc::clone(progress)));
    }
    // Many files are short, and then this is all of it.
    let mut start = vec![0; START];
    let count = read_up_to(&mut file, &mut start, eval_archive::MAGIC.len());
    let count = count.map_err(|error| Failure::error((), format!("cannot be read: {error}")).code(Code::ReadFailed))?;
    start.truncate(count);
    if start.starts_with(eval_archive::MAGIC) {
        return Ok(Unpacked::new(Box::new(EvalArchive::new(file)?), Arc::clone(progress)));
    }
    Ok(Unpacked::of_file(Box::new(io::Cursor::new(start).chain(file)), Arc::clone(progress)))
}

/// Bytes that are read first.
const START: usize = 16 * 1024;

/// Reads once, and again while there are fewer bytes than `least`. Returns how many there are.
fn read_up_to(file: &mut fs::File, bytes: &mut [u8], least: usize) -> io::Result<usize> {
    let mut count = 0;
    while count < least {
        match file.read(&mut bytes[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// The inputs, in order and each once. A file is used regardless of its name, a folder means the record files in it and below
/// it, `-` means standard input. `note` is called for what was skipped in a folder.
pub(crate) fn expand(inputs: &[PathBuf], note: &mut dyn FnMut(&str)) -> Vec<Source> {
    let (mut seen, mut places) = (BTreeSet::new(), Places::default());
    let mut out = Vec::new();
    for input in inputs {
        if input.as_os_str() == "-" {
            // No file has this place, because places are absolute.
            if seen.insert(input.clone().into_os_string()) {
                out.push(Source::new("-".to_owned(), None, Place::StandardInput));
            }
            continue;
        }
        for file in input::files(input, &RECORDS, Trust::Trusted, note) {
            match file.and_then(|file| source(file, &mut places)) {
                Ok((place, source)) => {
                    // A record that is read twice counts twice, so a file is one source regardless of its spelling.
                    if seen.insert(place.into_os_string()) {
                        out.push(source);
                    }
                }
                Err(refusal) => {
                    let name = refusal.place.clone();
                    out.push(Source::new(name, Some(0), Place::Refused(refusal)));
                }
            }
        }
    }
    with_companions(out)
}

/// Groups the files of sub-agents with the files of their sessions.
fn with_companions(sources: Vec<Source>) -> Vec<Source> {
    let mut sessions: BTreeMap<&OsStr, usize> = BTreeMap::new();
    for (at, source) in sources.iter().enumerate() {
        if let Place::File(path) = &source.place {
            sessions.insert(path.as_os_str(), at);
        }
    }
    let home = |source: &Source| sessions.get(session_of(source)?.as_os_str()).copied();
    let homes: Vec<Option<usize>> = sources.iter().map(home).collect();
    let mut out: Vec<Option<Source>> = sources.into_iter().map(Some).collect();
    for (at, home) in homes.into_iter().enumerate() {
        let Some(home) = home.filter(|&home| home != at) else { continue };
        let companion = out[at].take();
        if let Some(session) = &mut out[home] {
            session.companions.extend(companion);
        } else {
            out[at] = companion;
        }
    }
    out.into_iter().flatten().collect()
}

/// The file of the session that a file of a sub-agent belongs to: `ID/subagents/agent-x.jsonl` belongs to `ID.jsonl`, and so does
/// an `agent-x.jsonl` next to it whose first line has that id.
fn session_of(source: &Source) -> Option<PathBuf> {
    let Place::File(path) = &source.place else { return None };
    let name = path.file_name()?.to_str()?;
    if !name.starts_with("agent-") || path.extension().is_none_or(|kind| kind != "jsonl") {
        return None;
    }
    let folder = path.parent()?;
    if folder.file_name().is_some_and(|name| name == "subagents") {
        return Some(folder.parent()?.with_extension("jsonl"));
    }
    let mut start = String::new();
    let file = input::open(path, Trust::Trusted).ok()?;
    file.take(FIRST_LINE).read_to_string(&mut start).ok()?;
    let line: Value = serde_json::from_str(start.lines().next()?).ok()?;
    let id = line.get("sessionId")?.as_str().filter(|id| !id.contains(['/', '\\']))?;
    Some(folder.join(format!("{id}.jsonl")))
}

/// Most bytes of a first line that are read to find a session.
const FIRST_LINE: u64 = 1024 * 1024;

/// The total size, if it is known for every input.
pub(crate) fn total(sources: &[Source]) -> Option<u64> {
    sources.iter().map(|source| Some(source.size? + total(&source.companions)?)).sum()
}

/// A file as a source, and its place.
fn source(FoundFile { path, size }: FoundFile, places: &mut Places) -> Result<(PathBuf, Source), FileError> {
    let size = match size {
        Some(size) => Some(size),
        None => {
            let about = fs::metadata(&path).map_err(|error| read_error(&path, &error))?;
            about.is_file().then_some(about.len())
        }
    };
    // What an archive unpacks to is not known.
    let size = size.filter(|_| path.extension().is_none_or(|ext| ext != "eval"));
    let name = input::shown(&path);
    Ok((places.of(&path), Source::new(name, size, Place::File(path))))
}

fn is_named_like_records(path: &Path) -> bool {
    let packing = path.extension().is_some_and(|ext| ext == "gz" || ext == "zst");
    let name = if packing { path.file_stem().map(Path::new) } else { Some(path) };
    let kind = name.and_then(Path::extension);
    kind.is_some_and(|ext| ext == "json" || ext == "jsonl" || ext == "ndjson" || ext == "binpb")
        || path.extension().is_some_and(|ext| ext == "eval" || ext == "traj")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    /// A folder with these files, each holding its own name.
    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        folder
    }

    /// What paths below a folder expand to: names relative to it with sizes, or refusals in one line.
    fn check(folder: &Path, inputs: &[&str], expected: &[&str]) {
        let typed = |input: &&str| if *input == "-" { PathBuf::from("-") } else { folder.join(input) };
        let inputs: Vec<PathBuf> = inputs.iter().map(typed).collect();
        let relative = |name: &str| name.replace(&format!("{}/", folder.display()), "");
        let mut notes = Vec::new();
        let found = expand(&inputs, &mut |note| notes.push(relative(note)));
        let found: Vec<String> = found
            .into_iter()
            .map(|source| match source.place {
                Place::StandardInput | Place::Stream(_) | Place::File(_) => {
                    format!("{} {:?}", relative(&source.name), source.size)
                }
                Place::Refused(refusal) => {
                    format!(
                        "! {}: {} ({})",
                        relative(&refusal.place),
                        refusal.message,
                        relative(&refusal.hint.unwrap())
                    )
                }
            })
            .chain(notes)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_folder_means_the_record_files_in_and_below_it() {
        let folder = folder(&[
            "b/z.jsonl",
            "b/c/y.ndjson.zst",
            "b/.hidden.json",
            "b/.git/x.json",
            "b/notes.txt",
            "b/a.json.gz",
            "b/a.json",
            "b/json",
            "b/x.gz",
            "b/x.json.gz.zst",
            "b/run.yml",
            "b/spans.binpb",
            "b/swe.traj",
        ]);
        let expected = [
            "b/a.json Some(8)",
            "b/a.json.gz Some(11)",
            "b/c/y.ndjson.zst Some(16)",
            "b/spans.binpb Some(13)",
            "b/swe.traj Some(10)",
            "b/z.jsonl Some(9)",
        ];
        check(folder.path(), &["b"], &expected);
    }

    #[test]
    fn a_named_file_is_read_once_regardless_of_its_extension() {
        let folder = folder(&["b/notes.txt", "b/a.json", "b/.hidden"]);
        check(
            folder.path(),
            &["b/notes.txt", "b/.hidden", "b", "b/a.json", "b/../b/a.json"],
            &["b/notes.txt Some(11)", "b/.hidden Some(9)", "b/a.json Some(8)"],
        );
    }

    #[test]
    fn standard_input_is_read_once_and_its_size_is_not_known() {
        let folder = folder(&["a.json"]);
        check(folder.path(), &["-", "a.json", "-"], &["- None", "a.json Some(6)"]);
        let known = Source::new("a".to_owned(), Some(2), Place::StandardInput);
        let unknown = Source::new("-".to_owned(), None, Place::StandardInput);
        assert_eq!(total(&[known.clone(), known.clone()]), Some(4));
        assert_eq!(total(&[known, unknown]), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_file_is_followed_and_links_to_folders_and_pipes_are_left_out_with_a_note() {
        use std::os::unix::fs::symlink;
        use std::process::Command;

        let folder = folder(&["b/a.json", "other/x.json"]);
        let at = |name: &str| folder.path().join(name);
        symlink(at("other"), at("b/folder.json")).unwrap();
        symlink(at("b"), at("b/loop")).unwrap();
        symlink(at("other/x.json"), at("b/file.json")).unwrap();
        symlink(at("nowhere"), at("b/gone.json")).unwrap();
        assert!(Command::new("mkfifo").args([at("b/pipe.json"), at("b/pipe.txt")]).status().unwrap().success());
        check(
            folder.path(),
            &["b"],
            &[
                "b/a.json Some(8)",
                "b/file.json Some(12)",
                "! b/gone.json: no such file or folder (it is a broken symbolic link)",
                "note: b/folder.json: skipped: it is a link to a folder; name it to read it",
                "note: b/loop: skipped: it is a link to a folder; name it to read it",
                "note: b/pipe.json: skipped: it is not a regular file, and reading it could block forever",
            ],
        );
        check(folder.path(), &["b/folder.json"], &["b/folder.json/x.json Some(12)"]);
    }

    #[test]
    fn a_missing_path_is_rejected_with_a_suggestion() {
        let folder = folder(&["traces.jsonl", "empty/notes.txt"]);
        check(
            folder.path(),
            &["trace.jsonl", "empty"],
            &[
                "! trace.jsonl: no such file or folder (did you mean `traces.jsonl`?)",
                "! empty: no .json, .jsonl, .ndjson, .binpb (plain, .gz or .zst), .eval or .traj file in this folder or below it (hidden files and folders are skipped; name the file itself)",
            ],
        );
    }

    #[test]
    fn opening_decompresses_and_counts_stored_bytes() {
        let folder = folder(&["a.json"]);
        let path = folder.path().join("a.json");
        let packed = zstd::encode_all("{\"a\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}".as_bytes(), 3).unwrap();
        fs::write(&path, &packed).unwrap();
        let source = expand(&[path], &mut |_| {}).remove(0);
        let (progress, mut text) = (Arc::new(AtomicU64::new(5)), String::new());
        source.open(&progress).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "{\"a\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}");
        assert_eq!(progress.load(Ordering::Relaxed), 5 + packed.len() as u64);
    }

    #[test]
    fn a_file_that_was_replaced_by_a_folder_is_rejected() {
        let folder = folder(&["a.json", "b.json"]);
        let path = |name: &str| folder.path().join(name);
        let sources = expand(&[path("a.json"), path("b.json")], &mut |_| {});
        for name in ["a.json", "b.json"] {
            fs::remove_file(path(name)).unwrap();
        }
        fs::create_dir(path("a.json")).unwrap();
        let refusals: Vec<FileError> =
            sources.into_iter().map(|source| source.open(&Arc::default()).err().unwrap()).collect();
        assert_eq!(
            refusals,
            [
                file_error(Code::ReadFailed, &path("a.json"), "is a folder", "it was a file a moment ago; start again"),
                file_error(
                    Code::NoSuchFile,
                    &path("b.json"),
                    "no such file or folder",
                    format!("did you mean `{}`?", path("a.json").display())
                ),
            ]
        );
    }
}
