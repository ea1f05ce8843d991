"""The `openai` and `mcp` packages, by hand: Chat Completions, plain, with the calls of one reply in parallel."""

import asyncio
import json
import os
import sys

from mcp import Client
from openai import AsyncOpenAI


async def main(prompt):
    model = AsyncOpenAI()
    async with Client(os.environ["MCPTEST_URL_EVERYTHING"]) as server:
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in (await server.list_tools()).tools
        ]

        async def call(asked):
            result = await server.call_tool(asked.function.name, json.loads(asked.function.arguments))
            text = "\n".join(block.text for block in result.content if block.type == "text")
            return {"role": "tool", "tool_call_id": asked.id, "content": text}

        messages = [{"role": "user", "content": prompt}]
        while True:
            reply = await model.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools)
            message = reply.choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message.model_dump(exclude_none=True))
            messages += await asyncio.gather(*map(call, message.tool_calls))


print(asyncio.run(main(sys.argv[1])))
