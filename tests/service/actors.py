"""Operations in processes of their own, which kill themselves after a step, or race each other.

Children are forked from a server that has the product loaded, so one costs some 20 ms. They share files with
the test and nothing else, and each builds its own product.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from fsnotes import wiring
from fsnotes.access import Rule
from fsnotes.calls import Call
from fsnotes.errors import Busy, FsnotesError
from fsnotes.outcomes import Asked
from tests.service.conftest import Clock, Household

TIMEOUT_SECONDS = 60
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [__name__, "fsnotes.confirm.database", "cryptography.hazmat.primitives.ciphers.aead"]
)

UNANSWERED = "delete: answered to the caller, not yet noted"
ANSWERED = "delete: noted as answered"


@dataclass(frozen=True, slots=True)
class Place:
    """What another process must know to be in the same household."""

    top: str
    resolver: wiring.ResolverChoice
    now: float
    rules: tuple[Rule, ...]
    state: str = "state"
    is_jailed: bool = False

    @classmethod
    def of(cls, household: Household, *, state: str = "state") -> Place:
        return cls(
            str(household.top),
            household.resolver,
            household.clock.now,
            tuple(household.rules),
            state,
            household.is_jailed,
        )

    def product(self, observe: Callable[[StrEnum], None] = wiring.ignore) -> tuple[Household, wiring.Product]:
        household = Household(
            Path(self.top), self.resolver, Clock(self.now), list(self.rules), is_jailed=self.is_jailed
        )
        return household, household.product(state=self.state, observe=observe)


@dataclass(frozen=True, slots=True)
class Job:
    """One operation of the service, by name, with its arguments."""

    what: str
    principal: Any  # a Principal: a Call itself holds a function
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: what it did and said, or the signal that killed it."""

    exit_code: int | None
    steps: tuple[str, ...] = ()
    said: Any = None


def create(call: Call, path: str, content: str) -> Job:
    return Job("create", call.principal, {"path": path, "content": content})


def edit(call: Call, path: str, old_text: str, new_text: str) -> Job:
    return Job("edit", call.principal, {"path": path, "old_text": old_text, "new_text": new_text})


def append(call: Call, path: str, text: str) -> Job:
    return Job("append", call.principal, {"path": path, "text": text})


def properties(call: Call, path: str, key: str, value: str) -> Job:
    return Job("properties", call.principal, {"path": path, "assign": [(key, value)]})


def move(call: Call, path: str, new_path: str) -> Job:
    return Job("move", call.principal, {"path": path, "new_path": new_path})


def append_lines(call: Call, path: str, name: str, count: int) -> Job:
    return Job("append lines", call.principal, {"path": path, "name": name, "count": count})


def restore(call: Call, trash_id: str, new_path: str | None = None) -> Job:
    return Job("restore", call.principal, {"trash_id": trash_id, "new_path": new_path})


def ask(call: Call, title: str) -> Job:
    return Job("ask", call.principal, {"title": title})


def reply(call: Call, title: str, state: str, answer: Any) -> Job:
    return Job("delete", call.principal, {"title": title, "state": state, "answer": answer})


def perform(
    household: Household,
    product: wiring.Product,
    job: Job,
    reached: Callable[[str], None] = lambda _: None,
) -> Any:
    """Do the job as a transport does it: a deletion is noted as answered once the caller has its answer."""
    service, uri, call = product.service, household.uri, Call(job.principal, request_id="child")
    given = job.arguments
    match job.what:
        case "create":
            return service.create(call, uri, given["path"], given["content"]).document()
        case "move":
            return service.move(call, uri, given["path"], given["new_path"]).document()
        case "edit":
            return service.edit(
                call, uri, given["path"], given["new_text"], old_text=given["old_text"]
            ).document()
        case "append":
            return service.append(call, uri, given["path"], given["text"]).document()
        case "properties":
            return service.properties(call, uri, given["path"], assign=given["assign"]).document()
        case "append lines":
            for number in range(given["count"]):
                _while_busy(lambda: service.append(call, uri, given["path"], f"{given['name']} {number}"))  # noqa: B023 - called at once
            return given["count"]
        case "restore":
            return service.restore(call, uri, given["trash_id"], new_path=given["new_path"]).document()
        case "ask":
            outcome = service.delete(
                call, uri, given["title"], arguments={"workspaceUri": uri, "title": given["title"]}
            )
        case "delete":
            outcome = service.delete(
                call,
                uri,
                given["title"],
                arguments={"workspaceUri": uri, "title": given["title"]},
                state=given["state"],
                answers={"delete_choice": given["answer"]},
            )
        case _:
            raise ValueError(job.what)
    if isinstance(outcome, Asked):
        return outcome.state
    if outcome.outcome == "deleted":
        reached(UNANSWERED)
        service.answered(outcome)
        reached(ANSWERED)
    return outcome.document()


