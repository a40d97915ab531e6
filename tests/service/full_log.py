"""The audit log on a disk that is full; run in a mount namespace of its own (`test_audit_rotation.py`)."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from fsnotes.audit import AuditLog, Rotation
from fsnotes.errors import Unavailable
from tests.mounts import mount
from tests.service.full_disk import fill
from tests.service.logs import event, files, history, lines

BOUND = 32_768


def refused(log: AuditLog) -> bool:
    try:
        log.reserve(event("refused.md"))
    except Unavailable as error:
        return isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ENOSPC
    return False


def make_room(place: Path, size: int) -> None:
    os.truncate(place / "large", (place / "large").stat().st_size - size)


def main(folder: str) -> None:
    """Fill the disk beneath a log that is about to be renamed, and make room little by little."""
    place = Path(folder) / "disk"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=8m,nr_inodes=200", "none", str(place))
    path = place / "audit.jsonl"
    log = AuditLog(str(path), rotation=Rotation(BOUND))
    count = 0
    while path.stat().st_size < BOUND - 2000 if path.exists() else True:
        log.reserve(event(f"{count}.md")).settle("created")
        count += 1
    waiting = log.reserve(event(f"{count}.md"))
    count += 1
    fill(place)
    # What is left of the last page takes lines; then every change is refused before it happens.
    while not refused(log):
        count += 1
    before = path.read_bytes()
    for _ in range(3):
        assert refused(log)
    assert path.read_bytes() == before  # no part of a line is left
    assert history(path) == lines(path)  # reading goes on
    waiting.settle("created")  # and so does what was reserved
    # Some room, but not enough for a new file: the lines go on in the one that there is, beyond its bound.
    make_room(place, 65_536)
    while path.stat().st_size < BOUND + 8192:
        log.reserve(event(f"{count}.md")).settle("created")
        count += 1
    assert files(path) == [path]
    # No room for another file at all, since there are too many of them already.
    make_room(place, 2 << 20)
    assert os.statvfs(place).f_favail == 0
    log = AuditLog(str(path), rotation=Rotation(BOUND))
    log.reserve(event(f"{count}.md")).settle("created")
    assert files(path) == [path]
    # With room for everything, the log goes on in a new file.
    (place / "small-0").unlink()
    log = AuditLog(str(path), rotation=Rotation(BOUND))
    log.reserve(event(f"{count + 1}.md")).settle("created")
    log.reserve(event(f"{count + 2}.md")).settle("created")
    assert [each.name for each in files(path)] == ["audit-000001.jsonl", "audit.jsonl"]
    found = [line for line in lines(path) if line["outcome"] == "created"]
    assert [line["path"] for line in found][-3:] == [f"{number}.md" for number in range(count, count + 3)]
    assert history(path) == lines(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
