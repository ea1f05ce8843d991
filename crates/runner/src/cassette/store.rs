//! Cassettes on disk: found by name, written atomically, one recorder at a time.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use mcptest_core::diag::Code;
use serde_json::Value;

use super::{Cassette, CassetteError, VERSION, changes, joined, ledgers, slug};
use crate::file::{self, Trust};
use crate::temp_file::TempFile;

/// Largest cassette that is read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// How often locking is retried when the folder is removed meanwhile, as `cassette prune` does with empty folders.
const LOCK_TRIES: usize = 10;

/// How long another program may take to write the runs of a test, and how often it is looked at.
const WRITE_TRIES: usize = 1000;
const WRITE_PAUSE: Duration = Duration::from_millis(10);

/// The cassettes of one suite.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
    trust: Trust,
}

/// Held while recording.
#[derive(Debug)]
pub struct Lock {
    folder: File,
}

/// Closing the file is not enough: a process that is being started shares it until it runs its own program.
impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.folder.unlock();
    }
}

impl Folder {
    /// The cassettes of a suite file: `cassettes/<stem>` next to it.
    pub fn of(suite: &Path) -> Self {
        let folder = suite.parent().unwrap_or(Path::new(""));
        let stem = suite.file_stem().unwrap_or_default();
        // `...yml` is a valid file name, and `cassettes/..` would be the folder of the suite.
        let is_dots = stem.as_encoded_bytes().iter().all(|byte| *byte == b'.');
        let name = if is_dots { slug(&stem.to_string_lossy()).into() } else { stem.to_owned() };
        Self { root: folder.join("cassettes").join(name), trust: Trust::Trusted }
    }

    /// The cassettes of a file with tests that are code: `cassettes/<name>` next to it. The name keeps its ending, so that a suite
    /// of the same stem has its own folder.
    pub fn of_code(file: &Path) -> Self {
        let folder = file.parent().unwrap_or(Path::new(""));
        Self { root: folder.join("cassettes").join(file.file_name().unwrap_or_default()), trust: Trust::Trusted }
    }

