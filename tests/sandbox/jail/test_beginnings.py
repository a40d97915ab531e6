"""Beginnings: what must be proven before a worker serves, and what is said when it cannot begin."""

from __future__ import annotations

import os
from typing import Any

import pytest

from sandbox import records
from sandbox.errors import JailStopped, LevelNotMet, WorkerBreach, WorkerCrashed, WorkerFailed, WorkerUnable
from sandbox.jail.process import import_folders
from sandbox.jail.report import Level
from tests.mounts import REPOSITORY
from tests.sandbox.jail.conftest import Layout, Yard, need, soon


def test_jail_that_is_not_started_or_stopped_answers_nothing(yard: Yard) -> None:
    jail = yard.make(yard.spec())
    for _ in range(2):
        with pytest.raises(JailStopped):
            jail.call("echo", {}, deadline=soon(), write=False)
        jail.stop()


@pytest.mark.parametrize(
    ("handler", "options", "why"),
    [
        ("build", {"fail": True}, "handlers.Odd"),
        ("missing", {}, "AttributeError"),
    ],
)
def test_worker_that_cannot_begin_says_why(
    yard: Yard, handler: str, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(WorkerCrashed) as caught:
        yard.started(spec=yard.spec(handler=handler, **options))
    assert why in caught.value.why
    assert not isinstance(caught.value, WorkerUnable)  # which would be about the jail
    assert not caught.value.sent


def test_factory_that_imports_after_the_lock_down_cannot_begin(yard: Yard, layout: Layout) -> None:
    with pytest.raises(WorkerCrashed, match="ImportError"):
        yard.started(layout, spec=yard.spec(layout, handler="build_late"))


def test_worker_that_is_not_there_cannot_begin(yard: Yard) -> None:
    with pytest.raises(WorkerCrashed):
        yard.started(entry="tests.sandbox.jail.not_there")


def test_workspace_that_was_replaced_is_refused_with_the_reason(yard: Yard, locked: Layout) -> None:
    status = os.stat(yard.folder)
    spec = yard.spec(locked)
    other = records.replace(spec, identity=(status.st_dev, status.st_ino + 1))
    with pytest.raises(WorkerUnable, match="moved or replaced"):
        yard.started(locked, spec=other)
    same = records.replace(spec, identity=(status.st_dev, status.st_ino))
    assert yard.started(locked, spec=same).call("echo", {}, deadline=soon(), write=False) == {}


def test_level_that_is_not_met_is_refused_before_anything_is_served(yard: Yard) -> None:
    jail = yard.make(yard.spec(), require=Level.CONTAINED)
    with pytest.raises(LevelNotMet) as caught:
        jail.start()
    assert (caught.value.required, caught.value.reached) == ("contained", "none")
    assert [name for name, _ in caught.value.missing] == ["landlock", "seccomp", "limits", "capabilities"]
    with pytest.raises(JailStopped):
        jail.call("echo", {}, deadline=soon(), write=False)


def test_full_is_not_met_by_contained(yard: Yard) -> None:
    need("contained")
    jail = yard.make(yard.spec("contained"), entry="sandbox.jail.entry", require=Level.FULL)
    with pytest.raises(LevelNotMet) as caught:
        jail.start()
    assert (caught.value.reached, [name for name, _ in caught.value.missing]) == ("contained", ["namespaces"])


@pytest.mark.parametrize(
    ("lie", "error"),
    [
        ("all", LevelNotMet),
        ("split", WorkerBreach),
        ("kind", WorkerBreach),
        ("shape", WorkerBreach),
        ("failed", LevelNotMet),
        ("child", WorkerBreach),
    ],
)
def test_report_that_is_not_true_is_not_believed(yard: Yard, lie: str, error: type[WorkerFailed]) -> None:
    """The kernel does not show what the worker claims; nothing is served, whatever is required."""
    jail = yard.make(yard.spec(lie=lie), entry="tests.sandbox.jail.lying")
    with pytest.raises(error):
        jail.start()


def test_import_folders_are_those_that_this_process_uses() -> None:
    assert import_folders("sandbox", "sandbox.jail.worker", "fsnotes") == (REPOSITORY,)
    both = import_folders("pathvalidate", "sandbox", "ruamel.yaml")
    assert both[0] == REPOSITORY
    assert os.path.isdir(os.path.join(both[1], "pathvalidate"))
    assert os.path.isdir(os.path.join(both[1], "ruamel", "yaml"))


@pytest.mark.parametrize("name", ["not_there", "sys"])
def test_package_that_lies_in_no_folder_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="package in a folder"):
        import_folders(name)


@pytest.mark.parametrize(("passing", "error"), [(True, WorkerCrashed), (False, WorkerUnable)])
def test_a_shortage_of_the_moment_says_nothing_about_the_jail(
    yard: Yard, passing: bool, error: type[WorkerFailed]
) -> None:
    with pytest.raises(WorkerCrashed, match="it failed") as caught:
        yard.started(spec=yard.spec(passing=passing), entry="tests.sandbox.jail.short")
    assert type(caught.value) is error
