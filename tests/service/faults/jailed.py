"""Handlers of a worker in which a call fails: those of the product, with the seam in the worker's own modules."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final

from fsnotes.notes import writer
from fsnotes.notes.worker import Handler
from tests.service.faults.seam import Fault, built

FAIL, TELL, END = "fail", "tell", "end"
"""Operations beside the product's: have a call fail from now on, tell which calls were made since, and end that."""

_MOST_DESCRIPTORS: Final = 128

_FOR_GOOD: Final = ExitStack()


def build(options: Mapping[str, Any]) -> Handler:
    """Answer as the product does, and do what a test wants of the seam."""
    answer = writer.build(options)
    seam = _FOR_GOOD.enter_context(built())

    def serve(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        match operation:
            case "fail":
                seam.begin(args["at"], "", Fault(args["kind"], args["number"]))
                return {}
            case "tell":
                happened = None if seam.happened is None else str(seam.happened)
                return {"made": [str(made) for made in seam.made], "happened": happened, "open": _open()}
            case "end":
                seam.end()
                return {}
            case _:
                return answer(operation, args)

    return serve


def _open() -> list[int]:
    """Return the numbers of the descriptors that are open: a worker has no /proc to look at."""
    found = []
    for number in range(_MOST_DESCRIPTORS):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found
