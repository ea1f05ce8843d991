//! Wraps text into lines.

use std::fmt::Write as _;

/// Longest line, in characters.
const WIDTH: usize = 120;

pub(super) fn paragraph(text: &str) -> String {
    wrapped(text, "")
}

/// An item of a list.
pub(super) fn item(text: &str) -> String {
    wrapped(text, "- ")
}

/// Wraps text. The first line begins with `mark`, and the others are indented as far.
fn wrapped(text: &str, mark: &str) -> String {
    let mut out = mark.to_owned();
    let mut column = mark.len();
    for (at, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && column + 1 + length > WIDTH {
            // Writing into a String cannot fail.
            let _ = write!(out, "\n{:1$}", "", mark.len());
            column = mark.len();
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_between_words() {
        let word = "x".repeat(58);
        assert_eq!(item(&format!("{word} {word} y")), format!("- {word} {word}\n  y\n"));
        assert_eq!(paragraph(&format!("{word} {word}xx y z")), format!("{word} {word}xx\ny z\n"));
    }
}
