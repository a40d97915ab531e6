"""Mounts that come and go while a worker serves; each case in a mount namespace of its own (`test_surroundings.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import HandlerFailed, WorkerFailed
from sandbox.jail import keeper
from sandbox.jail.events import Happening
from sandbox.jail.supervisor import Jail
from tests.accounts import interpreter
from tests.mounts import mount
from tests.sandbox.jail.conftest import Layout, Yard, is_gone, pids, soon, until

LAYOUT: Layout = "full"
USER = 1000


def unmount(place: Path) -> None:
    subprocess.run(["umount", str(place)], check=True, capture_output=True)


def usb(yard: Yard) -> Path:
    """Make a folder for a mount in the workspace, and a file in it that will be covered."""
    place = yard.folder / "usb"
    place.mkdir()
    (place / "covered.md").write_text("covered")
    return place


def tmpfs(place: Path, *options: str) -> None:
    mount("-t", "tmpfs", *options, "none", str(place))


def append(jail: Jail, path: str = "usb/new.md") -> None:
    jail.call("append", {"path": path, "line": "x"}, deadline=soon(), write=True)


def files(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def a_mount_is_seen_by_the_next_call(yard: Yard) -> None:
    """Nothing is created beneath it, hidden: not even by a call that comes at once."""
    place = usb(yard)
    jail = yard.started(LAYOUT)
    for _ in range(5):
        append(jail, "mine.md")
        tmpfs(place)
        append(jail)
        assert files(place) == ["new.md"]
        unmount(place)
        append(jail, "usb/covered.md")
        assert files(place) == ["covered.md"]
    assert (place / "covered.md").read_text() == "covered" + 5 * "x\n"
    assert {event.ending for event in jail.events if event.ending} == {"recycled"}


def a_file_system_that_is_unmounted_is_let_go_of_at_once(yard: Yard) -> None:
    """Though nobody asks for anything: it would stay in use, and its device could not be taken out."""
    place = usb(yard)
    tmpfs(place)
    jail = yard.started(LAYOUT)
    before = pids(jail)
    unmount(place)
    until(lambda: all(is_gone(pid) for pid in before))
    append(jail)
    assert files(place) == ["covered.md", "new.md"]


def the_file_system_that_the_workspace_lies_on_is_let_go_of(yard: Yard) -> None:
    disk = yard.folder / "disk"
    disk.mkdir()
    tmpfs(disk)
    inner = Yard(disk / "Notes")
    inner.folder.mkdir()
    yard.jails.append(jail := inner.started(LAYOUT))
    before = pids(jail)
    unmount(disk)
    until(lambda: all(is_gone(pid) for pid in before))
    with pytest.raises(WorkerFailed):
        jail.call("append", {"path": "new.md", "line": "x"}, deadline=soon(1.0), write=True)
    assert files(disk) == []


def a_call_in_flight_is_answered_and_the_next_one_by_another_worker(yard: Yard) -> None:
    place = usb(yard)
    jail = yard.started(LAYOUT)
    before = pids(jail)
    with ThreadPoolExecutor(2) as pool:
        inside = pool.submit(jail.call, "sleep", {"seconds": 1.0}, deadline=soon(), write=True)
        until(lambda: not jail._turns._is_free)
        waiting = pool.submit(append, jail)
        until(lambda: len(jail._turns._queue) == 1)
        tmpfs(place)
        assert inside.result(20) == {"slept": 1.0}
        waiting.result(20)
    assert files(place) == ["new.md"]
    until(lambda: all(is_gone(pid) for pid in before))


def a_mount_that_becomes_read_only_is_so_for_the_worker(yard: Yard) -> None:
    """The flag is of the one mount, and not of the file system."""
    place = usb(yard)
    mount("--bind", str(place), str(place))
    jail = yard.started(LAYOUT)
    append(jail)
    mount("-o", "remount,bind,ro", str(place))
    with pytest.raises(HandlerFailed) as caught:
        append(jail)
    assert caught.value.kind == "builtins.OSError"
    assert (place / "new.md").read_text() == "x\n"
    append(jail, "mine.md")


def what_is_mounted_elsewhere_replaces_nobody(yard: Yard) -> None:
    beside = yard.folder.parent / (yard.folder.name + "-2")
    beside.mkdir()
    jail = yard.started(LAYOUT)
    before = pids(jail)
    tmpfs(beside)
    append(jail, "mine.md")
    unmount(beside)
    append(jail, "mine.md")
    assert pids(jail) == before


def what_is_mounted_while_a_worker_begins_is_seen_by_the_one_that_serves(yard: Yard) -> None:
    place = usb(yard)
    real, done = keeper.begin, []

    def begin(*args: Any, **more: Any) -> Any:
        report = real(*args, **more)
        if not done:
            tmpfs(place)
            done.append(True)
        return report

    keeper.begin = begin
    jail = yard.started(LAYOUT)
    append(jail)
    assert files(place) == ["new.md"]
    assert [event.happening for event in jail.events] == [Happening.ENDED, Happening.STARTED]


def many_mounts_and_calls_at_once_hide_nothing(yard: Yard) -> None:
    """Who begins a call once something is mounted, or no longer is, never writes to where it is not seen."""
    place = usb(yard)
    jail = yard.started(LAYOUT)
    for turn in range(10):
        tmpfs(place)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: append(jail, f"usb/{number}.md"), range(4)))
        assert files(place) == [f"{number}.md" for number in range(4)], turn
        unmount(place)
        append(jail, "mine.md")
    assert files(place) == ["covered.md"]


def a_worker_without_namespaces_sees_what_there_is(yard: Yard) -> None:
    place = usb(yard)
    jail = yard.started("contained")
    before = pids(jail)
    tmpfs(place)
    append(jail)
    assert files(place) == ["new.md"]
    unmount(place)
    append(jail)
    assert files(place) == ["covered.md", "new.md"]
    assert pids(jail) == before


def the_index_folder_counts_too(yard: Yard) -> None:
    index = yard.folder.parent / "index"
    index.mkdir()
    spec = yard.spec(LAYOUT)
    jail = yard.started(LAYOUT, spec=type(spec)(**{**_fields(spec), "index": str(index)}))
    before = pids(jail)
    tmpfs(index)
    until(lambda: all(is_gone(pid) for pid in before))
    append(jail, "mine.md")


def _fields(spec: object) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in type(spec).__annotations__}


SERVING = """
import sys
from tests.sandbox.jail.conftest import Yard
from tests.sandbox.jail.mounted import LAYOUT, append
from pathlib import Path
yard = Yard(Path(sys.argv[1]))
jail = yard.started(LAYOUT)
print("begun", flush=True)
for line in sys.stdin:
    append(jail, line.strip())
    print("done", flush=True)
