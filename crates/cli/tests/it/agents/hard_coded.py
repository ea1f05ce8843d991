"""A client that does not read its base URL from the environment."""

import sys

from openai import OpenAI

model = OpenAI(base_url=sys.argv[1])
reply = model.chat.completions.create(model="gpt-5-mini", messages=[{"role": "user", "content": "Go."}])
print(reply.choices[0].message.content)
