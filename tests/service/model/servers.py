"""Two kinds of servers for the model: products in this process, and processes that serve over HTTP.

Both answer alike: with the result that a client sees, and everything of it as text, to be searched for what must not
be in it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import psutil

from fsnotes import wiring
from fsnotes.access import Principal
from fsnotes.calls import Call
from fsnotes.confirm import Asked
from fsnotes.errors import FsnotesError
from fsnotes.failures import describe
from fsnotes.outcomes import Deletion, NoteRead
from fsnotes.server import elicitation, results
from fsnotes.server.arguments import fit
from fsnotes.server.tool import Echo
from fsnotes.server.tools import TOOLS
from fsnotes.workers import Worker, WorkerMaker
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.records import replace
from tests.notes.journal_steps import tell_of_journals
from tests.server.wire import FORMS
from tests.service.model.world import World

Kind = Literal["openat2", "walk", "full", "contained"]
"""Inline on each resolver, and in workers of each layout, of which those without namespaces walk."""

SECONDS: Final = 60.0
PATIENCE_SECONDS: Final = 25.0
"""How long a worker that was killed may take to be there again: its pauses grow to ten seconds."""

_TOOLS: Final = {tool.name: tool for tool in TOOLS}
_CONTEXT: Final = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Answer:
    """What came of a call: a result, or the code of an error. *raw* is all of it."""

    raw: str
    result: Mapping[str, Any] | None = None
    code: int | None = None

    @property
    def slug(self) -> str | None:
        """Return what a failure is called, None for a success."""
        if self.result is None:
            return str(self.code)
        if not self.result.get("isError", False):
            return None
        return str(self.result["content"][0]["text"]).partition(":")[0]

    @property
    def document(self) -> dict[str, Any]:
        """Return the structured half, or of a note that was read, its header."""
        assert self.result is not None, self
        if "structuredContent" in self.result:
            return dict(self.result["structuredContent"])
        return dict(json.loads(self.result["content"][0]["text"]))

    @property
    def text(self) -> str:
        """Return the text of a note that was read."""
        assert self.result is not None, self
        return str(self.result["content"][1]["text"])

    @property
    def state(self) -> str | None:
        """Return the sealed state of a form, None where there is none."""
        return None if self.result is None else self.result.get("requestState")


@dataclass(frozen=True)
class Ask:
    """A call of a tool, by a principal; with *state* and *answers* the second round."""

    principal: str
    tool: str
    arguments: Mapping[str, Any]
    state: str | None = None
    answers: Mapping[str, Any] | None = None


class Server(Protocol):
    """What the model asks of a server."""

    def call(self, ask: Ask) -> Answer:
        """Answer. Raises GoneError if it ends first."""

    def workers(self) -> list[psutil.Process]:
        """Return its workers."""

    def stop(self) -> None:
        """End in peace."""


def perform(product: wiring.Product, ask: Ask, reached: Callable[[str], None] = lambda _: None) -> Answer:
    """Do as a transport does: judge the arguments, run the tool, and note that a deletion was answered."""
    tool = _TOOLS[ask.tool]
    call = Call(Principal(f"token:{ask.principal}"), request_id="1")
    try:
        given = fit(ask.arguments, tool.input_schema)
        outcome = tool.run(product.service, call, given, Echo(ask.state, ask.answers))
    except FsnotesError as error:
        failure = describe(error)
        if failure.rpc is not None:
            return Answer(failure.rpc.message, code=failure.rpc.code)
        failed = results.failed(failure)
        return Answer(json.dumps(failed, ensure_ascii=False), failed)
    if isinstance(outcome, NoteRead):
        result = results.note_text(outcome.header(), outcome.text)
    elif isinstance(outcome, Asked):
        result = elicitation.ask(outcome, dict(FORMS))
    else:
        assert not isinstance(outcome, tuple)
        result = results.structured(outcome.document())  # type: ignore[union-attr]
    if isinstance(outcome, Deletion) and outcome.trash_id is not None:
        reached("answered")
        product.service.answered(outcome)
        reached("noted as answered")
    return Answer(json.dumps(result, ensure_ascii=False), result)


def maker(kind: Kind) -> WorkerMaker | None:
    """Return what makes the workers of a kind, None for inline."""
    if kind in ("openat2", "walk"):
        return None

    def make(spec: JailSpec, *, require: Level) -> Worker:
        if kind == "contained":
            spec = replace(spec, want=Level.CONTAINED)
        return Jail(spec, require=require)

    return make


def build(
    world: World,
    kind: Kind,
    *,
    state: str = "state",
    clock: Callable[[], float] = time.time,
    observe: Callable[[StrEnum], None] = wiring.ignore,
) -> wiring.Product:
    """Put a product of that kind together."""
    make = maker(kind)
    return wiring.build(
        world.settings(state=state, jailed=make is not None),
        environ={},
        clock=clock,
        observe=observe,
        resolver="auto" if make is not None else kind,  # type: ignore[arg-type]
        worker=make,
    )


class Within:
    """A product in this process."""

    def __init__(
        self,
        world: World,
        kind: Kind,
        clock: Callable[[], float],
        *,
        state: str = "state",
        keeps: bool = True,
    ) -> None:
        self.product = build(world, kind, state=state, clock=clock)
        if keeps:
            # Of the other workspace nothing is searched, and an index takes a worker.
            self.product._upkeeps[0].start()
        self._before: list[psutil.Process] = []

    def call(self, ask: Ask) -> Answer:
        """Answer in this thread."""
        return perform(self.product, ask)

    def workers(self) -> list[psutil.Process]:
        """Return the workers of all products of this process: they are its children alike."""
        return [each for each in psutil.Process().children() if is_worker(each)]

    def stop(self) -> None:
        """Close it."""
        self.product.close()


def is_worker(process: psutil.Process) -> bool:
    """Say whether a process is a jailed worker."""
    try:
        return any("sandbox.jail" in word or "sandbox/jail" in word for word in process.cmdline())
    except psutil.Error:
        return False


# -- a process that does one thing and is killed in the middle of it -------------------------------


def warm_up() -> None:
    """Start what children are forked from, so that nothing of it is taken for a leak."""
    _CONTEXT.set_forkserver_preload([__name__, "fsnotes.confirm.database"])
    child = _CONTEXT.Process(target=_idle)
    child.start()
    child.join(SECONDS)
    child.close()


def _idle() -> None:
    pass


def _child(top: str, kind: Kind, now: float, ask: Ask, deadly: int, answers: Any) -> None:
    left = deadly

    def reached(_: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    tell_of_journals(reached)
    product = build(World(Path(top)), kind, clock=lambda: now, observe=reached)
    answers.send(perform(product, ask, reached))
    product.close()


def killed_in(world: World, kind: Kind, now: float, ask: Ask, step: int) -> Answer | None:
    """Let a process of its own do it, that kills itself after so many steps; return what it said if it came so far."""
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    with ours:
        with theirs:
            child = _CONTEXT.Process(target=_child, args=(str(world.top), kind, now, ask, step, theirs))
            child.start()
        try:
            assert ours.poll(SECONDS), "a child hangs"
            said = ours.recv()
        except EOFError:
            said = None
        child.join(SECONDS)
        child.close()
    assert said is None or isinstance(said, Answer)
    return said