    /// The same folder with another trust.
    pub(crate) fn with(self, trust: Trust) -> Self {
        Self { trust, ..self }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a recording.
    pub fn path(&self, test: &str, model: &str, run: u64) -> PathBuf {
        self.root.join(slug(test)).join(slug(model)).join(format!("{run}.json"))
    }

    /// The recorded runs of a test on a model, in order.
    pub fn runs(&self, test: &str, model: &str) -> Result<Vec<u64>, CassetteError> {
        let runs = runs_in(&self.root.join(slug(test)).join(slug(model)), self.trust)?;
        Ok(runs.into_iter().map(|(run, _)| run).collect())
    }

    /// The recording of a run, which must match the inputs of the suite.
    pub fn load(&self, test: &str, model: &str, run: u64, inputs: &Value) -> Result<Cassette, CassetteError> {
        let path = self.path(test, model, run);
        Cassette::open_as(&path, self.trust)?.fitting(path, test, model, run, inputs)
    }

    /// Writes the recording of a run atomically. Returns what a replay would load: the recording as read back from the bytes
    /// that were written, so that recording and replaying judge the same.
    pub fn save(&self, cassette: &Cassette) -> Result<Cassette, CassetteError> {
        let path = self.path(&cassette.test, &cassette.model, cassette.run);
        let text = cassette.to_text();
        // What servers answered may be too deep or too long to be read again.
        let saved = if text.len() as u64 > MAX_BYTES { Err(too_long()) } else { Ok(()) };
        let saved = saved.and_then(|()| Cassette::read(&text).map_err(|error| error.to_string()));
        let saved = saved.map_err(|why| CassetteError::Unkept { path: path.clone(), why })?;
        self.write(&path, &text)?;
        if cassette.ledger.is_none() {
            ledgers::remove(&path)?;
        }
        saved.fitting(path, &cassette.test, &cassette.model, cassette.run, &cassette.inputs)
    }

    /// Writes all runs of a test on a model, and removes those that an earlier recording had more. Others may record other tests
    /// of the folder at the same time.
    pub fn save_all(&self, test: &str, model: &str, runs: &[Cassette]) -> Result<(), CassetteError> {
        let _lock = self.lock_when_free()?;
        for cassette in runs {
            self.save(cassette)?;
        }
        for run in self.runs(test, model)? {
            if !runs.iter().any(|cassette| cassette.run == run) {
                self.remove(&self.path(test, model, run))?;
            }
        }
        Ok(())
    }

    /// All runs of a test on a model, which must match the inputs. A run that is left out is an error: the others may have been
    /// chosen.
    pub fn load_all(&self, test: &str, model: &str, runs: u64, inputs: &Value) -> Result<Vec<Cassette>, CassetteError> {
        let loaded = (1..=runs).map(|run| self.load(test, model, run, inputs)).collect::<Result<Vec<_>, _>>()?;
        match self.runs(test, model)?.into_iter().find(|run| *run > runs) {
            Some(run) => {
                let changes = format!("it is one of more recorded runs than the {runs} of the test");
                Err(CassetteError::Stale { path: self.path(test, model, run), changes })
            }
            None => Ok(loaded),
        }
    }

    /// Writes a file of the folder atomically.
    pub(super) fn write(&self, path: &Path, text: &str) -> Result<(), CassetteError> {
        let folder = path.parent().unwrap_or(&self.root);
        refuse_links(path, 5)?;
        fs::create_dir_all(folder).map_err(|error| failed(folder, "created", &error))?;
        write_atomic(path, text)
    }

    /// The text of a file of the folder.
    pub(super) fn text(&self, path: &Path) -> Result<String, CassetteError> {
        text_of(path, self.trust)
    }

    /// Moves the recordings of a test to its new name: all of them, or none. They are complete under the new name before the
    /// first one is removed under the old name. Returns their new paths.
    pub fn rename(&self, old: &str, new: &str) -> Result<Vec<PathBuf>, CassetteError> {
        let (from, to) = (self.root.join(slug(old)), self.root.join(slug(new)));
        if !from.is_dir() {
            return Err(CassetteError::Missing { path: from });
        }
        refuse_links(&from, 3)?;
        refuse_links(&to, 1)?;
        let _lock = self.lock_to_record()?;
        let mut recordings = Vec::new();
        for model in folders(&from, self.trust)? {
            recordings.extend(runs_in(&model, self.trust)?.into_iter().map(|(_, path)| path));
        }
        if recordings.is_empty() {
            return Err(CassetteError::Missing { path: from });
        }
        // An empty folder is not in the way.
        match fs::remove_dir(&to) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Ok(()) => {}
            Err(_) => return Err(CassetteError::Taken { path: to }),
        }
        // No slug begins with a dot, so what a killed program leaves here is not mistaken for recordings.
        let staged = self.root.join(format!(".{}.new", slug(new)));
        match fs::remove_dir_all(&staged) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&staged, "removed", &error)),
            _ => {}
        }
        let moved = self.stage(&recordings, (old, new), &staged).and_then(|moved| {
            fs::rename(&staged, &to).map_err(|error| failed(&to, "created", &error))?;
            sync(&self.root).map_err(|error| failed(&self.root, "written", &error))?;
            Ok(moved)
        });
        let moved = match moved {
            Ok(moved) => moved,
            Err(error) => {
                let _ = fs::remove_dir_all(&staged);
                return Err(error);
            }
        };
        for path in &recordings {
            self.remove(path)?;
        }
        Ok(moved.into_iter().map(|inside| to.join(inside)).collect())
    }

    /// Writes recordings to another folder, with the new name of their test. Returns their paths inside it.
    fn stage(
        &self,
        recordings: &[PathBuf],
        (old, new): (&str, &str),
        staged: &Path,
    ) -> Result<Vec<PathBuf>, CassetteError> {
        let mut out = Vec::new();
        for path in recordings {
            let cassette = Cassette::open(path)?;
            if cassette.test != old {
                let why = format!("is run {} of `{}`, not of `{old}`", cassette.run, cassette.test);
                return Err(CassetteError::Broken { path: path.clone(), why });
            }
            let renamed = Cassette::renamed(&text_of(path, self.trust)?, new);
            let text = renamed.map_err(|why| CassetteError::unreadable(path, why))?;
            let inside: PathBuf = path.strip_prefix(&self.root).unwrap_or(path).iter().skip(1).collect();
            let place = staged.join(&inside);
            let folder = place.parent().unwrap_or(staged);
            fs::create_dir_all(folder).map_err(|error| failed(folder, "created", &error))?;
            ledgers::copy(path, &place)?;
            write_atomic(&place, &text)?;
            out.push(inside);
        }
        Ok(out)
    }

    /// Whether there are recordings of a test, on any model.
    pub fn has(&self, test: &str) -> Result<bool, CassetteError> {
        for model in folders(&self.root.join(slug(test)), self.trust)? {
            if !runs_in(&model, self.trust)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the recording of a run could be written, judging by permissions. Checked before a model is paid for.
    pub fn may_save(&self, test: &str, model: &str, run: u64) -> Result<(), CassetteError> {
        let path = self.path(test, model, run);
        refuse_links(&path, 5)?;
        let folder = path.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(failed(folder, "used", &ErrorKind::NotADirectory.into()));
        }
        #[cfg(unix)]
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
            .map_err(|error| failed(&path, "written", &error.into()))?;
        Ok(())
    }

    /// Locks the folder against other recorders, and refuses links on the way to it.
    pub fn lock_to_record(&self) -> Result<Lock, CassetteError> {
        refuse_links(&self.root, 2)?;
        self.lock()
    }

    /// Locks the folder as soon as no other process writes to it.
    fn lock_when_free(&self) -> Result<Lock, CassetteError> {
        for _ in 0..WRITE_TRIES {
            match self.lock_to_record() {
                Err(CassetteError::Locked { .. }) => thread::sleep(WRITE_PAUSE),
                locked => return locked,
            }
        }
        Err(CassetteError::Locked { path: self.root.clone() })
    }

    /// Locks the folder against other recorders.
    pub fn lock(&self) -> Result<Lock, CassetteError> {
        for _ in 0..LOCK_TRIES {
            if let Some(folder) = self.locked()?.filter(|folder| is_at(folder, &self.root)) {
                return Ok(Lock { folder });
            }
        }
        let why = "it keeps being removed".to_owned();
        Err(CassetteError::Io { path: self.root.clone(), what: "locked", why, code: Code::UnusableCassetteFolder })
    }

    /// The locked folder; `None` if it was removed meanwhile.
    fn locked(&self) -> Result<Option<File>, CassetteError> {
        fs::create_dir_all(&self.root).map_err(|error| failed(&self.root, "created", &error))?;
        // The folder itself is locked: no lock file is left behind, and the system releases it when a recorder dies.
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

    /// Every recording, in the order of paths. Links to folders are not followed.
    pub fn files(&self) -> Result<Vec<PathBuf>, CassetteError> {
        let mut out = Vec::new();
        for test in folders(&self.root, self.trust)? {
            for model in folders(&test, self.trust)? {
                out.extend(runs_in(&model, self.trust)?.into_iter().map(|(_, path)| path));
            }
        }
        Ok(out)
    }

    /// The first recorded run of each test and model, in the order of paths, except of tests in the folders `known`.
    pub(super) fn first_runs(&self, known: &BTreeSet<String>) -> Result<Vec<PathBuf>, CassetteError> {
        let mut out = Vec::new();
        let name = |test: &Path| test.file_name().and_then(OsStr::to_str).map(str::to_owned);
        let is_known = |test: &PathBuf| name(test).is_some_and(|name| known.contains(&name));
        for test in folders(&self.root, self.trust)?.into_iter().filter(|test| !is_known(test)) {
            for model in folders(&test, self.trust)? {
                out.extend(runs_in(&model, self.trust)?.into_iter().next().map(|(_, path)| path));
            }
        }
        Ok(out)
    }

    /// Why a file is not removed: only regular files in the place of a recording are.
    pub fn kept(&self, path: &Path) -> Option<&'static str> {
        let inside = path.strip_prefix(&self.root).ok().map(|inside| inside.iter().collect::<Vec<_>>());
        let in_place = match inside.as_deref() {
            Some([test, model, _]) => is_slug(test) && is_slug(model) && run_of(path).is_some(),
            _ => false,
        };
        if !in_place {
            return Some("it is not where recordings are stored");
        }
        // The file, and the folders up to `cassettes`; the folder of the suite itself may be a link.
        if path.ancestors().take(5).any(Path::is_symlink) {
            return Some("a symbolic link leads to it");
        }
        (!path.is_file()).then_some("it is not a file")
    }

    /// Removes a recording, and the folders that are empty without it.
    pub fn remove(&self, path: &Path) -> Result<(), CassetteError> {
        if let Some(why) = self.kept(path) {
            let (path, why) = (path.to_owned(), why.to_owned());
            return Err(CassetteError::Io { path, what: "removed", why, code: Code::UnusableCassetteFolder });
        }
        fs::remove_file(path).map_err(|error| failed(path, "removed", &error))?;
        ledgers::remove(path)?;
        for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root)) {
            // A folder that is not empty stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

impl Cassette {
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        Self::open_as(path, Trust::Trusted)
    }

    /// The same for a file in a folder that may not be trusted.
    pub fn open_as(path: &Path, trust: Trust) -> Result<Self, CassetteError> {
        Self::read(&text_of(path, trust)?).map_err(|why| CassetteError::unreadable(path, why))
    }

    /// The recording, if it is one of this run with these inputs.
    fn fitting(self, path: PathBuf, test: &str, model: &str, run: u64, inputs: &Value) -> Result<Self, CassetteError> {
        if (self.test.as_str(), self.model.as_str(), self.run) != (test, model, run) {
            let why = format!(
                "is run {} of `{}` on `{}`, not run {run} of `{test}` on `{model}`",
                self.run, self.test, self.model
            );
            return Err(CassetteError::Broken { path, why });
        }
        let changes = changes(&self.inputs, inputs);
        if !changes.is_empty() {
            return Err(CassetteError::Stale { path, changes: joined(&changes) });
        }
        Ok(self)
    }
}

