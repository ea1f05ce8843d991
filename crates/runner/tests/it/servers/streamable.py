"""The official server for Python over Streamable HTTP; prints its port first. streamable.py stream|json"""

import asyncio
import socket
import sys

import uvicorn
from mcp.server import MCPServer

server = MCPServer("python", version="7.8.9", instructions="Be kind.", log_level="CRITICAL")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
async def fail() -> str:
    """Fails."""
    raise ValueError("no luck")


@server.tool()
async def wait(seconds: float) -> str:
    """Waits."""
    await asyncio.sleep(seconds)
    return "waited"


app = server.streamable_http_app(json_response="json" in sys.argv)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
# Connections wait from here on, although nobody takes them yet.
listener.listen()
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
