//! Any closing message with any calls: claims lie in it, metrics are in range, and it is read the same twice.
//!
//! What must hold stands in `crates/core/tests/it/fuzzed/narrative.rs`, and what was found beside it.
#![no_main]

#[path = "../../crates/core/tests/it/fuzzed/narrative.rs"]
mod narrative;
#[path = "../../crates/core/tests/it/fuzzed/ranges.rs"]
mod ranges;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static HELD: LazyLock<narrative::Held> = LazyLock::new(narrative::Held::new);

fuzz_target!(|bytes: &[u8]| HELD.check_bytes(bytes));
