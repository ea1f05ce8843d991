"""The `google-genai` package, which calls the tools of a session itself: streamGenerateContent."""

import asyncio
import os
import sys

from google import genai
from mcp import Client


async def main(prompt):
    model = genai.Client()
    async with Client(os.environ["MCPTEST_URL_EVERYTHING"]) as server:
        # A dictionary: the package copies the fields of its own configuration type, and a session cannot be copied.
        chat = model.aio.chats.create(model="gemini-2.5-flash", config={"tools": [server.session]})
        answer = ""
        async for chunk in await chat.send_message_stream(prompt):
            answer = "" if chunk.function_calls else answer + (chunk.text or "")
        return answer


print(asyncio.run(main(sys.argv[1])))
