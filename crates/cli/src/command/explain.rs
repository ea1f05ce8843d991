//! `mcptest explain`: what a word, a path or a message means.

use std::io::Read;

use mcptest_core::diag::{Code, Failure};

use super::Stop;
use crate::args::Explain;
use crate::console::Console;
use crate::{exit, explain};

/// Maximum bytes of a message that are read. If a whole log is piped in, its end is explained.
const MOST: usize = 1 << 20;

pub(super) fn run(typed: &Explain, console: &mut Console<'_>) -> Result<u8, Stop> {
    let text = match typed.what.as_slice() {
        [] => explain::overview(),
        [only] if only == "-" => {
            let cannot_read = |error| Failure::error((), format!("cannot read standard input: {error}"));
            explain::explain(&piped().map_err(|error| cannot_read(error).code(Code::ReadFailed))?, typed.all)?
        }
        words => explain::explain(&words.join(" "), typed.all)?,
    };
    console.out.print(&text)?;
    Ok(exit::OK)
}

/// The text on standard input, or the end of a long one.
fn piped() -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let start = text.ceil_char_boundary(text.len().saturating_sub(MOST));
    Ok(text[start..].to_owned())
}
