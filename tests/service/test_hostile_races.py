"""Several servers at work while somebody flips a folder, or the workspace itself, with a link to a folder outside.

Each server is a process of its own, and does whatever a principal may do. Nothing outside is read or changed, and what
was acknowledged is there afterwards.
"""

from __future__ import annotations

import itertools
import json
import logging
import multiprocessing
import os
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from fsnotes import wiring
from tests.disk import Tree
from tests.require import has_openat2, require
from tests.sandbox.racing import FLIPS_PER_SECOND, SECONDS, flipping
from tests.service.conftest import accept
from tests.service.model.servers import Answer, Ask, Kind, build, perform
from tests.service.model.world import ALICE, CANARY, OF_PAPERS, World, marks
from tests.workers import require_jail

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 2 * SECONDS)]

SERVERS = 2
READY_SECONDS = 60
MORE_SECONDS = 5.0
MOST_OF_ITS_OWN = 20
"""Notes that one server makes before it makes room again."""

CONTEXT = multiprocessing.get_context("forkserver")


@dataclass
class Told:
    """What a server tells at the end."""

    outcomes: Counter[str] = field(default_factory=Counter)
    kept: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    @property
    def has_both(self) -> bool:
        """Whether something was done, and something refused."""
        return len({outcome.endswith(" done") for outcome in self.outcomes}) == 2


class Server:
    """Calls one tool after the other, by chance, until the time is over."""

    def __init__(self, world: World, product: wiring.Product, number: int) -> None:
        self.world = world
        self.product = product
        self.number = number
        self.told = Told()
        self.chance = random.Random(number)  # noqa: S311 - which tool is next
        self.fresh = itertools.count(1_000_000 * (number + 1))
        self.own: list[str] = []
        self.deleted: list[str] = []

    def run(self, seconds: float) -> Told:
        end = time.monotonic() + seconds
        works = [
            self.create,
            self.append,
            self.read,
            self.list,
            self.search,
            self.move,
            self.delete,
            self.restore,
        ]
        while not self.told.wrong:
            now = time.monotonic()
            # Where a race is short, a server on a busy machine may not have come to both outcomes.
            if now >= end and (self.told.has_both or now >= end + MORE_SECONDS):
                break
            self.chance.choice(works)()
        return self.told

    def ask(self, tool: str, state: str | None = None, answers: Any = None, **arguments: Any) -> Answer:
        given = {"workspaceUri": self.world.uri, **arguments}
        answer = perform(self.product, Ask(ALICE, tool, given, state, answers))
        self.told.outcomes[f"{tool} {'done' if answer.slug is None else answer.slug}"] += 1
        if CANARY in answer.raw or OF_PAPERS in answer.raw or str(self.world.top) in answer.raw:
            self.told.wrong.append(answer.raw)
        return answer

    def create(self) -> None:
        mark = f"tok{next(self.fresh)}q"
        path = f"shared/{mark}.md"
        if len(self.own) >= MOST_OF_ITS_OWN:
            return
        if self.ask("notes_create", path=path, content=f"{mark} common\n").slug is None:
            self.told.kept.add(mark)
            self.own.append(path)

    def append(self) -> None:
        mark = f"tok{next(self.fresh)}q"
        if self.ask("notes_append", path="shared/log.md", text=mark).slug is None:
            self.told.kept.add(mark)

    def read(self) -> None:
        self.ask("notes_read", path="shared/log.md", startLine=1, endLine=3)

    def list(self) -> None:
        self.ask("notes_list", folder="shared")

    def search(self) -> None:
        self.ask("notes_search", query="common", limit=5)

    def move(self) -> None:
        if self.own:
            path = self.own[self.chance.randrange(len(self.own))]
            other = path.removeprefix("shared/") if path.startswith("shared/") else f"shared/{path}"
            if self.ask("notes_move", path=path, newPath=other).slug is None:
                self.own[self.own.index(path)] = other

    def delete(self) -> None:
        if not self.own:
            return
        path = self.own[self.chance.randrange(len(self.own))]
        asked = self.ask("notes_delete", title=path)
        if asked.state is None:
            return
        done = self.ask("notes_delete", asked.state, {"delete_choice": accept(path)}, title=path)
        if done.slug is None:
            self.own.remove(path)
            self.deleted.append(done.document["trashId"])

    def restore(self) -> None:
        if self.deleted and self.ask("notes_restore", trashId=self.deleted[-1]).slug is None:
            self.deleted.pop()


