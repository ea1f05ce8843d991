//! Mistakes with programs, and what is printed about each. `mistakes.txt` has one block for each: its name, the words for the agent,
//! further keys of the program, and everything that is printed.
//!
//! `MISTAKES=overwrite` updates the file: read the diff as the person who made the mistake.

use std::fmt::Write as _;
use std::fs;

use super::{folder, model, run, suite, text};
use crate::root;

#[test]
fn each_mistake_is_answered_with_what_to_change() {
    let path = root().join("crates/cli/tests/it/programs/mistakes.txt");
    let written = fs::read_to_string(&path).unwrap();
    let model = model();
    let mut found = String::new();
    for block in written.split("=== ").filter(|block| !block.is_empty()) {
        let mut lines = block.lines();
        let [name, words, keys] = [(); 3].map(|()| lines.next().unwrap());
        let part = |line: &str, label: &str| line.strip_prefix(label).unwrap().to_owned();
        let (words, keys) = (part(words, "words:"), part(keys, "keys:"));
        let program: String =
            keys.split(';').filter(|key| !key.trim().is_empty()).flat_map(|key| ["   ", key, "\n"]).collect();
        let all: String = words.split_whitespace().flat_map(|word| [", ", word]).collect();
        let mut suite = suite(&all, &program, "");
        if name == "wrong command" {
            suite = suite.replace("[python3,", "[pyton3,");
        }
        let here = folder(&suite);
        let output = run(&here, &model, &["--live"]);
        let (printed, code) = (text(&output), output.status.code().unwrap());
        write!(found, "=== {name}\nwords:{words}\nkeys:{keys}\n{printed}exit code {code}\n").unwrap();
    }
    if overwrites() {
        fs::write(path, found).unwrap();
    } else {
        assert!(written == found, "--- expected\n{written}--- found\n{found}");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs the test says in a variable that the file is to be updated"
)]
fn overwrites() -> bool {
    std::env::var("MISTAKES").as_deref() == Ok("overwrite")
}
