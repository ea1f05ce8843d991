//! Files under a name for the time being, beside the place that they are meant for.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// How many names are tried. A program that was killed leaves its file, and in a container every program may have the same
/// number.
const TRIES: usize = 1000;

/// Makes a file with a hidden name in the same folder that nothing else has.
pub(crate) fn create(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it names no file"))?;
    for count in 0..TRIES {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{count}.tmp", std::process::id()));
        let beside = path.with_file_name(hidden);
        // Never opened, always made: what is there belongs to somebody else, or leads elsewhere.
        match File::create_new(&beside) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (beside, file)),
        }
    }
    Err(io::Error::other(format!("{TRIES} files of programs that were killed lie beside it; remove them")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_program_left_under_the_same_number_is_not_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let (left, _) = create(&path).unwrap();
        let (made, _) = create(&path).unwrap();
        let name = |count: usize| folder.path().join(format!(".report.json.{}-{count}.tmp", std::process::id()));
        assert_eq!((left, made), (name(0), name(1)));
        for count in 2..TRIES {
            std::fs::write(name(count), "").unwrap();
        }
        let refused = create(&path).unwrap_err().to_string();
        assert_eq!(refused, "1000 files of programs that were killed lie beside it; remove them");
    }
}
