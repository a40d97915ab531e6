"""Writes `docs/tools.md`: what the descriptors say of each tool, and what it answers on a real vault.

`python -m tests.docs.tools_page > docs/tools.md` makes the page anew; a test holds it to that. The descriptors are the
source of names, types, bounds and hints, a server that runs of answers, errors and rights. Written here is what
neither can say: what a field means, and which examples are worth showing.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from fsnotes import wiring
from fsnotes.access import Principal
from fsnotes.calls import Call, local_principal
from fsnotes.config import Choices, load
from fsnotes.errors import NotAllowed
from fsnotes.server.schemas import Schema
from fsnotes.server.tool import Echo, Tool
from fsnotes.server.tools import TOOLS
from tests.docs.tool_examples import ANSWER, EXAMPLES, FIELDS, HEAD, MEANINGS, REFUSALS, SAMPLE, TRASHED
from tests.server.wire import Wire, call

WRITTEN: Final = 1_769_900_340
"""When all notes of the sample were saved: 2026-01-31 22:59:00 UTC."""

SHOWN_URI: Final = "file:///home/alice/Notes"
SHOWN_ENTRY: Final = "20260131T230000Z-0123456789abcdef0123456789abcdef"
RIGHTS: Final = ("read", "write", "delete")
SECONDS: Final = 20.0
WIDTH: Final = 120

_STATE: Final = re.compile(r'"v1\.[\w-]+"')
_ENTRY: Final = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{32}")
_LEVEL: Final = re.compile(r'"jail": "\w+"')
_DEFAULT: Final = re.compile(r" ?\(?\bdefault:? ([^)]+?)\)?$", re.IGNORECASE)


def page() -> str:
    """Return the page. Starts a server for the answers on it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        vault = Vault(home / "Notes")
        vault.fill()
        parts = [HEAD.format(tools=len(TOOLS)), _overview(_rights(home, vault))]
        vault.fill()
        with Wire.serve(vault.folder, state=home / "state") as server:
            vault.wait_for_index(server)
            for tool in TOOLS:
                parts += _described(tool)
                vault.fill()
                parts += vault.examples(server, tool)
                parts += vault.refusals(server, tool)
        return "\n".join(parts)


class Vault:
    """The sample, on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = 0

    def fill(self, more: Mapping[str, bytes] | None = None) -> None:
        """Make it what it was at first, with *more* notes beside."""
        wanted = {**SAMPLE, **(more or {})}
        for file in sorted(self.folder.rglob("*"), reverse=True):
            if file.is_dir():
                if not any(file.iterdir()):
                    file.rmdir()
            elif str(file.relative_to(self.folder)) not in wanted:
                file.unlink()
        for path, data in wanted.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            os.utime(file, (WRITTEN, WRITTEN))

    def arguments(self, tool: Tool) -> dict[str, Any]:
        """Return the arguments of the first example of *tool*."""
        return self._complete(tool.name, EXAMPLES[tool.name][0][1])

    def _complete(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        workspace = {} if tool == "notes_workspaces" else {"workspaceUri": self.folder.as_uri()}
        return {**workspace, **arguments}

    def ask(self, server: Wire, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Call a tool, with its workspace if it takes one; return the result."""
        self._number += 1
        answer = server.ask(call(self._number, tool, self._complete(tool, arguments), **more))
        result: dict[str, Any] = answer["result"]
        return result

    def wait_for_index(self, server: Wire) -> None:
        """Wait until the server's index is ready, so that what it says of it is always the same."""
        end = time.monotonic() + SECONDS
        while True:
            found = self.ask(server, "notes_workspaces", {})["structuredContent"]["workspaces"]
            if found[0]["index"] == "ready":
                return
            if time.monotonic() > end:
                raise TimeoutError(f"the index is not ready: {found}")
            time.sleep(0.02)

    def examples(self, server: Wire, tool: Tool) -> Iterator[str]:
        """Yield an example of a call with its answer, or several."""
        for said, arguments in EXAMPLES[tool.name]:
            shown = {"workspaceUri": SHOWN_URI, **arguments} if tool.name != "notes_workspaces" else arguments
            result = self.ask(server, tool.name, arguments)
            yield f"{said}\n"
            yield _json(shown)
            if result["resultType"] == "input_required":
                yield "The answer asks the person, by the client's form:\n"
                yield self._shown(_json({name: result[name] for name in ("inputRequests", "requestState")}))
                yield "The same call, with the person's answer and the state beside `arguments`:\n"
                yield self._shown(_json({"inputResponses": ANSWER, "requestState": result["requestState"]}))
                result = self.ask(
                    server, tool.name, arguments, inputResponses=ANSWER, requestState=result["requestState"]
                )
            if result["isError"]:
                raise ValueError(result)
            if "structuredContent" in result:
                yield self._shown(_json(result["structuredContent"]))
            else:
                yield from (f"```text\n{block['text'].rstrip(chr(10))}\n```\n" for block in result["content"])

    def refusals(self, server: Wire, tool: Tool) -> Iterator[str]:
        """Yield a table of what a call is refused for, with the lines that come back."""
        rows = []
        for when, arguments, more in REFUSALS[tool.name]:
            self.fill(more)
            result = self.ask(server, tool.name, arguments)
            line = result["content"][0]["text"]
            if not result["isError"] or "\n" in line:
                raise ValueError(result)
            rows.append(f"| {when} | `{line.replace('|', chr(92) + '|')}` |")
        if rows:
            yield "\n".join(["| refused | line |", "|---|---|", *rows, ""])

    def _shown(self, text: str) -> str:
        """Return *text* with what differs from run to run as it was at one time, on one host."""
        text = text.replace(self.folder.as_uri(), SHOWN_URI)
        text = _LEVEL.sub('"jail": "full"', _STATE.sub('"v1.c2VhbGVk"', text))
        return _ENTRY.sub(lambda found: found[0] if found[0] == TRASHED else SHOWN_ENTRY, text)


