"""What a tool is: its descriptor, the operation behind it, and what comes out of one. Knows nothing of the SDK.

Which tools there are is decided in `tools.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from fsnotes.hits import NotesFound
from fsnotes.outcomes import (
    Deletion,
    LinksListed,
    NoteCreated,
    NoteEdited,
    NoteRead,
    NoteRestored,
    NotesListed,
    NotesMoved,
    TagsListed,
    TrashListed,
    WorkspacesShown,
)
from fsnotes.server.schemas import Schema, told, told_result

if TYPE_CHECKING:
    from fsnotes.calls import Call
    from fsnotes.service import Service


class Form(Protocol):
    """What a person is shown: a plain text, and the flat schema of the answer."""

    @property
    def message(self) -> str:
        """The text."""

    @property
    def schema(self) -> dict[str, Any]:
        """The schema."""


class Question(Protocol):
    """The outcome of a call that needs a person's answer first."""

    @property
    def form(self) -> Form:
        """What to ask."""

    @property
    def state(self) -> str:
        """What must come back with the answer."""


Shown = (
    WorkspacesShown
    | NotesListed
    | NotesFound
    | NoteCreated
    | NoteEdited
    | NotesMoved
    | LinksListed
    | TagsListed
    | Deletion
    | TrashListed
    | NoteRestored
)
"""The outcomes that have a document."""

Outcome = Shown | NoteRead | Question


@dataclass(frozen=True, slots=True)
class Echo:
    """What comes back with a call that answers a form: the state and the answers, as they arrived.

    Nothing is known of the state: whether it is even a text is judged where it is opened.
    """

    state: Any = None
    answers: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what a client is shown of it, and the operation that it is.

    *asks* says that a person may be asked, so that a call may come back with an answer.
    """

    name: str
    title: str
    description: str
    changes: bool
    destroys: bool
    repeatable: bool
    asks: bool
    input_schema: Schema
    output_schema: Schema | None
    run: Callable[[Service, Call, dict[str, Any], Echo], Outcome]

    def descriptor(self) -> dict[str, Any]:
        """Return the tool as `tools/list` shows it; the order of its members is the SDK's."""
        shape: dict[str, Any] = {
            "annotations": {
                "destructiveHint": self.destroys,
                "idempotentHint": self.repeatable,
                "openWorldHint": False,
                "readOnlyHint": not self.changes,
            },
            "description": self.description,
            "inputSchema": told(self.input_schema),
            "name": self.name,
        }
        if self.output_schema is not None:
            shape["outputSchema"] = told_result(self.output_schema)
        return shape | {"title": self.title}


_OPTIONAL: Final = {
    "heading": "heading",
    "startLine": "start_line",
    "endLine": "end_line",
    "startColumn": "start_column",
    "oldText": "old_text",
    "expectedMatches": "expected_matches",
    "position": "position",
    "updateLinks": "update_links",
    "ifMatch": "if_match",
    "dryRun": "dry_run",
}


def optional(given: dict[str, Any]) -> dict[str, Any]:
    """Return what may be left out of a call and was given, by the names that the service has for it."""
    return {_OPTIONAL[name]: value for name, value in given.items() if name in _OPTIONAL}
