//! Exit codes, which scripts rely on. The worst result decides: 2 over 1 over 0.

/// Everything passed.
pub(crate) const OK: u8 = 0;

/// A check failed, or evidence was missing.
pub(crate) const FAILED: u8 = 1;

/// The mock's fault `crash`: what a program that panics ends with.
pub(crate) const CRASHED: u8 = 101;

/// Could not run: a wrong file, a wrong argument, a file that cannot be read, output that cannot be written.
pub(crate) const ERROR: u8 = 2;

/// `mcptest record` itself failed, regardless of what the recorded command returned.
pub(crate) const RECORD_FAILED: u8 = 125;

/// The command of `mcptest record` was not found, as a shell reports it.
pub(crate) const NOT_FOUND: u8 = 127;

/// Ctrl-C for the second time: what a shell reports of a program that the signal ended.
pub(crate) const INTERRUPTED: u8 = 130;
