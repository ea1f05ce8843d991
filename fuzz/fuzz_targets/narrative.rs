//! Any closing message with any calls: claims lie in it, metrics are in range, and it is read the same twice.
//!
//! The property is in `crates/core/tests/it/fuzzed/narrative.rs`, with earlier findings next to it.
#![no_main]

#[path = "../../crates/core/tests/it/fuzzed/narrative.rs"]
mod narrative;
#[path = "../../crates/core/tests/it/fuzzed/ranges.rs"]
mod ranges;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static HELD: LazyLock<narrative::Held> = LazyLock::new(narrative::Held::new);

fuzz_target!(|bytes: &[u8]| HELD.check_bytes(bytes));
