//! The reader of lines of the mock server, and what must hold of it.

#[path = "../../../crates/mock/src/stdio/invariants.rs"]
pub mod invariants;
#[path = "../../../crates/mock/src/stdio/lines.rs"]
mod lines;
