//! Cassettes on disk: found by name, written whole or not at all, one recorder at a time.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Cassette, CassetteError, Unreadable, changes, slug, told};
use crate::file;

/// Largest cassette that is read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// How often a folder is locked anew that was removed meanwhile, as `cassette prune` removes empty ones.
const LOCK_TRIES: usize = 10;

/// The cassettes of one suite.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
}

/// Held while recording.
#[derive(Debug)]
pub struct Lock {
    _folder: File,
}

impl Folder {
    /// The cassettes of a suite file: `cassettes/<stem>` beside it.
    pub fn of(suite: &Path) -> Self {
        let folder = suite.parent().unwrap_or(Path::new(""));
        let stem = suite.file_stem().unwrap_or_default();
        // `...yml` is the name of a file, and `cassettes/..` would be the folder that it lies in.
        let is_dots = stem.as_encoded_bytes().iter().all(|byte| *byte == b'.');
        let name = if is_dots { slug(&stem.to_string_lossy()).into() } else { stem.to_owned() };
        Self { root: folder.join("cassettes").join(name) }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the recording of a run lies.
    pub fn path(&self, test: &str, model: &str, run: u64) -> PathBuf {
        self.root.join(slug(test)).join(slug(model)).join(format!("{run}.json"))
    }

    /// The runs of a test on a model that have been recorded, in order.
    pub fn runs(&self, test: &str, model: &str) -> Result<Vec<u64>, CassetteError> {
        let folder = self.root.join(slug(test)).join(slug(model));
        let mut runs: Vec<u64> = entries(&folder)?.iter().filter_map(|path| run_of(path)).collect();
        runs.sort_unstable();
        Ok(runs)
    }

    /// The recording of a run, which must fit what the suite says now.
    pub fn load(&self, test: &str, model: &str, run: u64, inputs: &Value) -> Result<Cassette, CassetteError> {
        let path = self.path(test, model, run);
        let cassette = Cassette::open(&path)?;
        if (cassette.test.as_str(), cassette.model.as_str(), cassette.run) != (test, model, run) {
            let why = format!(
                "holds run {} of `{}` on `{}`, not run {run} of `{test}` on `{model}`",
                cassette.run, cassette.test, cassette.model
            );
            return Err(CassetteError::Broken { path, why });
        }
        let changes = changes(&cassette.inputs, inputs);
        if !changes.is_empty() {
            return Err(CassetteError::Stale { path, changes: told(&changes) });
        }
        Ok(cassette)
    }

    /// Writes the recording of a run: the file is the old one or the new one, never a part.
    pub fn save(&self, cassette: &Cassette) -> Result<PathBuf, CassetteError> {
        let path = self.path(&cassette.test, &cassette.model, cassette.run);
        let folder = path.parent().unwrap_or(&self.root);
        refuse_links(&path, 5)?;
        fs::create_dir_all(folder).map_err(|error| failed(folder, "created", &error))?;
        let text = cassette.to_text();
        // What the servers said may be more than is read again, in depth or in length.
        if let Err(error) = readable(&path, text.clone().into_bytes()) {
            return Err(CassetteError::Unkept { path, why: error.why() });
        }
        write_whole(&path, text.as_bytes()).map_err(|error| failed(&path, "written", &error))?;
        Ok(path)
    }

    /// Whether the recording of a run could be written, as far as rights tell: to be asked before a model is paid for it.
    pub fn may_save(&self, test: &str, model: &str, run: u64) -> Result<(), CassetteError> {
        let path = self.path(test, model, run);
        refuse_links(&path, 5)?;
        let folder = path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
        #[cfg(unix)]
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
            .map_err(|error| failed(&path, "written", &error.into()))?;
        Ok(())
    }

    /// Makes sure that nobody else records into this folder, and that no link leads there.
    pub fn lock_to_record(&self) -> Result<Lock, CassetteError> {
        refuse_links(&self.root, 2)?;
        self.lock()
    }

    /// Makes sure that nobody else records into this folder.
    pub fn lock(&self) -> Result<Lock, CassetteError> {
        for _ in 0..LOCK_TRIES {
            if let Some(folder) = self.locked()?.filter(|folder| is_at(folder, &self.root)) {
                return Ok(Lock { _folder: folder });
            }
        }
        let why = "it is removed again and again".to_owned();
        Err(CassetteError::Io { path: self.root.clone(), what: "locked", why })
    }

    /// The folder, locked; somebody may have removed it meanwhile, before it could be opened or after that.
    fn locked(&self) -> Result<Option<File>, CassetteError> {
        fs::create_dir_all(&self.root).map_err(|error| failed(&self.root, "created", &error))?;
        // The folder itself carries the lock: no file is left behind, and the system frees it when a recorder dies.
        let folder = match File::open(&self.root) {
            Ok(folder) => folder,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&self.root, "opened", &error)),
        };
        match folder.try_lock() {
            Ok(()) => Ok(Some(folder)),
            Err(TryLockError::WouldBlock) => Err(CassetteError::Locked { path: self.root.clone() }),
            Err(TryLockError::Error(error)) => Err(failed(&self.root, "locked", &error)),
        }
    }

    /// Every file that lies where recordings lie, in the order of paths. Links to folders are not followed.
    pub fn files(&self) -> Result<Vec<PathBuf>, CassetteError> {
        let mut out = Vec::new();
        for test in folders(&self.root)? {
            for model in folders(&test)? {
                let mut runs: Vec<(u64, PathBuf)> =
                    entries(&model)?.into_iter().filter_map(|path| Some((run_of(&path)?, path))).collect();
                runs.sort_unstable();
                out.extend(runs.into_iter().map(|(_, path)| path));
            }
        }
        Ok(out)
    }

    /// Why a file is never removed: nothing is but plain files in the place of a recording.
    pub fn kept(&self, path: &Path) -> Option<&'static str> {
        let inside = path.strip_prefix(&self.root).ok().map(|inside| inside.iter().collect::<Vec<_>>());
        let in_place = match inside.as_deref() {
            Some([test, model, _]) => is_slug(test) && is_slug(model) && run_of(path).is_some(),
            _ => false,
        };
        if !in_place {
            return Some("it does not lie where recordings lie");
        }
        // The file, and the folders up to `cassettes`; where the suite itself lies is up to its author.
        if path.ancestors().take(5).any(Path::is_symlink) {
            return Some("a symbolic link leads to it");
        }
        (!path.is_file()).then_some("it is no file")
    }

    /// Removes a recording, and the folders that are empty without it.
    pub fn remove(&self, path: &Path) -> Result<(), CassetteError> {
        if let Some(why) = self.kept(path) {
            return Err(CassetteError::Io { path: path.to_owned(), what: "removed", why: why.to_owned() });
        }
        fs::remove_file(path).map_err(|error| failed(path, "removed", &error))?;
        for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root)) {
            // A folder that still holds something stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

impl Cassette {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        match file::read(path, MAX_BYTES) {
            Ok(Some(bytes)) => readable(path, bytes),
            Ok(None) => Err(CassetteError::Broken { path: path.to_owned(), why: too_long() }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(CassetteError::Missing { path: path.to_owned() }),
            Err(error) => Err(failed(path, "read", &error)),
        }
    }
}

fn too_long() -> String {
    format!("has more than {MAX_BYTES} bytes, the limit")
}

/// What the bytes of a file say.
fn readable(path: &Path, bytes: Vec<u8>) -> Result<Cassette, CassetteError> {
    let broken = |why: String| CassetteError::Broken { path: path.to_owned(), why };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(broken(too_long()));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| broken(format!("is not UTF-8: byte {}", error.utf8_error().valid_up_to())))?;
    Cassette::read(&text).map_err(|unreadable| match unreadable {
        Unreadable::Broken(why) => broken(why),
        Unreadable::Version(found) => CassetteError::Version { path: path.to_owned(), found },
    })
}

