// The client of @modelcontextprotocol/client: `node client.mjs legacy|auto URL`, or `node client.mjs legacy|auto COMMAND ARGUMENT...`.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { visit } from "./visit.mjs";

const [mode, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "visitor", version: "1" }, { versionNegotiation: { mode } });
const remote = command.startsWith("http");
await client.connect(
  remote ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args }),
);
await visit(client);