def _while_busy(work: Callable[[], object]) -> None:
    while True:
        try:
            work()
        except Busy:
            continue
        return


def _child(
    place: Place, job: Job, deadly: str | None, file_size_limit: int | None, answers: Connection
) -> None:
    steps: list[str] = []
    if file_size_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size_limit, file_size_limit))

    def reached(step: str) -> None:
        steps.append(str(step))
        if step == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    household, product = place.product(observe=reached)
    try:
        said: Any = perform(household, product, job, reached)
    except FsnotesError as error:
        said = type(error).__name__
    answers.send((tuple(steps), said))
    household.close()


def run(
    household: Household, job: Job, *, kill_after: str | None = None, file_size_limit: int | None = None
) -> Ended:
    """Do *job* in a process of its own, which kills itself right after the step *kill_after*."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    with ours:
        with theirs:
            child = CONTEXT.Process(
                target=_child, args=(Place.of(household), job, kill_after, file_size_limit, theirs)
            )
            child.start()
        try:
            steps, said = ours.recv() if ours.poll(TIMEOUT_SECONDS) else ((), "no answer")
        except EOFError:
            steps, said = (), None
        child.join(TIMEOUT_SECONDS)
        exit_code = child.exitcode
        child.close()
    return Ended(exit_code, steps, said)


def _at_once(place: Place, job: Job, answers: Connection) -> None:
    household, product = place.product()
    if place.is_jailed:
        product.sweep()  # starts the worker that the job is for
    answers.send("ready")
    try:
        perform(household, product, job)
    except FsnotesError:
        pass
    answers.send("done")
    household.close()


def run_for(household: Household, job: Job, *, seconds: float) -> bool:
    """Do *job* in a process that is killed *seconds* after it began; say whether the kill came in time."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    with ours:
        with theirs:
            child = CONTEXT.Process(target=_at_once, args=(Place.of(household), job, theirs))
            child.start()
        assert ours.poll(TIMEOUT_SECONDS)
        assert ours.recv() == "ready"
        done = ours.poll(seconds)
        child.kill()
        child.join(TIMEOUT_SECONDS)
        child.close()
    return not done


def _racer(place: Place, jobs: Connection, start: Any) -> None:
    """Do one job after the other, each when all have theirs; a busy one is tried again until it is not."""
    household, product = place.product()
    while (job := jobs.recv()) is not None:
        start.wait(TIMEOUT_SECONDS)
        jobs.send(_until_not_busy(household, product, job))
    household.close()


def _until_not_busy(household: Household, product: wiring.Product, job: Job) -> Any:
    while True:
        try:
            return perform(household, product, job)
        except Busy:
            continue
        except FsnotesError as error:
            return type(error).__name__
        except Exception as error:  # noqa: BLE001 - whatever it is, the test must see it
            return f"crash: {error!r}"


class Racers:
    """Processes that live for several rounds and begin each at the same instant."""

    def __init__(self, household: Household, count: int) -> None:
        self._start = CONTEXT.Barrier(count)
        self._children = []
        self._lines: list[Connection] = []
        for _ in range(count):
            ours, theirs = CONTEXT.Pipe()
            with theirs:
                child = CONTEXT.Process(target=_racer, args=(Place.of(household), theirs, self._start))
                child.start()
            self._children.append(child)
            self._lines.append(ours)

    def race(self, jobs: list[Job]) -> list[Any]:
        """Let each process do its job; return what they said, in the order of the jobs."""
        for line, job in zip(self._lines, jobs, strict=True):
            line.send(job)
        said = []
        for line in self._lines:
            assert line.poll(TIMEOUT_SECONDS), "a racer hangs"
            said.append(line.recv())
        return said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for line, child in zip(self._lines, self._children, strict=True):
            if kind is None:
                line.send(None)
                child.join(TIMEOUT_SECONDS)
            if child.is_alive():
                child.kill()
                child.join()
            child.close()
            line.close()
