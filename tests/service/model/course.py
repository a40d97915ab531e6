"""What all rules of the model draw from, and the machine that they are rules of, without any.

Whatever depends on what there is at the moment is drawn as a number, since kills come when they come, and so does what
they leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from tests.service.model.acting import Acting
from tests.service.model.servers import Answer, Kind
from tests.service.model.world import ALICE, BOB, Tale

T = TypeVar("T")

FOLDERS = ("", "shared/", "shared/deep/", "private/", "private/deep/")
NAMES = ("a", "b", "Größe", "with space")
PATHS = st.builds(lambda folder, name: f"{folder}{name}.md", st.sampled_from(FOLDERS), st.sampled_from(NAMES))
SECTIONS = st.sampled_from(["shared", "shared/deep", "private", "private/deep", "elsewhere", "shared/other"])
PLACES = st.one_of(PATHS, SECTIONS)
WHO = st.sampled_from((ALICE, ALICE, BOB))
SERVERS = st.sampled_from((0, 1))
SOME = st.integers(0, 29)
"""Which of what there is at the moment."""
EXTRAS = st.lists(
    st.sampled_from(
        ("[[a]]", "[[b|it]]", "[to](a.md)", "[[shared/a]]", "![[Größe]]", "#alpha", "#beta/gamma")
    ),
    max_size=3,
    unique=True,
)
WAYS = st.sampled_from(("append", "edit", "properties"))


class Course(RuleBasedStateMachine):
    """One course of events in one world."""

    kind: ClassVar[Kind] = "walk"
    apart: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.acting = Acting(self.kind, apart=self.apart)
        self.killed = self.restarted = 0
        self.has_workers = self.apart or self.kind in ("full", "contained")
        self.agreed: Tale | None = None

    @property
    def tale(self) -> Tale:
        """The account of the disk."""
        return self.acting.tale

    def place(self, some: int) -> str:
        """Return the path of a note, mostly; else one where there may be anything."""
        notes = sorted(self.tale.notes)
        if notes and some % 5:
            return notes[some % len(notes)]
        return FOLDERS[some % len(FOLDERS)] + NAMES[some % len(NAMES)] + ".md"

    def ask(self, server: int, principal: str, tool: str, **how: Any) -> Answer:
        """Call a tool."""
        return self.acting.ask(server, principal, tool, **how)

    def saw(self, what: str) -> None:
        """Count what came about."""
        self.acting.seen[what] += 1


def one(things: Sequence[T], number: int) -> T:
    """Return one of what there is."""
    return things[number % len(things)]


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
