//! The layout of an explanation: headings, paragraphs, lists, all within 100 columns.

use crate::report::text::hang;

/// As wide as the help.
const WIDTH: usize = 100;

/// Columns of the names in a list.
const NAMES: usize = 14;

#[derive(Debug, Default)]
pub(super) struct Page {
    out: String,
}

impl Page {
    pub(super) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    pub(super) fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end().len());
        self.out.push('\n');
        self.out
    }

    /// What is explained, and what it is. A blank line separates two subjects.
    pub(super) fn subject(&mut self, name: &str, what: &str) {
        if !self.out.is_empty() {
            self.out.truncate(self.out.trim_end().len());
            self.out.push_str("\n\n\n");
        }
        hang(&mut self.out, WIDTH, 0, 2, &format!("{name} ({what})"));
    }

    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.gap();
        for paragraph in text.split("\n\n") {
            hang(&mut self.out, WIDTH, 0, 0, &joined(paragraph));
        }
    }

    /// A heading with points below it; nothing without points.
    pub(super) fn points<'a>(&mut self, heading: &str, points: impl IntoIterator<Item = &'a str>) {
        let mut points = points.into_iter().filter(|point| !point.is_empty()).peekable();
        if points.peek().is_none() {
            return;
        }
        self.heading(heading);
        for point in points {
            hang(&mut self.out, WIDTH, 2, 4, &format!("- {}", joined(point)));
        }
    }

    /// A heading with numbered steps below it.
    pub(super) fn steps(&mut self, heading: &str, steps: &[&str]) {
        self.heading(heading);
        for (at, step) in steps.iter().enumerate() {
            hang(&mut self.out, WIDTH, 2, 5, &format!("{}. {step}", at + 1));
        }
    }

    /// A heading for what follows.
    pub(super) fn heading(&mut self, heading: &str) {
        self.gap();
        self.out.push_str(heading);
        self.out.push_str(":\n");
    }

    /// A name and what it means, in columns.
    pub(super) fn item(&mut self, name: &str, meaning: &str) {
        let label = if name.chars().count() < NAMES { format!("{name:<NAMES$}") } else { format!("{name} ") };
        hang(&mut self.out, WIDTH, 2, NAMES + 2, &format!("{label}{meaning}"));
    }

    /// Names and what they mean, in columns as wide as the longest name.
    pub(super) fn table<'a>(&mut self, rows: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
        let width = rows.clone().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(NAMES - 2) + 2;
        for (name, meaning) in rows {
            hang(&mut self.out, WIDTH, 2, width + 2, &format!("{name:<width$}{meaning}"));
        }
    }

    /// A long name with what it means below it.
    pub(super) fn entry(&mut self, name: &str, meaning: &str) {
        hang(&mut self.out, WIDTH, 2, 6, &format!("{name}: {meaning}"));
    }

    /// Lines that are shown without wrapping.
    pub(super) fn code(&mut self, text: &str) {
        for line in text.trim_end().lines() {
            self.out.push_str(format!("  {line}").trim_end());
            self.out.push('\n');
        }
        self.out.push('\n');
    }

    /// A paragraph below a heading.
    pub(super) fn indented(&mut self, text: &str) {
        hang(&mut self.out, WIDTH, 2, 2, &joined(text));
    }

    /// Something that was printed, wrapped if it is too long.
    pub(super) fn wrapped(&mut self, text: &str) {
        for line in text.lines() {
            hang(&mut self.out, WIDTH, 2, 4, line);
        }
    }

    pub(super) fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }
}

/// A text with its first letter as a capital.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A paragraph on one line.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
