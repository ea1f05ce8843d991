//! Behaviour of the library as its users see it. One binary, one harness.
