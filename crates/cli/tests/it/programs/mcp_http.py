"""A small MCP client over HTTP, without any SDK."""

import json
import os
import urllib.request


def send(url, body, headers=None, timeout=30):
    all_headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(body).encode(), {**all_headers, **(headers or {})})
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return response.headers, response.read().decode()


class Server:
    """One MCP server over HTTP."""

    def __init__(self, url):
        self.url, self.session, self.count = url, {}, 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
        self.ask("initialize", hello)
        send(self.url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, self.session)

    def ask(self, method, params):
        self.count += 1
        body = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        limit = float(os.environ.get("CALL_TIMEOUT", "30")) if method == "tools/call" else 30
        headers, text = send(self.url, body, self.session, limit)
        if headers.get("mcp-session-id"):
            self.session = {"mcp-session-id": headers["mcp-session-id"]}
        if headers.get("content-type", "").startswith("text/event-stream"):
            text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
        answer = json.loads(text)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]
