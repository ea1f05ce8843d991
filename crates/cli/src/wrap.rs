//! Wraps text into lines.

/// A text as lines of at most `width` characters, broken at spaces. The first line begins with `first`, the others with `rest`.
/// A word that is too long is not broken, and neither is text in backticks that fits on a line, so that it can be copied.
pub fn wrap(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut out = first.to_owned();
    let mut column = first.chars().count();
    let indent = rest.chars().count();
    for (at, part) in parts(text, width.saturating_sub(indent)).into_iter().enumerate() {
        let length = part.chars().count();
        if at > 0 && column + 1 + length > width {
            out.push('\n');
            out.push_str(rest);
            column = indent;
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(part);
        column += length;
    }
    out.push('\n');
    out
}

/// The pieces between which a text may be broken. Backticks keep up to `most` characters together.
fn parts(text: &str, most: usize) -> Vec<&str> {
    let is_open = |word: &str| word.matches('`').count() % 2 == 1;
    let mut out = Vec::new();
    let mut rest = Some(text);
    while let Some(left) = rest {
        let space = left.find(' ').unwrap_or(left.len());
        let mut end = space;
        if is_open(&left[..space]) {
            let mut spaces = left.match_indices(' ').map(|(at, _)| at).skip(1).chain([left.len()]);
            let closed = spaces.find(|end| !is_open(&left[..*end])).unwrap_or(space);
            if left[..closed].chars().count() <= most {
                end = closed;
            }
        }
        out.push(&left[..end]);
        rest = left.get(end + 1..);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_at_spaces_and_long_words_are_not_broken() {
        let wrapped = |text: &str| wrap(text, 100, "    ", "      ");
        assert_eq!(wrapped("a  b"), "    a  b\n");
        let full = "x".repeat(47);
        assert_eq!(wrapped(&format!("{full} {full} y")), format!("    {full} {full}\n      y\n"));
        let fits = "x".repeat(46);
        assert_eq!(wrapped(&format!("{full} {fits} y")), format!("    {full} {fits} y\n"));
        let long = "é".repeat(120);
        assert_eq!(wrapped(&format!("a {long} b")), format!("    a\n      {long}\n      b\n"));
    }

    #[test]
    fn text_in_backticks_is_not_broken_if_it_fits_on_a_line() {
        let wrapped = |text: &str| wrap(text, 20, "", "  ");
        assert_eq!(wrapped("say so: `a: { b: c }`, or"), "say so:\n  `a: { b: c }`, or\n");
        assert_eq!(wrapped("say: `a: { bb: cccc }` now"), "say:\n  `a: { bb: cccc }`\n  now\n");
        // A span of twenty characters does not fit behind the two columns, so it breaks like any text.
        assert_eq!(wrapped("say: `a: { bbb: cccccc }` now"), "say: `a: { bbb:\n  cccccc }` now\n");
        assert_eq!(wrapped("one `two three four five"), "one `two three four\n  five\n");
        assert_eq!(wrapped("`a` `b c`  `d e` f g h"), "`a` `b c`  `d e` f g\n  h\n");
        assert_eq!(wrapped("`"), "`\n");
        assert_eq!(wrapped(""), "\n");
    }
}
