//! Whoever answers for a model. So far that is a script.

pub mod script;
