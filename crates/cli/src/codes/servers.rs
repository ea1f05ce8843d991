//! Servers that cannot be started or talked to, and the mock.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 22] = [
    entry(
        Code::ProgramNotFound,
        "The server program was not found",
        "server `desk`: program `no-such-program` not found",
        "The first word of `command:` is searched in PATH. A path with `/` is relative to the working folder of the server, \
         which is the current folder unless `cwd:` sets another.",
        &["Install it, in CI as well.", "For a program in the repository, write `${SUITE_DIR}/path/to/it`."],
    ),
    entry(
        Code::ProgramNotStarted,
        "The server program cannot be started",
        "server `desk`: cannot start program `./tools.yml`: Permission denied (os error 13)",
        "The file exists, but the system cannot execute it.",
        &["Make it executable (`chmod +x`), or start it with its interpreter: `[python3, server.py]`."],
    ),
    entry(
        Code::NoWorkingFolder,
        "The working folder of a server does not exist",
        "server `desk`: working folder `/nowhere` does not exist",
        "`cwd:` names a folder that does not exist on this machine.",
        &["Write it relative to the suite: `cwd: ${SUITE_DIR}/data`."],
    ),
    entry(
        Code::ServerExited,
        "The server exited without answering",
        "server `desk`: exited (exit status: 3) without answering `initialize`",
        "The program exited before it answered. It lacks an argument, a variable or a file, or it is not an MCP server over \
         stdio. The end of its standard error is below the message.",
        &[
            "Read its standard error.",
            "Run the command by hand: it must wait for messages on standard input.",
            "Set what it needs with `env:` and `cwd:`.",
        ],
    ),
    entry(
        Code::ServerTimeout,
        "The server did not answer in time",
        "server `desk`: did not answer `initialize` within 200 ms",
        "The program runs but does not answer. It may serve HTTP instead of stdio, wait for something, or start slowly because \
         it is downloaded first.",
        &[
            "Check that the command starts an MCP server over stdio.",
            "Raise `timeout_ms:` of the server, or install the program beforehand instead of having `npx` download it.",
        ],
    ),
    entry(
        Code::ServerClosedStdout,
        "The server closed its standard output",
        "server `desk`: closed its standard output without answering `initialize`",
        "A server must keep its standard output open until its input is closed.",
        &[
            "Run the command by hand and send it a message.",
            "Check that no wrapper script redirects its output.",
        ],
    ),
    entry(
        Code::ServerStdoutNoise,
        "The server prints something that is not a message",
        "standard output contains a line that is not a message: hello",
        "Standard output is for the protocol, one JSON message per line. Servers must log to standard error.",
        &["Make the server log to standard error, or silence it with an option or a variable."],
    ),
    entry(
        Code::ServerUnreachable,
        "The server cannot be reached",
        "server `desk`: no reply to `initialize`: cannot connect to 127.0.0.1:1: Connection refused (os error 111)",
        "Nothing listens at `url:`, or a firewall or proxy blocks the connection.",
        &["Start the server, and check host and port.", "In a container, `localhost` is the container itself."],
    ),
    entry(
        Code::ServerRejected,
        "The server rejects the request",
        "server `desk`: responded to `server/discover` with 401 Unauthorized: {\"error\":\"who are you\"}",
        "The server denies access or does not know the path. 401 requires a token, 403 another token, 404 and 405 another \
         path, often `/mcp`.",
        &[
            "Name the variable with the token: `bearer_token_env: MCP_TOKEN`, and set it.",
            "Check the path in `url:`.",
            "If detecting the protocol fails, set `protocol: legacy` or `modern`.",
        ],
    ),
    entry(
        Code::OldTransport,
        "The address uses the old HTTP+SSE transport",
        "server `desk`: `url` is an endpoint of the HTTP+SSE transport (revision 2024-11-05), which mcptest does not \
         support",
        "The server rejects messages and opens an event stream that says where to send them. Streamable HTTP replaced this \
         transport in 2025.",
        &[
            "Set `url:` to the server's Streamable HTTP endpoint, often `/mcp` instead of `/sse`.",
            "If it has none, update the server, or start it over stdio with `command:`.",
        ],
    ),
    entry(
        Code::ToolNotOffered,
        "A tool of a server is not offered",
        "tool `find` of server `desk` is not offered: its `x-mcp-header` is invalid: `q`: \"My Query\" is not a header name",
        "In revision 2026-07-28 a server over HTTP may ask for arguments in headers. A client must not use a tool whose \
         argument cannot be a header, so the model does not see it.",
        &["Fix `x-mcp-header` in the input schema of the tool: a header name, each once, on strings, integers and booleans."],
    ),
    entry(
        Code::BadUrl,
        "The address of a server is invalid",
        "server `desk`: `url` is not a valid URL: relative URL without a base",
        "An address starts with `http://` or `https://`.",
        &["Write the full URL, as in `https://example.com/mcp`; if it comes from a variable, check the variable."],
    ),
    entry(
        Code::BadHeader,
        "A header cannot be sent",
        "server `desk`: the header `X-Team` has a value that is not allowed in a header",
        "A header consists of visible characters on one line. A variable that was read from a file often ends with a line \
         break.",
        &["Fix `headers:`, or the variable in them."],
    ),
    entry(
        Code::BadToolList,
        "The tool list of a server is invalid",
        "server `desk`: `tools/list` is invalid: tool 1 (`search`) has no `inputSchema`",
        "Every tool needs a unique name and an `inputSchema`, and the last page of the list has no `nextCursor`.",
        &["Fix the server; its answer to `tools/list` violates the protocol."],
    ),
    entry(
        Code::NoTools,
        "The server has no tools",
        "error[no-tools]: the server has no tools, and a suite checks calls",
        "`mcptest init --from-server` writes a suite that calls the tools of the server. This server listed none that a suite can \
         call.",
        &["Check how the server is started: some need an option or a key before they list their tools."],
    ),
    entry(
        Code::MalformedReply,
        "A server's reply is malformed JSON",
        "server `desk`: responded to `tools/list` with malformed JSON: result.tools[0]: duplicate key \"name\"",
        "With a duplicate key a reply says two things at once, and which one counts depends on the parser. So it is an error, \
         like any malformed JSON. In the reply to a call it makes the result of that call an error.",
        &["Fix the server so that no object has a key twice."],
    ),
    entry(
        Code::UnknownRevision,
        "The server uses an unknown protocol revision",
        "server `desk`: uses protocol revision `1999-01-01`, which mcptest does not support",
        "The server answered the handshake with a revision that this version of mcptest does not support.",
        &["Update the server, or mcptest."],
    ),
    entry(
        Code::MessageTooLarge,
        "A server sent a line that is too long",
        "server `desk`: sent a line of more than 16777216 bytes",
        "A message is one line of JSON, limited in length, depth and memory. The server printed something else, or a result is \
         huge.",
        &["Check for output that is not a message.", "Make the tools return less."],
    )
    .unprovoked("it takes a server that prints many megabytes; the tests of the transport do so"),
    entry(
        Code::BadMockFault,
        "A fault of the mock is invalid",
        "error[bad-mock-fault]: unknown fault `explode`",
        "`--fault` takes a kind, for every tool or for one, some with a number after a colon: `slow:2000`, `search=hang`.",
        &["Use a kind from the hint; `mcptest mock --help` describes each."],
    ),
    entry(
        Code::MockAddress,
        "The mock cannot listen at this address",
        "error[mock-address]: `nowhere` is not an address to listen on",
        "`--http` takes a free port, or an address of this machine with a free port.",
        &["Use another port; `--http 0` picks a free one and prints the address."],
    ),
    entry(
        Code::InvalidMockServer,
        "An answer of a mock server is invalid",
        "error[invalid-mock-server]: the structured content does not match the output schema: /rain:",
        "A mock server follows the protocol, so that only the faults you ask for are faults. An answer must match the schema \
         of its tool.",
        &["Fix the answer or the schema; the file is documented in `docs/mock.md`."],
    ),
    entry(
        Code::OutOfResources,
        "The system has no threads, processes or open files left",
        "error[out-of-resources]: cannot start: Too many open files (os error 24)",
        "Every run starts servers, and every server needs a process, threads and pipes. Users and containers have limits on \
         each. mcptest runs fewer tests at once if it can; if not even one is possible, it is an error.",
        &[
            "Run fewer tests at once: `--jobs 1`.",
            "Raise the limits (`ulimit -n`, `ulimit -u`, or those of the container), or stop other programs of the same user.",
        ],
    ),
];
