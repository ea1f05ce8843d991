//! `docs/mock.md`: the reference of `mcptest mock`, made from its key tables and its table of faults.

use mcptest_core::keys::Block;
use mcptest_mock::KINDS;
use mcptest_mock::spec::{ANNOTATIONS, ANSWER, ARGUMENT, FILE, MESSAGE, PROMPT, RESOURCE, RULE, SERVER, TOOL};

use super::keys::{Page, key_table, row, table};

/// The blocks that are described, in this order.
const BLOCKS: [&Block; 10] =
    [&FILE, &SERVER, &TOOL, &ANNOTATIONS, &ANSWER, &RULE, &RESOURCE, &PROMPT, &ARGUMENT, &MESSAGE];

const HEAD: &str = "\
<!-- Written by `cargo xtask gen` from crates/mock/src/spec/blocks.rs, crates/mock/src/fault.rs and
     examples/weather-tools.yml. Edit those, not this file. -->
# Mock server

`mcptest mock --tools-from FILE` is an MCP server for testing agents and clients. It supports the newest revision of the
protocol (2026-07-28) and the older handshake (2024-11-05 to 2025-11-25), over stdio or, with `--http`, over Streamable
HTTP at `/mcp`. Without a fault it behaves correctly. With a fault it misbehaves in exactly that way.

```sh
mcptest mock --tools-from examples/weather-tools.yml                        # one JSON message per line
mcptest mock --tools-from examples/weather-tools.yml --http 8080            # prints http://127.0.0.1:8080/mcp
mcptest mock --tools-from examples/weather-tools.yml --fault get_forecast=slow:2000 --log messages.jsonl
```

## Faults

`--fault KIND` applies to every `tools/call`. `--fault TOOL=KIND` applies to one tool and takes precedence. Nothing else is
affected: the handshake, lists and resources work while calls hang.

";

const TRANSPORTS: &str = "\
Over stdio, `drop` closes standard output and keeps reading. Over HTTP, it closes the connection without a response.
`duplicate` over HTTP is an event stream with the reply twice. If a call is cancelled under `hang` or `slow`, a client of
the older handshake over HTTP gets an empty event stream; over stdio there is no answer. In the newest revision, a client
cancels over HTTP by closing the connection, so `reply-after-cancel` is visible only over stdio and to clients of the older
handshake. A fault counts its calls across all connections.

Over HTTP, a client has ten seconds to send the head of a request and ten more for its body. A connection without a request
is closed after the same time.

";

const FILES: &str = "\
## File format

FILE is a YAML file with `mock_server`, or the `tools/list` reply of a real server as JSON: `{\"tools\": [..]}`, the whole
JSON-RPC reply, or the bare list. Every field of a tool in such a snapshot is listed unchanged. `mcptest schema mock` prints
the JSON Schema of the YAML file, which is also in [schemas/mock.schema.json](../schemas/mock.schema.json).

";

const BEHAVIOUR: &str = "\
Arguments are checked against the input schema. A call that does not match gets an error result that names the locations. An
unknown tool gets the error -32602, an unknown method -32601.

`${args.city}` in an answer is replaced by an argument of the call, `${args.city:-Oslo}` has a default, and `$$` is a dollar
sign. Values that are not text become JSON. Inside `structured`, a text that consists of one reference keeps the type of its
value. A tool without an answer echoes the call or, with an output schema, returns a small value that matches it.

";

const LOG: &str = "\
## Log

`--log FILE` appends one JSON line per message: `{\"seq\":1,\"direction\":\"in\",\"message\":{..}}`. Bytes that are not JSON are
under `raw`, a flood under `note`. The log has no timestamps, so you can compare two runs.
";

/// The whole page, with `example` in it.
pub(super) fn reference(example: &str) -> String {
    let mut text = HEAD.to_owned();
    text.push_str(&table(&["kind", "what it does"]));
    for kind in &KINDS {
        text.push_str(&row(&[&format!("`{}`", kind.spelling()), kind.meaning]));
    }
    text.push_str(&format!("\n{TRANSPORTS}{FILES}```yaml\n{example}```\n\n{BEHAVIOUR}"));
    for block in BLOCKS {
        let keys = key_table("key", block.keys, Page::Mock);
        text.push_str(&format!("## {}\n\n{}\n\n{keys}\n", block.name, block.about));
    }
    text + LOG
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

    #[test]
    fn every_kind_of_fault_is_described() {
        let text = reference("");
        for kind in &KINDS {
            assert!(text.contains(&format!("| `{}` | {} |", kind.spelling(), kind.meaning)), "{}", kind.name);
        }
    }
}
