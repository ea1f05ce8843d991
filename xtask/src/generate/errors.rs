//! The errors in `docs/troubleshooting.md`, by area.

use mcptest::trouble::{AREAS, Trouble};

use super::lines::{item, paragraph};
use crate::tidy::anchor;

pub(super) fn list() -> String {
    let mut text = String::new();
    for area in &AREAS {
        text.push_str(&format!("- [{}](#{})\n", area.title, anchor(area.title)));
    }
    for area in &AREAS {
        text.push_str(&format!("\n## {}\n", area.title));
        for trouble in area.troubles {
            text.push('\n');
            text.push_str(&entry(trouble));
        }
    }
    text
}

fn entry(trouble: &Trouble) -> String {
    let Trouble { name, title, example, why, steps, .. } = trouble;
    let mut text = format!("### {title}\n\n```text\n{}```\n\n{}\n", paragraph(example), paragraph(why));
    text.extend(steps.iter().map(|step| item(step)));
    text.push_str(&format!("\n`mcptest explain {name}`\n"));
    text
}
