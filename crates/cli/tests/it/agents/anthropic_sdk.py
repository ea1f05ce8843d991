"""The `anthropic` package with its tool runner: Messages, streamed."""

import asyncio
import os
import sys

from anthropic import AsyncAnthropic
from anthropic.lib.tools.mcp import async_mcp_tool
from mcp import Client


async def main(prompt):
    async with Client(os.environ["MCPTEST_URL_EVERYTHING"]) as server:
        runner = AsyncAnthropic().beta.messages.tool_runner(
            model="claude-sonnet-4-5",
            max_tokens=1024,
            messages=[{"role": "user", "content": prompt}],
            tools=[async_mcp_tool(tool, server.session) for tool in (await server.list_tools()).tools],
            stream=True,
        )
        async for stream in runner:
            message = await stream.get_final_message()
        return "".join(block.text for block in message.content if block.type == "text")


print(asyncio.run(main(sys.argv[1])))
