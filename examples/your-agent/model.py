"""A scripted model on loopback, so that the example can be recorded without a key.

    python model.py COMMAND..

runs a command with OPENAI_BASE_URL set to it, and ends with the command. It does what its system prompt says, and nothing
else: it speaks Chat Completions, knows three instructions, and reads order numbers.
"""

import json
import os
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


def reply(messages):
    """The next message of the assistant."""
    system, request = messages[0]["content"], messages[1]["content"]
    if not (found := re.search(r"\d+", request)):
        return {"content": "I take care of orders. Which one is it?"}
    order = found.group()
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    results = [message["content"] for message in messages if message["role"] == "tool"]
    done = {call["function"]["name"]: result for call, result in zip(calls, results)}
    if "Look up the order" in system and "find_order" not in done:
        return ask(len(calls), "find_order", {"order": order})
    if done.get("find_order", "").startswith("error"):
        return {"content": f"I could not find order {order}."}
    if "refund_order" not in done:
        # Without a look at the order, the amount is a guess.
        amount = json.loads(done["find_order"])["total"] if "find_order" in done else 20
        return ask(len(calls), "refund_order", {"order": order, "amount": amount})
    if done["refund_order"].startswith("error") and "Always tell" not in system:
        return {"content": f"I am sorry: the refund of order {order} did not work. A colleague will take care of it."}
    return {"content": f"I have refunded order {order}."}


def ask(count, name, args):
    call = {"id": f"call_{count + 1}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    return {"content": None, "tool_calls": [call]}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", **reply(body["messages"])}
        finish = "tool_calls" if "tool_calls" in message else "stop"
        words = [len(json.dumps(body["messages"]).split()), len(json.dumps(message).split())]
        answer = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1767225600,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": finish, "message": message}],
            "usage": {"prompt_tokens": words[0], "completion_tokens": words[1], "total_tokens": sum(words)},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    environment = {**os.environ, "OPENAI_BASE_URL": address, "OPENAI_API_KEY": "sk-scripted-model-needs-none"}
    sys.exit(subprocess.run(sys.argv[1:], env=environment).returncode)