def _rights(home: Path, vault: Vault) -> dict[str, list[str]]:
    """Return for each tool the rights of which each alone is enough, found out by trying, without a server."""
    file = home / "fsnotes.toml"
    grants = "".join(
        f"[[grant]]\nprincipal = 'token:{right}'\nworkspace = 'notes'\nallow = ['{right}']\n"
        for right in RIGHTS
    )
    file.write_text(f"[[workspace]]\nname = 'notes'\npath = '{vault.folder}'\n{grants}")
    choices = Choices(config=str(file), state_dir=str(home / "rights"), jail="off")
    settings = load(choices, principal=local_principal(), environ={}, home=str(home))
    enough: dict[str, list[str]] = {tool.name: [] for tool in TOOLS}
    with closing(wiring.build(settings, environ={})) as product:
        for tool, right in itertools.product(TOOLS, RIGHTS):
            vault.fill()
            with suppress(NotAllowed):
                tool.run(product.service, Call(Principal(f"token:{right}")), vault.arguments(tool), Echo())
                enough[tool.name].append(right)
    return enough


def _overview(rights: Mapping[str, list[str]]) -> str:
    rows = [
        f"| [`{tool.name}`](#{tool.name}) | {_right(rights[tool.name])} | {_hints(tool)} | {_first(tool)} |"
        for tool in TOOLS
    ]
    return "\n".join(["| tool | right | hints | does |", "|---|---|---|---|", *rows, ""])


def _right(rights: list[str]) -> str:
    return "any" if len(rights) == len(RIGHTS) else " or ".join(f"`{right}`" for right in rights)


def _first(tool: Tool) -> str:
    return f"{tool.description.split('. ')[0].rstrip('.')}."


def _hints(tool: Tool) -> str:
    hints = tool.descriptor()["annotations"]
    said = ("`readOnly`", "`destructive`", "`idempotent`", "`openWorld`")
    values = (hints[f"{name.strip('`')}Hint"] for name in said)
    return ", ".join(name for name, value in zip(said, values, strict=True) if value) or "none"


def _described(tool: Tool) -> Iterator[str]:
    yield f"## {tool.name}\n"
    yield textwrap.fill(f"**{tool.title}.** {tool.description}", WIDTH) + "\n"
    schema = tool.input_schema
    if schema["properties"]:
        required = schema.get("required", ())
        rows = [_argument(name, rule, name in required) for name, rule in schema["properties"].items()]
        yield "\n".join(["| argument | type | default | meaning |", "|---|---|---|---|", *rows, ""])
    else:
        yield "It takes no arguments.\n"
    if tool.output_schema is not None:
        rows = [f"| `{name}` | {kind} | {_field(tool, name)} |" for name, kind in fields(tool.output_schema)]
        yield "\n".join(["| result | type | meaning |", "|---|---|---|", *rows, ""])


def _argument(name: str, rule: Schema, required: bool) -> str:
    found = _DEFAULT.search(rule["description"])
    usual = "false" if rule["type"] == "boolean" else ""
    default = "required" if required else found[1] if found else usual
    meaning = _DEFAULT.sub("", rule["description"]).strip()
    meaning = meaning or MEANINGS[name]
    shown = re.sub(r"([*|])", r"\\\1", meaning)  # which Markdown would take for its own
    return f"| `{name}` | {_kind(rule)} | {default or '-'} | {shown} |"


def _kind(rule: Schema) -> str:
    match rule:
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"type": "string"}:
            least = f"{rule['minLength']} to" if "minLength" in rule else "at most"
            return f"text, {least} {rule['maxLength']:,} characters"
        case {"type": "integer"}:
            return f"whole number, {rule['minimum']:,} to {rule['maximum']:,}"
        case {"type": "array"}:
            return f"list of at most {rule['maxItems']:,}: {_item(rule['items'])}"
        case {"type": "boolean"}:
            return "true or false"
    raise ValueError(rule)


def _item(rule: Schema) -> str:
    if rule["type"] != "object":
        return _kind(rule)
    return "; ".join(f"`{name}` {_kind(part)}" for name, part in rule["properties"].items())


_KINDS: Final = {"string": "text", "integer": "whole number", "boolean": "true or false"}


def fields(schema: Schema, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the kind of each field of a result, those of its parts behind it."""
    for name, part in schema["properties"].items():
        sometimes = "" if name in schema["required"] else ", if any"
        inner = part["items"] if part["type"] == "array" else part
        kind = _KINDS.get(inner["type"], "object")
        many = "list of " if part["type"] == "array" else ""
        yield prefix + name, f"{many}{kind}{'s' if many and kind != 'true or false' else ''}{sometimes}"
        if inner["type"] == "object":
            yield from fields(inner, f"{prefix}{name}{'[]' if many else ''}.")


def _field(tool: Tool, name: str) -> str:
    return FIELDS.get(f"{tool.name} {name}") or FIELDS[re.split(r"\.", name)[-1]]


def _json(value: Any) -> str:
    return f"```json\n{_laid_out(value, 0)}\n```\n"


def _laid_out(value: Any, depth: int) -> str:
    """Return JSON as a person would write it: on one line what fits on one."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(line) + 2 * depth < WIDTH - 30:
        return line
    inner, indent = depth + 1, "  " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {_laid_out(part, inner)}" for name, part in value.items()]
    else:
        parts = [_laid_out(part, inner) for part in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(indent + part for part in parts) + f"\n{'  ' * depth}{closing}"


if __name__ == "__main__":
    sys.stdout.write(page())
