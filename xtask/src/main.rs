//! Project automation: `cargo xtask ci`, `tidy`, `gen [--check]`.

fn main() {}
