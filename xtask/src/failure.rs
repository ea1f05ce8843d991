//! The two ways in which a command does not end well.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// Why a command did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A check ran and said no: exit 1.
    Refused(String),
    /// Something could not run: exit 2.
    Broken(String),
}

impl Failure {
    pub(crate) fn refused(message: String) -> Self {
        Self::Refused(message)
    }

    pub(crate) fn broken(message: String) -> Self {
        Self::Broken(message)
    }

    /// A file operation that failed.
    pub(crate) fn io(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::Broken(format!("cannot {doing} {}: {error}", path.display()))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Refused(_) => ExitCode::from(1),
            Self::Broken(_) => ExitCode::from(2),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(message) | Self::Broken(message) => f.write_str(message),
        }
    }
}
