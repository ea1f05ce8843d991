//! Words in lines of a page.

use std::fmt::Write as _;

/// Columns of a page.
const WIDTH: usize = 120;

/// A paragraph of a page.
pub(super) fn paragraph(text: &str) -> String {
    filled(text, "")
}

/// A point of a list.
pub(super) fn item(text: &str) -> String {
    filled(text, "- ")
}

/// Words in lines of a page; a mark stands before the first, and the others begin where its words do.
fn filled(text: &str, mark: &str) -> String {
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
    }
}
