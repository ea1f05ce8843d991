//! `docs/suite.md`: the reference of the suite file, made from its key tables.

use mcptest_core::eval::ASSERTION;
use mcptest_core::keys::Block;
use mcptest_core::matcher::MATCHERS;
use mcptest_core::suite::{AGENT, FAULT, FAULT_TARGET, GATE_FILE, MODEL, PRICE, SERVER, SUITE};

use super::keys::{Page, key_table, row, table};

/// The blocks that are described, in this order.
const BLOCKS: [&Block; 9] = [&SUITE, &SERVER, &MODEL, &PRICE, &FAULT, &FAULT_TARGET, &AGENT, &ASSERTION, &GATE_FILE];

const HEAD: &str = "\
<!-- Written by `cargo xtask gen` from the key tables in crates/core/src/suite/blocks.rs and from examples/complete.yml.
     Edit those, not this file. -->
# Configuration reference

A suite is one YAML file. It declares the servers and models of an agent, and tests of what the agent did. `mcptest validate
FILE` reports all errors in a file at once without running anything. `mcptest schema` prints the JSON Schema for editors, which
is also in [schemas/suite.schema.json](../schemas/suite.schema.json).

This suite uses every section once. [examples/minimal.yml](../examples/minimal.yml) is the smallest useful suite.

";

const REFERENCES: &str = "\
## Variables

`${NAME}` in a text value is replaced by the value of a variable, `${NAME:-default}` has a default, and `$$` is a dollar sign.
A dollar sign before anything else is kept.

- `${SUITE_DIR}` is the folder of the file as it was given on the command line. Other names are looked up in `variables:`
  and then in the environment. A variable with an empty value counts as not set.
- References are resolved after the file is parsed, and only in values, so a value cannot change the structure of the file.
  The result is always text: where a number is expected, write the number.
- In `servers` and `models`, references are resolved when a run goes live, so you can validate a file and replay a recording
  without keys and URLs. Everywhere else they are resolved when the file is read, and a variable that is not set is an error.

";

const ANCHORS: &str = "\
## Anchors and merge keys

Write what several tests share once: `&name` marks a value, `*name` repeats it, and `<<: *name` copies the keys of a marked
map. Keys next to `<<` take precedence.

```yaml
agents:
  - &lookup
    name: finds an order
    model: claude-sonnet-4-5
    prompt: Where is order 7?
    trajectory:
      calls: [{ name: find_order }]
  - <<: *lookup
    name: finds an order when asked in German
    prompt: Wo ist Bestellung 7?
```

Duplicate keys, a second document and tags such as `!include` are errors. Plain words are read as in YAML 1.2: `true` and
`false` are booleans, `yes`, `no`, `on` and `off` are text. A file can have up to 16 MB, 128 levels of nesting and 100,000
values from aliases.

";

/// The whole page, with `example` at its top.
pub(super) fn reference(example: &str) -> String {
    let mut text = format!("{HEAD}```yaml\n{example}```\n\n{REFERENCES}{ANCHORS}");
    for block in BLOCKS {
        text.push_str(&format!(
            "## {}\n\n{}\n\n{}\n",
            block.name,
            block.about,
            key_table("key", block.keys, Page::Suite)
        ));
        if block.name == ASSERTION.name {
            text.push_str(&matchers());
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn matchers() -> String {
    let mut text = String::from("## matcher\n\nA map with exactly one of these keys.\n\n");
    text.push_str(&table(&["key", "holds when", "example"]));
    for matcher in &MATCHERS {
        text.push_str(&row(&[&format!("`{}`", matcher.name), matcher.holds, &format!("`{}`", matcher.example)]));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::super::keys::{gate_blocks, inner};
    use super::*;

    #[test]
    fn every_key_of_every_block_is_in_its_section() {
        let text = reference("");
        for block in BLOCKS {
            let (_, rest) = text.split_once(&format!("\n## {}\n", block.name)).expect(block.name);
            let part = rest.split("\n## ").next().unwrap();
            for key in block.keys {
                assert!(part.contains(&format!("\n| `{}` | ", key.name)), "{}.{}", block.name, key.name);
            }
        }
    }

    #[test]
    fn every_block_that_a_key_takes_is_described() {
        for key in BLOCKS.iter().flat_map(|block| block.keys) {
            if let Some(needed) = inner(&key.takes) {
                let known = BLOCKS
                    .into_iter()
                    .chain(gate_blocks().into_iter().map(|(_, block)| block))
                    .any(|block| block.name == needed.name);
                assert!(known, "{}", needed.name);
            }
        }
    }
}
