//! The key tables of a mock server's file.

use mcptest_core::keys::{Block, ValueType, key};

pub static FILE: Block = Block {
    name: "mock file",
    about: "A mock MCP server and its answers.",
    keys: &[key("mock_server", ValueType::Object(&SERVER), "", "the server").required()],
};

pub static SERVER: Block = Block {
    name: "mock server",
    about: "The name of the server and what it offers. It always announces tools; it announces resources and prompts if it has any.",
    keys: &[
        key("name", ValueType::Text, "", "name that the server reports").required().example("weather"),
        key("version", ValueType::Text, "0.0.0", "version that the server reports").example("\"1.0\""),
        key("instructions", ValueType::Text, "", "how to use the server, for models"),
        key("tools", ValueType::List(0, &ValueType::Object(&TOOL)), "[]", "its tools"),
        key("resources", ValueType::List(0, &ValueType::Object(&RESOURCE)), "[]", "its resources"),
        key("prompts", ValueType::List(0, &ValueType::Object(&PROMPT)), "[]", "its prompts"),
    ],
};

pub static TOOL: Block = Block {
    name: "tool",
    about: "A tool and what it answers. Without an answer it echoes the call, or generates a value that matches its output schema.",
    keys: &[
        key("name", ValueType::Text, "", "name of the tool, once per file").required().example("get_forecast"),
        key("title", ValueType::Text, "", "display name"),
        key("description", ValueType::Text, "", "what it does, for models"),
        key("annotations", ValueType::Object(&ANNOTATIONS), "", "hints about what it does")
            .example("{ readOnlyHint: true }"),
        key(
            "input_schema",
            ValueType::Schema,
            "{ type: object }",
            "schema of the arguments; calls are validated against it",
        ),
        key("inputSchema", ValueType::Schema, "", "the same in the protocol's spelling"),
        key("output_schema", ValueType::Schema, "", "schema of structured answers; they are validated against it"),
        key("outputSchema", ValueType::Schema, "", "the same in the protocol's spelling"),
        key("answer", ValueType::TextOr(&ANSWER), "", "what it answers").example("Rain in ${args.city}"),
        key("answers", ValueType::List(1, &ValueType::TextOr(&ANSWER)), "", "answers in order; the last one repeats"),
        key(
            "rules",
            ValueType::List(1, &ValueType::Object(&RULE)),
            "",
            "answers for certain arguments; the first match wins",
        ),
    ],
};

pub static ANNOTATIONS: Block = Block {
    name: "annotations",
    about: "Hints about a tool, listed unchanged.",
    keys: &[
        key("title", ValueType::Text, "", "display name, as in older protocol revisions"),
        key("readOnlyHint", ValueType::Bool, "", "it changes nothing"),
        key("destructiveHint", ValueType::Bool, "", "it may delete or overwrite"),
        key("idempotentHint", ValueType::Bool, "", "calling it twice has the same effect as calling it once"),
        key("openWorldHint", ValueType::Bool, "", "it reaches beyond the server"),
    ],
};

pub static ANSWER: Block = Block {
    name: "answer",
    about: "A plain string is one text block. A map has one of `text`, `content` and `error`, or `structured`, alone or with `text` or `content`. Any text can contain references such as `${args.city}`.",
    keys: &[
        key("text", ValueType::Text, "", "one block of text").example("Rain in ${args.city}"),
        key(
            "structured",
            ValueType::Any,
            "",
            "structured content; also sent as text unless `text` or `content` is given",
        )
        .example("{ city: \"${args.city}\", rain: true }"),
        key("content", ValueType::List(0, &ValueType::Any), "", "content blocks as the protocol has them")
            .example("[{ type: text, text: Rain }]"),
        key("error", ValueType::Text, "", "the text of an error result").example("no forecast for ${args.city}"),
    ],
};

pub static RULE: Block = Block {
    name: "rule",
    about: "An answer for calls whose arguments match.",
    keys: &[
        key(
            "when",
            ValueType::Map(&ValueType::Matcher),
            "",
            "paths in the arguments, each with a matcher; all must match",
        )
        .required()
        .example("{ city: { exact: Oslo } }"),
        key("answer", ValueType::TextOr(&ANSWER), "", "what the tool answers"),
        key("answers", ValueType::List(1, &ValueType::TextOr(&ANSWER)), "", "answers in order; the last one repeats"),
    ],
};

pub static RESOURCE: Block = Block {
    name: "resource",
    about: "A resource with its contents.",
    keys: &[
        key("uri", ValueType::Text, "", "its address, once per file").required().example("file:///stations.txt"),
        key("name", ValueType::Text, "", "its name").required(),
        key("title", ValueType::Text, "", "display name"),
        key("description", ValueType::Text, "", "what it holds"),
        key("mime_type", ValueType::Text, "", "its media type").example("text/plain"),
        key("mimeType", ValueType::Text, "", "the same in the protocol's spelling"),
        key("text", ValueType::Text, "", "its contents as text"),
        key("blob", ValueType::Text, "", "its contents in base64"),
    ],
};

pub static PROMPT: Block = Block {
    name: "prompt",
    about: "A prompt with its messages.",
    keys: &[
        key("name", ValueType::Text, "", "name of the prompt, once per file").required(),
        key("title", ValueType::Text, "", "display name"),
        key("description", ValueType::Text, "", "what it is for"),
        key("arguments", ValueType::List(0, &ValueType::Object(&ARGUMENT)), "[]", "what it takes"),
        key("messages", ValueType::List(1, &ValueType::Object(&MESSAGE)), "", "what it says").required(),
    ],
};

/// One argument of a prompt.
pub static ARGUMENT: Block = Block {
    name: "argument",
    about: "An argument of a prompt.",
    keys: &[
        key("name", ValueType::Text, "", "name of the argument").required(),
        key("description", ValueType::Text, "", "what it means"),
        key("required", ValueType::Bool, "false", "whether it must be given"),
    ],
};

/// One message of a prompt.
pub static MESSAGE: Block = Block {
    name: "message",
    about: "A message of a prompt.",
    keys: &[
        key("role", ValueType::Word(&["user", "assistant"]), "", "role of the speaker").required(),
        key("text", ValueType::Text, "", "text of the message; may contain `${args.name}`").required(),
    ],
};
