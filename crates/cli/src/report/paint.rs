//! Colors: what a part of a text is, and the codes for a terminal.

use mcptest_core::report::RowVerdict;

/// The kind of a line, which decides its color. Every line reads the same without color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// It begins with the mark of a verdict, which alone is colored.
    Marked(RowVerdict),
    Advice,
    Place,
    /// Carets below the place.
    Carets,
}

impl Tone {
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Marked(verdict) => Some(verdict_code(verdict)),
            Self::Advice => Some("36"),
            Self::Place => Some("2"),
            Self::Carets => Some("1;31"),
        }
    }

    /// A line in its color, after wrapping. Indentation has no color.
    pub(super) fn paint(self, text: &str, is_colored: bool) -> String {
        let (Some(code), true) = (self.code(), is_colored) else { return text.to_owned() };
        let mut out = String::with_capacity(text.len() + 16);
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let start = match self {
                Self::Carets => line.find('^').unwrap_or(0),
                _ => line.len() - line.trim_start_matches(' ').len(),
            };
            let (before, body) = line.split_at(start);
            out.push_str(before);
            let end = body.trim_end_matches('\n');
            let painted = match self {
                // The mark is one character, at the very beginning.
                Self::Marked(_) if at == 0 => end.chars().next().map_or(0, char::len_utf8),
                Self::Marked(_) => 0,
                _ => end.len(),
            };
            if painted > 0 {
                out.push_str(&with(code, &body[..painted]));
            }
            out.push_str(&body[painted..]);
        }
        out
    }
}

/// The color of a verdict.
const fn verdict_code(verdict: RowVerdict) -> &'static str {
    match verdict {
        RowVerdict::Pass => "32",
        RowVerdict::Fail => "31",
        RowVerdict::Inconclusive | RowVerdict::Unassessable | RowVerdict::Absorbed => "33",
        RowVerdict::Error => "35",
        RowVerdict::Skipped | RowVerdict::Unjudged => "2",
    }
}

/// A text in the color of a verdict.
pub(super) fn verdict(verdict: RowVerdict, text: &str, is_colored: bool) -> String {
    if is_colored { with(verdict_code(verdict), text) } else { text.to_owned() }
}

pub(super) fn bold(text: &str, is_colored: bool) -> String {
    if is_colored { with("1", text) } else { text.to_owned() }
}

fn with(code: &str, text: &str) -> String {
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_text_is_colored_and_nothing_without_color() {
        let failed = Tone::Marked(RowVerdict::Fail);
        assert_eq!(failed.paint("    ✗ expect:\n      more\n", true), "    \u{1b}[31m✗\u{1b}[0m expect:\n      more\n");
        assert_eq!(Tone::Advice.paint("  a\n    b\n", true), "  \u{1b}[36ma\u{1b}[0m\n    \u{1b}[36mb\u{1b}[0m\n");
        assert_eq!(Tone::Carets.paint("  | ^^\n", true), "  | \u{1b}[1;31m^^\u{1b}[0m\n");
        assert_eq!(Tone::Plain.paint(" a\n", true), " a\n");
        assert_eq!(failed.paint(" ✗ a\n", false), " ✗ a\n");
        assert_eq!(failed.paint("", true), "");
    }
}
