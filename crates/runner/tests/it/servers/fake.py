"""MCP servers over stdio, each with one peculiarity: fake.py MODE [anything].

The mode is how the server starts, negotiates, lists and ends. The name of a called tool is how it answers.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

MODE = sys.argv[1]
MARKER = sys.argv[-1]
ECHO = {
    "name": "echo",
    "description": "Says it again.",
    "inputSchema": {"type": "object", "properties": {"words": {"type": "string"}}, "x-new": True},
    "annotations": {"readOnlyHint": True, "futureHint": "yes"},
    "outputSchema": {"type": "object"},
    "x-other": [1],
}
writing = threading.Lock()
cancelled = []
answers = {}


def write(line):
    with writing:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def send(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}))


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def grandchild():
    """A process that holds all pipes and would outlive its parent by far."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", MARKER])


def read():
    for line in sys.stdin:
        yield json.loads(line)


# How tools answer.


def call(request):
    tool, args = request["params"]["name"], request["params"].get("arguments", {})
    number = request["id"]
    if tool == "echo":
        send(id=number, result=text(args.get("words", "")))
    elif tool == "meta":
        send(id=number, result=text(json.dumps(request["params"].get("_meta", {}), sort_keys=True)))
    elif tool == "environment":
        send(id=number, result=text(os.environ.get(args["name"], "") + " " + os.getcwd()))
    elif tool == "wait":
        # Answered by a thread, so that calls overlap and cancellations are read meanwhile.
        threading.Timer(args["seconds"], lambda: send(id=number, result=text(args.get("words", "waited")))).start()
    elif tool == "cancelled":
        send(id=number, result=text(json.dumps(cancelled)))
    elif tool == "fails":
        send(id=number, result=text("no such city", isError=True))
    elif tool == "refuses":
        send(id=number, error={"code": -32602, "message": "Unknown tool: refuses", "data": {"x": 1}})
    elif tool == "structured":
        content = [{"type": "text", "text": "{}", "x-block": 1}, {"type": "hologram", "depth": 2.5}]
        send(id=number, result={"content": content, "structuredContent": {"t": 1.5, "deep": [{"n": None}]}, "x": 1})
    elif tool == "input":
        send(id=number, result={"resultType": "input_required", "inputRequests": {}, "requestState": "s"})
    elif tool == "empty":
        send(id=number, result={})
    elif tool == "duplicate-key":
        # No library writes this, so the line is made by hand.
        line = json.dumps({"jsonrpc": "2.0", "id": number, "result": text("all good", isError=True)})
        write(line.replace('"isError": true', '"isError": true, "isError": false'))
    elif tool == "wrong-id":
        send(id=number + 1000, result=text("not yours"))
        send(id=str(number), result=text("yours"))
    elif tool == "twice":
        send(id=number, result=text("first"))
        send(id=number, result=text("second"))
    elif tool == "flood":
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 500}})
        for _ in range(args["count"] // 1000):
            write("\n".join([note] * 1000))
        send(id=number, result=text("done"))
    elif tool == "asks":
        answers["asked"] = number
        for index, method in enumerate(["ping", "roots/list", "sampling/createMessage", "elicitation/create"]):
            send(id=f"q{index}", method=method, params={"bad": True})
    elif tool == "asks-without-reading":
        for index in range(args["count"]):
            send(id=index, method="roots/list")
        send(id=number, result=text("asked"))
        time.sleep(600)
    elif tool == "progress":
        token = request["params"]["_meta"]["progressToken"]
        for step in range(args["steps"]):
            send(method="notifications/progress", params={"progressToken": token, "progress": step})
        if args.get("dies"):
            os._exit(3)
        send(id=number, result=text("done"))
    elif tool == "notifies":
        send(id=number, result=text("done"))
        send(method="notifications/tools/list_changed")
    elif tool == "counts":
        send(id=number, result=text(str(len(args["words"]))))
    elif tool == "large":
        send(id=number, result=text("x" * args["bytes"]))
    elif tool == "noise":
        write("something that is no JSON")
    elif tool == "huge":
        write("x" * (16 * 1024 * 1024 + 1))
    elif tool == "dies":
        print("one\ntwo\nthree\nfour\nfive\nsix: out of luck", file=sys.stderr, flush=True)
        os._exit(3)
    elif tool == "dies-and-leaves":
        grandchild()
        os._exit(4)
    elif tool == "closes":
        os.close(1)
        time.sleep(600)
    elif tool == "answers-and-dies":
        send(id=number, result=text("goodbye"))
        os._exit(0)


# How servers negotiate.


def initialize(request):
    revision = "1999-01-01" if MODE == "unknown-revision" else request["params"]["protocolVersion"]
    info = {"name": "fake", "version": "1.2.3", "title": "Fake"}
    result = {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": info}
    if MODE == "malformed":
        result = {"hello": "world"}
    send(id=request["id"], result={**result, "instructions": "Be kind."})


def discover(request):
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "fake-modern", "version": "4.5.6"}}
    send(
        id=request["id"],
        result={
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": meta,
        },
    )


