"""What layers add up to, what they leave, and what is not accepted as a report."""

from __future__ import annotations

import errno
import itertools
import json
from typing import Any

import pytest

from sandbox.errors import InvalidReport
from sandbox.jail.report import (
    CHANGE_INDEX,
    CHANGE_NOTES,
    EMPTY_OUTSIDE,
    FALSIFY_INDEX,
    FILL_DISK,
    HOLD_INDEX,
    HOLD_LOCK,
    KINDS,
    LAYERS,
    MARK_OUTSIDE,
    MAX_PROOFS,
    MAX_TEXT,
    MEET_OTHERS,
    OPEN_OUTSIDE,
    SEE_OUTSIDE,
    USE_KERNEL,
    Fact,
    Layer,
    LayerName,
    LayerState,
    Level,
    Report,
    WorkerKind,
    reason,
)

ON, NO, OFF, FAILED = (
    LayerState.ENFORCED,
    LayerState.UNAVAILABLE,
    LayerState.OFF,
    LayerState.FAILED,
)


def report(
    *missing: LayerName,
    abi: Fact = 7,
    state: LayerState = NO,
    kind: WorkerKind = "rw",
    root: bool = True,
    resolver: str = "openat2",
) -> Report:
    """Return a report in which all layers but the missing ones are enforced."""
    return Report(
        kind=kind,
        layers=tuple(
            Layer(
                name,
                state if name in missing else ON,
                "because" if name in missing else None,
                () if name in missing else ("tried: EPERM",),
                {"abi": abi} if name == "landlock" else {"some": 1, "flag": True, "text": "t"},
            )
            for name in LAYERS
        ),
        cwd="/ws",
        root_entries=("index", "ws") if root else None,
        resolver=resolver,
    )


def test_levels_are_ordered() -> None:
    assert [level.rank for level in (Level.NONE, Level.PARTIAL, Level.CONTAINED, Level.FULL)] == [0, 1, 2, 3]


@pytest.mark.parametrize("state", [NO, OFF])
def test_level_follows_from_what_is_enforced(state: LayerState) -> None:
    for size in range(len(LAYERS) + 1):
        for missing in itertools.combinations(LAYERS, size):
            level = report(*missing, state=state).level
            if not missing:
                assert level is Level.FULL
            elif missing == ("namespaces",):
                assert level is Level.CONTAINED
            elif {"landlock", "seccomp", "namespaces"} <= set(missing):
                assert level is Level.NONE
            else:
                assert level is Level.PARTIAL


@pytest.mark.parametrize(
    ("abi", "level"),
    [
        (7, Level.FULL),
        (3, Level.FULL),
        (2, Level.PARTIAL),
        (0, Level.PARTIAL),
        ("7", Level.PARTIAL),
        (True, Level.PARTIAL),
    ],
)
def test_landlock_counts_from_the_third_version_on(abi: Fact, level: Level) -> None:
    assert report(abi=abi).level is level


@pytest.mark.parametrize("name", LAYERS)
def test_a_failed_layer_makes_everything_worthless(name: LayerName) -> None:
    failed = report(name, state=FAILED)
    assert (failed.failed, failed.level) == (True, Level.NONE)
    assert not report(name).failed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("resolver", ["openat2", "walk"])
def test_what_is_left_grows_with_what_is_missing(resolver: str, kind: WorkerKind) -> None:
    def left(*missing: LayerName) -> set[str]:
        return set(report(*missing, kind=kind, resolver=resolver).leaves)

    for size in range(len(LAYERS) + 1):
        for missing in itertools.combinations(LAYERS, size):
            assert left(*missing) <= left(*LAYERS) | {EMPTY_OUTSIDE}
            for less in missing:
                fewer = [name for name in missing if name != less]
                assert left(*fewer) <= left(*missing) | {EMPTY_OUTSIDE}


LOOKING = (HOLD_INDEX,)
KEEPING = (HOLD_INDEX, FALSIFY_INDEX, FILL_DISK)
CHANGING = (HOLD_INDEX, CHANGE_INDEX, FILL_DISK, CHANGE_NOTES, HOLD_LOCK)


