// The official TypeScript SDK, version 2: revision 2026-07-28, the handshake of those before, or what it finds.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { Heard, Person, drive } from "./driving.mjs";

const MODES = { modern: { pin: "2026-07-28" }, auto: "auto", legacy: "legacy" };

const person = new Person();
const heard = new Heard();
let client;
let subscription;

await drive({
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
  tools: () => client.listTools(),
  async call({ name, arguments: given, answers }) {
    person.expect(answers);
    return { result: await client.callTool({ name, arguments: given }), forms: person.forms };
  },
  resources: () => client.listResources(),
  templates: () => client.listResourceTemplates(),
  read: ({ uri }) => client.readResource({ uri }),
  complete: ({ uri, value }) =>
    client.complete({ ref: { type: "ref/resource", uri }, argument: { name: "path", value } }),
  prompts: () => client.listPrompts(),
  prompt: ({ name, arguments: given }) => client.getPrompt({ name, arguments: given }),
  async listen({ uris }) {
    subscription = await client.listen({ resourceSubscriptions: uris, resourcesListChanged: true });
    return subscription.honoredFilter;
  },
  async subscribe({ uri }) {
    await client.subscribeResource({ uri });
  },
  hear: () => heard.next(),
  async unlisten() {
    await subscription.close();
    return await subscription.closed;
  },
  async ping() {
    await client.ping();
  },
  async close() {
    await client.close();
  },
});
