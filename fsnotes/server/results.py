"""Decide how an outcome becomes the result of a tool: a structured half and a text half, each whole alone.

Clients show a model one half only, so the text is the compact JSON of the structure. A note's text is sent as
text alone, in a block of its own, exactly as it is in the file.
"""

from __future__ import annotations

import json
from typing import Any, Final

from fsnotes.errors import NoteTooLarge
from fsnotes.failures import Failure

MAX_CHARACTERS: Final = 40_000
"""Each half of a result stays below this. The service cuts pages to fit; here it is only checked."""

Result = dict[str, Any]


def structured(document: dict[str, Any]) -> Result:
    """Return a result whose structure is *document*. Raises NoteTooLarge beyond what a page may be."""
    text = _compact(document)
    _check(len(text))
    return {
        "content": [_block(text)],
        "isError": False,
        "resultType": "complete",
        "structuredContent": document,
    }


def note_text(header: dict[str, Any], text: str) -> Result:
    """Return a note's *text*, after one block that says what it is and what to call for the rest."""
    first = _compact(header)
    _check(len(first) + len(text))
    return {"content": [_block(first), _block(text)], "isError": False, "resultType": "complete"}


def failed(failure: Failure) -> Result:
    """Return a failure that the model can act on: one line, and no structure, which would not fit the
    schema."""
    return {"content": [_block(failure.line)], "isError": True, "resultType": "complete"}


def _block(text: str) -> dict[str, Any]:
    return {"text": text, "type": "text"}  # the order of members is the SDK's, here and above


def _compact(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _check(length: int) -> None:
    if length >= MAX_CHARACTERS:
        raise NoteTooLarge("the result", limit=MAX_CHARACTERS)
