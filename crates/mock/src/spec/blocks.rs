//! The key tables of a mock server's file.

use mcptest_core::keys::{Block, ValueType, key};

pub static FILE: Block = Block {
    name: "mock file",
    about: "One server that answers as it is told.",
    keys: &[key("mock_server", ValueType::Object(&SERVER), "", "the server").required()],
};

pub static SERVER: Block = Block {
    name: "mock server",
    about: "What the server is called and what it offers. Tools are always announced, resources and prompts where there is one.",
    keys: &[
        key("name", ValueType::Text, "", "name the server gives itself").required().example("weather"),
        key("version", ValueType::Text, "0.0.0", "version the server gives itself").example("\"1.0\""),
        key("instructions", ValueType::Text, "", "how to use the server, for models"),
        key("tools", ValueType::List(0, &ValueType::Object(&TOOL)), "[]", "its tools"),
        key("resources", ValueType::List(0, &ValueType::Object(&RESOURCE)), "[]", "its resources"),
        key("prompts", ValueType::List(0, &ValueType::Object(&PROMPT)), "[]", "its prompts"),
    ],
};

pub static TOOL: Block = Block {
    name: "tool",
    about: "A tool and what it answers. Without an answer it repeats the call, or makes up a value that fits its output \
            schema.",
    keys: &[
        key("name", ValueType::Text, "", "name of the tool, once per file").required().example("get_forecast"),
        key("title", ValueType::Text, "", "name for people"),
        key("description", ValueType::Text, "", "what it does, for models"),
        key("annotations", ValueType::Object(&ANNOTATIONS), "", "hints about what it does")
            .example("{ readOnlyHint: true }"),
        key(
            "input_schema",
            ValueType::Schema,
            "{ type: object }",
            "what arguments must fit; calls are checked against it",
        ),
        key("inputSchema", ValueType::Schema, "", "the same under the protocol's name"),
        key("output_schema", ValueType::Schema, "", "what structured answers must fit; they are checked against it"),
        key("outputSchema", ValueType::Schema, "", "the same under the protocol's name"),
        key("answer", ValueType::TextOr(&ANSWER), "", "what it answers").example("Rain in ${args.city}"),
        key("answers", ValueType::List(1, &ValueType::TextOr(&ANSWER)), "", "answers in order; the last one repeats"),
        key(
            "rules",
            ValueType::List(1, &ValueType::Object(&RULE)),
            "",
            "answers for some arguments; the first that fits counts",
        ),
    ],
};

pub static ANNOTATIONS: Block = Block {
    name: "annotations",
    about: "Hints about a tool, listed as they are.",
    keys: &[
        key("title", ValueType::Text, "", "name for people, as older revisions have it"),
        key("readOnlyHint", ValueType::Bool, "", "it changes nothing"),
        key("destructiveHint", ValueType::Bool, "", "it may delete or overwrite"),
        key("idempotentHint", ValueType::Bool, "", "calling it twice is like calling it once"),
        key("openWorldHint", ValueType::Bool, "", "it reaches beyond the server"),
    ],
};

pub static ANSWER: Block = Block {
    name: "answer",
    about: "Text alone is a block of text. As a map it has one of `text`, `content` and `error`, or `structured`, alone or \
            beside `text` or `content`. References such as `${args.city}` may stand in any text.",
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
    about: "An answer for the calls whose arguments fit.",
    keys: &[
        key(
            "when",
            ValueType::Map(&ValueType::Matcher),
            "",
            "paths in the arguments, each with a matcher; all must hold",
        )
        .required()
        .example("{ city: { exact: Oslo } }"),
        key("answer", ValueType::TextOr(&ANSWER), "", "what the tool answers then"),
        key("answers", ValueType::List(1, &ValueType::TextOr(&ANSWER)), "", "answers in order; the last one repeats"),
    ],
};

pub static RESOURCE: Block = Block {
    name: "resource",
    about: "A resource with its contents.",
    keys: &[
        key("uri", ValueType::Text, "", "its address, once per file").required().example("file:///stations.txt"),
        key("name", ValueType::Text, "", "its name").required(),
        key("title", ValueType::Text, "", "name for people"),
        key("description", ValueType::Text, "", "what it holds"),
        key("mime_type", ValueType::Text, "", "its media type").example("text/plain"),
        key("mimeType", ValueType::Text, "", "the same under the protocol's name"),
        key("text", ValueType::Text, "", "its contents as text"),
        key("blob", ValueType::Text, "", "its contents in base64"),
    ],
};

pub static PROMPT: Block = Block {
    name: "prompt",
    about: "A prompt with its messages.",
    keys: &[
        key("name", ValueType::Text, "", "name of the prompt, once per file").required(),
        key("title", ValueType::Text, "", "name for people"),
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
        key("role", ValueType::Word(&["user", "assistant"]), "", "who says it").required(),
        key("text", ValueType::Text, "", "what is said; may hold `${args.name}`").required(),
    ],
};
