"""What a jail can be asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec, Limits, index_path, workspace_path
from sandbox.jail.worker import order, read_order
from sandbox.records import replace
from tests.sandbox.jail.test_report import report

GOOD: dict[str, Any] = {"workspace": "/home/me/notes", "kind": "rw", "handler": "a:b", "index": "/state/ws/1"}


@pytest.mark.parametrize(
    "change",
    [
        {"workspace": "notes"},
        {"workspace": ""},
        {"workspace": "/home/../etc"},
        {"workspace": "/home/me/"},
        {"workspace": "//home"},
        {"workspace": "/home/./me"},
        {"workspace": "/home\0"},
        {"index": "state"},
        {"index": "/home/me/notes"},
        {"index": "/home/me/notes/.state"},
        {"index": "/home/me"},
        {"workspace": "/"},
        {"kind": "root"},
        {"kind": "index", "index": None},
        {"index": None, "index_identity": (1, 2)},
        {"want": Level.PARTIAL},
        {"want": Level.NONE},
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    JailSpec(**GOOD)
    with pytest.raises(ValueError):
        JailSpec(**{**GOOD, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"index": "/home/me/notes-state"},
        {"index": None},
        {"workspace": "/"} | {"index": None},
        {"index_identity": (1, 2)},
    ],
)
def test_the_nearest_sensible_things_are_accepted(change: dict[str, Any]) -> None:
    JailSpec(**{**GOOD, **change})


@pytest.mark.parametrize(
    "identities", [{}, {"identity": (1, 2)}, {"identity": (1, 2), "index_identity": (3, 4)}]
)
def test_an_order_says_all_that_a_worker_needs_but_where_it_imports_from(identities: dict[str, Any]) -> None:
    spec = JailSpec(**GOOD, **identities, options={"a": [1]}, import_paths=("/lib",))
    assert read_order(json.loads(json.dumps(order(spec)))) == replace(spec, import_paths=())


@pytest.mark.parametrize(
    "limits", [{"memory": 1 << 20}, {"open_files": 3}, {"file_size": 0}, {"cpu_seconds": 0}, {"memory": -1}]
)
def test_limits_that_no_worker_could_live_with_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        Limits(**limits)


def test_a_worker_reads_the_spec_that_it_was_given() -> None:
    for spec in (
        JailSpec(**GOOD),
        JailSpec(
            **GOOD, want=Level.CONTAINED, identity=(1, 2), follows_links=True, limits=Limits(cpu_seconds=3)
        ),
    ):
        assert read_order(json.loads(json.dumps(order(spec)))) == spec


def test_paths_inside_depend_on_the_namespaces() -> None:
    spec = JailSpec(**GOOD)
    assert (workspace_path(spec, report()), index_path(spec, report())) == ("/ws", "/index")
    outside = report("namespaces")
    assert (workspace_path(spec, outside), index_path(spec, outside)) == (spec.workspace, spec.index)
    assert index_path(JailSpec(**{**GOOD, "index": None}), report()) is None