jail.stop()
"""


def for_an_account_without_rights(yard: Yard) -> None:
    """Root mounts, and whoever serves is told of it all the same."""
    place = usb(yard)
    for path in (yard.folder, place, place / "covered.md"):
        os.chown(path, USER, USER)
    found = interpreter()
    assert found is not None
    command = [found[0], "-c", SERVING, str(yard.folder)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env=found[1],
        cwd="/",
        user=USER,
        group=USER,
        extra_groups=[],
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        for number in range(3):
            tmpfs(place, "-o", f"uid={USER}")
            process.stdin.write("usb/new.md\n")
            assert process.stdout.readline() == "done\n", number
            assert files(place) == ["new.md"]
            unmount(place)
            process.stdin.write("mine.md\n")
            assert process.stdout.readline() == "done\n"
        process.stdin.close()
        assert process.wait(30) == 0
    assert files(place) == ["covered.md"]


CASES: dict[str, Callable[[Yard], None]] = {
    case.__name__: case
    for case in (
        a_mount_is_seen_by_the_next_call,
        a_file_system_that_is_unmounted_is_let_go_of_at_once,
        the_file_system_that_the_workspace_lies_on_is_let_go_of,
        a_call_in_flight_is_answered_and_the_next_one_by_another_worker,
        a_mount_that_becomes_read_only_is_so_for_the_worker,
        what_is_mounted_elsewhere_replaces_nobody,
        what_is_mounted_while_a_worker_begins_is_seen_by_the_one_that_serves,
        many_mounts_and_calls_at_once_hide_nothing,
        a_worker_without_namespaces_sees_what_there_is,
        the_index_folder_counts_too,
        for_an_account_without_rights,
    )
}


def main(name: str, folder: str) -> None:
    """Run one case."""
    yard = Yard(Path(os.path.realpath(folder)) / "workspace")
    yard.folder.mkdir()
    try:
        CASES[name](yard)
    finally:
        for jail in yard.jails:
            jail.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