/// The result of accepting the edits of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    Now,
    /// They were accepted before, and there are no new ones.
    Before,
    Unedited,
}

/// Accepts the edits of a recording, so that it can be replayed.
pub fn accept(path: &Path) -> Result<Accepted, CassetteError> {
    // A missing file is reported before its folder is locked, because locking creates the folder.
    text_of(path, Trust::Trusted)?;
    let place = std::path::absolute(path).map_err(|error| failed(path, "read", &error))?;
    let mut model_and_test = place.ancestors().skip(1).take(2);
    let is_in_place = run_of(&place).is_some() && model_and_test.all(|folder| folder.file_name().is_some_and(is_slug));
    let home = place.ancestors().nth(if is_in_place { 3 } else { 1 });
    let folder = Folder { root: home.unwrap_or(&place).to_owned(), trust: Trust::Trusted };
    refuse_links(path, if is_in_place { 5 } else { 1 })?;
    let _lock = folder.lock()?;
    let text = text_of(path, Trust::Trusted)?;
    // A file of version 1 may have been edited, so it counts as edited.
    if let Ok(Cassette { version: VERSION, edited, .. }) = Cassette::read(&text) {
        return Ok(if edited { Accepted::Before } else { Accepted::Unedited });
    }
    let text = Cassette::accepted(&text).map_err(|why| CassetteError::unreadable(path, why))?;
    write_atomic(path, &text)?;
    Ok(Accepted::Now)
}

