"""Agents made with real SDKs, recorded and replayed offline in pytest, with and without xdist."""

import json
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent.parent

OPENAI = """
import json
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from openai import AsyncOpenAI

async def run(mcptest, prompt):
    model = AsyncOpenAI()
    url = mcptest.url("notes")
    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as server:
        await server.initialize()
        listed = (await server.list_tools()).tools
        tools = [{"type": "function", "function": {"name": t.name, "parameters": t.inputSchema}} for t in listed]
        messages = [{"role": "user", "content": prompt}]
        while True:
            reply = await model.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools)
            message = reply.choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                result = await server.call_tool(call.function.name, json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result.content[0].text})
"""

ANTHROPIC = """
from anthropic import AsyncAnthropic
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

async def run(mcptest, prompt):
    model = AsyncAnthropic()
    url = mcptest.url("notes")
    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as server:
        await server.initialize()
        listed = (await server.list_tools()).tools
        tools = [{"name": t.name, "description": t.description or "", "input_schema": t.inputSchema} for t in listed]
        messages = [{"role": "user", "content": prompt}]
        while True:
            reply = await model.messages.create(model="claude-sonnet-4-5", max_tokens=99, messages=messages, tools=tools)
            if reply.stop_reason != "tool_use":
                return reply.content[0].text
            messages.append({"role": "assistant", "content": [block.model_dump() for block in reply.content]})
            results = []
            for block in reply.content:
                if block.type == "tool_use":
                    result = await server.call_tool(block.name, block.input)
                    content = [{"type": "text", "text": result.content[0].text}]
                    results.append({"type": "tool_result", "tool_use_id": block.id, "content": content})
            messages.append({"role": "user", "content": results})
"""

PYDANTIC_AI = """
from pydantic_ai import Agent
from pydantic_ai.mcp import load_mcp_toolsets

async def run(mcptest, prompt):
    agent = Agent("openai-chat:gpt-5-mini", toolsets=load_mcp_toolsets(mcptest.config))
    return (await agent.run(prompt)).output
"""

LANGGRAPH = """
from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI

async def run(mcptest, prompt):
    client = MultiServerMCPClient({"notes": {"transport": "streamable_http", "url": mcptest.url("notes")}})
    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), await client.get_tools())
    result = await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]})
    return result["messages"][-1].text
"""

TEST = """
import pytest

GATES = {{
    "trajectory": {{"calls": [{{"name": "search", "server": "notes", "args": {{"exact": {{"q": "rain"}}}}, "status": "ok"}}]}},
    "narrative": {{}},
    "stability": {{}},
}}

@pytest.mark.mcptest(gates=GATES, runs=2, servers={{"notes": {notes!r}}})
async def test_note(mcptest):
    mcptest.answer = await run(mcptest, "What is the note about?")
"""

# Plugins of the SDKs' own dependencies take longer to load than the tests take to run.
QUIET = ["-p", "no:cacheprovider", "-p", "no:langsmith_plugin"]


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
@pytest.mark.parametrize(
    "agent", [OPENAI, ANTHROPIC, PYDANTIC_AI, LANGGRAPH], ids=["openai", "anthropic", "pydantic-ai", "langgraph"]
)
def test_an_agent_is_recorded_and_replayed(pytester, model, notes, agent, workers):
    pytester.makepyfile(test_agent=agent + TEST.format(notes=notes))
    pytester.runpytest_subprocess(*QUIET, "--mcptest-record", *workers).assert_outcomes(passed=5)
    asked = len(model.requests)
    assert asked == 4
    for run in (1, 2):
        (path,) = Path("cassettes/test_agent.py").glob(f"*/pytest/{run}.json")
        trace = json.loads(path.read_text())["trace"]
        assert [(call["name"], call["server"], call["witness"]) for call in trace["tool_calls"]] == [("search", "notes", "both")]
        assert trace["final_response"] == "The note is about rain."
    # Nothing of the agent is needed any more, not even its packages.
    pytester.makepyfile(test_agent="async def run(*_): raise ValueError\n\n" + TEST.format(notes=notes))
    pytester.runpytest_subprocess(*QUIET, *workers).assert_outcomes(passed=5)
    assert len(model.requests) == asked
