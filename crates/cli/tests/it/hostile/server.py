"""MCP servers over stdio with bad intentions: server.py MODE PORT MARKER.

A mode is how the server starts, lists its tools, or answers the tool `attack`; everything else it does as it should, so that
what follows shows whether the client got over it. PORT is one that nobody may connect to.
"""

import json
import os
import sys
import threading
import time

MODE, PORT, MARKER = sys.argv[1:4]
MEGABYTE = b"x" * (1 << 20)
STEER = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\n::error::owned\u202eevil\u2066\x00\x7f"
ATTACK = {"name": "attack", "inputSchema": {"type": "object"}}
ECHO = {"name": "echo", "inputSchema": {"type": "object"}}
attacks = 0
flooded = []


def raw(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def line(text):
    raw(text.encode("utf-8", "surrogateescape") + b"\n")


def send(**message):
    line(json.dumps({"jsonrpc": "2.0", **message}))


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def answer(number, words="attacked"):
    send(id=number, result=text(words))


def result(number, inner):
    """A reply whose result is written by hand."""
    line('{"jsonrpc":"2.0","id":%d,"result":%s}' % (number, inner))


def forever(action):
    threading.Thread(target=lambda: [action() for _ in iter(int, 1)], daemon=True).start()


def family(new_session):
    """A process that holds all pipes. It would outlive its parent, and not the tests."""
    import subprocess

    command = ["python3", "-I", "-S", "-c", "import time; time.sleep(60)", MARKER]
    subprocess.Popen(command, start_new_session=new_session)


# How a server starts.


def exits_at_once():
    print("no config" + STEER, file=sys.stderr, flush=True)
    os._exit(3)


def never_answers():
    while sys.stdin.buffer.readline():
        pass
    os._exit(0)


def banner_and_silence():
    line("Welcome " + STEER)
    never_answers()


def banners():
    raw(b"Welcome to the server\n\n\x1b[1mREADY\x1b[0m\n" + b"\xff\xfe\x00\n" * 1000)


def answers_before_asked():
    for number in range(1, 100):
        answer(number, "nobody asked")


def ignores_term():
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def lives_on():
    """Also after its input was closed."""
    time.sleep(60)


def floods_stderr():
    forever(lambda: flooded.append(os.write(2, MEGABYTE)))


def line_without_end():
    forever(lambda: os.write(1, MEGABYTE))
    lives_on()


STARTS = {
    "exits at once": exits_at_once,
    "never answers": never_answers,
    "banner and silence": banner_and_silence,
    "banners": banners,
    "answers before asked": answers_before_asked,
    "ignores the request to end": ignores_term,
    "floods standard error": floods_stderr,
    "a line without end": line_without_end,
}

# What a server lists.


def tools(number, more, cursor=None):
    page = {"tools": [ATTACK, ECHO, *more]}
    send(id=number, result=page if cursor is None else {"tools": more, "nextCursor": cursor})


def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def many(count):
    return lambda number, cursor: tools(number, [tool(f"tool {n}") for n in range(count)])


def names(*all_names):
    return lambda number, cursor: tools(number, [tool(name) for name in all_names])


def schemas(number, cursor):
    remote = f"http://127.0.0.1:{PORT}/schema.json"
    file = "file:///etc/hostname"
    wrong = [
        {"type": 5, "properties": [], "required": "x", "pattern": "("},
        {"$schema": remote, "$ref": remote},
        {"$id": remote, "properties": {"q": {"$ref": "other.json"}, "f": {"$ref": file}}},
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"q": {"pattern": "(a+)+$"}}, "allOf": [{"$dynamicRef": "#x"}]},
    ]
    found = [{**tool(f"schema {n}"), "inputSchema": schema, "outputSchema": schema} for n, schema in enumerate(wrong)]
    first = {**ATTACK, "inputSchema": wrong[1], "outputSchema": wrong[1]}
    send(id=number, result={"tools": [first, ECHO, *found]})


