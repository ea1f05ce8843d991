//! What was typed, read into what it asks for.

use std::ffi::OsString;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Help,
    Version,
    /// Nothing that can be done; the message says what was found.
    Refused(String),
}

pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Request {
    let args: Vec<String> = args.into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => Request::Refused("no argument given".to_owned()),
        ["-h" | "--help"] => Request::Help,
        ["-V" | "--version"] => Request::Version,
        ["-h" | "--help" | "-V" | "--version", extra, ..] => Request::Refused(format!("unexpected argument `{extra}`")),
        [option, ..] if option.starts_with('-') => Request::Refused(format!("unknown option `{option}`")),
        [command, ..] => Request::Refused(format!("unknown command `{command}`")),
    }
}
