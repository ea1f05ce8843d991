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

A script stands in for a model: it says, turn by turn, what is answered and which tools are asked for. The tools themselves
are called for real. Scripts make examples and tests that need no key, and a suite has to name one to get it:

```yaml part
models:
  demo: { provider: script, script: scripts/demo.yml }   # a path from the folder of the suite
```

Rows of a run that was played from a script say `scripted`, and a recording of one says so in its inputs. `mcptest validate`
checks scripts, and `mcptest schema script` prints their JSON Schema.

";

const BEHAVIOUR: &str = "\
`${results[0].structured_content.id}` in arguments reads the answer to the first call of the run, counted from 0 over all
turns; `[-1]` is the last one. A text that is one reference and nothing else keeps the type of what it reads,
`${results[0].x:-none}` has a default, `$$` is a dollar sign. Arguments that are text are sent as a model would send them, so
that text which is no JSON can be tried out. A tool that no server has is asked for all the same, and answered with an error.
A model that is asked once more than the script has turns ends its run with an error.

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
