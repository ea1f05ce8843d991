//! Any text, read as a record or as pieces of every format: what comes out is a trace that can be written, read, scored
//! and merged.
//!
//! `cargo fuzz run --sanitizer none import -- -max_len=65536`; the first byte chooses the format, the second how it is
//! read. Start from `crates/core/tests/it/import/found`. What is found goes there, and is held by an ordinary test.
#![no_main]

#[path = "../../crates/core/tests/it/import/invariants.rs"]
mod invariants;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static INVARIANTS: LazyLock<invariants::Invariants> = LazyLock::new(invariants::Invariants::new);

fuzz_target!(|bytes: &[u8]| INVARIANTS.check_bytes(bytes));
