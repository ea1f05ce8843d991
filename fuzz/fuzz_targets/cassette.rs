//! Any text, read as a recording and as a saved report: what comes out is written and read again as the same.
//!
//! The property is in `crates/runner/tests/it/fuzzed/cassette.rs`, with earlier findings next to it.
#![no_main]

#[path = "../../crates/runner/tests/it/fuzzed/cassette.rs"]
mod cassette;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cassette::check_bytes(bytes));
