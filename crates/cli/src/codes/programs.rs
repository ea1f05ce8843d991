//! Programs that are recorded.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 2] = [
    entry(
        Code::ModelUnseen,
        "The model of a recorded program was not seen",
        "error[model-unseen]: the model was not seen: no request of a known interface passed the proxy",
        "The proxy sees only requests that are sent to it. A client with a base URL in its code, one that was created before its \
         variable was set, or one that signs its requests (Bedrock, Vertex) goes past it. Without the model there is no record of \
         what was asked for and refused.",
        &[
            "Let the client read its base URL from the environment: `mcptest record --help` lists the variables.",
            "If the client takes no variable, hand the value over in code.",
            "With `--model unseen` only calls of tools are recorded.",
        ],
    ),
    entry(
        Code::NoAnswer,
        "The answer of a recorded program cannot be read",
        "warning[no-answer]: the answer of the program cannot be read: there is no answer among its events (codex-exec)",
        "`--answer` says where the program leaves its answer, and nothing was found there. The trace is recorded without a final \
         response, so gates that need one cannot be assessed.",
        &["Look at the output of the program.", "Give the format that it prints: `mcptest record --help` lists them."],
    ),
];
