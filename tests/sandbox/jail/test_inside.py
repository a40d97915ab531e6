"""The worker as a process: what it has of its parent, what it loads, where it stands, and what it writes to stderr."""

from __future__ import annotations

import logging
import os
import sys
import sysconfig
import time

import psutil
import pytest

from sandbox.errors import HandlerFailed, WorkerFailed
from sandbox.jail.supervisor import Jail
from tests.mounts import REPOSITORY
from tests.sandbox.jail.conftest import Layout, Yard, pids, soon, until

HIDDEN = "/home/alice/hidden"


def test_worker_works_in_the_workspace_and_gets_its_places(yard: Yard, layout: Layout) -> None:
    jail = yard.started(layout, spec=yard.spec(layout, colour="blue"))
    inside = "/ws" if layout == "full" else str(yard.folder)
    assert jail.call("options", {}, deadline=soon(), write=False) == {
        "colour": "blue",
        "workspace": inside,
        "index": None,
    }
    assert jail.call("look", {}, deadline=soon(), write=False)["folder"] == inside
    jail.call("append", {"path": "made.md", "line": "here"}, deadline=soon(), write=True)
    assert (yard.folder / "made.md").read_text() == "here\n"


def test_worker_sees_how_much_is_free_on_the_disk_of_its_workspace(yard: Yard, layout: Layout) -> None:
    seen = yard.started(layout).call("space", {}, deadline=soon(), write=False)
    said = os.statvfs(yard.folder)
    assert seen["total"] == said.f_blocks * said.f_frsize
    assert abs(seen["free"] - said.f_bavail * said.f_frsize) < 256 << 20  # others write meanwhile


def test_options_that_the_worker_adds_cannot_be_given(yard: Yard) -> None:
    with pytest.raises(ValueError, match="own"):
        yard.make(yard.spec(index="elsewhere"))


@pytest.mark.parametrize("value", [{1}, float("nan"), "\ud800"], ids=["set", "nan", "half"])
def test_options_that_are_no_json_are_refused_at_once(yard: Yard, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        yard.make(yard.spec(value=value))


def test_nothing_of_the_parent_is_in_the_worker(
    yard: Yard, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSNOTES_STATE_KEYS", HIDDEN)
    ours, theirs = os.pipe()
    try:
        for descriptor in (ours, theirs):
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - the call has no other form
        seen = yard.started(layout).call("look", {}, deadline=soon(), write=False)
    finally:
        os.close(ours)
        os.close(theirs)
    assert seen["environment"] == {"LANG": "C.UTF-8"}
    assert seen["descriptors"] == sorted([0, 1, 2, seen["channel"]])
    # A device or a file from outside would have a mode and times that its owner may change by descriptor.
    assert seen["files"] == []
    assert seen["flags"] == [1, 1, sys.dont_write_bytecode, 1]
    assert seen["session"]
    assert seen["garbage"] == [True, True]


def test_worker_runs_exactly_the_modules_that_the_parent_has(yard: Yard, layout: Layout) -> None:
    theirs = yard.started(layout).call("modules", {}, deadline=soon(), write=False)
    ours = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
    both = {name: file for name, file in theirs.items() if ours.get(name) is not None}
    assert {name: ours[name] for name in both} == both
    assert both.keys() >= {"sandbox.records", "sandbox.jail.worker", "json", "threading"}
    folders = (sysconfig.get_path("stdlib") + "/", sysconfig.get_path("platstdlib") + "/", REPOSITORY + "/")
    assert [file for file in theirs.values() if not file.startswith(folders)] == []


def test_worker_loads_nothing_heavy_and_stays_small(yard: Yard, layout: Layout) -> None:
    jail = yard.started(layout)
    loaded = set(jail.call("modules", {}, deadline=soon(), write=False))
    heavy = {
        "psutil",
        "subprocess",
        "asyncio",
        "pydantic",
        "mcp",
        "cryptography",
        "sqlite3",
        "pathvalidate",
        "ruamel",
        "dataclasses",
        "inspect",
        "traceback",
    }
    assert loaded & heavy == set()
    serving = max(pids(jail), key=lambda pid: psutil.Process(pid).create_time())
    assert psutil.Process(serving).memory_info().rss < 35 << 20


def test_late_import_is_refused_with_a_clear_message(
    yard: Yard, layout: Layout, caplog: pytest.LogCaptureFixture
) -> None:
    jail = yard.started(layout)
    for name in ("xml.dom.minidom", "decimal", "not_there"):
        with pytest.raises(HandlerFailed) as caught:
            jail.call("import", {"name": name}, deadline=soon(), write=False)
        assert caught.value.kind == "builtins.ImportError"
        message = f"{name.partition('.')[0]} would be imported after the lock-down"
        until(lambda text=message: text in caplog.text)
    assert jail.call("import", {"name": "json"}, deadline=soon(), write=False) == {}


def test_what_a_worker_writes_to_stderr_is_one_escaped_line_each(
    jail: Jail, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    text = "first\n\x1b[2Jsecond\u202e\nWARNING forged \\\n" + "long " * 1_000 + "\nlast"
    jail.call("complain", {"text": text}, deadline=soon(), write=False)
    jail.stop()
    lines = [record.getMessage().partition(": ")[2] for record in caplog.records]
    assert lines[:3] == ["first", "\\u001b[2Jsecond\\u202e", "WARNING forged \\\\"]
    assert lines[-1] == "last"
    assert max(map(len, lines)) <= 501


def test_worker_that_writes_without_end_is_not_read_without_end(
    jail: Jail, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises((HandlerFailed, WorkerFailed)):
        jail.call("complain", {"text": "x" * 1_000, "times": 100_000}, deadline=soon(), write=True)
    assert len(caplog.text) < 200_000
    assert "the rest is not read" in caplog.text
    assert jail.call("echo", {}, deadline=soon(), write=False) == {}


def test_worker_that_closes_its_stderr_is_served_on_without_a_spin(jail: Jail) -> None:
    jail.call("deaf", {}, deadline=soon(), write=False)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.15
    assert jail.call("echo", {}, deadline=soon(), write=False) == {}


def test_worker_is_accused_by_its_caller(jail: Jail) -> None:
    before = jail.call("count", {}, deadline=soon(), write=False)["pid"]
    jail.accuse("a note outside of what was granted")
    assert jail.call("count", {}, deadline=soon(), write=False)["pid"] != before
    assert [event.ending for event in jail.events if event.ending] == ["breach"]
