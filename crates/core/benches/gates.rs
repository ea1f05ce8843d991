//! Benchmarks of the gates.

fn main() {}