/// The text of a file.
fn text_of(path: &Path, trust: Trust) -> Result<String, CassetteError> {
    match file::read(path, MAX_BYTES, trust) {
        Ok(Some(bytes)) => text(path, bytes),
        Ok(None) => Err(CassetteError::Broken { path: path.to_owned(), why: too_long() }),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(CassetteError::Missing { path: path.to_owned() }),
        Err(error) => Err(failed(path, "read", &error)),
    }
}

fn too_long() -> String {
    format!("has more than {MAX_BYTES} bytes, the limit")
}

/// The bytes of a file as text.
fn text(path: &Path, bytes: Vec<u8>) -> Result<String, CassetteError> {
    String::from_utf8(bytes).map_err(|error| {
        let why = format!("is not UTF-8: byte {}", error.utf8_error().valid_up_to());
        CassetteError::Broken { path: path.to_owned(), why }
    })
}

/// The run in a file name, if it is spelled as a recorder spells it: no sign, no leading zero.
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

fn entries(folder: &Path, trust: Trust) -> Result<Vec<PathBuf>, CassetteError> {
    match file::names(folder, trust) {
        Ok(names) => Ok(names.into_iter().map(|name| folder.join(name)).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(folder, "read", &error)),
    }
}

/// The recorded runs in the folder of a model, in order.
fn runs_in(folder: &Path, trust: Trust) -> Result<Vec<(u64, PathBuf)>, CassetteError> {
    let mut runs: Vec<(u64, PathBuf)> =
        entries(folder, trust)?.into_iter().filter_map(|path| Some((run_of(&path)?, path))).collect();
    runs.sort_unstable();
    Ok(runs)
}

