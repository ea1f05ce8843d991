"""An agent without any SDK: each word of the command line is one thing that it does."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request


def send(url, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    all_headers = {"content-type": "application/json", **(headers or {})}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, all_headers)) as response:
            return response.status, dict(response.headers), response.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def ask(text="hi", **more):
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    key = {"authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")}
    return send(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, key)


def main(word):
    if word == "ask":
        status, headers, body = ask()
        print(json.loads(body)["choices"][0]["message"]["content"])
    elif word == "raw":
        status, headers, body = ask(stream=True)
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
    elif word == "status":
        status, headers, body = ask()
        print(status, headers.get("retry-after"), body.decode())
    elif word == "guards":
        base = os.environ["OPENAI_BASE_URL"]
        root = base.split("/")
        other = "/".join(root[:3] + ["0" * 32] + root[4:])
        for url, headers in [
            (base, {}),
            (other, {}),
            (base, {"host": "example.test"}),
            (base, {"origin": "https://example.test"}),
            (base, {"origin": "http://localhost:3000"}),
            (base.replace("/openai/", "/nothing/"), {}),
            (base, {"upgrade": "websocket", "connection": "upgrade"}),
            (base, {"upgrade": "h2c", "connection": "Upgrade, HTTP2-Settings", "http2-settings": "AAMAAABk"}),
        ]:
            print(send(url + "/chat/completions", {"model": "m", "messages": []}, headers)[0])
    elif word == "cut":
        try:
            ask(stream=True)
        except http.client.IncompleteRead as error:
            print("cut after", error.partial)
    elif word == "half":
        # Sends a request, and closes only its own side of the connection.
        address, path = os.environ["OPENAI_BASE_URL"].removeprefix("http://").split("/", 1)
        host, port = address.split(":")
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "half"}]}).encode()
        head = f"POST /{path}/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-length: {len(body)}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(head.encode() + body)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    elif word == "close":
        sys.stdout.flush()
        os.close(1)
        os.open(os.devnull, os.O_WRONLY)
    elif word == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif word == "call":
        url = os.environ["MCPTEST_URL_SHOP"]
        accept = {"accept": "application/json, text/event-stream"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
        status, headers, body = send(url, {**message, "params": client}, accept)
        accept["mcp-session-id"] = {name.lower(): value for name, value in headers.items()}["mcp-session-id"]
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "refund", "arguments": {}}}
        status, headers, body = send(url, message, accept)
        print(status, body.decode())
    elif word == "fork":
        subprocess.Popen(["sleep", "987"])
    elif word == "escape":
        subprocess.Popen(["sleep", "5"], start_new_session=True)
    elif word == "flood":
        for _ in range(20):
            sys.stdout.write("x" * (1 << 20))
    elif word == "hang":
        print("ready", flush=True)
        parent = os.getppid()
        for _ in range(600):
            if os.getppid() != parent:
                break
            time.sleep(0.1)
    elif word == "die":
        os.kill(os.getpid(), 9)
    else:
        sys.exit(int(word))


for word in sys.argv[1:]:
    main(word)
