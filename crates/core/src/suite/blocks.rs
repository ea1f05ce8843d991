//! The key tables of a suite.

use crate::eval::{ASSERTION, GATES, GateKind};
use crate::keys::{Block, Key, Takes, key};

const TEXTS: Takes = Takes::List(0, &Takes::Text);

/// The file itself.
pub static SUITE: Block = Block {
    name: "suite",
    about: "One file: servers, faults, models and the agent tests that use them.",
    keys: &[
        key(
            "servers",
            Takes::Map(&Takes::Block(&SERVER)),
            "{}",
            "MCP servers by name: lower-case letters, digits, `-`",
        ),
        key("faults", Takes::List(0, &Takes::Block(&FAULT)), "[]", "faults that tests may inject"),
        key("models", Takes::Map(&Takes::Block(&MODEL)), "{}", "models that are not known by their name alone"),
        key("variables", Takes::Map(&Takes::Text), "{}", "values for `${NAME}` in this file").example("city: Oslo"),
        key("public", TEXTS, "[]", "variables whose values may be recorded and reported").example("[DATA_DIR]"),
        key("agents", Takes::List(1, &Takes::Block(&AGENT)), "", "the tests").required(),
    ],
};

/// One server.
pub static SERVER: Block = Block {
    name: "server",
    about: "Either a command that speaks MCP over its pipes, or an address.",
    keys: &[
        key("command", Takes::List(1, &Takes::Template), "", "program and arguments")
            .example("[npx, \"@modelcontextprotocol/server-memory\"]"),
        key("env", Takes::Map(&Takes::Template), "{}", "variables of the command, beside the inherited ones"),
        key("cwd", Takes::Template, "", "working folder of the command; left out, the one mcptest is started in")
            .example("${SUITE_DIR}/data"),
        key("url", Takes::Template, "", "address of a Streamable HTTP server").example("https://mcp.example.test/mcp"),
        key("headers", Takes::Map(&Takes::Template), "{}", "headers of every request"),
        key("bearer_token_env", Takes::Text, "", "variable that holds a bearer token").example("MCP_TOKEN"),
        key("timeout_ms", Takes::Whole(1), "30000", "time limit of one call"),
        key("protocol", Takes::Word(&["auto", "modern", "legacy"]), "auto", "era of the protocol"),
    ],
};

/// One model.
pub static MODEL: Block = Block {
    name: "model",
    about: "A model under a name of your own.",
    keys: &[
        key("provider", Takes::Word(&["anthropic", "openai", "gemini", "script"]), "", "whose interface it has")
            .required(),
        key("model", Takes::Template, "", "name the provider knows it by; the key without one"),
        key("base_url", Takes::Template, "", "address of the interface").example("http://localhost:11434/v1"),
        key("api_key_env", Takes::Text, "", "variable that holds the key"),
        key(
            "api",
            Takes::Word(&["chat", "responses"]),
            "",
            "which of OpenAI's interfaces; chat with a base_url, else responses",
        ),
        key("price", Takes::Block(&PRICE), "", "price of a million tokens").example("{ input: 3, output: 15 }"),
        key("script", Takes::Text, "", "file of a script; only with provider script").example("scripts/demo.yml"),
    ],
};

/// Price of a model.
pub static PRICE: Block = Block {
    name: "price",
    about: "Price of a million tokens, in any currency.",
    keys: &[
        key("input", Takes::Amount, "", "tokens read").required(),
        key("output", Takes::Amount, "", "tokens written").required(),
    ],
};

/// One fault.
pub static FAULT: Block = Block {
    name: "fault",
    about: "Something that goes wrong with a tool, in virtual time.",
    keys: &[
        key("name", Takes::Text, "", "name to inject it by").required().example("dead-search"),
        key("target", Takes::Block(&FAULT_TARGET), "", "what it strikes").required().example("{ tool: search }"),
        key(
            "kind",
            Takes::Word(&["hang", "wedged", "slow", "recover_after", "error", "is_error", "drop"]),
            "",
            "what it does",
        )
        .required(),
        key("delay_ms", Takes::Whole(1), "", "how late the answer comes; only with kind slow"),
        key("failures", Takes::Whole(1), "", "how often it fails before it works; only with kind recover_after"),
    ],
};

/// Target of a fault.
pub static FAULT_TARGET: Block = Block {
    name: "fault target",
    about: "A tool, a server, or a tool of a server.",
    keys: &[
        key("tool", Takes::Text, "", "tool name; any tool of the server without one"),
        key("server", Takes::Text, "", "server name; any server without one"),
    ],
};

/// One agent test.
pub static AGENT: Block = Block {
    name: "agent test",
    about: "A prompt, the servers it may use, and what must hold of what the agent did.",
    keys: &[
        key("name", Takes::Text, "", "name of the test, once per file").required(),
        key("model", Takes::Text, "", "model to run it on").example("claude-sonnet-4-5"),
        key("models", Takes::List(1, &Takes::Text), "", "several models; the test runs on each"),
        key("servers", TEXTS, "[]", "names of the servers it may use"),
        key("prompt", Takes::Text, "", "what the agent is asked").required(),
        key("system", Takes::Text, "", "what it is told before"),
        key("runs", Takes::Whole(1), "1", "independent runs"),
        key("max_turns", Takes::Whole(1), "10", "most turns of one run"),
        key("max_tokens", Takes::Whole(1), "1024", "most tokens of one reply"),
        key("temperature", Takes::Number(0.0, 2.0), "", "sent only when given"),
        key("tags", TEXTS, "[]", "labels to select by"),
        key("inject", TEXTS, "[]", "names of the faults to inject"),
        key("expect", Takes::List(1, &Takes::Block(&ASSERTION)), "", "assertions on the trace"),
        gate(GateKind::Trajectory),
        gate(GateKind::TrajectoryAxes),
        gate(GateKind::GoldenPath),
        gate(GateKind::Stability),
        gate(GateKind::Reliability),
        gate(GateKind::Recovery),
        gate(GateKind::Narrative),
    ],
};

/// A file of gate blocks without a suite.
pub static GATE_FILE: Block = Block {
    name: "gates file",
    about: "Gates and assertions for traces that were recorded elsewhere.",
    keys: &[
        key("expect", Takes::List(1, &Takes::Block(&ASSERTION)), "", "assertions on each trace"),
        gate(GateKind::Trajectory),
        gate(GateKind::TrajectoryAxes),
        gate(GateKind::GoldenPath),
        gate(GateKind::Stability),
        gate(GateKind::Reliability),
        gate(GateKind::Recovery),
        gate(GateKind::Narrative),
    ],
};

const fn gate(kind: GateKind) -> Key {
    let question = GATES[kind as usize].question;
    key(kind.name(), Takes::Gate(kind), "", question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_has_its_key_in_tests_and_in_gates_files() {
        for block in [&AGENT, &GATE_FILE] {
            let named: Vec<_> =
                block.keys.iter().filter(|key| matches!(key.takes, Takes::Gate(_))).map(|key| key.name).collect();
            let gates: Vec<_> = GATES.iter().map(|gate| gate.kind.name()).collect();
            assert_eq!(named, gates, "{}", block.name);
        }
    }
}
