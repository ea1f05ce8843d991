//! The two ways in which a command can fail.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A check failed: exit 1.
    Failed(String),
    /// Something could not run: exit 2.
    Broken(String),
}

impl Failure {
    pub(crate) fn failed(message: String) -> Self {
        Self::Failed(message)
    }

    pub(crate) fn broken(message: String) -> Self {
        Self::Broken(message)
    }

    pub(crate) fn io(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::Broken(format!("cannot {doing} {}: {error}", path.display()))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Failed(_) => ExitCode::from(1),
            Self::Broken(_) => ExitCode::from(2),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::Broken(message) => f.write_str(message),
        }
    }
}
