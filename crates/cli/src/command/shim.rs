//! `mcptest shim`: connects a stdio-only client to a server that is being recorded.
//!
//! Standard input and output belong to the protocol.

use mcptest_core::diag::{Code, Failure};
use mcptest_runner::file::Trust;
use mcptest_runner::record::{ShimError, shim};

use super::Stop;
use crate::args::Shim;
use crate::exit;
use crate::input;

pub(super) fn run(typed: &Shim) -> Result<u8, Stop> {
    let source = input::read(&typed.file, Trust::Trusted)?;
    let Err(error) = shim(source.text()) else { return Ok(exit::OK) };
    let (code, hint) = match error {
        ShimError::Format => (Code::BadArgument, "give a file that `mcptest record` wrote"),
        ShimError::Connect(_) => (Code::ServerUnreachable, "it works while `mcptest record` runs the program"),
        ShimError::Refused(_) => (Code::ServerRejected, "check the command or the URL of the server"),
    };
    Err(Failure::error((), format!("{}: {error}", source.name())).code(code).hint(hint).into())
}
