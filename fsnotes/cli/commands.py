"""Decides that a command is loaded when it runs: the grammar names all of them, and a person runs one.

What each does is in the module that is named here; `--help` and `--version` need none.
"""

from __future__ import annotations

import argparse
import importlib
from typing import Final

from fsnotes.cli.console import Console
from sandbox.records import record


@record
class Command:
    """One function of one module of this package."""

    module: str
    function: str

    def __call__(self, options: argparse.Namespace, console: Console) -> int:
        """Load the module, run the command and return its exit code."""
        code: int = getattr(importlib.import_module(f"fsnotes.cli.{self.module}"), self.function)(
            options, console
        )
        return code


class Deferred:
    """A module of this package that is not loaded yet: what is taken from it is a `Command`."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, function: str) -> Command:
        return Command(self._module, function)


audit: Final = Deferred("audit")
completion: Final = Deferred("completion")
doctor: Final = Deferred("doctor")
edits: Final = Deferred("edits")
indexes: Final = Deferred("indexes")
keys: Final = Deferred("keys")
links: Final = Deferred("links")
moves: Final = Deferred("moves")
notes: Final = Deferred("notes")
search: Final = Deferred("search")
server: Final = Deferred("server")
snippets: Final = Deferred("snippets")
tags: Final = Deferred("tags")
tokens: Final = Deferred("tokens")
