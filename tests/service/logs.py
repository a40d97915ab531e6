"""What the tests of the audit log share: events, the lines of all its files, and writers that are real processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from fsnotes.audit import AuditLog, Event, History, Rotation, RotationStep, Wanted

SECONDS = 60.0
SPAWN = multiprocessing.get_context("spawn")


def event(path: str | None = "a.md", **fields: Any) -> Event:
    """Return the event of one change of *path*."""
    return Event(
        **{
            "principal": "local:me",
            "tool": "notes_create",
            "workspace": "notes",
            "path": path,
            "jail": "none",
            **fields,
        }
    )


def files(path: Path) -> list[Path]:
    """Return the files of the log at *path*, the older ones first, found apart from the product."""
    older = [each for each in path.parent.iterdir() if each.name.startswith(f"{path.stem}-")]
    return [*sorted(older), *([path] if path.exists() else [])]


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of all files, each of which must be whole."""
    return [json.loads(line) for each in files(path) for line in each.read_bytes().splitlines()]


def history(path: Path, wanted: Wanted | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """Return what the product reads of the log, which must be free of anything else."""
    with closing(History(str(path))) as found:
        given = found.entries(wanted or Wanted()) if limit is None else found.last(wanted or Wanted(), limit)
        read = [dict(entry.fields) for _, entry in given]
        assert (found.broken, found.files.refused) == (0, [])
    return read


def run_all(work: Callable[..., None], *each: tuple[Any, ...]) -> None:
    """Run *work* once for each of the arguments, in a process of its own, all at once; they must end well."""
    processes = [SPAWN.Process(target=work, args=arguments) for arguments in each]
    for process in processes:
        process.start()
    for process in processes:
        process.join(SECONDS)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def run_killed(work: Callable[..., None], *arguments: Any) -> None:
    """Run *work* in a process of its own that ends by SIGKILL."""
    process = SPAWN.Process(target=work, args=arguments)
    process.start()
    process.join(SECONDS)
    assert process.exitcode == -signal.SIGKILL


class KilledAt:
    """An observer that ends its process when a step has been done for the *nth* time."""

    def __init__(self, step: str, nth: int = 1) -> None:
        self._step = RotationStep(step)
        self._left = nth

    def __call__(self, step: RotationStep) -> None:
        if step is self._step:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def write(path: str, name: str, count: int, max_bytes: int) -> None:
    """Reserve and settle *count* changes, each twelfth as a refusal, with others in between."""
    log = AuditLog(path, rotation=Rotation(max_bytes))
    waiting = []
    for number in range(count):
        if number % 12 == 0:
            log.refuse(event(f"{name}/{number}", outcome="not_allowed"))
            continue
        waiting.append((number, log.reserve(event(f"{name}/{number}"))))
        if len(waiting) == 5:  # settled later than the lines that came behind it
            end(*waiting.pop(0))
    for each in waiting:
        end(*each)


def end(number: int, reservation: Any) -> None:
    """Settle a change, or say that it was not made."""
    if number % 12 == 7:
        reservation.refuse("note_exists")
    else:
        reservation.settle("created", after="E" * 32)
