//! Programs that are recorded.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 6] = [
    entry(
        Code::ModelUnseen,
        "The model of a recorded program was not seen",
        "error[model-unseen]: the model was not seen: no request to a known model API went through the proxy",
        "The proxy sees only requests that are sent to it. A client with a base URL in its code, one that was created before its \
         variable was set, or one that signs its requests (Bedrock, Vertex) bypasses it. Without the model there is no record of which calls were requested and refused.",
        &[
            "Let the client read its base URL from the environment: `mcptest record --help` lists the variables.",
            "If the client reads no variable, pass the value in code.",
            "With `--model unseen` only calls of tools are recorded.",
        ],
    ),
    entry(
        Code::NoAnswer,
        "The answer of a recorded program cannot be read",
        "warning[no-answer]: the answer of the program cannot be read: there is no answer among its events (codex-exec)",
        "`--answer` says where the program writes its answer, but there was none. The trace is recorded without a final \
         response, so gates that need one cannot be assessed.",
        &["Look at the output of the program.", "Give the format that it prints: `mcptest record --help` lists them."],
    ),
    entry(
        Code::ProgramEndedEarly,
        "A program ended before it called its model",
        "error[program-ended-early]: program `agent` ended with exit code 3 before it called its model",
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
        "A test lists its servers, and the program must connect to each of them through mcptest. A program that reads its servers from its own file, or only uses servers that it starts itself, bypasses the recording, and none of its calls are seen.",
        &[
            "Read the servers from the file that `MCPTEST_MCP_CONFIG` names; `MCPTEST_MCP_CONFIG_STDIO` names one for clients that only \
             start programs.",
            "Or read the URL of one server from `MCPTEST_URL_<SERVER>`.",
            "If the program needs the server only sometimes, write `connect: optional` at the server.",
        ],
    ),
    entry(
        Code::ToolsNotOffered,
        "A program did not call its model after its tools were listed",
        "error[tools-not-offered]: program `agent` did not call its model after the tools of server `desk` were listed",
        "The program listed the tools of a server, but sent no request to its model after that, so the model did not know the tools. This happens when an agent connects to its servers in the background and calls the model before they are ready.",
        &["Make the program wait for its servers before it calls its model."],
    ),
    entry(
        Code::Diverged,
        "A rerun diverged from its recording",
        "error[rerun-diverged]: program `agent` diverged from its recording: `tools/call search` of server `desk` is not what was recorded",
        "With `--rerun` a program runs again, and its model and servers answer from its recording. It sent a request that was not recorded, sent requests in another order, or did not send a recorded request. The recording cannot show what would have happened after that, so the program was stopped. The message shows the first difference and both values.",
        &[
            "If the change is a mistake, fix the program.",
            "If the change is intended, re-record: `mcptest run --record`.",
            "If the value changes from run to run (a date, an id), add its place to `ignore_request:` of the program.",
            "`--on-divergence judge` judges what happened up to the divergence.",
        ],
    ),
];
