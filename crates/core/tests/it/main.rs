//! Behaviour of the library as its users see it. One binary, one harness.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests read their cases from files and stop at the first surprise"
)]

mod narrative;
