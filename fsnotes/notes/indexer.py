"""What keeps the index of a workspace: one operation, which does what is next.

It is opened by the first call and not at the start, since another process may keep it: then each call is Busy, until
that one has ended. A worker that keeps an index does nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ruamel.yaml  # noqa: F401 - frontmatter loads it when the first block needs it

from fsnotes.errors import FsnotesError, IndexUnusable, Unavailable
from fsnotes.notes.index.building import Vault
from fsnotes.notes.index.keeping import Keeper, Progress
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.notes.messages import decode_command, encode_answer
from fsnotes.notes.opening import RUN, WorkerOptions
from fsnotes.notes.refusals import encode_error
from fsnotes.notes.replies import IndexKept, Skipped
from fsnotes.notes.scope import Scope
from fsnotes.notes.translating import translated
from sandbox.root import Root

Handler = Callable[[str, dict[str, Any]], dict[str, Any]]

MOST_PATHS = 256
"""How many paths one call takes."""


class Indexer:
    """Keeps the index of the notes beneath *root* in *folder*. Not thread-safe; close it.

    *boot* is the id of the running boot; where nobody knows it, no index can be trusted.
    """

    def __init__(self, root: Root, folder: str, *, boot: str | None) -> None:
        self._root = root
        self._folder = folder
        self._boot = boot
        self._keeper: Keeper | None = None
        self._told: tuple[Skipped, ...] | None = None

    def keep(self, scope: Scope, command: KeepIndex) -> IndexKept:
        """Do what is next; see `KeepIndex`. Raises Busy while another process keeps the index, and Unavailable."""
        with translated(argument="path", what="note"):
            if self._boot is None:
                raise IndexUnusable("the search index is none that can be trusted")
            if self._keeper is None:
                self._keeper = Keeper(self._folder, Vault(self._root, scope), boot=self._boot)
            for folder in command.folders:
                self._keeper.look_again(folder)
            left: tuple[str, ...] = ()
            if command.whole:
                progress = self._keeper.settle()
            elif command.paths:
                left = self._keeper.refresh(command.paths[:MOST_PATHS])
                progress = self._keeper.progress()
            else:
                progress = self._keeper.step()
            return self._reply(progress, (*left, *command.paths[MOST_PATHS:]), self._keeper.generation)

    def close(self) -> None:
        """Close the index, not the root."""
        if self._keeper is not None:
            self._keeper.close()

    def _reply(self, progress: Progress, left: tuple[str, ...], generation: str) -> IndexKept:
        skipped = progress.left_out if progress.left_out != self._told else None
        self._told = progress.left_out
        return IndexKept(
            progress.phase,
            progress.indexed,
            progress.remaining,
            progress.complete,
            progress.idle,
            left,
            skipped,
            generation,
            progress.notes,
        )


def build(options: Mapping[str, Any]) -> Handler:
    """Open the workspace, in which the process stands, and return what answers.

    The options are those of `worker.build`; an `index` is among them, here the folder of the index alone.
    """
    chosen = WorkerOptions.from_json(options)
    folder: str = options["index"]
    root = Root.open(".", chosen.policy, resolver=chosen.resolver)
    indexer = Indexer(root, folder, boot=chosen.boot)

    def answer(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        if operation != RUN:
            raise ValueError("no such operation")
        scope, command = decode_command(args)
        try:
            if not isinstance(command, KeepIndex):
                raise Unavailable("the search index is kept here and nothing else is done")
            return encode_answer(indexer.keep(scope, command))
        except FsnotesError as error:
            return {"refused": encode_error(error)}

    return answer
