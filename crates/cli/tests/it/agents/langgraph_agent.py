"""LangGraph with `langchain-mcp-adapters`: Chat Completions, streamed, and a server over stdio."""

import asyncio
import json
import os
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI


async def main(prompt):
    with open(os.environ["MCPTEST_MCP_CONFIG_STDIO"]) as file:
        servers = json.load(file)["mcpServers"]
    client = MultiServerMCPClient(
        {
            name: {"transport": "stdio", "command": server["command"], "args": server["args"]}
            for name, server in servers.items()
        }
    )
    model = ChatOpenAI(model="gpt-5-mini", streaming=True, stream_usage=True)
    agent = create_agent(model, await client.get_tools())
    result = await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]})
    return result["messages"][-1].text


print(asyncio.run(main(sys.argv[1])))
