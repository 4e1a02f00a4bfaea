// The client of @modelcontextprotocol/sdk: `node sdk.mjs URL`, or `node sdk.mjs COMMAND ARGUMENT...`.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { visit } from "./visit.mjs";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "visitor", version: "1" });
const remote = command.startsWith("http");
await client.connect(
  remote ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args }),
);
await visit(client);