/// The run a file name tells, when it is the name a recorder gives: no sign, no zero in front.
pub(super) fn run_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let run = name.strip_suffix(".json")?.parse().ok()?;
    (run > 0 && name == format!("{run}.json")).then_some(run)
}

/// Whether a name could have been made by [`slug`].
fn is_slug(name: &OsStr) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.to_str().is_some_and(|name| name.split('-').all(|part| !part.is_empty() && part.chars().all(plain)))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let read = match fs::read_dir(folder) {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(folder, "read", &error)),
    };
    let mut out = Vec::new();
    for entry in read {
        out.push(entry.map_err(|error| failed(folder, "read", &error))?.path());
    }
    out.sort_unstable();
    Ok(out)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let is_own = |path: &PathBuf| path.file_name().is_some_and(is_slug) && path.is_dir() && !path.is_symlink();
    Ok(entries(folder)?.into_iter().filter(is_own).collect())
}

fn failed(path: &Path, what: &'static str, error: &io::Error) -> CassetteError {
    CassetteError::Io { path: path.to_owned(), what, why: error.to_string() }
}

/// Refuses a place that a link leads to, among a path and the `levels - 1` folders above it: what is recorded stays beside the
/// suite. Where the suite itself lies is up to its author. Whoever can change these folders meanwhile can change the suite as
/// well, and with it the commands that it starts; so looking once is enough.
fn refuse_links(path: &Path, levels: usize) -> Result<(), CassetteError> {
    let link = path.ancestors().take(levels).filter(|place| place.is_symlink()).last();
    link.map_or(Ok(()), |link| Err(CassetteError::Linked { path: link.to_owned() }))
}

/// Whether an open folder is still the one at a path. A lock on one that was removed keeps nobody away.
#[cfg(unix)]
fn is_at(folder: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let both = folder.metadata().and_then(|open| Ok((open, fs::metadata(path)?)));
    both.is_ok_and(|(open, there)| (open.dev(), open.ino()) == (there.dev(), there.ino()))
}

/// An open folder cannot be removed here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Puts a file in place whole: beside it first, then synced, then renamed over the old one.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Always the same name: what a recorder leaves that is killed, the next one replaces. The lock keeps others away.
    let beside = path.with_file_name(format!(".{name}.new"));
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Made anew and never opened: a link or a pipe of that name would lead elsewhere.
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&beside, path));
    if placed.is_err() {
        // What is half written is of no use to anybody.
        let _ = fs::remove_file(&beside);
        return placed;
    }
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_removed_and_made_anew_is_another_one() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("folder");
        fs::create_dir(&path).unwrap();
        let folder = File::open(&path).unwrap();
        assert!(is_at(&folder, &path));
        fs::remove_dir(&path).unwrap();
        assert!(!is_at(&folder, &path));
        fs::create_dir(&path).unwrap();
        assert!(!is_at(&folder, &path));
    }
}
