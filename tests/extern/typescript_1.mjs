// The official TypeScript SDK, version 1: it opens with the handshake, for revision 2025-11-25.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ElicitRequestSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

import { Heard, Person, actsOf, drive } from "./driving.mjs";

const person = new Person();
const heard = new Heard();
let client;
let version;

await drive({
  ...actsOf(() => client, person, heard),
  async connect({ elicitation, url, command, args, env }) {
    client = new Client(
      { name: "tests", version: "1" },
      { capabilities: elicitation === null ? {} : { elicitation } },
    );
    if (elicitation !== null) client.setRequestHandler(ElicitRequestSchema, async (request) => person.answer(request));
    for (const schema of [ResourceUpdatedNotificationSchema, ResourceListChangedNotificationSchema])
      client.setNotificationHandler(schema, (notification) => heard.tell(notification));
    const transport =
      url === undefined
        ? new StdioClientTransport({ command, args, env, stderr: "ignore" })
        : new StreamableHTTPClientTransport(new URL(url));
    // The client tells its transport which revision was agreed on, and nobody else.
    const tell = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (agreed) => {
      version = agreed;
      tell?.(agreed);
    };
    await client.connect(transport);
    return {
      version,
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
  },
});
