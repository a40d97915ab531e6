"""Handlers for a worker that tries to reach what it is told to, by path, from where it is."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import Any

Handler = Callable[[str, dict[str, Any]], dict[str, Any]]


def build(options: Mapping[str, Any]) -> Handler:
    """Answer with what became of each path: `opened`, or the error. `{index}` in it is the part of the state."""

    def answer(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        return {
            path: _try(operation, path.replace("{index}", str(options["index"]))) for path in args["paths"]
        }

    return answer


def _try(operation: str, path: str) -> str:
    try:
        if operation == "list":
            os.listdir(path)
        elif operation == "make":
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        else:
            os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "opened"
