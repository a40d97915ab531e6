"""The tools, prompts and resources that the conformance suite asks servers for, by the names it has for them.

What each must do is said in the suite's descriptions of its scenarios.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from fsnotes.calls import Call
from fsnotes.errors import NoteNotFound
from fsnotes.server.elicitation import DELETE_CHOICE, MISSING_CAPABILITY, supports_forms
from fsnotes.server.method import not_found
from fsnotes.server.progress import LEAST_SECONDS
from fsnotes.server.refusals import RpcRefusal
from fsnotes.server.tool import Tool
from tests.extern.rounds import Rounds, content_of

PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
SILENCE: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="


@dataclass(frozen=True)
class Turn:
    """One call of a tool: who calls, what came back from the turn before, and what the client can do."""

    call: Call
    state: Any
    answers: Mapping[str, Any]
    capabilities: Mapping[str, Any]


def said(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"content": list(content), "isError": False, "resultType": "complete", **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def embedded(uri: str, words: str, kind: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


def question(words: str, state: str, **fields: str) -> Any:
    """Return a form, which the product sends as its own; the answer comes under the product's key."""
    properties = {name: {"type": kind} for name, kind in fields.items()}
    schema = {"type": "object", "properties": properties, "required": list(fields)}
    return SimpleNamespace(form=SimpleNamespace(message=words, schema=schema), state=state)


def form(words: str, field: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": words, "requestedSchema": schema},
    }


def sample(words: str) -> dict[str, Any]:
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [{"role": "user", "content": text(words)}], "maxTokens": 50},
    }


ROOTS: Final[dict[str, Any]] = {"method": "roots/list", "params": {}}


def needs(capabilities: Mapping[str, Any], state: str | None = None, **requests: Any) -> dict[str, Any]:
    """Return a result that asks for *requests*; none is sent that the client does not say it can answer."""
    for request in requests.values():
        kind = request["method"].split("/")[0]
        able = supports_forms(dict(capabilities)) if kind == "elicitation" else kind in capabilities
        if not able:
            raise lacking(kind)
    stated = {} if state is None else {"requestState": state}
    return {"inputRequests": requests, **stated, "resultType": "input_required"}


def lacking(kind: str) -> RpcRefusal:
    return RpcRefusal(MISSING_CAPABILITY, f"This call needs {kind}", {"requiredCapabilities": {kind: {}}})


# -- tools ---------------------------------------------------------------------------------------------


def report(turn: Turn) -> dict[str, Any]:
    for done in (0, 50, 100):
        turn.call.report(done, 100, "steps")
        time.sleep(LEAST_SECONDS * 1.5)
    return said(text("done"))


def fail(_: Turn) -> dict[str, Any]:
    raise NoteNotFound("note", "meant to be missing")


def need_sampling(turn: Turn) -> dict[str, Any]:
    if "sampling" not in turn.capabilities:
        raise lacking("sampling")
    return said(text("sampling is declared"))


def ask_name(turn: Turn) -> dict[str, Any]:
    answer = turn.answers.get("user_name")
    if answer is None:
        return needs(turn.capabilities, user_name=form("What is your name?", "name"))
    return said(text(f"Hello, {content_of(answer, 'name')}!"))


def ask_model(turn: Turn) -> dict[str, Any]:
    if "capital" not in turn.answers:
        return needs(turn.capabilities, capital=sample("What is the capital of France?"))
    return said(text(turn.answers["capital"]["content"]["text"]))


def ask_roots(turn: Turn) -> dict[str, Any]:
    if "roots" not in turn.answers:
        return needs(turn.capabilities, roots=ROOTS)
    return said(text(str(len(turn.answers["roots"]["roots"]))))


def ask_what_can_be_answered(turn: Turn) -> dict[str, Any]:
    requests: dict[str, Any] = {}
    if supports_forms(dict(turn.capabilities)):
        requests["form"] = form("What?", "value")
    if "sampling" in turn.capabilities:
        requests["sample"] = sample("What?")
    return needs(turn.capabilities, **requests)


class Stateful:
    """The tools with a state between their turns."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds

    def confirm(self, tool: str, words: str) -> Callable[[Turn], Any]:
        """Return a tool that asks once, in the product's own way, and says *words* in the end."""

        def run(turn: Turn) -> Any:
            if turn.state is None:
                return question("Go on?", self._rounds.seal(turn.call, tool, "asked"), ok="boolean")
            assert self._rounds.is_at(turn.call, tool, turn.state, "asked")
            if content_of(turn.answers.get(DELETE_CHOICE), "ok") is not True:
                return said(text("not confirmed"))
            self._rounds.spend(turn.call, tool, turn.state)
            return said(text(words))

        return run

    def ask_all(self, tool: str) -> Callable[[Turn], Any]:
        """Return a tool that asks for three things at once."""

        def run(turn: Turn) -> Any:
            if turn.state is None:
                state = self._rounds.seal(turn.call, tool, "asked")
                return needs(
                    turn.capabilities,
                    state,
                    user_name=form("What is your name?", "name"),
                    greeting=sample("Greet somebody"),
                    client_roots=ROOTS,
                )
            name = content_of(turn.answers["user_name"], "name")
            self._rounds.spend(turn.call, tool, turn.state)
            return said(text(f"{name}, {len(turn.answers['client_roots']['roots'])}"))

        return run

    def ask_twice(self, tool: str) -> Callable[[Turn], Any]:
        """Return a tool that asks again with what it was answered."""

        def run(turn: Turn) -> Any:
            if turn.state is None:
                state = self._rounds.seal(turn.call, tool, "step1")
                return needs(turn.capabilities, state, step1=form("What is your name?", "name"))
            if self._rounds.is_at(turn.call, tool, turn.state, "step1"):
                content_of(turn.answers["step1"], "name")
                self._rounds.spend(turn.call, tool, turn.state)
                state = self._rounds.seal(turn.call, tool, "step2")
                return needs(turn.capabilities, state, step2=form("Which colour?", "color"))
            color = content_of(turn.answers["step2"], "color")
            self._rounds.spend(turn.call, tool, turn.state)
            return said(text(color))

        return run


