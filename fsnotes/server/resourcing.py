"""The methods of resources: their lists, reading one, and completing what is typed, here and for prompts.

Which notes are resources, and for whom, is left to the service. Source: the specification's pages on resources, on
completion and on caching.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fsnotes.server.frames import Params
from fsnotes.server.method import Method
from fsnotes.server.plain import are_texts, has_plain_meta
from fsnotes.server.prompts import Prompt, complete_argument, offered

if TYPE_CHECKING:
    from fsnotes.calls import Call
    from fsnotes.service import Service

LIST_TTL_MS: Final = 5_000
"""How long a list of notes may be kept; whoever listens is told when it changes."""

TEMPLATES_TTL_MS: Final = 3_600_000
"""Workspaces and grants are those with which the server was started."""

READ_TTL_MS: Final = 0
"""A note may be changed by anybody at any time, and whoever edits it must have seen what is there."""


def _cached(document: dict[str, Any], ttl_ms: int) -> dict[str, Any]:
    """Return a result that only its caller may keep; its members are in the SDK's order."""
    result = {"cacheScope": "private", **document, "resultType": "complete", "ttlMs": ttl_ms}
    return dict(sorted(result.items()))


def _list(service: Service, call: Call, params: Params) -> dict[str, Any]:
    return _cached(service.resources(call, cursor=params.get("cursor")).document(), LIST_TTL_MS)


def _templates(service: Service, call: Call, params: Params) -> dict[str, Any]:
    return _cached(service.templates(call, cursor=params.get("cursor")).document(), TEMPLATES_TTL_MS)


def _read(service: Service, call: Call, params: Params) -> dict[str, Any]:
    return _cached(service.resource(call, params["uri"]).document(), READ_TTL_MS)


def _complete(prompts: tuple[Prompt, ...], service: Service, call: Call, params: Params) -> dict[str, Any]:
    ref, argument = params["ref"], params["argument"]
    if ref.get("type", "ref/resource" if "uri" in ref else "") == "ref/resource":
        completed = service.complete_uri(call, ref["uri"], argument["name"], argument["value"])
    else:
        given = (params.get("context") or {}).get("arguments") or {}
        completed = complete_argument(
            prompts, service, call, ref["name"], argument["name"], argument["value"], given
        )
    return {**completed.document(), "resultType": "complete"}


# -- plain requests ------------------------------------------------------------------------------------


def _is_plain_list(params: Params) -> bool:
    return (
        params.keys() <= {"_meta", "cursor"}
        and type(params.get("cursor", "")) is str
        and has_plain_meta(params)
    )


def _is_plain_read(params: Params) -> bool:
    return params.keys() == {"_meta", "uri"} and type(params["uri"]) is str and has_plain_meta(params)


def _is_plain_ref(ref: object) -> bool:
    if not are_texts(ref):
        return False
    match ref:
        case {"type": "ref/resource", "uri": _, **more}:
            return not more
        case {"type": "ref/prompt", "name": _, **more}:
            return not more
        case _:
            return False


def _is_plain_completion(params: Params) -> bool:
    context = params.get("context", {})
    argument = params.get("argument")
    return (
        {"_meta", "ref", "argument"} <= params.keys() <= {"_meta", "ref", "argument", "context"}
        and _is_plain_ref(params["ref"])
        and are_texts(argument)
        and isinstance(argument, dict)
        and argument.keys() == {"name", "value"}
        and isinstance(context, dict)
        and context.keys() <= {"arguments"}
        and are_texts(context.get("arguments", {}))
        and has_plain_meta(params)
    )


def resourcing(*, read_only: bool) -> tuple[Method, ...]:
    """Return the methods; what is completed are arguments of the prompts of that configuration."""
    prompts = offered(read_only=read_only)
    return (
        Method("resources/list", _is_plain_list, _list),
        Method("resources/templates/list", _is_plain_list, _templates),
        Method("resources/read", _is_plain_read, _read),
        Method("completion/complete", _is_plain_completion, partial(_complete, prompts)),
    )
