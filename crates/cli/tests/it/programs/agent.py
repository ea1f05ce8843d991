"""An agent without any SDK. The words of the command line say what it does differently from a good one."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from mcp_http import Server, send  # noqa: E402

WORDS = sys.argv[1:]


class Piped(Server):
    """One MCP server through a command."""

    def __init__(self, entry):
        self.count = 0
        self.process = subprocess.Popen([entry["command"], *entry["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
        self.ask("initialize", hello)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.write({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the server has ended")
        return json.loads(line)["result"]


def model(messages, tools):
    body = {"model": "m", "messages": messages}
    if tools:
        body["tools"] = tools
    key = {"authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")}
    for wait in [0.05, 0.1, None]:
        try:
            base = "http://127.0.0.1:1/v1" if "astray" in WORDS else os.environ["OPENAI_BASE_URL"]
            _, text = send(base + "/chat/completions", body, key, 5)
            return json.loads(text)["choices"][0]["message"]
        except (OSError, ValueError, http.client.HTTPException) as error:
            if wait is None or "fragile" in WORDS:
                raise
            print("retry:", error, file=sys.stderr)
            time.sleep(wait)


def servers():
    if "shim" in WORDS:
        with open(os.environ["MCPTEST_MCP_CONFIG_STDIO"]) as file:
            return {name: Piped(entry) for name, entry in json.load(file)["mcpServers"].items()}
    with open(os.environ["MCPTEST_MCP_CONFIG"]) as file:
        return {name: Server(entry["url"]) for name, entry in json.load(file)["mcpServers"].items()}


def offered(all_servers):
    tools, owner = [], {}
    for server in all_servers.values():
        for tool in server.ask("tools/list", {})["tools"]:
            function = {"name": tool["name"], "parameters": tool["inputSchema"]}
            tools.append({"type": "function", "function": function})
            owner[tool["name"]] = server
    return tools, owner


def prompt():
    if "argument" in WORDS:
        return WORDS[1]
    if "arg" in WORDS:
        return WORDS[-1]
    return os.environ["PROMPT"] if "env" in WORDS else sys.stdin.read()


def main():
    if "early" in WORDS:
        print("Traceback: no module named agent", file=sys.stderr)
        sys.exit(3)
    if "terminal" in WORDS and not sys.stdin.isatty():
        print("the input device is not a TTY", file=sys.stderr)
        sys.exit(1)
    if "stubborn" in WORDS:
        # It ignores the polite signal, and so do its child and its grandchild.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        nap = [sys.executable, "-c", "import time; time.sleep(60)", WORDS[-1]]
        again = f"import subprocess, time; subprocess.Popen({nap!r}); time.sleep(60)"
        subprocess.Popen([sys.executable, "-c", again, WORDS[-1]])
    messages = [{"role": "user", "content": prompt()}]
    if "late" in WORDS:
        model(messages, [])
    tools, owner = ([], {}) if "deaf" in WORDS else offered(servers())
    if "late" in WORDS:
        print("done")
        return
    if "mute" in WORDS:
        print("I did not call my model.")
        return
    if "logs" in WORDS:
        print("INFO starting\nINFO connected")
    if "waits" in WORDS:
        time.sleep(60)
    for _ in range(6):
        message = model(messages, tools)
        messages.append(message)
        if not message.get("tool_calls"):
            break
        for call in message["tool_calls"]:
            function = call["function"]
            if "refuses" in WORDS:
                text = "The user did not allow this call."
            else:
                try:
                    args = json.loads(function["arguments"])
                    result = owner[function["name"]].ask("tools/call", {"name": function["name"], "arguments": args})
                    text = json.dumps(result["content"])
                except (OSError, RuntimeError) as error:
                    text = f"error: {error}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if "hangs" in WORDS:
            time.sleep(60)
    if "writes" in WORDS:
        with open("notes.txt", "a") as file:
            file.write("here\n")
        print(sorted(os.listdir(".")), os.getcwd(), file=sys.stderr)
    answer = "" if "silent" in WORDS else message["content"]
    if "json" in WORDS:
        print(json.dumps({"reply": {"text": answer}}))
    elif "file" in WORDS:
        with open("answer.txt", "w") as file:
            file.write(answer)
        print("log line")
    else:
        print(answer)
    sys.exit(1 if "one" in WORDS else 0)


try:
    main()
except Exception as error:  # Without a traceback, which is another one on every machine.
    sys.exit(f"{type(error).__name__}: {error}")
