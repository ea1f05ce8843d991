//! Answers a request: data to standard output, everything else to standard error.

use std::io::Write;
use std::process::ExitCode;

use crate::args::Request;
use crate::exit;

const HELP: &str = "\
mcptest: does the recorded execution of an agent hold up?

usage: mcptest [--help | --version]

  -h, --help       this text
  -V, --version    the version

Commands arrive one by one, each when it is complete; this version has none yet.
What there is today is the library mcptest-core, which scores recorded traces.
";

/// Writes the answer and returns the exit code.
pub(crate) fn run(request: &Request, out: &mut impl Write, err: &mut impl Write) -> ExitCode {
    let written = match request {
        Request::Help => out.write_all(HELP.as_bytes()),
        Request::Version => writeln!(out, "mcptest {}", env!("CARGO_PKG_VERSION")),
        Request::Refused(why) => {
            // When standard error is closed too, the exit code is all that is left to say it with.
            let _ = writeln!(err, "error: {why}\nhint: `mcptest --help` shows what this version does");
            return exit::error();
        }
    };
    match written.and_then(|()| out.flush()) {
        Ok(()) => exit::OK,
        Err(error) => {
            let _ = writeln!(err, "error: cannot write to standard output: {error}");
            exit::error()
        }
    }
}
