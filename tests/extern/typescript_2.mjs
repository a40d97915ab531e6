// The official TypeScript SDK, version 2: revision 2026-07-28, the handshake of those before, or what it finds.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { Heard, Person, actsOf, drive } from "./driving.mjs";

const MODES = { modern: { pin: "2026-07-28" }, auto: "auto", legacy: "legacy" };

const person = new Person();
const heard = new Heard();
let client;
let subscription;

await drive({
  ...actsOf(() => client, person, heard),
  async connect({ era, elicitation, url, command, args, env }) {
    client = new Client(
      { name: "tests", version: "1" },
      {
        capabilities: elicitation === null ? {} : { elicitation },
        versionNegotiation: { mode: MODES[era] },
      },
    );
    if (elicitation !== null) client.setRequestHandler("elicitation/create", async (request) => person.answer(request));
    for (const name of ["notifications/resources/updated", "notifications/resources/list_changed"])
      client.setNotificationHandler(name, (notification) => heard.tell(notification));
    await client.connect(
      url === undefined
        ? new StdioClientTransport({ command, args, env, stderr: "ignore" })
        : new StreamableHTTPClientTransport(new URL(url)),
    );
    return {
      version: client.getNegotiatedProtocolVersion(),
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
  },
  async listen({ uris }) {
    subscription = await client.listen({ resourceSubscriptions: uris, resourcesListChanged: true });
    return subscription.honoredFilter;
  },
  async unlisten() {
    await subscription.close();
    return await subscription.closed;
  },
});