LISTS = {
    "a hundred thousand tools": many(100_000),
    "twenty thousand tools": many(20_000),
    "ten thousand tools": many(9_998),
    "pages in circles": lambda number, cursor: tools(number, [], "b" if cursor == "a" else "a"),
    "pages without end": lambda number, cursor: tools(number, [], str(int(cursor or 0) + 1)),
    "names that steer": names("a" + STEER, "\u202egnp.exe", "x" * 10_000, "strike__strike", "__", "bad__strike", " ", "💥"),
    "a name twice": names("twice" + STEER, "twice" + STEER),
    "an empty name": names(""),
    "a description of 50 MB": lambda number, cursor: tools(number, [tool("long", description="x" * 50_000_000)]),
    "schemas": schemas,
    "no list": lambda number, cursor: send(id=number, result={"tools": STEER}),
    "a list that is refused": lambda number, cursor: send(id=number, error={"code": "x", "message": STEER}),
}

# How `attack` answers.


def dies_in_a_call(number):
    raw(b'{"jsonrpc":"2.0","id":%d,"res' % number)
    print("out of luck" + STEER, file=sys.stderr, flush=True)
    os._exit(3)


def line_of_a_gigabyte(number):
    raw(b'{"jsonrpc":"2.0","id":%d,"result":"' % number)
    for _ in range(1024):
        raw(MEGABYTE)
    raw(b'"}\n')
    answer(number)


def million_notifications(number):
    note = b'{"jsonrpc":"2.0","method":"notifications/progress"}\n' * 10_000
    for _ in range(100):
        raw(note)
    answer(number)


def in_the_flood(number):
    while sum(flooded) < 150 << 20:
        time.sleep(0.01)
    answer(number)


def no_utf8(number):
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\xff\xfe\xc0\xaf"}]}}\n' % number)


def no_json(number):
    raw(b"{'jsonrpc': '2.0', 'id': %d}\n}{\n[[[\n\0\0\0\n" % number)


def wrong_ids(number):
    for wrong in [number + 1, number - 1, -1, 1 << 70, "x", None, [number], {}, True, number + 0.5]:
        send(id=wrong, result=text("not yours"))
    send(id=number, result=text("yours"))
    send(id=number, result=text("again"))


def late(number):
    if attacks == 1:
        threading.Timer(4, lambda: answer(number, "late")).start()
    else:
        # After the late answer to the first.
        threading.Timer(2, lambda: answer(number, "in time")).start()


ERRORS = ["no", 5, [], {}, {"code": "x", "message": {}}, {"code": 1e300, "message": STEER}, {"message": "m", "data": "d" * 1_000_000}]
RESULTS = [
    "5",
    "null",
    '{"content":{"type":"text"}}',
    '{"content":[["text"]]}',
    '{"content":[],"isError":"yes"}',
    '{"content":[{"type":"text","text":5}]}',
    '{"content":[],"structuredContent":{"big":123456789012345678901234567890,"small":-1e-400}}',
]


def errors_of_any_shape(number):
    send(id=number, error=ERRORS[attacks - 1])


def results_of_any_shape(number):
    result(number, RESULTS[attacks - 1])


def wrong_numbers(number):
    """What Python writes and JSON does not know, and what no number can hold."""
    result(number, '{"content":[],"structuredContent":%s}' % ["NaN", "-Infinity", "1e999", "9" * 100_000 + "e99999"][attacks - 1])


def steers(number):
    send(id=number, result=text(STEER, isError=True, structuredContent={STEER: STEER}))


def deep(number):
    result(number, "[" * 100_000 + "]" * 100_000)


def hundred_levels(number):
    """As deep as an answer may be: what is below `structuredContent` stands on the second level."""
    inner = "[" * 99 + "]" * 99
    result(number, '{"content":[],"structuredContent":%s}' % inner)


