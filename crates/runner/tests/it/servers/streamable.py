"""The official server for Python, in its versions 1 and 2, over Streamable HTTP; prints its port first.

streamable.py stream|json
"""

import asyncio
import socket
import sys

import uvicorn
from pydantic import BaseModel

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
    from mcp_types import SamplingMessage, TextContent

    def make(is_json):
        server = MCPServer("python", version="7.8.9", instructions="Be kind.", log_level="CRITICAL")
        return server, lambda: server.streamable_http_app(json_response=is_json)
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP
    from mcp.types import SamplingMessage, TextContent

    def make(is_json):
        server = FastMCP("python", instructions="Be kind.", log_level="CRITICAL", json_response=is_json)
        return server, server.streamable_http_app


server, app = make("json" in sys.argv)


class Sure(BaseModel):
    sure: bool


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


@server.tool()
async def ask(ctx: Context) -> str:
    """Asks back three times, and reports progress in between."""
    await ctx.report_progress(1, 3, "on it")
    answers = [(await ctx.elicit("Sure?", Sure)).action]
    message = SamplingMessage(role="user", content=TextContent(type="text", text="hi"))
    for question in [lambda: ctx.session.create_message([message], max_tokens=5), lambda: ctx.session.list_roots()]:
        try:
            answers.append(str(await question()))
        except Exception as error:
            answers.append(str(error))
    return ", ".join(answers)


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
# Connections wait from here on, although nobody takes them yet.
listener.listen()
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app(), log_level="critical")).run(sockets=[listener])
