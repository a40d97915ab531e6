"""An index behind the walls of workers, as `test_jailed.py` starts them: one kind keeps it, the other reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fsnotes.errors import FsnotesError
from fsnotes.notes.index.answering import page
from fsnotes.notes.index.building import Vault
from fsnotes.notes.index.combing import comb
from fsnotes.notes.index.keeping import Keeper
from fsnotes.notes.index.matching import Matcher
from fsnotes.notes.index.queries import parse
from fsnotes.notes.index.reader import Reader
from fsnotes.notes.index.regexes import Pattern
from fsnotes.notes.index.searching import Asked
from fsnotes.notes.opening import WorkerOptions
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT
from sandbox.root import Root

Handler = Callable[[str, dict[str, Any]], dict[str, Any]]


def keeper(options: Mapping[str, Any]) -> Handler:
    """Keep the index."""
    root = Root.open(".", WorkerOptions.from_json(options).policy)
    kept = Keeper(options["index"], Vault(root, Scope((ROOT,))), boot="a boot")

    def answer(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        if operation == "step":
            return {"phase": kept.step().phase, "idle": kept.progress().idle}
        if operation == "refresh":
            return {"left": list(kept.refresh(args["paths"]))}
        kept.close()
        return {}

    return answer


def reader(options: Mapping[str, Any]) -> Handler:
    """Read the index, and try to write it."""
    root = Root.open(".", WorkerOptions.from_json(options).policy)
    read = Reader(options["index"], boot="a boot")
    scope = Scope((ROOT,))

    def answer(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        try:
            if operation == "regex":
                asked = Asked(Matcher(parse("unused")), scope)
                combed = comb(read, root, Pattern(args["query"]), asked, limit=50, clock=lambda: 0.0)
                return {"hits": [hit.path for hit in combed.hits]}
            if operation == "keep":
                Keeper(options["index"], Vault(root, scope), boot="a boot").close()
            asked = Asked(Matcher(parse(args["query"])), scope)
            found = page(read, root, asked, limit=50, clock=lambda: 0.0)
            return {"hits": [hit.path for hit in found.hits]}
        except FsnotesError as error:
            return {"refused": type(error).__name__}

    return answer
