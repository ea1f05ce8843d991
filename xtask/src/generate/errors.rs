//! The errors in `docs/troubleshooting.md`, by area.

use mcptest::codes::{AREAS, Entry};

use super::lines::{item, paragraph};
use crate::tidy::anchor;

pub(super) fn list() -> String {
    let mut text = String::new();
    for area in &AREAS {
        text.push_str(&format!("- [{}](#{})\n", area.title, anchor(area.title)));
    }
    for area in &AREAS {
        text.push_str(&format!("\n## {}\n", area.title));
        for found in area.entries {
            text.push('\n');
            text.push_str(&entry(found));
        }
    }
    text
}

fn entry(entry: &Entry) -> String {
    let Entry { code, title, example, why, steps, .. } = entry;
    let mut text = format!("### {code}\n\n{title}.\n\n```text\n{}```\n\n{}\n", paragraph(example), paragraph(why));
    text.extend(steps.iter().map(|step| item(step)));
    text
}
