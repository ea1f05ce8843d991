// The `openai` and `@modelcontextprotocol/sdk` packages, by hand: Chat Completions, streamed.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import OpenAI from "openai";

const model = new OpenAI();
const server = new Client({ name: "my-agent", version: "1.0.0" });
await server.connect(new StreamableHTTPClientTransport(new URL(process.env.MCPTEST_URL_EVERYTHING)));

const { tools } = await server.listTools();
const functions = tools.map(({ name, description, inputSchema }) => ({
  type: "function",
  function: { name, description, parameters: inputSchema },
}));

async function call({ id, function: { name, arguments: text } }) {
  const result = await server.callTool({ name, arguments: JSON.parse(text) });
  const content = result.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  return { role: "tool", tool_call_id: id, content };
}

const messages = [{ role: "user", content: process.argv[2] }];
for (;;) {
  const stream = model.chat.completions.stream({
    model: "gpt-5-mini",
    messages,
    tools: functions,
    stream_options: { include_usage: true },
  });
  const { message } = (await stream.finalChatCompletion()).choices[0];
  if (!message.tool_calls?.length) {
    console.log(message.content);
    break;
  }
  messages.push(message, ...(await Promise.all(message.tool_calls.map(call))));
}
await server.close();
