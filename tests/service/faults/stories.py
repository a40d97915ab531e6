"""What is done while a call fails: every tool once on a small vault, and what must be true of it afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from fsnotes.outcomes import Asked
from fsnotes.wiring import Product
from tests.service.conftest import ALICE, Household, accept, answer, ask, decline

ENTRY: Final = "20270101T000000Z-" + "0" * 32
"""What was deleted before, a note in a folder that is gone."""

OLD: Final = 1_700_000_000
"""When all files were saved: an answer tells the same each time."""

LATER: Final = 2_000_000_000.0
"""When whatever is there is old enough to be swept."""

KILLED: Final = "Projects/.~fsn-0123456789abcdef01234567"
"""What a killed write has left."""

NOTES: Final = {
    "Plan.md": "---\nstatus: open\n---\n# Plan\n[[Home]] #work\n\n## Tasks\n- one\n",
    "Home.md": "# Home\nsee [[Plan]] and [[Nowhere]]\n",
    "Projects/Idea.md": "# Idea\n[[Plan]] and [x](../Plan.md) #work/big\n",
    "Projects/Deep/One.md": "# One\n[[Idea]]\n",
    "Log.md": "# Log\n",
    f".trash/{ENTRY}/Gone/Old.md": "# Old\n",
}

Document = dict[str, Any]


@dataclass
class Scene:
    """A vault with a product on it, and what a story has prepared there."""

    household: Household
    product: Product
    asked: Asked | None = None

    @property
    def service(self) -> Any:
        return self.product.service

    @property
    def uri(self) -> str:
        return self.household.uri


@dataclass(frozen=True)
class Story:
    """One call of a tool. *outcome* is the log's word for it, None for what only looks."""

    name: str
    act: Callable[[Scene], Document]
    outcome: str | None = None
    path: str | None = None
    prepare: Callable[[Scene], None] = lambda _: None
    repeats: bool = True
    """Whether what only looks gives the same answer once more."""

    def __str__(self) -> str:
        return self.name


def furnish(household: Household) -> None:
    """Make the vault."""
    for path, text in NOTES.items():
        household.write(path, text)
    os.chmod(household.vault / "Plan.md", 0o640)
    os.chmod(household.vault / ".trash", 0o700)
    for place in household.vault.rglob("*"):
        os.utime(place, (OLD, OLD))


def _ask(scene: Scene) -> None:
    scene.asked = ask(scene.service, ALICE, scene.uri, "Plan")


def _form(scene: Scene) -> Document:
    return {"offered": list(ask(scene.service, ALICE, scene.uri, "Plan").form.note_ids)}


def _answered(scene: Scene, reply: Any) -> Document:
    assert scene.asked is not None
    done = answer(scene.service, ALICE, scene.uri, "Plan", scene.asked, reply)
    assert not isinstance(done, Asked)
    if done.outcome == "deleted":
        scene.service.answered(done)
    return done.document()


def _restore(scene: Scene) -> Document:
    return scene.service.restore(ALICE, scene.uri, ENTRY).document()


def _read(scene: Scene) -> Document:
    read = scene.service.read(ALICE, scene.uri, "Plan")
    return {"text": read.text, **read.header()}


def _looks(method: str, *arguments: Any, **named: Any) -> Callable[[Scene], Document]:
    return lambda scene: getattr(scene.service, method)(ALICE, scene.uri, *arguments, **named).document()


LOOKING: Final = (
    Story("notes_workspaces", lambda scene: scene.service.workspaces(ALICE).document()),
    Story("notes_list", _looks("list", recursive=True)),
    Story("notes_list by tag", _looks("list", recursive=True, tag="work")),
    Story("notes_read", _read),
    Story("notes_search", _looks("search", "plan")),
    Story("notes_search by regex", _looks("search", "P.an", regex=True)),
    Story("notes_links out", _looks("links", "Plan")),
    Story("notes_links in", _looks("links", "Plan", direction="in")),
    Story("notes_links broken", _looks("links", "", direction="broken")),
    Story("notes_links ambiguous", _looks("links", "", direction="ambiguous")),
    Story("notes_tags", _looks("tags")),
    Story("notes_trash", _looks("trash")),
    Story("notes_edit, dry", _looks("edit", "Plan", "two", old_text="one", dry_run=True)),
    Story("notes_move, dry", _looks("move", "Plan", "Done/Plan 2", dry_run=True)),
    Story("notes_delete, asking", _form),
)

CHANGING: Final = (
    Story("notes_create", _looks("create", "New/Deeper/Note", "# Note\n"), "created", "New/Deeper/Note.md"),
    Story("notes_edit", _looks("edit", "Plan", "two", old_text="one"), "edited", "Plan.md"),
    Story("notes_append", _looks("append", "Plan", "- two"), "appended", "Plan.md"),
    Story(
        "notes_properties",
        _looks("properties", "Plan", assign=[("status", "done")]),
        "properties_set",
        "Plan.md",
    ),
    Story("notes_move", _looks("move", "Plan", "Done/Plan 2"), "moved", "Plan.md"),
    Story("notes_move of a folder", _looks("move", "Projects", "Done/Work"), "moved", "Projects"),
    Story(
        "notes_delete",
        lambda scene: _answered(scene, accept("Plan.md")),
        "deleted",
        "Plan.md",
        prepare=_ask,
    ),
    Story("notes_restore", _restore, "restored", "Gone/Old.md"),
)


def _leave_a_temporary(scene: Scene) -> None:
    """Leave what a killed write leaves, as the sweeper finds it an hour later."""
    scene.household.write(KILLED, "the text of a killed write\n")
    scene.household.clock.now = LATER


def _sweep(scene: Scene) -> Document:
    return {"moved": scene.product.sweep()}


SWEEPING: Final = Story("sweep", _sweep, prepare=_leave_a_temporary, repeats=False)


def _build_index(scene: Scene) -> Document:
    skipped = scene.product.build_index("Notes", lambda _: None)
    return {"skipped": [{"path": each.path, "reason": each.reason} for each in skipped]}


INDEXING: Final = Story("the index", _build_index)

DECLINING: Final = Story(
    "notes_delete, declined", lambda scene: _answered(scene, decline()), prepare=_ask, repeats=False
)
