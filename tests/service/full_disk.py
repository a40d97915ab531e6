"""A quarantine where nothing can be written any more; run in a mount namespace of its own (`test_quarantine.py`)."""

from __future__ import annotations

import errno
import itertools
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from fsnotes.audit import AuditLog
from fsnotes.quarantine import Mark, Quarantine, lift
from fsnotes.state import StateFolder
from tests.mounts import mount

PATH = "/home/alice/Notes"
NOW = 1_800_000_000.0
WHY = "its workers broke their rules too often"
lines: list[str] = []


class Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        lines.append(record.getMessage())


def until_full(step: Callable[[int], object]) -> None:
    """Do *step* again and again, until the disk is full."""
    for number in itertools.count():
        try:
            step(number)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return


def fill(place: Path) -> None:
    """Take every block and every file that is left."""
    large = place / "large"
    large.touch()
    with large.open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            until_full(lambda _: file.write(b"x" * size))  # noqa: B023 - called at once
    until_full(lambda number: (place / f"small-{number}").touch(exist_ok=False))
    space = os.statvfs(place)
    assert (space.f_bavail, space.f_favail) == (0, 0)


def process(state: StateFolder) -> Quarantine:
    return Quarantine(state, {"Notes": PATH}, AuditLog(state.audit), clock=lambda: NOW)


def main(folder: str, kept: str) -> None:
    """Close a workspace on a full disk, and look at it as others do, and after a restart."""
    logging.getLogger().addHandler(Lines())
    place = Path(folder) / "disk"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=1m,nr_inodes=200", "none", str(place))
    state = StateFolder.open(str(place / "state"))
    server, other = process(state), process(state)
    if kept == "kept":
        server.reserve()
    fill(place)
    server.impose("Notes", WHY, jail="full")
    for _ in range(3):
        server.look()
        other.look()
    assert server.stands("Notes")
    assert server.mark("Notes") == Mark(WHY, "Notes", PATH, NOW)
    assert lines.count("the audit log cannot be written: a quarantine is missing from it") == 1
    told = [line for line in lines if "is closed" in line]
    assert len(told) == 1
    if kept == "kept":
        assert (other.stands("Notes"), process(state).stands("Notes")) == (True, True)
        assert process(state).mark("Notes") == Mark(WHY, "Notes", PATH, NOW)
        assert told[0].endswith("--clear opens it")
    else:
        # The disk is really full: this is what happens without the room.
        assert (other.stands("Notes"), process(state).stands("Notes")) == (False, False)
        assert "in this process alone, and not after a restart" in told[0]
        (place / "large").unlink()
        (place / "small-0").unlink()
        server.look()
        assert process(state).stands("Notes")
        assert sum("is written down" in line for line in lines) == 1
    for path in (place / "large", *place.glob("small-*")):
        path.unlink(missing_ok=True)
    lifted = lift(state, PATH, workspace="Notes", principal="local:alice", audit=AuditLog(state.audit))
    assert lifted == Mark(WHY, "Notes", PATH, NOW)
    fill(place)
    # The room stays taken, so that the next one is written down on a full disk too.
    server.look()
    assert not server.stands("Notes")
    server.impose("Notes", WHY, jail="full")
    assert process(state).stands("Notes")


if __name__ == "__main__":
    main(*sys.argv[1:])
