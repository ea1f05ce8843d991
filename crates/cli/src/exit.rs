//! Exit codes, which scripts rely on.

use std::process::ExitCode;

/// What was asked for was done.
pub(crate) const OK: ExitCode = ExitCode::SUCCESS;

/// Could not run: a bad argument, or output that cannot be written.
pub(crate) fn error() -> ExitCode {
    ExitCode::from(2)
}
