"""The methods of prompts: their list, which is the same for every caller, and one with its arguments.

What the prompts are is decided in `prompts.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsnotes.server.envelope import INVALID_PARAMS
from fsnotes.server.frames import Params
from fsnotes.server.method import Method
from fsnotes.server.plain import are_texts, has_plain_meta
from fsnotes.server.prompts import offered, prompt_of
from fsnotes.server.refusals import RpcRefusal

if TYPE_CHECKING:
    from fsnotes.calls import Call
    from fsnotes.service import Service


def prompt_list(*, read_only: bool, ttl_ms: int) -> dict[str, Any]:
    """Return the result of `prompts/list`: one page, the same for every caller."""
    return {
        "cacheScope": "public",
        "prompts": [prompt.document() for prompt in offered(read_only=read_only)],
        "resultType": "complete",
        "ttlMs": ttl_ms,
    }


def getting(*, read_only: bool) -> Method:
    """Return the method that gives one of the prompts of a configuration."""
    prompts = {prompt.name: prompt for prompt in offered(read_only=read_only)}

    def get(service: Service, call: Call, params: Params) -> dict[str, Any]:
        prompt = prompts.get(params["name"])
        if prompt is None:
            raise RpcRefusal(INVALID_PARAMS, "Unknown prompt")
        found = prompt_of(
            prompt, params.get("arguments") or {}, workspace=lambda uri: service.readable_uri(call, uri)
        )
        return {**found, "resultType": "complete"}

    return Method("prompts/get", _is_plain_get, get)


def _is_plain_get(params: Params) -> bool:
    return (
        {"_meta", "name"} <= params.keys() <= {"_meta", "name", "arguments"}
        and type(params["name"]) is str
        and are_texts(params.get("arguments", {}))
        and has_plain_meta(params)
    )
