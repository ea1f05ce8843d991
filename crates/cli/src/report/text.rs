//! Text for people: control characters shown, long texts cut, lines wrapped at a width that never depends on the terminal.

use mcptest_core::diag::printable;
use mcptest_core::json;

/// Columns of a line. A terminal has no say in it, so that the same report is the same bytes everywhere.
pub(super) const WIDTH: usize = 100;

/// Columns by which a line below the name of a row stands in.
pub(super) const fn indent(depth: usize) -> usize {
    4 + depth * 2
}

/// Most characters of one text: a reason may quote a whole message of a model.
const MAX_TEXT: usize = 600;

/// The lines of a text that someone else wrote, each as it may be printed; the whole cut to a length one can read.
pub(crate) fn lines(text: &str) -> Vec<String> {
    json::cut(text.trim_end(), MAX_TEXT).lines().map(|line| printable(line).into_owned()).collect()
}

/// A text that someone else wrote, on one line.
pub(crate) fn one_line(text: &str) -> String {
    printable(&json::cut(text.trim_end(), MAX_TEXT)).into_owned()
}

/// Appends a line, broken at spaces where it is too long; what follows the first break stands two columns further in. A
/// word that is too long stays whole.
pub(super) fn wrap(out: &mut String, indent: usize, text: &str) {
    out.push_str(&" ".repeat(indent));
    let mut column = indent;
    for (at, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            column = indent + 2;
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

/// `1 row`, `2 rows`.
pub(crate) fn many(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_at_spaces_and_a_long_word_stays_whole() {
        let wrapped = |text: &str| {
            let mut out = String::new();
            wrap(&mut out, 4, text);
            out
        };
        assert_eq!(wrapped("a  b"), "    a  b\n");
        let full = "x".repeat(47);
        assert_eq!(wrapped(&format!("{full} {full} y")), format!("    {full} {full}\n      y\n"));
        let fits = "x".repeat(46);
        assert_eq!(wrapped(&format!("{full} {fits} y")), format!("    {full} {fits} y\n"));
        let long = "é".repeat(120);
        assert_eq!(wrapped(&format!("a {long} b")), format!("    a\n      {long}\n      b\n"));
    }

    #[test]
    fn long_texts_are_cut_and_control_characters_shown() {
        assert_eq!(lines("a\u{1b}[2J\r\nb\n\n"), ["a\\u{1b}[2J", "b"]);
        assert_eq!(one_line("a\nb\u{202e}\n"), "a\\nb\\u{202e}");
        assert_eq!(one_line(&"é".repeat(601)), format!("{}…", "é".repeat(600)));
    }
}
