//! Behavior of the library as its users see it. One binary, one harness.
//!
//! One module per area. Tables go through a `check` function; whole values are compared.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]
#![expect(clippy::float_cmp, reason = "results are deterministic to the last bit")]
#![expect(clippy::needless_pass_by_value, reason = "tables of `json!` values read better without borrows")]
#![expect(
    clippy::disallowed_methods,
    reason = "sentences are read from a folder, so that a new case is a block in a file"
)]

mod axes;
mod clock;
mod differential;
mod fuzzed;
mod golden_path;
mod guide;
mod import;
mod incomplete;
mod ledger;
mod narrative;
mod properties;
mod recovery;
mod reliability;
mod report;
mod saved;
mod score;
mod stability;
mod stats;
mod suite;
mod suite_properties;
mod support;
mod surface;
mod table;
mod target_matcher;
mod trace;
mod trajectory;
