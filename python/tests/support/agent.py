"""An agent without any SDK: one model over HTTP, one MCP server over HTTP."""

import json
import os
import urllib.request


def post(url, body, headers=None):
    all_headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", **(headers or {})}
    request = urllib.request.Request(url, json.dumps(body).encode(), all_headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        text = response.read().decode()
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            text = next(line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip())
        return json.loads(text) if text.strip() else None, response.headers


class Server:
    def __init__(self, url):
        self.url, self.headers, self.last = url, {}, 0
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
        _, headers = self._post("initialize", about)
        self.headers["mcp-protocol-version"] = "2025-06-18"
        if headers.get("mcp-session-id"):
            self.headers["mcp-session-id"] = headers["mcp-session-id"]
        post(self.url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, self.headers)

    def _post(self, method, params):
        self.last += 1
        reply, headers = post(self.url, {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}, self.headers)
        return reply["result"], headers

    def tools(self):
        return self._post("tools/list", {})[0]["tools"]

    def call(self, name, args):
        return self._post("tools/call", {"name": name, "arguments": args})[0]


class Agent:
    """Reads where its model is when it is created, as SDKs do."""

    def __init__(self):
        self.base = os.environ["OPENAI_BASE_URL"]
        self.key = os.environ.get("OPENAI_API_KEY", "none")

    def ask(self, messages, tools=()):
        body = {"model": "gpt-5-mini", "messages": messages, "tools": list(tools)}
        reply, _ = post(f"{self.base}/chat/completions", body, {"authorization": f"Bearer {self.key}"})
        return reply["choices"][0]["message"]

    def run(self, prompt, server_url):
        server = Server(server_url)
        tools = [
            {"type": "function", "function": {"name": tool["name"], "parameters": tool["inputSchema"]}} for tool in server.tools()
        ]
        messages = [{"role": "user", "content": prompt}]
        for _ in range(5):
            message = self.ask(messages, tools)
            messages.append(message)
            if not message.get("tool_calls"):
                return message["content"]
            for call in message["tool_calls"]:
                result = server.call(call["function"]["name"], json.loads(call["function"]["arguments"]))
                text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        raise RuntimeError("too many turns")
