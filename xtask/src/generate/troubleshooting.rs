//! `docs/troubleshooting.md`: every trouble of the table, by area.

use mcptest::trouble::{AREAS, Trouble};

use super::lines::{item, paragraph};
use crate::tidy::anchor;

const HEAD: &str = "\
<!-- Written by `cargo xtask gen` from the table in crates/cli/src/trouble.rs and the files below crates/cli/src/trouble/.
     Edit those, not this file. -->
# Troubleshooting

What the program says when something is wrong, why it does, and what to do. `mcptest explain` finds the entry of a message
that is pasted behind it, whole or in part, and works without a network:

```console
$ mcptest explain 'the cassette is stale' | head -3
The cassette is stale (stale-cassette)

As in:
```

Exit code 1 means that a check said no or lacked the evidence to say yes; 2 that something could not run.

";

/// The whole page.
pub(super) fn page() -> String {
    let mut text = HEAD.to_owned();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_reads_like_this() {
        let trouble = Trouble {
            name: "no-tea",
            title: "There is no tea",
            marks: &["no tea"],
            example: "error: no tea",
            why: "The pot is empty.",
            steps: &["Boil water.", "Wait."],
            unprovoked: None,
        };
        assert_eq!(
            entry(&trouble),
            "### There is no tea\n\n```text\nerror: no tea\n```\n\nThe pot is empty.\n\n- Boil water.\n- Wait.\n\n\
             `mcptest explain no-tea`\n"
        );
    }

    #[test]
    fn every_trouble_is_on_the_page_below_its_area_and_no_line_is_too_long() {
        let text = page();
        for area in &AREAS {
            assert!(text.contains(&format!("](#{})\n", anchor(area.title))), "{}", area.title);
            let (_, rest) = text.split_once(&format!("\n## {}\n", area.title)).unwrap();
            let part = rest.split("\n## ").next().unwrap();
            for trouble in area.troubles {
                assert!(part.contains(&entry(trouble)), "{}", trouble.name);
            }
        }
        for line in text.lines().filter(|line| line.contains(' ')) {
            assert!(line.chars().count() <= 128, "{line}");
        }
    }
}