def serve(top: str, kind: Kind, number: int, seconds: float, line: Connection) -> None:
    """Be one of the servers."""
    logging.disable(logging.CRITICAL)  # of each refusal there is a line
    world = World(Path(top))
    product = build(world, kind)
    product.sweep()  # starts the workers
    line.send("ready")
    line.recv()
    line.send(Server(world, product, number).run(seconds))
    product.close()


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world with a log that everybody writes to, and a link that waits beside it."""
    made = World(Path(os.path.realpath(tmp_path)))
    made.build()
    Tree(made.top).build(
        "Notes/shared/log.md: # Log\n", "Notes/spare => ../outside/shared", "Away => outside"
    )
    Tree(made.top).build(f"outside/shared/log.md: {CANARY}\n", "outside/spare/")
    return made


@pytest.mark.parametrize("kind", ["openat2", "walk", "full", "contained"])
@pytest.mark.parametrize("what", ["folder", "workspace"])
def test_servers_at_work_where_somebody_flips_a_link_neither_read_nor_change_anything_outside(
    world: World, kind: Kind, what: str
) -> None:
    if kind == "openat2":
        require("openat2", available=has_openat2())
    elif kind != "walk":
        require_jail()
    names = ("Notes/shared", "Notes/spare") if what == "folder" else ("Notes", "Away")
    held = os.open(world.notes, os.O_RDONLY | os.O_DIRECTORY)
    around = outside_of(world)
    lines, children = [], []
    try:
        for number in range(SERVERS):
            ours, theirs = CONTEXT.Pipe()
            with theirs:
                child = CONTEXT.Process(target=serve, args=(str(world.top), kind, number, SECONDS, theirs))
                child.start()
            lines.append(ours)
            children.append(child)
        for line in lines:
            assert line.poll(READY_SECONDS)
            assert line.recv() == "ready"
        with flipping(Tree(world.top), *names) as flips:
            for line in lines:
                line.send("go")
            said: list[Told] = []
            for line in lines:
                assert line.poll(READY_SECONDS + SECONDS), "a server hangs"
                said.append(line.recv())
        for child in children:
            child.join(READY_SECONDS)
            assert child.exitcode == 0
        everything = Tree(f"/proc/self/fd/{held}").snapshot()
    finally:
        os.close(held)
        for line, child in zip(lines, children, strict=True):
            line.close()
            if child.is_alive():
                child.kill()
                child.join()
            child.close()
    outcomes = sum((each.outcomes for each in said), Counter())
    done = sum(count for outcome, count in outcomes.items() if outcome.endswith(" done"))
    attempts = outcomes.total()
    print(
        f"{what}, {kind}: {attempts} attempts, {done} done, {attempts - done} refused,"
        f" {sum(len(each.wrong) for each in said)} escapes, {flips.rate:.0f} flips a second: {json.dumps(outcomes)}"
    )
    assert [each.wrong for each in said] == [[]] * SERVERS
    assert outside_of(world) == around
    there = set().union(
        *(marks(data.decode("utf-8", "replace")) for data in everything.values() if isinstance(data, bytes))
    )
    assert set().union(*(each.kept for each in said)) <= there
    assert done > 0
    assert attempts > done
    assert flips.rate >= FLIPS_PER_SECOND / 4


def outside_of(world: World) -> dict[str, object]:
    """Return what is outside, whatever the workspace is called at the moment."""
    return {path: what for path, what in world.around().items() if path not in ("Notes", "Away")}