fn folders(folder: &Path, trust: Trust) -> Result<Vec<PathBuf>, CassetteError> {
    let is_own = |path: &PathBuf| path.file_name().is_some_and(is_slug) && path.is_dir() && !path.is_symlink();
    Ok(entries(folder, trust)?.into_iter().filter(is_own).collect())
}

pub(super) fn failed(path: &Path, what: &'static str, error: &io::Error) -> CassetteError {
    let code = if what == "read" { file::error_code(error) } else { Code::UnusableCassetteFolder };
    CassetteError::Io { path: path.to_owned(), what, why: error.to_string(), code }
}

/// Refuses links among a path and the `levels - 1` folders above it, so that recordings stay next to the suite. The folder
/// of the suite itself may be a link. A concurrent change is not a concern: anyone who can make it can also change the
/// suite and the commands that it starts.
fn refuse_links(path: &Path, levels: usize) -> Result<(), CassetteError> {
    let link = path.ancestors().take(levels).filter(|place| place.is_symlink()).last();
    link.map_or(Ok(()), |link| Err(CassetteError::Linked { path: link.to_owned() }))
}

/// Whether an open folder is still the one at a path. A lock on a removed folder has no effect.
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

/// Writes a file atomically. Callers hold the lock of the folder.
fn write_atomic(path: &Path, text: &str) -> Result<(), CassetteError> {
    let written = TempFile::create_locked(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.replace()?;
        path.parent().map_or(Ok(()), sync)
    });
    written.map_err(|error| failed(path, "written", &error))
}

/// Makes renames in a folder survive a system crash.
fn sync(folder: &Path) -> io::Result<()> {
    let here = Path::new(".");
    File::open(if folder.as_os_str().is_empty() { here } else { folder })?.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_removed_and_recreated_is_another_one() {
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
