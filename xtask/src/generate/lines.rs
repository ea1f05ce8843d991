//! Wraps text of generated documents into lines.

use mcptest::wrap;

/// Longest line, in characters.
const WIDTH: usize = 120;

pub(super) fn paragraph(text: &str) -> String {
    wrap(text, WIDTH, "", "")
}

/// An item of a list.
pub(super) fn item(text: &str) -> String {
    wrap(text, WIDTH, "- ", "  ")
}