NOTHING: Final = {"type": "object", "properties": {}, "additionalProperties": False}

DIALECT: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def tools(rounds: Rounds) -> list[Tool]:
    """Return every tool that the suite calls."""
    stateful = Stateful(rounds)
    state, tampered = "test_input_required_result_request_state", "test_input_required_result_tampered_state"
    several, again = (
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
    )
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    found: dict[str, Callable[[Turn], Any]] = {
        "test_simple_text": lambda _: said(text("This is a simple text response for testing.")),
        "test_image_content": lambda _: said(image),
        "test_audio_content": lambda _: said({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}),
        "test_embedded_resource": lambda _: said(embedded("test://embedded-resource", "embedded")),
        "test_multiple_content_types": lambda _: said(
            text("Multiple content types test:"),
            image,
            embedded("test://mixed", json.dumps({"test": "data"}), "application/json"),
        ),
        "test_tool_with_progress": report,
        "test_error_handling": fail,
        "test_missing_capability": need_sampling,
        "test_streaming_elicitation": stateful.confirm("test_streaming_elicitation", "confirmed"),
        "test_logging_tool": lambda _: said(text("nothing was logged")),
        "test_input_required_result_elicitation": ask_name,
        "test_input_required_result_sampling": ask_model,
        "test_input_required_result_list_roots": ask_roots,
        "test_input_required_result_capabilities": ask_what_can_be_answered,
        state: stateful.confirm(state, "state-ok"),
        tampered: stateful.confirm(tampered, "integrity-ok"),
        several: stateful.ask_all(several),
        again: stateful.ask_twice(again),
        "json_schema_2020_12_tool": lambda _: said(text("nothing")),
    }
    return [_tool(name, run) for name, run in found.items()]


def _tool(name: str, run: Callable[[Turn], Any]) -> Tool:
    return Tool(
        name,
        name,
        "A tool of the conformance suite.",
        changes=False,
        destroys=False,
        repeatable=True,
        asks=True,
        input_schema=DIALECT if name == "json_schema_2020_12_tool" else NOTHING,
        output_schema=None,
        run=run,  # type: ignore[arg-type]  # it is called by the fixture's own caller
    )


# -- prompts and resources -----------------------------------------------------------------------------

PROMPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
ASKING_PROMPT: Final = "test_input_required_result_prompt"
RESOURCES: Final[Mapping[str, dict[str, str]]] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content."},
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
}
TEMPLATE: Final = "test://template/{id}/data"


def prompt_list(**_: Any) -> dict[str, Any]:
    prompts = [
        {
            "name": name,
            "description": "A prompt of the conformance suite.",
            "arguments": [{"name": argument, "required": True} for argument in arguments],
        }
        for name, arguments in PROMPTS.items()
    ]
    return {"prompts": prompts, "cacheScope": "public", "ttlMs": 1000, "resultType": "complete"}


def prompted(*content: dict[str, Any]) -> dict[str, Any]:
    messages = [{"role": "user", "content": block} for block in content]
    return {"messages": messages, "resultType": "complete"}


def get_prompt(_: Any, __: Call, params: Mapping[str, Any]) -> dict[str, Any]:
    given = params.get("arguments") or {}
    match params["name"]:
        case "test_simple_prompt":
            return prompted(text("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            return prompted(text(f"arg1='{given['arg1']}', arg2='{given['arg2']}'"))
        case "test_prompt_with_embedded_resource":
            return prompted(embedded(given["resourceUri"], "embedded"), text("Look above."))
        case "test_prompt_with_image":
            return prompted({"type": "image", "data": PIXEL, "mimeType": "image/png"}, text("Look above."))
        case _:
            raise RpcRefusal(-32602, "Unknown prompt")


def ask_for_prompt(capabilities: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    if "user_context" not in answers:
        return needs(capabilities, user_context=form("What is it about?", "context"))
    return prompted(text(content_of(answers["user_context"], "context")))


def cached(**members: Any) -> dict[str, Any]:
    return {**members, "cacheScope": "private", "ttlMs": 0, "resultType": "complete"}


def list_resources(*_: Any) -> dict[str, Any]:
    return cached(resources=[{"uri": uri, "name": uri} for uri in RESOURCES])


def list_templates(*_: Any) -> dict[str, Any]:
    return cached(resourceTemplates=[{"uriTemplate": TEMPLATE, "name": "template"}])


def read_resource(_: Any, __: Call, params: Mapping[str, Any]) -> dict[str, Any]:
    uri = params["uri"]
    before, after = TEMPLATE.split("{id}")
    if uri in RESOURCES:
        return cached(contents=[{"uri": uri, **RESOURCES[uri]}])
    if uri.startswith(before) and uri.endswith(after):
        made = json.dumps({"id": uri.removeprefix(before).removesuffix(after)})
        return cached(contents=[{"uri": uri, "mimeType": "application/json", "text": made}])
    raise not_found(uri)


def complete(*_: Any) -> dict[str, Any]:
    return {"completion": {"values": [], "total": 0, "hasMore": False}, "resultType": "complete"}


RUNS: Final[Mapping[str, Callable[..., dict[str, Any]]]] = {
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "completion/complete": complete,
    "prompts/get": get_prompt,
}
