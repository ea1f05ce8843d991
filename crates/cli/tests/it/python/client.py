"""Lists and calls the tools of `mcptest mock` with the official client: client.py BINARY FILE URL."""

import asyncio
import sys

import mcp
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client


def text(result):
    return result.content[0].text


async def use(call, list_tools, era):
    tools = [tool.name for tool in (await list_tools()).tools]
    assert tools == ["get_forecast", "get_alerts"], tools
    assert text(await call("get_alerts", {"region": "north"})) == "No warnings for north."
    forecast = await call("get_forecast", {"city": "Bergen"})
    structured = getattr(forecast, "structured_content", None) or getattr(forecast, "structuredContent", None)
    assert structured == {"city": "Bergen", "rain": True}, structured
    refused = await call("get_forecast", {"city": 7})
    assert getattr(refused, "is_error", None) or getattr(refused, "isError", None), refused
    print(f"{era}: ok", flush=True)


async def first_generation(command, url):
    """The older handshake, which is all that 1.x knows."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client as http_client

    for name, transport in [("stdio", stdio_client(command)), ("http", http_client(url))]:
        async with transport as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                await session.send_ping()
                await use(session.call_tool, session.list_tools, f"handshake over {name}")


async def second_generation(command, url):
    """Every request on its own, as 2.x prefers, and the handshake when it is asked for."""
    for mode in ["auto", "legacy"]:
        for name, target in [("stdio", stdio_client(command)), ("http", url)]:
            async with mcp.Client(target, mode=mode) as client:
                expected = "2026-07-28" if mode == "auto" else "2025-11-25"
                assert client.protocol_version == expected, client.protocol_version
                await use(client.call_tool, client.list_tools, f"{expected} over {name}")


async def main():
    binary, file, url = sys.argv[1:]
    command = StdioServerParameters(command=binary, args=["mock", "--tools-from", file])
    if hasattr(mcp, "Client"):
        await second_generation(command, url)
    else:
        await first_generation(command, url)


asyncio.run(asyncio.wait_for(main(), 60))
