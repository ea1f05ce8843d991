//! The key tables of a suite.

use crate::eval::{ASSERTION, GATES, GateKind};
use crate::keys::ValueType::{
    self, Bool, Gate, Integer, IntegerOr, List, Map, Matcher, NonNegative, Number, Object, Template, Text, TextOr, Word,
};
use crate::keys::{Block, Key, key};
use crate::suite::preset::PRESET_NAMES;

const TEXTS: ValueType = List(0, &Text);

/// The file itself.
pub static SUITE: Block = Block {
    name: "suite",
    about: "One file: servers, faults, models, programs and the agent tests that use them.",
    keys: &[
        key("servers", Map(&Object(&SERVER)), "{}", "MCP servers by name: lower-case letters, digits, `-`"),
        key("faults", List(0, &Object(&FAULT)), "[]", "faults that tests can inject"),
        key("models", Map(&Object(&MODEL)), "{}", "models that need more than a name"),
        key("programs", Map(&Object(&PROGRAM)), "{}", "agents of your own: programs that tests can run"),
        key("variables", Map(&Text), "{}", "values for `${NAME}` in this file").example("city: Oslo"),
        key("public", TEXTS, "[]", "variables whose values may be recorded and reported").example("[DATA_DIR]"),
        key("agents", List(1, &Object(&AGENT)), "", "the tests").required(),
    ],
};

pub static SERVER: Block = Block {
    name: "server",
    about: "Either a command that speaks MCP over stdio, or a URL.",
    keys: &[
        key("command", List(1, &Template), "", "program and arguments")
            .example("[npx, \"@modelcontextprotocol/server-memory\"]"),
        key("env", Map(&Template), "{}", "environment variables of the command, added to the inherited ones"),
        key("cwd", Template, "", "working directory of the command; by default the one mcptest was started in")
            .example("${SUITE_DIR}/data"),
        key("url", Template, "", "URL of a Streamable HTTP server").example("https://mcp.example.test/mcp"),
        key("headers", Map(&Template), "{}", "headers of every request"),
        key("bearer_token_env", Text, "", "environment variable that holds a bearer token").example("MCP_TOKEN"),
        key("timeout_ms", Integer(1), "30000", "time limit of one call"),
        key("protocol", Word(&["auto", "modern", "legacy"]), "auto", "protocol generation"),
        key("connect", Word(&["required", "optional"]), "required", "whether a program must connect to it"),
    ],
};

pub static MODEL: Block = Block {
    name: "model",
    about: "A model under a name of your own.",
    keys: &[
        key("provider", Word(&["anthropic", "openai", "gemini", "script"]), "", "the API the model is called through")
            .required(),
        key("model", Template, "", "the provider's name for the model; by default the key"),
        key("base_url", Template, "", "base URL of the API").example("http://localhost:11434/v1"),
        key("api_key_env", Text, "", "environment variable that holds the API key"),
        key("api", Word(&["chat", "responses"]), "", "which OpenAI API; chat with a base_url, else responses"),
        key("price", Object(&PRICE), "", "price per million tokens").example("{ input: 3, output: 15 }"),
        key("script", Text, "", "script file; only with provider script").example("scripts/demo.yml"),
    ],
};

pub static PROGRAM: Block = Block {
    name: "program",
    about: "An agent of your own: a command that reads a prompt, calls its model and its servers, and answers.",
    keys: &[
        key("preset", Word(&PRESET_NAMES), "", "an agent CLI, which fills the keys that are left out"),
        key("command", List(1, &Template), "", "program and arguments; required without a preset")
            .example("[python, agent.py]"),
        key("env", Map(&Template), "{}", "environment variables of the command, added to the inherited ones"),
        key("files", Map(&Template), "{}", "files that each run finds in its private folder, MCPTEST_HOME")
            .example("{ \"config.json\": '{ \"url\": \"${MCPTEST_URL_SHOP}\" }' }"),
        key("cwd", Template, "", "working directory of the command; by default the one mcptest was started in")
            .example("${SUITE_DIR}"),
        key("workspace", Template, "", "folder that each run gets a fresh copy of, as its working directory")
            .example("${SUITE_DIR}/project"),
        key("input", Text, "stdin", "how it gets the prompt: stdin, arg (the last argument) or env:NAME"),
        key(
            "answer",
            Text,
            "stdout",
            "where it leaves its answer: stdout, file:PATH, json:PATH, claude-stream, codex-exec or gemini-stream",
        ),
        key("timeout_ms", Integer(1), "120000", "time limit of one run"),
        key("exit", Integer(0), "0", "the exit code of a run that went well"),
        key("model", Word(&["required", "unseen"]), "required", "whether its model requests must go through the proxy"),
        key(
            "ignore_request",
            List(0, &TextOr(&IGNORED)),
            "[]",
            "parts of its model requests that change from run to run",
        )
        .example("[/metadata/user_id]"),
    ],
};

pub static IGNORED: Block = Block {
    name: "ignored part",
    about: "A part of a text in a request that changes from run to run, such as a date.",
    keys: &[
        key("path", Text, "", "JSON pointer to the text; `*` is any item").required().example("/system/0/text"),
        key("pattern", Text, "", "regular expression for the part of the text")
            .required()
            .example("\\d{4}-\\d\\d-\\d\\d"),
    ],
};

pub static PRICE: Block = Block {
    name: "price",
    about: "Price per million tokens, in any currency.",
    keys: &[
        key("input", NonNegative, "", "input tokens").required(),
        key("output", NonNegative, "", "output tokens").required(),
    ],
};

