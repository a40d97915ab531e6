"""The parent's own look at a worker: what it shows is the worker's own, and nothing that both have from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.jail import outside
from sandbox.jail.outside import Seen, confirm, inherited, look
from sandbox.jail.report import LAYERS, Layer, LayerState, Report
from sandbox.jail.spec import Limits
from sandbox.records import replace
from tests.mounts import REPOSITORY
from tests.sandbox.jail.conftest import need

LIMITS = Limits()
CLAIMED = Report(
    "rw",
    tuple(Layer(name, LayerState.ENFORCED, proof=("I swear",), facts={"abi": 7}) for name in LAYERS),
    cwd="/ws",
    root_entries=("ws",),
    resolver="openat2",
)
SOUND = Seen(
    seccomp=2,
    filters=1,
    no_new_privs=True,
    capabilities=0,
    one_account=True,
    threads=1,
    numbers=(4711, 2, 1),
    limits={
        "memory": LIMITS.memory,
        "open_files": LIMITS.open_files,
        "file_size": LIMITS.file_size,
        "core": 0,
    },
)


def failed(seen: Seen, *, ours: int | None = 0) -> list[str]:
    """Return the layers that are failed for what is seen."""
    judged = confirm(CLAIMED, seen, LIMITS, ours=ours)
    return [layer.name for layer in judged.layers if layer.state is LayerState.FAILED]


@pytest.mark.parametrize(
    ("filters", "ours", "is_own"),
    [(1, 0, True), (3, 2, True), (2, 2, False), (1, 2, False), (0, 0, False), (None, 0, True)],
)
def test_a_filter_that_the_parent_has_too_is_not_the_workers(
    filters: int | None, ours: int, *, is_own: bool
) -> None:
    seen = replace(SOUND, filters=filters)
    assert failed(seen, ours=ours) == ([] if is_own else ["seccomp"])


def test_where_the_kernel_does_not_count_filters_the_look_says_nothing_about_them() -> None:
    assert failed(replace(SOUND, filters=None), ours=None) == []
    assert failed(replace(SOUND, filters=None, seccomp=0), ours=None) == ["seccomp"]


def test_filters_are_counted_and_their_number_is_left_open_where_the_kernel_does_not_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {"mode": 2, "filters": "Seccomp_filters:\t3\n"}
    real = outside._read

    def read(path: str) -> str | None:
        text = real(path)
        if text is None or not path.endswith("/status"):
            return text
        lines = [line for line in text.splitlines() if not line.startswith("Seccomp")]
        return "\n".join([*lines, f"Seccomp:\t{said['mode']}", str(said["filters"])])

    monkeypatch.setattr(outside, "_read", read)
    seen = look(os.getpid())
    assert seen is not None
    assert (seen.seccomp, seen.filters, inherited()) == (2, 3, 3)
    said["filters"] = ""
    seen = look(os.getpid())
    assert seen is not None
    assert (seen.filters, inherited()) == (None, None)
    said["mode"] = 0
    assert inherited() == 0
    monkeypatch.setattr(outside, "_read", lambda _: None)
    assert inherited() is None


BEHIND = """
import sys
sys.path.insert(0, {repository!r})
from tests.sandbox.jail.hosts import imitate
imitate("no openat2")
from sandbox.errors import LevelNotMet
from sandbox.jail.process import import_folders
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
folder, entry, level = sys.argv[1:]
spec = JailSpec(folder, "rw", "tests.sandbox.jail.handlers:build", want=Level.CONTAINED, options={{"lie": "filter"}},
                import_paths=({repository!r}, *import_folders("sandbox", "pathvalidate")))
jail = Jail(spec, require=Level(level), entry=entry)
try:
    print(jail.start().level.value)
except LevelNotMet as error:
    print("not met", *(name for name, _ in error.missing))
finally:
    jail.stop()
"""


def behind_a_filter(folder: Path, entry: str, level: str) -> str:
    """Start a jail in a process that is behind a filter itself, as in a container; return what became of it."""
    code = BEHIND.format(repository=REPOSITORY)
    command = [sys.executable, "-c", code, str(folder), entry, level]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=REPOSITORY)
    return done.stdout.strip()


def test_behind_a_filter_of_the_host_a_worker_that_installs_none_is_seen_through(tmp_path: Path) -> None:
    need("contained")
    assert behind_a_filter(tmp_path, "tests.sandbox.jail.lying", "none") == "not met seccomp"
    assert behind_a_filter(tmp_path, "sandbox.jail.entry", "contained") == "contained"


@pytest.mark.parametrize(
    ("change", "layers"),
    [
        ({}, []),
        ({"one_account": False}, ["capabilities"]),
        ({"capabilities": 1}, ["capabilities"]),
        ({"no_new_privs": False}, ["seccomp", "capabilities"]),
        ({"threads": 2}, ["seccomp"]),
        ({"seccomp": 1}, ["seccomp"]),
        ({"numbers": (4711,)}, ["namespaces"]),
        ({"numbers": (4711, 2)}, ["namespaces"]),
        ({"limits": {}}, ["limits"]),
    ],
)
def test_each_claim_that_the_kernel_contradicts_is_failed(change: dict[str, Any], layers: list[str]) -> None:
    assert sorted(failed(replace(SOUND, **change))) == sorted(layers)