@pytest.mark.parametrize(("kind", "own"), [("ro", LOOKING), ("index", KEEPING), ("rw", CHANGING)])
def test_what_each_kind_can_do_is_said_at_every_level(kind: WorkerKind, own: tuple[str, ...]) -> None:
    assert report(kind=kind).leaves == own
    assert report("namespaces", kind=kind, resolver="walk").leaves == (*own, SEE_OUTSIDE)
    assert report("namespaces", kind=kind).leaves == (*own, SEE_OUTSIDE, OPEN_OUTSIDE)
    without = set(report("namespaces", "seccomp", kind=kind, resolver="walk").leaves)
    assert without == {*own, HOLD_LOCK, SEE_OUTSIDE, OPEN_OUTSIDE, MARK_OUTSIDE, USE_KERNEL, MEET_OTHERS}


def test_a_report_survives_the_way_through_json() -> None:
    for original in (
        report(),
        report("namespaces", root=False),
        report("landlock", kind="index"),
        report(abi=1),
    ):
        assert Report.from_json(json.loads(json.dumps(original.to_json()))) == original


@pytest.mark.parametrize("kind", KINDS)
def test_no_report_promises_a_quota_of_the_disk(kind: WorkerKind) -> None:
    assert report(kind=kind).to_json()["disk_quota"] == {"state": "advisory"}


def _changes() -> list[tuple[str, Any]]:
    layers = report().to_json()["layers"]

    def layer(**fields: Any) -> list[dict[str, Any]]:
        return [{**layers[0], **fields}, *layers[1:]]

    return [
        ("kind", "root"),
        ("kind", None),
        ("level", "none"),
        ("level", 3),
        ("leaves", []),
        ("disk_quota", {"state": "enforced"}),
        ("disk_quota", {"state": "advisory", "more": 1}),
        ("disk_quota", "advisory"),
        ("disk_quota", None),
        ("leaves", None),
        ("layers", layers[:4]),
        ("layers", [*layers, layers[0]]),
        ("layers", [layers[1], layers[0], *layers[2:]]),
        ("layers", [layers[0]] * 5),
        ("layers", {}),
        ("layers", layer(name="firewall")),
        ("layers", layer(state="on")),
        ("layers", layer(state=True)),
        ("layers", layer(why=1)),
        ("layers", layer(proof="open /: EACCES")),
        ("layers", layer(proof=["x"] * (MAX_PROOFS + 1))),
        ("layers", layer(proof=[["x"]])),
        ("layers", layer(proof=["x" * (MAX_TEXT + 1)])),
        ("layers", layer(facts=[])),
        ("layers", layer(facts={"abi": 7.0})),
        ("layers", layer(facts={"abi": float("inf")})),
        ("layers", layer(facts={"abi": 10**400})),
        ("layers", layer(facts={"abi": -(2**63)})),
        ("layers", layer(facts={"abi": None})),
        ("layers", layer(facts={"abi": [7]})),
        ("layers", layer(facts={str(n): n for n in range(100)})),
        ("layers", layer(facts={"abi": 2})),  # then the level is another one
        ("layers", layer(extra=1)),
        ("layers", [1, *layers[1:]]),
        ("cwd", None),
        ("cwd", "x" * (MAX_TEXT + 1)),
        ("root_entries", "ws"),
        ("root_entries", [1]),
        ("root_entries", ["x"] * 1000),
        ("resolver", 1),
        ("extra", 1),
    ]


@pytest.mark.parametrize(("field", "value"), _changes())
def test_anything_else_than_a_report_is_refused(field: str, value: object) -> None:
    good = report().to_json()
    Report.from_json(good)
    with pytest.raises(InvalidReport):
        Report.from_json({**good, field: value})


@pytest.mark.parametrize("value", [None, [], "full", 1, {}, {"level": "full"}])
def test_other_shapes_are_refused(value: object) -> None:
    with pytest.raises(InvalidReport):
        Report.from_json(value)


@pytest.mark.parametrize("field", report().to_json())
def test_a_missing_field_is_refused(field: str) -> None:
    value = report().to_json()
    del value[field]
    with pytest.raises(InvalidReport):
        Report.from_json(value)


def test_reasons_name_the_call_and_the_error() -> None:
    assert reason(OSError(errno.EINVAL, "capset")) == "capset: EINVAL"
    assert reason(OSError(errno.EOPNOTSUPP, "landlock_create_ruleset")).startswith(
        "landlock_create_ruleset: EOPNOTSUPP ("
    )
    assert reason(OSError(9999, "x")) == "x: 9999"
