"""The handlers of notes as a jailed worker serves them: one operation, which runs a command.

Loaded before the lock-down together with everything that handlers load late, since after it no file but those of
the workspace can be opened. What else a worker needs that only looks is in `reader.py`, and for one that makes names in
`writer.py`. What a worker may reach is decided
in `sandbox.jail`; who may ask, far above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ruamel.yaml  # noqa: F401 - frontmatter loads it when the first block needs it

from fsnotes.errors import FsnotesError
from fsnotes.notes.handlers import handle
from fsnotes.notes.messages import decode_command, encode_answer
from fsnotes.notes.opening import RUN, WorkerOptions
from fsnotes.notes.refusals import encode_error
from fsnotes.notes.workspace import Workspace
from sandbox.root import Root
from sandbox.steps import Observer, ignore

Handler = Callable[[str, dict[str, Any]], dict[str, Any]]


def build(options: Mapping[str, Any], *, observe: Observer = ignore) -> Handler:
    """Open the workspace, in which the process stands, and return what answers.

    Beside `WorkerOptions`, *options* hold what a worker adds: the folder of its `index` (or None), in which the
    lock file is kept, and `abandoned`. *observe* is told of every step of a change: for tests.
    """
    index = options["index"]
    chosen = WorkerOptions.from_json(options)
    root = Root.open(
        ".",
        chosen.policy,
        resolver=chosen.resolver,
        lock_file=None if index is None else f"{index}/lock",
        observe=observe,
    )
    workspace, abandoned = Workspace(root, chosen.quota, part=index, boot=chosen.boot), options["abandoned"]

    def answer(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        if operation != RUN:
            raise ValueError("no such operation")
        scope, command = decode_command(args)
        try:
            return encode_answer(handle(workspace, scope, command, abandoned=abandoned))
        except FsnotesError as error:
            return {"refused": encode_error(error)}

    return answer
