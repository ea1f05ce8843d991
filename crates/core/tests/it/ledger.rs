//! Ledgers: their file, redaction, and replies put together from streams.

mod file;
mod redact;
mod stream;