def long_result(number):
    answer(number, "x" * 50_000_000)


def long_but_kept(number):
    answer(number, "a b@c.de " * 400_000)


def blob(number):
    send(id=number, result={"content": [{"type": "image", "mimeType": "image/png", "data": "A" * 8_000_000}]})


def objects(number):
    """Small on the wire, and of no other use than to be large in memory."""
    result(number, '{"content":[],"structuredContent":[%s{}]}' % ('{"":0},' * 2_000_000))


def notes_of_objects(number):
    raw(b'{"jsonrpc":"2.0","method":"notifications/message","params":[%s0]}\n' % (b'{"":0},' * 2_000_000))
    answer(number)


def closes_its_output(number):
    os.close(1)
    lives_on()


def asks_in_a_loop(number):
    methods = ["sampling/createMessage", "roots/list", "elicitation/create", "ping", STEER]
    asked = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": f"q{n}", "method": methods[n % 5], "params": {}}).encode() + b"\n" for n in range(1000)
    )
    for _ in range(50):
        raw(asked)
    answer(number)


def asks_without_end(number):
    """And reads no answer, for good."""
    while True:
        send(id="q", method="roots/list")


def asks_with_long_ids(number):
    for _ in range(64):
        send(id="q" * 2_000_000, method="roots/list")
    answer(number)


def byte_by_byte(number):
    def drip():
        for byte in json.dumps({"jsonrpc": "2.0", "id": number, "result": text("slow")}).encode():
            raw(bytes([byte]))
            time.sleep(0.1)

    threading.Thread(target=drip, daemon=True).start()


def leaves_a_holder(number):
    family(new_session=False)
    os._exit(4)


def leaves_an_escaped_holder(number):
    family(new_session=True)
    os._exit(4)


ATTACKS = {
    "dies in a call": dies_in_a_call,
    "a line of a gigabyte": line_of_a_gigabyte,
    "a million notifications": million_notifications,
    "floods standard error": in_the_flood,
    "no UTF-8": no_utf8,
    "no JSON": no_json,
    "wrong ids": wrong_ids,
    "late": late,
    "errors of any shape": errors_of_any_shape,
    "results of any shape": results_of_any_shape,
    "numbers that are none": wrong_numbers,
    "words that steer": steers,
    "100 levels": hundred_levels,
    "100,000 levels": deep,
    "a result of 50 MB": long_result,
    "a result of 4 MB": long_but_kept,
    "a blob": blob,
    "many small objects": objects,
    "a notification of many small objects": notes_of_objects,
    "closes its output": closes_its_output,
    "asks in a loop": asks_in_a_loop,
    "asks without end": asks_without_end,
    "asks with long ids": asks_with_long_ids,
    "byte by byte": byte_by_byte,
    "leaves a holder of its pipes": leaves_a_holder,
    "leaves a holder in a session of its own": leaves_an_escaped_holder,
}


def initialize(number, params):
    info = {"name": "bad" + STEER, "version": STEER}
    send(id=number, result={"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info})


def serve():
    global attacks
    for request in map(json.loads, iter(sys.stdin.buffer.readline, b"")):
        number, method, params = request.get("id"), request.get("method"), request.get("params", {})
        if method == "initialize":
            initialize(number, params)
        elif method == "tools/list":
            LISTS.get(MODE, lambda number, cursor: tools(number, []))(number, params.get("cursor"))
        elif method == "tools/call" and params["name"] == "attack":
            attacks += 1
            ATTACKS.get(MODE, answer)(number)
        elif method == "tools/call":
            answer(number, "still here")
    if MODE == "ignores the request to end":
        lives_on()
    os._exit(0)


if MODE not in STARTS | LISTS | ATTACKS:
    sys.exit(f"no such mode: {MODE}")
try:
    STARTS.get(MODE, lambda: None)()
    serve()
except BrokenPipeError:
    os._exit(0)
