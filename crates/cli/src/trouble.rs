//! What can go wrong, why, and what to do about it: one table for `mcptest explain` and for `docs/troubleshooting.md`.
//!
//! An entry is known by the fixed parts of its messages. Tests provoke every entry's example with the program itself, so an
//! entry whose message has changed is noticed.

mod cassettes;
mod files;
pub(crate) mod find;
mod models;
mod reports;
mod servers;
mod suites;
mod traces;
mod verdicts;
mod warnings;

/// One thing that goes wrong.
#[derive(Debug, Clone, Copy)]
pub struct Trouble {
    /// What it is called, for `mcptest explain NAME`.
    pub name: &'static str,
    /// What is wrong, in one line.
    pub title: &'static str,
    /// Its messages; `…` stands for what differs from case to case.
    pub marks: &'static [&'static str],
    /// A message as it is printed.
    pub example: &'static str,
    /// Why it happens.
    pub why: &'static str,
    /// What to do, in this order.
    pub steps: &'static [&'static str],
    /// Why no test provokes the example; none for almost all.
    pub unprovoked: Option<&'static str>,
}

/// Troubles that belong together.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    /// What they are about.
    pub title: &'static str,
    /// The troubles.
    pub troubles: &'static [Trouble],
}

/// Every trouble, by area.
pub static AREAS: [Area; 9] = [
    Area { title: "Suite files", troubles: &suites::TROUBLES },
    Area { title: "Warnings about suites", troubles: &warnings::TROUBLES },
    Area { title: "Files and selection", troubles: &files::TROUBLES },
    Area { title: "Cassettes", troubles: &cassettes::TROUBLES },
    Area { title: "Servers", troubles: &servers::TROUBLES },
    Area { title: "Models and keys", troubles: &models::TROUBLES },
    Area { title: "Traces from elsewhere", troubles: &traces::TROUBLES },
    Area { title: "Reports", troubles: &reports::TROUBLES },
    Area { title: "Verdicts that surprise", troubles: &verdicts::TROUBLES },
];

/// Every trouble, in the order of the areas.
pub fn all() -> impl Iterator<Item = &'static Trouble> + Clone {
    AREAS.iter().flat_map(|area| area.troubles)
}

const fn trouble(
    name: &'static str,
    title: &'static str,
    marks: &'static [&'static str],
    example: &'static str,
    why: &'static str,
    steps: &'static [&'static str],
) -> Trouble {
    Trouble { name, title, marks, example, why, steps, unprovoked: None }
}

impl Trouble {
    /// The same trouble, which no test provokes.
    const fn unprovoked(self, why: &'static str) -> Self {
        Self { unprovoked: Some(why), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_entry_is_whole_and_has_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        let mut titles = BTreeSet::new();
        for trouble in all() {
            let Trouble { name, title, marks, example, why, steps, unprovoked } = *trouble;
            assert!(names.insert(name), "{name} is there twice");
            assert!(titles.insert(title), "{title} is there twice");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
            assert!(name.contains('-'), "{name} could be a word that means something else");
            for text in [title, example, why].iter().chain(marks).chain(steps) {
                assert!(!text.is_empty() && text.trim() == *text, "{name}: {text:?}");
            }
            assert!(!title.ends_with('.') && why.ends_with('.'), "{name}");
            assert!(!marks.is_empty() && !steps.is_empty(), "{name}");
            assert!(unprovoked.is_none_or(|why| !why.is_empty()), "{name}");
        }
    }

    #[test]
    fn every_message_about_a_file_that_the_tests_of_the_reader_have_is_known() {
        let mut count = 0;
        for folder in ["mistakes", "lints"] {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/it").join(folder);
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|ending| ending != "txt") {
                    continue;
                }
                for line in std::fs::read_to_string(&path).unwrap().lines() {
                    let is_message = [": error: ", ": warning: "].iter().any(|mark| line.contains(mark));
                    if is_message && !line.starts_with(' ') {
                        count += 1;
                        assert!(!find::whole(line).is_empty(), "{line}");
                    }
                }
            }
        }
        assert!(count > 300, "{count}");
    }

    #[test]
    fn an_example_alone_leads_to_its_entry() {
        for trouble in all() {
            let found = find::find(trouble.example);
            assert_eq!(found.first().map(|found| found.name), Some(trouble.name), "{}", trouble.example);
        }
    }
}
