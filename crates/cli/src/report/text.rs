//! Text in reports: control characters shown, long texts cut, lines wrapped.

use mcptest_core::diag::printable;
use mcptest_core::json;

/// Indentation of the lines below the name of a row.
pub(super) const fn indent(depth: usize) -> usize {
    4 + depth * 2
}

/// Most characters of one text: a reason may quote a long message of a model.
const MAX_TEXT: usize = 600;

/// The lines of a text from outside, made printable, and cut if there are too many.
pub(crate) fn lines(text: &str) -> Vec<String> {
    json::cut(text.trim_end(), MAX_TEXT).lines().map(|line| printable(line).into_owned()).collect()
}

/// A text from outside, on one line.
pub(crate) fn one_line(text: &str) -> String {
    printable(&json::cut(text.trim_end(), MAX_TEXT)).into_owned()
}

/// Appends a line, wrapped at spaces. What follows the first break is indented by two more columns.
pub(super) fn wrap(out: &mut String, width: usize, indent: usize, text: &str) {
    hang(out, width, indent, indent + 2, text);
}

/// Appends a line, wrapped at spaces. What follows the first break is indented by `rest` columns.
pub(crate) fn hang(out: &mut String, width: usize, indent: usize, rest: usize, text: &str) {
    out.push_str(&crate::wrap::wrap(text, width, &" ".repeat(indent), &" ".repeat(rest)));
}

/// `1 row`, `2 rows`.
pub(crate) fn many(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Consecutive numbers are joined: `#1 to #3, #5`.
pub(super) fn runs(numbers: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let part = |(first, last): &(u64, u64)| match last - first {
        0 => format!("#{first}"),
        1 => format!("#{first}, #{last}"),
        _ => format!("#{first} to #{last}"),
    };
    let shown: Vec<String> = parts.iter().take(MAX_PARTS).map(part).collect();
    match parts.iter().skip(MAX_PARTS).map(|(first, last)| last - first + 1).sum::<u64>() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Most ranges of runs on one line.
const MAX_PARTS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_control_characters_shown() {
        assert_eq!(lines("a\u{1b}[2J\r\nb\n\n"), ["a\\u{1b}[2J", "b"]);
        assert_eq!(one_line("a\nb\u{202e}\n"), "a\\nb\\u{202e}");
        assert_eq!(one_line(&"é".repeat(601)), format!("{}…", "é".repeat(600)));
    }

    #[test]
    fn consecutive_runs_are_shown_as_a_range() {
        assert_eq!(runs(&[2]), "#2");
        assert_eq!(runs(&[1, 2, 4, 5, 6, 9]), "#1, #2, #4 to #6, #9");
        let odd: Vec<u64> = (0..12).map(|at| 2 * at + 1).collect();
        assert_eq!(runs(&odd), "#1, #3, #5, #7, #9, #11, #13, #15 and 4 more");
    }
}
