"""A support agent. It reads a request, asks a model, calls the tools of a shop, and prints what it tells the customer.

It is an ordinary program: nothing in it knows about tests. It finds its shop at SHOP_URL and its model at OPENAI_BASE_URL,
which the `openai` package reads by itself.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import Client, MCPError
from openai import AsyncOpenAI

SHOP_URL = os.environ.get("SHOP_URL", "http://127.0.0.1:8000/mcp")
PROMPT = Path(os.environ.get("SUPPORT_PROMPT", Path(__file__).parent / "prompts" / "support.txt"))
MODEL = "gpt-5-mini"
# The customer is waiting. A tool that takes longer counts as down.
TOOL_SECONDS = 2
MAX_REPLIES = 8


async def call(shop, asked):
    """Calls one tool. Whatever goes wrong is something to tell the model, not a reason to stop."""
    try:
        args = json.loads(asked.function.arguments)
        result = await shop.call_tool(asked.function.name, args, read_timeout_seconds=TOOL_SECONDS)
        text = "\n".join(block.text for block in result.content if block.type == "text")
        text = f"error: {text}" if result.is_error else text
    except (MCPError, TimeoutError, ValueError) as error:
        text = f"error: {error or 'no answer'}"
    print(f"{asked.function.name} {asked.function.arguments} -> {text}", file=sys.stderr)
    return {"role": "tool", "tool_call_id": asked.id, "content": text}


async def support(request):
    """What the agent tells the customer."""
    async with Client(SHOP_URL) as shop:
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in (await shop.list_tools()).tools
        ]
        # It repeats a request that failed, twice.
        model = AsyncOpenAI(max_retries=2)
        messages = [{"role": "system", "content": PROMPT.read_text()}, {"role": "user", "content": request}]
        for _ in range(MAX_REPLIES):
            reply = await model.chat.completions.create(model=MODEL, messages=messages, tools=tools)
            message = reply.choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message.model_dump(exclude_none=True))
            for asked in message.tool_calls:
                messages.append(await call(shop, asked))
    raise SystemExit(f"no answer after {MAX_REPLIES} replies of the model")


if __name__ == "__main__":
    print(asyncio.run(support(sys.stdin.read())))
