//! Servers that cannot be started or talked to, and the mock.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 22] = [
    entry(
        Code::ProgramNotFound,
        "The program of a server was not found",
        "server `desk`: program `no-such-program` not found",
        "The first word of `command:` is looked for in the folders of PATH. A path with `/` is taken from the working folder of the \
         server, which is the current folder unless `cwd:` says otherwise.",
        &["Install it, also where CI runs.", "For a program of the repository write `${SUITE_DIR}/path/to/it`."],
    ),
    entry(
        Code::ProgramNotStarted,
        "The program of a server cannot be started",
        "server `desk`: cannot start program `./tools.yml`: Permission denied (os error 13)",
        "The file is there, and the system does not start it.",
        &["Make it executable (`chmod +x`), or name its interpreter first: `[python3, server.py]`."],
    ),
    entry(
        Code::NoWorkingFolder,
        "The working folder of a server is not there",
        "server `desk`: working folder `/nowhere` does not exist",
        "`cwd:` names a folder that does not exist on this machine.",
        &["Write it from the folder of the suite: `cwd: ${SUITE_DIR}/data`."],
    ),
    entry(
        Code::ServerExited,
        "The server ended without answering",
        "server `desk`: exited (exit status: 3) without answering `initialize`",
        "The program started and stopped before it answered. It lacks an argument, a variable or a file, or it is no server over \
         standard input and output. The end of what it printed to standard error stands below the message.",
        &[
            "Read its standard error.",
            "Run the command by hand: it has to wait for messages on standard input.",
            "Give it what it lacks with `env:` and `cwd:`.",
        ],
    ),
    entry(
        Code::ServerTimeout,
        "The server did not answer in time",
        "server `desk`: did not answer `initialize` within 200 ms",
        "The program runs and says nothing. It may serve HTTP instead of standard input and output, wait for something, or be slow \
         to start because it is downloaded first.",
        &[
            "Check that the command starts an MCP server over stdio.",
            "Raise `timeout_ms:` of the server, or install the program before instead of having `npx` fetch it.",
        ],
    ),
    entry(
        Code::ServerClosedStdout,
        "The server closed its standard output",
        "server `desk`: closed its standard output without answering `initialize`",
        "A server keeps both of its pipes open until its input is closed.",
        &[
            "Run the command by hand and send it a message.",
            "See that nothing in a wrapper script redirects its output.",
        ],
    ),
    entry(
        Code::ServerStdoutNoise,
        "The server prints something that is no message",
        "standard output contains a line that is not a message: hello",
        "Standard output belongs to the protocol, one JSON message per line. What a server logs goes to standard error.",
        &["Have the server log to standard error, or make it quiet with an option or a variable."],
    ),
    entry(
        Code::ServerUnreachable,
        "Nothing answers at the address of a server",
        "server `desk`: no reply to `initialize`: cannot connect to 127.0.0.1:1: Connection refused (os error 111)",
        "Nobody listens at `url:`, or something between refuses the connection.",
        &["Start the server, and check host and port.", "In a container, `localhost` is the container itself."],
    ),
    entry(
        Code::ServerRejected,
        "The server refuses the request",
        "server `desk`: responded to `server/discover` with 401 Unauthorized: {\"error\":\"who are you\"}",
        "There is a server, and it does not let this client in or does not know the path. 401 wants a token, 403 another one, \
         404 and 405 another path, which is often `/mcp`.",
        &[
            "Name the variable that holds a token: `bearer_token_env: MCP_TOKEN`, and set it.",
            "Check the path in `url:`.",
            "If the server is old or new and asking fails, say so with `protocol: legacy` or `modern`.",
        ],
    ),
    entry(
        Code::OldTransport,
        "The address is that of the older HTTP+SSE transport",
        "server `desk`: `url` is an endpoint of the HTTP+SSE transport (revision 2024-11-05), which mcptest does not \
         support",
        "The server answers messages with an error and opens a stream of events that says where messages go. Streamable HTTP \
         replaced this transport in 2025.",
        &[
            "Write the server's Streamable HTTP endpoint in `url:`, often `/mcp` in place of `/sse`.",
            "If it has none, update the server, or start it over stdio with `command:`.",
        ],
    ),
    entry(
        Code::ToolNotOffered,
        "A tool of a server is not offered",
        "tool `find` of server `desk` is not offered: its `x-mcp-header` is invalid: `q`: \"My Query\" is not a header name",
        "In revision 2026-07-28 a server over HTTP may ask for arguments in headers. A client must not use a tool that asks for \
         what no header can be, so the model does not see it.",
        &["Fix `x-mcp-header` in the input schema of the tool: a header name, each once, on strings, integers and booleans."],
    ),
    entry(
        Code::BadUrl,
        "The address of a server is none",
        "server `desk`: `url` is not a valid URL: relative URL without a base",
        "An address begins with `http://` or `https://`.",
        &["Write it whole, as in `https://example.com/mcp`; check the variable, if it comes from one."],
    ),
    entry(
        Code::BadHeader,
        "A header cannot be sent",
        "server `desk`: the header `X-Team` has a value that is not allowed in a header",
        "Headers hold visible characters on one line. A variable that was read from a file often ends with a line break.",
        &["Correct `headers:`, or the variable in them."],
    ),
    entry(
        Code::BadToolList,
        "The list of tools of a server is wrong",
        "server `desk`: `tools/list` is invalid: tool 1 (`search`) has no `inputSchema`",
        "Every tool needs a name of its own and an `inputSchema`, and the last page of the list has no `nextCursor`.",
        &["Mend the server; its answer to `tools/list` breaks the protocol."],
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
        "A duplicate key lets a reply say two things at once, and which one a client takes is up to its parser. So it is an \
         error here, like any JSON that cannot be read. In the reply to a call it makes the result of that call an error.",
        &["Fix the server so that every key of an object is there once."],
    ),
    entry(
        Code::UnknownRevision,
        "The server speaks an unknown revision of the protocol",
        "server `desk`: uses protocol revision `1999-01-01`, which mcptest does not support",
        "The server answered the handshake with a revision that this version does not have.",
        &["Update the server, or mcptest."],
    ),
    entry(
        Code::MessageTooLarge,
        "A server sent a line that is too long",
        "server `desk`: sent a line of more than 16777216 bytes",
        "A message is one line of JSON with a bound on its length, its levels and the memory it would take. Something else was \
         printed, or an answer is huge.",
        &["Look for output that is no message.", "Have the tools answer with less."],
    )
    .unprovoked("it takes a server that prints many megabytes; the tests of the transport do so"),
    entry(
        Code::BadMockFault,
        "A fault of the mock cannot be used",
        "error[bad-mock-fault]: unknown fault `explode`",
        "`--fault` takes a kind, some with a number behind a colon, for every tool or for one: `slow:2000`, `search=hang`.",
        &["Take a kind of the list in the hint; `mcptest mock --help` says what each does."],
    ),
    entry(
        Code::MockAddress,
        "The mock cannot listen there",
        "error[mock-address]: `nowhere` is not an address to listen on",
        "`--http` takes a port, or an address and a port of this machine that nobody uses.",
        &["Give another port; `--http 0` takes a free one and prints where it listens."],
    ),
    entry(
        Code::InvalidMockServer,
        "An answer of a mock server cannot be used",
        "error[invalid-mock-server]: the structured content does not match the output schema: /rain:",
        "A mock server keeps the rules of the protocol, so that only the faults you ask for are faults. An answer has to fit the \
         schema of its tool.",
        &["Correct the answer or the schema; the reference of the file is in `docs/mock.md`."],
    ),
    entry(
        Code::OutOfResources,
        "The system has no threads, processes or open files left",
        "error[out-of-resources]: cannot start: Too many open files (os error 24)",
        "Every run has servers, and every server has a process, threads and pipes. Users and containers have limits on each. A \
         run does with fewer at once where it can; where not even one fits, it is an error.",
        &[
            "Run fewer at once: `--jobs 1`.",
            "Raise the limits (`ulimit -n`, `ulimit -u`, or those of the container), or end other programs of the same user.",
        ],
    ),
];
