//! Any path, followed through any value: it is read, printed and read again, and says how far it got.
//!
//! The property is in `crates/core/tests/it/fuzzed/target.rs`, with earlier findings next to it.
#![no_main]

#[path = "../../crates/core/tests/it/fuzzed/target.rs"]
mod target;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| target::check_bytes(bytes));
