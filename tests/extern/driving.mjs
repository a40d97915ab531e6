// Drives a client by lines of JSON: one act a line on stdin, what came of it a line on stdout, in order.
//
// What is answered is what the client hands to its user, as it is; all that is judged is judged in the tests.

import { createInterface } from "node:readline";

/** The person behind a client: answers each form with the next of the answers that were given for an act. */
export class Person {
  forms = [];
  #answers = [];

  expect(answers = []) {
    this.forms = [];
    this.#answers = [...answers];
  }

  answer(request) {
    this.forms.push(request.params);
    const answer = this.#answers.shift();
    if (answer === undefined) throw new Error("nobody expected another form");
    return answer;
  }
}

/** What a client was told and nobody has asked for yet. */
export class Heard {
  #told = [];
  #waiting = [];

  tell(notification) {
    const next = this.#waiting.shift();
    if (next === undefined) this.#told.push(notification);
    else next(notification);
  }

  next() {
    if (this.#told.length > 0) return this.#told.shift();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** What both versions of the SDK have under the same names; `of` gives the client that is connected. */
export function actsOf(of, person, heard) {
  return {
    tools: () => of().listTools(),
    async call({ name, arguments: given, answers }) {
      person.expect(answers);
      return { result: await of().callTool({ name, arguments: given }), forms: person.forms };
    },
    resources: () => of().listResources(),
    templates: () => of().listResourceTemplates(),
    read: ({ uri }) => of().readResource({ uri }),
    complete: ({ uri, value }) =>
      of().complete({ ref: { type: "ref/resource", uri }, argument: { name: "path", value } }),
    prompts: () => of().listPrompts(),
    prompt: ({ name, arguments: given }) => of().getPrompt({ name, arguments: given }),
    subscribe: ({ uri }) => of().subscribeResource({ uri }),
    hear: () => heard.next(),
    ping: () => of().ping(),
    close: () => of().close(),
  };
}

function failure(error) {
  return { code: error.code ?? null, message: String(error.message), data: error.data ?? null };
}

/** Do what the lines of stdin say, each by one of `acts`, to their end. */
export async function drive(acts) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { act, ...given } = JSON.parse(line);
    let came;
    try {
      came = { ok: (await acts[act](given)) ?? null };
    } catch (error) {
      came = { failed: failure(error) };
    }
    process.stdout.write(JSON.stringify(came) + "\n");
  }
  process.exit(0);
}
