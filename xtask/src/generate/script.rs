//! `docs/script.md`: the reference of scripts, made from their key tables.

use mcptest_core::keys::Block;
use mcptest_runner::provider::script::{CALL, RUN, SCRIPT, TURN, USAGE};

use super::keys::{Page, key_table};

/// The blocks that are described, in this order.
const BLOCKS: [&Block; 5] = [&SCRIPT, &RUN, &TURN, &CALL, &USAGE];

const HEAD: &str = "\
<!-- Written by `cargo xtask gen` from crates/runner/src/provider/script.rs and examples/scripts/quickstart.yml. Edit those,
     not this file. -->
# Scripts

A script replaces a model. It lists, turn by turn, what the model says and which tools it calls. The tool calls are real. Use
scripts for examples and tests that need no key. A suite selects a script explicitly:

```yaml part
models:
  demo: { provider: script, script: scripts/demo.yml }   # relative to the suite's folder
```

Results of a scripted run say `scripted`, and a recording of one says so in its inputs. `mcptest validate` checks scripts, and
`mcptest schema script` prints their JSON Schema.

";

const BEHAVIOUR: &str = "\
`${results[0].structured_content.id}` in arguments reads the result of the first call of the run. Results count from 0 over
all turns; `[-1]` is the last one. A text that consists of one reference keeps the type of its value. `${results[0].x:-none}`
has a default, and `$$` is a dollar sign. Text arguments are sent as a model would send them, so you can test arguments that
are not JSON. A call to a tool that no server has is still made, and gets an error result. If the model is asked for more
turns than the script has, the run ends with an error.

";

/// The whole page, with `example` in it.
pub(super) fn reference(example: &str) -> String {
    let mut text = format!("{HEAD}```yaml\n{example}```\n\n{BEHAVIOUR}");
    for block in BLOCKS {
        let keys = key_table("key", block.keys, Page::Script);
        text.push_str(&format!("## {}\n\n{}\n\n{keys}\n", block.name, block.about));
    }
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::super::keys::inner;
    use super::*;

    #[test]
    fn every_block_that_a_key_takes_is_described() {
        for key in BLOCKS.iter().flat_map(|block| block.keys) {
            if let Some(needed) = inner(&key.takes) {
                assert!(BLOCKS.iter().any(|block| block.name == needed.name), "{}", needed.name);
            }
        }
    }
}
