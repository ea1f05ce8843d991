//! The template: a server that books meeting rooms, an agent that uses it, and one that gets no answer at first.

use super::draft::Draft;
use super::files::{File, SUITE};

/// The files it consists of.
pub(super) const NAMES: [&str; 4] = [SUITE, "mcptest/tools.yml", "mcptest/script.yml", "mcptest/script-retry.yml"];

/// What each of them is.
const FILES: [(&str, &str); 4] = [
    ("the suite: servers, models, tests", include_str!("../../../templates/init/mcptest.yml")),
    ("the tools of the mock server", include_str!("../../../templates/init/tools.yml")),
    ("the script that replaces the model", include_str!("../../../templates/init/script.yml")),
    ("the same, when the desk does not answer at first", include_str!("../../../templates/init/script-retry.yml")),
];

pub(super) fn draft() -> Draft {
    let files = NAMES.iter().zip(FILES).map(|(name, (what, text))| File { name, what, text: text.to_owned() });
    Draft { files: files.collect(), lines: Vec::new(), notes: Vec::new() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_loads_without_a_warning() {
        assert_eq!(super::draft().check(), Ok(String::new()));
    }
}
