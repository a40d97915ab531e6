"""Says of a request whether there is nothing in it but what every client sends, in the forms that are fixed for it.

Such a request is answered without the SDK, which takes longer to load than everything else at start, and most of the
memory. In all others there may be something that its models find fault with, so they judge these. Tests hold the two
ways to the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fsnotes.server.envelope import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY
from fsnotes.server.frames import Params

_CLIENT: Final = frozenset({"name", "title", "version"})
_CAPABILITIES: Final = {
    "elicitation": {"form", "url"},
    "sampling": {"context", "tools"},
    "roots": set[str](),
}
_CALL: Final = frozenset({"_meta", "name", "arguments"})


def is_plain(params: Params) -> bool:
    """Say so of a request that has an envelope alone."""
    return params.keys() == {"_meta"} and _is_plain_meta(params["_meta"])


def is_plain_call(params: Params) -> bool:
    """Say so of a `tools/call`, without what answers a form: that is judged by nobody but us."""
    return (
        params.keys() <= _CALL
        and type(params.get("name")) is str
        and type(params.get("arguments", {})) is dict
        and _is_plain_meta(params["_meta"])
    )


def has_plain_meta(params: Params) -> bool:
    """Say whether the envelope is as every client sends it."""
    return "_meta" in params and _is_plain_meta(params["_meta"])


def are_texts(value: object) -> bool:
    """Say whether *value* is an object of texts."""
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_plain_meta(meta: dict[str, Any]) -> bool:
    return all(name in _META and _META[name](value) for name, value in meta.items())


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_token(value: object) -> bool:
    return type(value) is str or type(value) is int


def _is_plain_client(client: object) -> bool:
    return (
        isinstance(client, dict)
        and {"name", "version"} <= client.keys() <= _CLIENT
        and all(map(_is_text, client.values()))
    )


def _are_plain_capabilities(capabilities: dict[str, Any]) -> bool:
    return all(
        name in _CAPABILITIES
        and isinstance(modes, dict)
        and modes.keys() <= _CAPABILITIES[name]
        and all(mode == {} for mode in modes.values())
        for name, modes in capabilities.items()
    )


_META: Final[dict[str, Callable[[Any], bool]]] = {
    VERSION_KEY: _is_text,
    CAPABILITIES_KEY: _are_plain_capabilities,
    CLIENT_KEY: _is_plain_client,
    "progressToken": _is_token,
    "traceparent": _is_text,
    "tracestate": _is_text,
}
