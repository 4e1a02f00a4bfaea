// Lists what servers show with the client of @modelcontextprotocol/sdk: `node list.mjs URL...`; prints the names by URL as JSON.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const met = {};
for (const url of process.argv.slice(2)) {
  const client = new Client({ name: "lister", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const can = client.getServerCapabilities();
  const names = (items) => items.map((item) => item.name);
  met[url] = {
    tools: names((await client.listTools()).tools),
    resources: can.resources ? names((await client.listResources()).resources) : [],
    prompts: can.prompts ? names((await client.listPrompts()).prompts) : [],
  };
  await client.close();
}
console.log(JSON.stringify(met));