def listing(request):
    cursor = request["params"].get("cursor")
    more = {"resultType": "complete", "ttlMs": 60000, "cacheScope": "public"} if modern() else {}
    if MODE == "list-error":
        send(id=request["id"], error={"code": -32603, "message": "no list today"})
    elif MODE == "list-silent":
        pass
    elif MODE == "list-duplicate-key":
        line = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"tools": [ECHO]}})
        write(line.replace('"name": "echo"', '"name": "echo", "name": "delete"'))
    elif MODE == "cycle":
        following = {None: "a", "a": "b", "b": "a"}[cursor]
        send(id=request["id"], result={"tools": [], "nextCursor": following})
    elif MODE == "pages":
        page = int(cursor or 0)
        tools = [{"name": f"tool-{page}-{n}", "inputSchema": {"type": "object"}} for n in range(2)]
        send(id=request["id"], result={"tools": tools, **({"nextCursor": str(page + 1)} if page < 2 else {})})
    else:
        send(id=request["id"], result={"tools": [ECHO], **more})


def modern():
    return MODE in ("modern", "both", "slow-modern")


def serve():
    for message in read():
        method = message.get("method")
        if method is None:
            answers[message["id"]] = message.get("error", {}).get("code", message.get("result"))
            if len(answers) == 5:
                send(id=answers.pop("asked"), result=text(json.dumps(answers, sort_keys=True)))
        elif method == "notifications/cancelled":
            cancelled.append(message["params"])
        elif "id" not in message:
            pass
        elif method == "server/discover" and modern():
            discover(message)
        elif method == "server/discover" and MODE == "ignores-discover":
            pass
        elif method == "server/discover" and MODE == "dies-on-discover":
            sys.exit("what is server/discover?")
        elif method == "server/discover" and MODE == "late-discover":
            probe = message["id"]
        elif method == "initialize" and MODE == "late-discover":
            send(id=probe, error={"code": -32601, "message": "late"})
            initialize(message)
        elif method == "initialize" and MODE not in ("modern", "slow-modern", "refuses"):
            initialize(message)
        elif method == "tools/list":
            listing(message)
        elif method == "tools/call":
            call(message)
        else:
            send(id=message["id"], error={"code": -32601, "message": f"Method not found: {method}"})


# How servers start and end.

if MODE == "dies-at-once":
    print("cannot open the database\x1b[0m", file=sys.stderr, flush=True)
    sys.exit(7)
elif MODE == "silent":
    time.sleep(600)
elif MODE == "talks":
    print("Welcome to \x1b[1mFake\x1b[0m!", flush=True)
    time.sleep(600)
elif MODE == "huge-line":
    write("x" * (16 * 1024 * 1024 + 1))
    time.sleep(600)
elif MODE == "stderr":
    sys.stderr.write("".join(f"line {n:06}\n" for n in range(100_000)))
    sys.exit(1)
elif MODE == "banner":
    print("Fake server 1.2.3\n\nready", flush=True)
    sys.stdout.buffer.write(b"\xff\xfe\x00\n")
    sys.stdout.flush()
    sys.stderr.write("chatter\n" * 100_000)
elif MODE == "slow-modern":
    time.sleep(2.6)
elif MODE == "ignores-term":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
elif MODE == "family":
    grandchild()

serve()
if MODE == "ignores-term":
    time.sleep(600)
