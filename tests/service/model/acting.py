"""What every rule of the model stands on: calls whose answers are judged, and changes that must be explained.

Between two looks at the disk nothing may differ but what an answer, or the outsider, says. So an acknowledged write
that got lost, a refused one that was made, and a change of anything else are all the same fault: an unexplained one.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import psutil

from tests.require import has_openat2, require
from tests.service.conftest import Clock
from tests.service.estates import require_layout
from tests.service.model.apart import Apart
from tests.service.model.outsider import Outsider
from tests.service.model.servers import (
    PATIENCE_SECONDS,
    Answer,
    Ask,
    Kind,
    Server,
    Within,
    build,
    warm_up,
)
from tests.service.model.world import (
    ALICE,
    BOB,
    CANARY,
    OF_PAPERS,
    SHARED,
    Essence,
    World,
    marks,
    token,
)

NOT_NOW: Final = ("busy",)
REST_SECONDS: Final = 0.3
LEFT_SECONDS = 5.0
"""How long threads and workers may take to let go of what they have."""
MORE_DESCRIPTORS: Final = 12
"""So many more than at its start a server may have: connections that end, a ledger, workers that came since."""


@dataclass
class Form:
    """A form that a person has before them, and what they saw."""

    principal: str
    title: str
    state: str
    seen: dict[str, str]
    issued: float
    spent: bool = False
    entries: set[str] = field(default_factory=set)
    """What it has deleted: once at the most."""


def descriptors() -> set[str]:
    """Return what this process has open, with the numbers."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except FileNotFoundError:
            continue
    return found


