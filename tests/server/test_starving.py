"""A workspace whose worker hangs, or all of them but one: the others are served as if nothing were."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fsnotes.runners import MAX_PENDING
from tests.server.wire import Frame, Wire, call
from tests.workers import require_jail

SOON = 8.0
"""Seconds in which a call is answered that waits for nobody; one that hangs takes 20."""


@contextlib.contextmanager
def held(workers: list[psutil.Process]) -> Iterator[None]:
    """Keep *workers* from doing anything, as a disk that does not answer does."""
    for worker in workers:
        os.kill(worker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGCONT)


def below(wire: Wire) -> set[psutil.Process]:
    return set(psutil.Process(wire.process.pid).children(recursive=True))


@pytest.mark.parametrize("hung", [1, 2], ids=["one", "all but one"])
def test_workspaces_that_hang_starve_no_other(tmp_path: Path, hung: int) -> None:
    require_jail()
    folders = [tmp_path / f"Notes{number}" for number in range(hung + 1)]
    for folder in folders:
        folder.mkdir()
        (folder / "a.md").write_text("text")
    uris = [folder.as_uri() for folder in folders]

    def read(id_: int, uri: str) -> Frame:
        return call(id_, "notes_read", {"workspaceUri": uri, "path": "a"})

    def create(id_: int, uri: str) -> Frame:
        return call(id_, "notes_create", {"workspaceUri": uri, "path": f"made-{id_}", "content": "x"})

    with Wire.serve(*folders, state=tmp_path / "state") as wire:
        wire.ask(read(1, uris[-1]))
        wire.ask(create(2, uris[-1]))
        theirs = below(wire)
        for number, uri in enumerate(uris[:-1]):
            wire.ask(create(3 + number, uri))
        # The ones that look began with the server, in the order of the folders; those that change at the first change.
        looking = sorted(theirs, key=lambda each: each.create_time())
        parts = len(below(wire) - theirs) // hung  # processes that a worker has
        workers = [*looking[: parts * hung], *(below(wire) - theirs)]
        with held(workers):
            stuck = []
            for uri in uris[:-1]:
                for _ in range(2 * MAX_PENDING):
                    stuck += [read(100 + len(stuck), uri), create(101 + len(stuck), uri)]
            wire.send(*stuck)
            begun = time.monotonic()
            for _ in range(2 * MAX_PENDING * hung):
                assert (
                    "isError" in wire.receive(SOON)["result"]
                )  # what a workspace does not admit is refused at once
            wire.send(read(10, uris[-1]), create(11, uris[-1]))
            answers: dict[object, Frame] = {}
            while not answers.keys() >= {10, 11}:
                assert time.monotonic() - begun < SOON
                answer = wire.receive(SOON)
                answers[answer["id"]] = answer["result"]
            assert [answers[id_]["isError"] for id_ in (10, 11)] == [False, False], answers
    assert (folders[-1] / "made-11.md").read_text() == "x"
