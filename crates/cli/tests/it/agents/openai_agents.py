"""The OpenAI Agents SDK: Responses, streamed."""

import asyncio
import os
import sys

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp


async def main(prompt):
    set_tracing_disabled(True)
    async with MCPServerStreamableHttp(
        name="everything", params={"url": os.environ["MCPTEST_URL_EVERYTHING"]}, client_session_timeout_seconds=30
    ) as server:
        agent = Agent(name="Assistant", instructions="Use the tools.", model="gpt-5-mini", mcp_servers=[server])
        result = Runner.run_streamed(agent, prompt)
        async for _ in result.stream_events():
            pass
        return result.final_output


print(asyncio.run(main(sys.argv[1])))
