//! Ledgers: their file, redaction, replies put together from streams, and the trace they give.

mod derive;
mod file;
mod gates;
mod redact;
mod rerun;
mod stream;
