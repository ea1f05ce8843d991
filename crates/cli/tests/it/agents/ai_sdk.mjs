// The AI SDK with its MCP client: Responses, plain.
import { createMCPClient } from "@ai-sdk/mcp";
import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";

const server = await createMCPClient({ transport: { type: "http", url: process.env.MCPTEST_URL_EVERYTHING } });
const { text } = await generateText({
  model: openai("gpt-5-mini"),
  tools: await server.tools(),
  stopWhen: stepCountIs(10),
  prompt: process.argv[2],
});
console.log(text);
await server.close();
