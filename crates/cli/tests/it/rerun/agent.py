"""An agent without any SDK. Tests change its code and run it again."""

import json
import os
import sys
import time
import urllib.error

sys.dont_write_bytecode = True
from mcp_http import Server, send  # noqa: E402

SYSTEM = "You keep notes.\nBe brief."
RETRIES = 2


def model(messages, tools):
    body = {"model": "m", "messages": messages, "tools": tools}
    key = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    for left in reversed(range(RETRIES)):
        try:
            _, text = send(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, key)
            return json.loads(text)["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            if error.code < 429 or left == 0:
                raise
            time.sleep(float(error.headers.get("retry-after-ms", "50")) / 1000)


def call(server, name, args):
    return server.ask("tools/call", {"name": name, "arguments": args})


def main():
    with open(os.environ["MCPTEST_MCP_CONFIG"]) as file:
        server = Server(json.load(file)["mcpServers"]["desk"]["url"])
    tools = [
        {"type": "function", "function": {"name": tool["name"], "parameters": tool["inputSchema"]}}
        for tool in server.ask("tools/list", {})["tools"]
    ]
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": sys.stdin.read()}]
    while True:
        message = model(messages, tools)
        messages.append(message)
        if not message.get("tool_calls"):
            break
        results = []
        for asked in message["tool_calls"]:
            args = json.loads(asked["function"]["arguments"])
            result = call(server, asked["function"]["name"], args)
            results.append({"role": "tool", "tool_call_id": asked["id"], "content": json.dumps(result["content"])})
        messages.extend(results)
    print(message["content"])


main()
