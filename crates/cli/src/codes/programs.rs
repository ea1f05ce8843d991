//! Programs that are recorded.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 6] = [
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
    entry(
        Code::ProgramEndedEarly,
        "A program ended before it asked its model",
        "error[program-ended-early]: program `agent` ended with exit code 3 before it asked its model",
        "The program of a test stopped, or was stopped at its time limit, before its first request to a model. Nothing was tested. The \
         last lines of its output usually say why: a missing package, a missing key, a prompt that it waits for.",
        &[
            "Run the command by hand and fix what it prints.",
            "If it waits for a terminal or for input, change `input:` or the command.",
            "If it is slow, raise `timeout_ms:` of the program.",
        ],
    ),
    entry(
        Code::ServerNotUsed,
        "A program never connected to a server of its test",
        "error[server-not-used]: program `agent` never connected to server `desk`",
        "A test lists its servers, and the program must connect to each of them through mcptest. One that has its servers in a file of \
         its own, or that knows only servers that it starts itself, goes past the recording, and none of its calls would be seen.",
        &[
            "Read the servers from the file that `MCPTEST_MCP_CONFIG` names; `MCPTEST_MCP_CONFIG_STDIO` names one for clients that only \
             start programs.",
            "Or read the URL of one server from `MCPTEST_URL_<SERVER>`.",
            "If the program needs the server only sometimes, write `connect: optional` at the server.",
        ],
    ),
    entry(
        Code::ToolsNotOffered,
        "The model of a program was not asked after the tools were listed",
        "error[tools-not-offered]: program `agent` did not ask its model after the tools of server `desk` were listed",
        "The program listed the tools of a server, but sent no request to its model afterwards. So the model cannot have known the \
         tools. Agents that connect to their servers in the background start this way when the model is faster.",
        &["Let the program wait for its servers before it asks its model."],
    ),
    entry(
        Code::Diverged,
        "A program that ran again did something else than recorded",
        "error[rerun-diverged]: program `agent` diverged from its recording: `tools/call search` of server `desk` is not what was recorded",
        "With `--rerun` a program runs again, and its model and servers answer from its recording. It asked something that was not \
         recorded, asked in another order, or no longer asked what was recorded. From there on the recording cannot say what would have \
         happened, so the program was stopped. The message shows the first difference and both values.",
        &[
            "If the change is a mistake, fix the program.",
            "If it is intended, record again: `mcptest run --record`.",
            "If the value changes from run to run (a date, an id), add its place to `ignore_request:` of the program.",
            "`--on-divergence judge` judges what happened up to the divergence.",
        ],
    ),
];
