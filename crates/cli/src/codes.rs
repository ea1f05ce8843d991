//! What every code means: why it happens and what to do about it. One table for `mcptest explain CODE` and for
//! `docs/troubleshooting.md`.
//!
//! Tests provoke the example of every entry with the program itself, so an entry whose message changed is noticed.

mod cassettes;
mod files;
mod models;
mod mutants;
mod programs;
mod reports;
mod servers;
mod suites;
mod traces;
mod verdicts;
mod warnings;

use mcptest_core::diag::Code;

#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The code that messages carry.
    pub code: Code,
    /// What is wrong, in one line.
    pub title: &'static str,
    /// A message, exactly as printed.
    pub example: &'static str,
    pub why: &'static str,
    /// What to do, in this order.
    pub steps: &'static [&'static str],
    /// Why no test provokes the example; none for almost all.
    pub unprovoked: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
pub struct Area {
    pub title: &'static str,
    pub entries: &'static [Entry],
}

pub static AREAS: [Area; 11] = [
    Area { title: "Suite files", entries: &suites::ENTRIES },
    Area { title: "Warnings about suites", entries: &warnings::ENTRIES },
    Area { title: "Files and selection", entries: &files::ENTRIES },
    Area { title: "Cassettes", entries: &cassettes::ENTRIES },
    Area { title: "Servers", entries: &servers::ENTRIES },
    Area { title: "Models and keys", entries: &models::ENTRIES },
    Area { title: "Programs", entries: &programs::ENTRIES },
    Area { title: "Traces from elsewhere", entries: &traces::ENTRIES },
    Area { title: "Reports", entries: &reports::ENTRIES },
    Area { title: "Mutation testing", entries: &mutants::ENTRIES },
    Area { title: "Unexpected verdicts", entries: &verdicts::ENTRIES },
];

/// Every entry, in the order of the areas.
pub fn all() -> impl Iterator<Item = &'static Entry> + Clone {
    AREAS.iter().flat_map(|area| area.entries)
}

const fn entry(
    code: Code,
    title: &'static str,
    example: &'static str,
    why: &'static str,
    steps: &'static [&'static str],
) -> Entry {
    Entry { code, title, example, why, steps, unprovoked: None }
}

impl Entry {
    /// The same entry, which no test provokes.
    const fn unprovoked(self, why: &'static str) -> Self {
        Self { unprovoked: Some(why), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_one_complete_entry() {
        let explained: Vec<Code> = all().map(|entry| entry.code).collect();
        assert_eq!(explained, Code::ALL, "the table and the codes have one order");
        let mut titles = BTreeSet::new();
        for Entry { code, title, example, why, steps, unprovoked } in all() {
            let word = code.as_str();
            assert!(titles.insert(title), "two entries are called {title}");
            assert!(word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{word}");
            assert!(word.contains('-'), "{word} could be a word that means something else");
            for text in [title, example, why].into_iter().chain(*steps) {
                assert!(!text.is_empty() && text.trim() == *text, "{word}: {text:?}");
            }
            assert!(!title.ends_with('.') && why.ends_with('.'), "{word}");
            assert!(!steps.is_empty(), "{word}");
            assert!(unprovoked.is_none_or(|why| !why.is_empty()), "{word}");
        }
    }
}
