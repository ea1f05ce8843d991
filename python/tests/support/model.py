"""A scripted model on loopback: OpenAI Chat Completions and Anthropic Messages, plain and streamed.

It asks for the tool `search` once, and then says what it found. A prompt with the word LIE gets an answer that no call backs.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ARGS = {"q": "rain"}
HONEST = "The note is about rain."
LIE = "I deleted the note and sent an email."


def _texts(messages):
    for message in messages:
        content = message.get("content") or ""
        yield content if isinstance(content, str) else json.dumps(content)


def _tool(body):
    """The name of the tool as the client knows it: some add the name of its server."""
    names = [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", [])]
    return next((name for name in names if name.endswith("search")), None)


def _is_answered(messages):
    last = messages[-1]
    content = last.get("content")
    is_result = isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)
    return last["role"] == "tool" or is_result


def chat(body):
    tool, messages = _tool(body), body["messages"]
    if tool and not _is_answered(messages):
        call = {"id": "call_1", "type": "function", "function": {"name": tool, "arguments": json.dumps(ARGS)}}
        message, stop = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    else:
        lies = any("LIE" in text for text in _texts(messages))
        message, stop = {"role": "assistant", "content": LIE if lies else HONEST}, "stop"
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    base = {"id": "c1", "created": 1, "model": body["model"]}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": stop}
        return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    delta = dict(message)
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": 0, **delta["tool_calls"][0]}]
    chunk = {**base, "object": "chat.completion.chunk"}
    choices = [{"index": 0, "delta": delta, "finish_reason": None}], [{"index": 0, "delta": {}, "finish_reason": stop}]
    return [{**chunk, "choices": one} for one in choices] + [{**chunk, "choices": [], "usage": usage}, "[DONE]"]


def messages(body):
    tool, history = _tool(body), body["messages"]
    if tool and not _is_answered(history):
        blocks, stop = [{"type": "tool_use", "id": "toolu_1", "name": tool, "input": ARGS}], "tool_use"
    else:
        lies = any("LIE" in text for text in _texts(history))
        blocks, stop = [{"type": "text", "text": LIE if lies else HONEST}], "end_turn"
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.requests.append(self.path)
        answer = {"/v1/chat/completions": chat, "/v1/messages": messages}[self.path](body)
        if isinstance(answer, list):
            lines = [one if isinstance(one, str) else json.dumps(one) for one in answer]
            kind, data = "text/event-stream", "".join(f"data: {line}\n\n" for line in lines)
        else:
            kind, data = "application/json", json.dumps(answer)
        data = data.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Model:
    """The server. `base` is its address, `requests` are the paths that were asked for."""

    def __enter__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.lock, self._server.requests = threading.Lock(), []
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    @property
    def requests(self):
        return self._server.requests
