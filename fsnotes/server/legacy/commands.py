"""Decides which command a person is told to run where a client can show no form, so that it is safe to paste.

It names the workspace, and to the user who started the server what else that was told which another command would not
know. What the caller has chosen in it is data in every shell that people paste into: POSIX shells, zsh and fish.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Protocol

from fsnotes.access import Principal
from fsnotes.config import Settings
from sandbox.errors import InvalidUri
from sandbox.names import unseen
from sandbox.uris import FileUri

_PLAIN: Final = re.compile(r"[A-Za-z0-9_/.-]+")


class Served(Protocol):
    """A workspace that is served, as far as it matters here."""

    @property
    def name(self) -> str:
        """Its name in the settings."""

    def is_named_by(self, uri: FileUri) -> bool:
        """Say whether *uri* means it."""


class Commands:
    """The commands of a server with these *settings*, which serves these *workspaces* and was started by *local*."""

    def __init__(self, settings: Settings, workspaces: Sequence[Served], local: Principal) -> None:
        self._settings = settings
        self._workspaces = tuple(workspaces)
        self._local = local

    def delete(self, workspace_uri: str, title: str, *, caller: Principal) -> str | None:
        """Return the command that deletes what *title* names, once the person who runs it confirms.

        Another *caller* than the one who started the server learns nothing of this host: the command has the folder
        from their own words, which means the same notes whatever else is configured.

        None where a part of it has characters that do not show, or a line end: what a person cannot see they should
        not paste, and a terminal takes some of them for keys.
        """
        try:
            uri = FileUri.parse(workspace_uri)
        except InvalidUri:
            return None
        place = self._place(uri)
        if place is None:
            return None
        said: dict[str, str | None] = {"-w": "/" + "/".join(uri.parts)}
        if caller == self._local:
            origin = self._settings.origin
            said = {"-w": place, "--config": origin.config, "--state-dir": origin.state_dir}
        words = ["fsnotes", "delete"]
        for flag, value in said.items():
            if value is not None:
                words += _option(flag, value)
        words += ["--", title]
        if any(map(unseen, words)):
            return None
        return " ".join(map(quoted, words))

    def _place(self, uri: FileUri) -> str | None:
        """Return what `-w` takes: the folder, where this server was given that, else the configured name."""
        names = [each.name for each in self._workspaces if each.is_named_by(uri)]
        for workspace in self._settings.workspaces:
            if workspace.name in names:
                return workspace.path if workspace.path in self._settings.origin.folders else workspace.name
        return None


def _option(flag: str, value: str) -> list[str]:
    # A name that begins with a dash would be taken for an option of its own.
    return [f"--workspace={value}"] if flag == "-w" and value.startswith("-") else [flag, value]


def quoted(word: str) -> str:
    """Return *word* so that a shell reads it back as it is.

    What is within single quotes is literal, but in fish a backslash there is not: so it stands in double quotes, as
    the single quote itself does. Nothing else is within double quotes.
    """
    if _PLAIN.fullmatch(word):
        return word
    pieces = re.findall(r"[^'\\]+|[']+|[\\]+", word)
    return "".join(map(_piece, pieces)) or "''"


def _piece(piece: str) -> str:
    if piece[0] == "'":
        return f'"{piece}"'
    return '"' + piece.replace("\\", "\\\\") + '"' if piece[0] == "\\" else f"'{piece}'"
