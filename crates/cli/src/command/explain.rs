//! `mcptest explain`: what a word, a path or a message means.

use std::io::Read;

use super::Answer;
use crate::args::Explain;
use crate::{exit, explain};

/// Most bytes of a message that are looked at; whoever pipes a whole log wants its last words explained.
const MOST: usize = 1 << 20;

pub(super) fn run(typed: &Explain) -> Answer {
    let asked = match typed.what.as_slice() {
        [] => return Answer { data: explain::overview(), complaints: String::new(), code: exit::OK },
        [only] if only == "-" => match piped() {
            Ok(text) => text,
            Err(error) => {
                let complaints = format!("error: cannot read standard input: {error}\n");
                return Answer { data: String::new(), complaints, code: exit::ERROR };
            }
        },
        words => words.join(" "),
    };
    match explain::explain(&asked, typed.all) {
        Ok(data) => Answer { data, complaints: String::new(), code: exit::OK },
        Err(unknown) => Answer { data: String::new(), complaints: format!("{unknown}\n"), code: exit::ERROR },
    }
}

/// What stands on standard input; of a long text its end.
fn piped() -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let start = text.ceil_char_boundary(text.len().saturating_sub(MOST));
    Ok(text[start..].to_owned())
}
