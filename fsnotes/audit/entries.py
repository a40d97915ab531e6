"""Decides what a line of the log is when it is read, and which lines somebody wants to see.

The file is the account's own, and still a line is believed only as far as it has the form of one: other programs may
have written into it, and a disk may have lost a part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from fsnotes.audit.events import BEGUN
from sandbox.records import record

FIELDS: Final = (
    "time",
    "principal",
    "tool",
    "workspace",
    "path",
    "outcome",
    "etagBefore",
    "etagAfter",
    "jail",
    "requestId",
    "traceId",
)
"""What every line has."""

_STATED: Final = ("time", "principal", "tool", "workspace", "outcome", "jail")
"""Of those, the ones that are never null."""

_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


@record
class Entry:
    """A line of the log: its text as it stands in the file, without spaces at its end, and its fields."""

    text: str
    fields: Mapping[str, str | None]

    @property
    def is_begun(self) -> bool:
        """Whether the change has no outcome, or none yet."""
        return self.fields["outcome"] == BEGUN

    def __getitem__(self, name: str) -> str:
        """Return a field as text, "" where it is null or absent."""
        return self.fields.get(name) or ""


def parse(line: bytes) -> Entry | None:
    """Return what *line* says; None where it is torn, or no line of the log's."""
    try:
        text = line.decode("utf-8").strip(" ")
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if type(fields) is not dict or not fields.keys() >= set(FIELDS):
        return None
    if not all(value is None or type(value) is str for value in fields.values()):
        return None
    if any(fields[name] is None for name in _STATED) or not _TIME.fullmatch(fields["time"]):
        return None
    return Entry(text, fields)


@record
class Wanted:
    """Which lines to show: those that have every value that is given, and are not older than *since* (`stamp`).

    A *tool* may be given without its `notes_`, as a command is called.
    """

    since: str | None = None
    principal: str | None = None
    workspace: str | None = None
    tool: str | None = None
    outcome: str | None = None

    def has(self, entry: Entry) -> bool:
        """Whether *entry* is wanted."""
        asked = {"principal": self.principal, "workspace": self.workspace, "outcome": self.outcome}
        # Times are all in UTC and of one width, so that the order of the texts is that of the times.
        return (
            (self.since is None or entry["time"] >= self.since)
            and (self.tool is None or entry["tool"] in (self.tool, f"notes_{self.tool}"))
            and all(entry.fields[name] == value for name, value in asked.items() if value is not None)
        )