pub static FAULT: Block = Block {
    name: "fault",
    about: "A failure to inject: of a tool, in virtual time for models and in real time for programs, or of a program's model.",
    keys: &[
        key("name", Text, "", "name to inject it by").required().example("dead-search"),
        key("target", Object(&FAULT_TARGET), "", "the calls it affects").required().example("{ tool: search }"),
        key(
            "kind",
            Word(&[
                "hang",
                "wedged",
                "slow",
                "recover_after",
                "error",
                "is_error",
                "drop",
                "model_error",
                "model_slow",
                "model_cut",
                "model_garbage",
            ]),
            "",
            "how the affected calls fail",
        )
        .required(),
        key("delay_ms", Integer(1), "", "how late the answer comes; only with kinds slow and model_slow"),
        key(
            "failures",
            Integer(1),
            "",
            "number of failures before it works; only with recover_after and the model kinds",
        ),
        key("status", Integer(400), "", "HTTP status; only with kind model_error").example("529"),
        key("events", Integer(1), "", "events of the stream before it breaks off; only with kind model_cut"),
    ],
};

pub static FAULT_TARGET: Block = Block {
    name: "fault target",
    about: "A tool, a server, or a tool of a server.",
    keys: &[
        key("tool", Text, "", "tool name; by default every tool of the server"),
        key("server", Text, "", "server name; by default every server"),
        key("model", Bool, "false", "the model of a program, for the model kinds"),
    ],
};

/// Keys with one for each gate between them. Tests, gates files and tasks have the same gates.
macro_rules! with_gates {
    ([$($before:expr),* $(,)?], [$($after:expr),* $(,)?]) => {
        &[
            $($before,)*
            gate(GateKind::Trajectory),
            gate(GateKind::TrajectoryAxes),
            gate(GateKind::GoldenPath),
            gate(GateKind::Stability),
            gate(GateKind::Reliability),
            gate(GateKind::Recovery),
            gate(GateKind::Narrative),
            $($after,)*
        ]
    };
}

pub static AGENT: Block = Block {
    name: "agent test",
    about: "A prompt, the servers the agent may use, and the checks its runs must pass.",
    keys: with_gates!(
        [
            key("name", Text, "", "name of the test, unique in the file").required(),
            key("model", Text, "", "model to run it on").example("claude-sonnet-4-5"),
            key("models", List(1, &Text), "", "several models; the test runs on each"),
            key("program", Text, "", "program to run it on, from `programs:`").example("support"),
            key("programs", List(1, &Text), "", "several programs; the test runs on each"),
            key("servers", TEXTS, "[]", "names of the servers it may use"),
            key("prompt", Text, "", "the user message").required(),
            key("system", Text, "", "the system message"),
            key("runs", IntegerOr(1, &RUNS), "1", "number of independent runs, or when to stop"),
            key("max_turns", Integer(1), "10", "maximum turns per run"),
            key("max_tokens", Integer(1), "1024", "maximum tokens per reply"),
            key("temperature", Number(0.0, 2.0), "", "sent only when set"),
            key("tags", TEXTS, "[]", "labels to select tests by"),
            key("inject", TEXTS, "[]", "names of the faults to inject"),
            key("expect", List(1, &Object(&ASSERTION)), "", "assertions on the trace"),
        ],
        []
    ),
};

pub static RUNS: Block = Block {
    name: "runs",
    about: "Runs that stop as soon as they show or refute the `at_least` of `reliability`.",
    keys: &[
        key("min", Integer(1), "1", "fewest runs"),
        key("max", Integer(1), "", "most runs; a rate that is not settled by then is inconclusive")
            .required()
            .example("60"),
        key("stop", Word(&["settled"]), "", "stop when `reliability` is settled").required(),
    ],
};

/// A file of gates without a suite.
pub static GATE_FILE: Block = Block {
    name: "gates file",
    about: "Gates and assertions for traces recorded elsewhere.",
    keys: with_gates!(
        [key("expect", List(1, &Object(&ASSERTION)), "", "assertions on each trace"),],
        [key(
            "tasks",
            List(1, &Object(&TASK)),
            "",
            "checks for some of the traces, selected by values in their records"
        ),]
    ),
};

pub static TASK: Block = Block {
    name: "task",
    about: "Gates and assertions for the traces of one task. They replace the same gates for all traces.",
    keys: with_gates!(
        [
            key(
                "when",
                Map(&Matcher),
                "",
                "values in the records of the task, by path; `{file}`, `{stem}` and `{folder[n]}` are parts of the input's name",
            )
            .required()
            .example("{ task_id: { exact: 7 } }"),
            key("optional", Bool, "false", "whether the task may have no records"),
            key("expect", List(1, &Object(&ASSERTION)), "", "assertions on each trace"),
        ],
        []
    ),
};

const fn gate(kind: GateKind) -> Key {
    key(kind.name(), Gate(kind), "", GATES[kind as usize].question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_has_its_key_in_tests_gates_files_and_tasks() {
        for block in [&AGENT, &GATE_FILE, &TASK] {
            let named: Vec<_> =
                block.keys.iter().filter(|key| matches!(key.value_type, Gate(_))).map(|key| key.name).collect();
            let gates: Vec<_> = GATES.iter().map(|gate| gate.kind.name()).collect();
            assert_eq!(named, gates, "{}", block.name);
        }
    }
}