class Acting:
    """One world, two servers, a scan beside them, and the account of it all. *seen* counts what came about."""

    seen: ClassVar[Counter[str]] = Counter()

    def __init__(self, kind: Kind, *, apart: bool) -> None:
        if kind == "openat2":
            require("openat2", available=has_openat2())
        elif kind != "walk":
            require_layout(kind)
        self.kind: Kind = kind
        self.apart = apart
        warm_up()
        self._held = descriptors()
        self._children = {each.pid for each in psutil.Process().children()}
        self.world = World(Path(os.path.realpath(tempfile.mkdtemp(prefix="fsnotes-world-"))))
        self.world.build()
        self.clock = Clock(time.time())
        self.servers: list[Server] = []
        self.servers += [self._served(), self._served(keeps=kind in ("openat2", "walk"))]
        self.scan = Within(self.world, "walk", self.clock, state="state-of-the-scan", keeps=False)
        self.outsider = Outsider(self.world.notes)
        self.around = self.world.around()
        self.tale = self.world.look()
        self.kept: set[str] = set()
        self.declined: set[str] = set()
        self.forms: list[Form] = []
        self.number = 0
        self.is_shaken = False
        """Whether somebody was killed since all was seen to be well."""
        self.seen["courses"] += 1
        self._numbers = [_at_rest(each) for each in self.servers if isinstance(each, Apart)]

    def _served(self, *, keeps: bool = True) -> Server:
        if self.apart:
            return Apart(self.world, self.kind)
        return Within(self.world, self.kind, self.now, keeps=keeps)

    def now(self) -> float:
        """Return the time that servers go by."""
        return time.time() if self.apart else self.clock.now

    def close(self) -> None:
        """End everything; nothing of it may stay."""
        try:
            for number, server in zip(self._numbers, self.servers, strict=False):
                assert isinstance(server, Apart)
                assert server.descriptors() <= number + MORE_DESCRIPTORS, "a server leaks descriptors"
            for server in self.servers:
                server.stop()
            self.scan.stop()
            self.check_around()
            self._check_left()
        finally:
            for server in self.servers:
                if isinstance(server, Apart) and server.process.poll() is None:
                    server.kill()
            shutil.rmtree(self.world.top, ignore_errors=True)

    def _check_left(self) -> None:
        end = time.monotonic() + LEFT_SECONDS
        while True:
            left = {each for each in descriptors() - self._held if "/proc/" not in each}
            children = {each.pid for each in psutil.Process().children()} - self._children
            if self._children:
                # Other tests have workers in this process, which are started anew at any time.
                left, children = {each for each in left if "/" in each}, set()
            if not left and not children:
                return
            assert time.monotonic() < end, (left, children)
            time.sleep(0.01)

    # -- calls -------------------------------------------------------------------------------------

    def ask(
        self,
        server: int,
        principal: str,
        tool: str,
        *,
        state: str | None = None,
        answers: Any = None,
        **arguments: Any,
    ) -> Answer:
        """Call a tool and judge the answer; who is told to come again does."""
        arguments = {"workspaceUri": self.world.uri, **arguments}
        if tool == "notes_workspaces":
            del arguments["workspaceUri"]
        ask = Ask(principal, tool, arguments, state, answers)
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self.servers[server].call(ask)
            self.judge(ask, answer)
            if answer.slug not in NOT_NOW:
                return answer
            assert time.monotonic() < end, answer
            time.sleep(0.01)

    def pages(self, server: int, principal: str, tool: str, what: str, **arguments: Any) -> list[Any] | None:
        """Return all of what a tool lists, page by page; None where it refuses."""
        found: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            answer = self.ask(server, principal, tool, **arguments, **cursor)
            if answer.slug == "invalid_argument" and cursor:
                found, cursor = [], {}  # the index was made anew meanwhile, and that is said
                continue
            if answer.slug is not None:
                return None
            found += answer.document[what]
            if "nextCursor" not in answer.document:
                return found
            cursor = {"cursor": answer.document["nextCursor"]}

    def judge(self, ask: Ask, answer: Answer) -> None:
        """Hold an answer against what its receiver may see."""
        self.seen["answers"] += 1
        outcome = "form" if answer.state else answer.slug or "done"
        self.seen[f"{ask.tool} {outcome}"] += 1
        said, own = answer.raw, json.dumps(dict(ask.arguments), ensure_ascii=False)
        assert answer.slug != "-32603", answer
        assert CANARY not in said, (ask, answer)
        assert OF_PAPERS not in said or (ask.principal, ask.arguments["workspaceUri"]) == (
            BOB,
            self.world.papers,
        ), (ask, answer)
        if ask.tool != "notes_workspaces":
            assert str(self.world.top) not in said, (ask, answer)
        strange = marks(said) - marks(own) - self.tale.readable(ask.principal)
        assert not (strange and strange - self.world.look().readable(ask.principal)), (ask, answer, strange)
        if ask.principal == BOB and "private" in said and "private" not in own:
            texts = [data for path, data in self.world.look().notes.items() if path.startswith(SHARED)]
            texts += [data for path, data in self.tale.notes.items() if path.startswith(SHARED)]
            assert any(b"private" in data for data in texts), (ask, answer)

    # -- changes -----------------------------------------------------------------------------------

    def text(self, *more: str) -> str:
        """Return a text with a mark of its own."""
        return f"# Note {self.number % 3}\n\n{self.mark()} common\n" + "".join(f"{each}\n" for each in more)

    def mark(self) -> str:
        """Return a mark that nothing has."""
        self.number += 1
        return token(self.number)

    def allowed(self, principal: str, path: str) -> bool:
        """Say whether a principal's grant covers a path."""
        return principal == ALICE or path.startswith(SHARED)

    def visible(self, principal: str) -> dict[str, bytes]:
        """Return the notes that a principal is served."""
        return {path: data for path, data in self.tale.notes.items() if self.allowed(principal, path)}

    def is_free(self, path: str) -> bool:
        """Say whether a note can be made there: nothing is there, and all above is folders or nothing."""
        parts = path.split("/")
        above = ["/".join(parts[:number]) for number in range(1, len(parts))]
        return path not in self.tale.things and all(
            self.tale.things.get(each, "folder") == "folder" for each in above
        )

    def expect(self, *essences: Essence, but: Iterable[str] = ()) -> int:
        """Look at the disk, which must be as one of the *essences* says, and return which; *but* may be lost."""
        tale = self.world.look()
        found = tale.essence()
        assert found in essences, _difference(essences[0], found)
        lost = self.kept - tale.all_marks()
        assert lost <= set(but), f"acknowledged and lost: {lost}"
        self.kept -= lost
        if tale != self.tale:
            self.tale = tale
        return essences.index(found)

    def expect_nothing(self) -> None:
        """Nothing is to have changed."""
        self.expect(self.tale.essence())

    def look_again(self) -> None:
        """Take what the outsider has done for given: what it overwrote or removed is nobody's loss."""
        self.tale = self.world.look()
        self.kept &= self.tale.all_marks()

    def check_around(self) -> None:
        """Nothing outside of `Notes` is to have changed, ever."""
        around = self.world.around()
        assert around == self.around, {
            path: (self.around.get(path), around.get(path))
            for path in self.around.keys() | around.keys()
            if self.around.get(path) != around.get(path)
        }

    # -- ends and beginnings -----------------------------------------------------------------------

    def restart(self, number: int) -> None:
        """End a server in peace, and start another one in its place."""
        self.servers[number].stop()
        self._again(number)

    def replace_killed(self, number: int) -> None:
        """Start a server in the place of one that was killed."""
        self._again(number)

    def _again(self, number: int) -> None:
        started = self._served()
        self.servers[number] = started
        if isinstance(started, Apart):
            self._numbers[number] = _at_rest(started)

    def recover(self) -> None:
        """After a kill, wait until every server can look and change again, and finish what a killed move has begun."""
        if not self.is_shaken:
            return
        for number in range(len(self.servers)):
            self._until(lambda number=number: self.ask(number, ALICE, "notes_list"))  # type: ignore[misc]
            self._until(
                lambda number=number: self.ask(  # type: ignore[misc]
                    number, ALICE, "notes_create", path=f"settled/{self.mark()}.md", content="x"
                )
            )
        # Where a worker was ended in the middle of one, it may be there all the same.
        shutil.rmtree(self.world.notes / "settled")
        self.is_shaken = False

    def _until(self, call: Callable[[], Answer]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while (answer := call()).slug == "unavailable":
            assert time.monotonic() < end, answer
            time.sleep(0.02)
        assert answer.slug is None, answer

    def sweep(self) -> None:
        """Sweep as a server does that has been there for a minute: no temporary may be left."""
        self.clock.now = max(self.clock.now, time.time()) + 61  # files have the time of the machine
        product = build(self.world, "walk", clock=lambda: self.clock.now)
        try:
            product.sweep()
        finally:
            product.close()
        assert self.world.look().temporaries == []
        self.expect_nothing()


def _at_rest(server: Apart) -> int:
    """Return how many descriptors a server has once all its workers are there."""
    number, since = server.descriptors(), time.monotonic()
    while time.monotonic() - since < REST_SECONDS:
        time.sleep(0.02)
        if (found := server.descriptors()) > number:
            number, since = found, time.monotonic()
    return number


def _difference(wanted: Essence, found: Essence) -> str:
    places = {
        path: (wanted.places.get(path), found.places.get(path))
        for path in wanted.places.keys() | found.places.keys()
        if wanted.places.get(path) != found.places.get(path)
    }
    return f"{places}, trash: gone {wanted.trash - found.trash}, come {found.trash - wanted.trash}"
