//! Any text, read as a trace: strictly and leniently, judged by every gate, written and read again.
//!
//! The property is in `crates/core/tests/it/fuzzed/envelope.rs`, with earlier findings next to it.
#![no_main]

#[path = "../../crates/core/tests/it/fuzzed/envelope.rs"]
mod envelope;
#[path = "../../crates/core/tests/it/fuzzed/ranges.rs"]
mod ranges;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static HELD: LazyLock<envelope::Held> = LazyLock::new(envelope::Held::new);

fuzz_target!(|bytes: &[u8]| HELD.check_bytes(bytes));
