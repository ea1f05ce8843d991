"""Pydantic AI with a configuration file of servers: Chat Completions, plain."""

import os
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import load_mcp_toolsets

agent = Agent("openai-chat:gpt-5-mini", toolsets=load_mcp_toolsets(os.environ["MCPTEST_MCP_CONFIG"]))
print(agent.run_sync(sys.argv[1]).output)
