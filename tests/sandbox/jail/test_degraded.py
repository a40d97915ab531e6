"""Hosts that lack something: the right level, and words that say what is missing."""

from __future__ import annotations

from functools import cache

import pytest

from sandbox.jail.report import LAYERS, LayerName, LayerState, Level, Report
from tests.sandbox.jail.launching import IDENTITIES, Identity, launch, need_level

WHO = "tests.sandbox.jail.cases:who"
ON = LayerState.ENFORCED
NO = LayerState.UNAVAILABLE


def report_on(host: str, identity: Identity, *, kind: str = "rw") -> Report:
    """Return the report of a worker on an imitated host, which must be alive after it."""
    need_level(identity, Level.FULL)
    outcome = launch([WHO], identity=identity, level="full", host=host, kind=kind)[WHO]
    assert outcome.worked, outcome.said
    assert outcome.report is not None
    assert not outcome.report.failed
    return outcome.report


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize(
    ("host", "level", "missing"),
    [
        ("no Landlock in the kernel", Level.PARTIAL, {"landlock": "landlock_create_ruleset: ENOSYS"}),
        ("Landlock not active", Level.PARTIAL, {"landlock": "landlock_create_ruleset: EOPNOTSUPP"}),
        ("no namespaces", Level.CONTAINED, {"namespaces": "unshare: EPERM"}),
        ("container", Level.CONTAINED, {"namespaces": "unshare: EPERM"}),
        ("namespaces without mounts", Level.CONTAINED, {"namespaces": "mount: EACCES"}),
        ("no mount_setattr", Level.CONTAINED, {"namespaces": "mount_setattr: ENOSYS"}),
        ("no seccomp", Level.PARTIAL, {"seccomp": "seccomp: EINVAL"}),
        (
            "no Landlock, no namespaces",
            Level.PARTIAL,
            {"landlock": "landlock_create_ruleset: ENOSYS", "namespaces": "unshare: EPERM"},
        ),
        (
            "nothing",
            Level.NONE,
            {
                "landlock": "landlock_create_ruleset: ENOSYS",
                "namespaces": "unshare: EPERM",
                "seccomp": "seccomp: EINVAL",
            },
        ),
    ],
)
def test_what_a_host_lacks_is_named_and_lowers_the_level(
    host: str, level: Level, missing: dict[str, str], identity: Identity
) -> None:
    report = report_on(host, identity)
    assert report.level is level
    assert {layer.name: layer.state for layer in report.layers} == {
        name: NO if name in missing else ON for name in LAYERS
    }
    for layer in report.layers:
        if layer.name in missing:
            assert layer.why is not None
            assert layer.why.startswith(missing[layer.name])
            assert layer.proof == ()
        else:
            assert layer.why is None
            assert layer.proof != ()


@pytest.mark.parametrize("identity", ["root", "user"])
@pytest.mark.parametrize(
    ("abi", "level"),
    [(1, Level.PARTIAL), (2, Level.PARTIAL), (3, Level.CONTAINED), (5, Level.CONTAINED)],
)
def test_an_old_landlock_is_used_but_counts_only_where_it_guards_truncation(
    abi: int, level: Level, identity: Identity
) -> None:
    need_level(identity, Level.CONTAINED)
    refused = ["read_outside", "truncate_outside", "write_outside", "rename_in"]
    outcomes = launch([WHO, *refused], identity=identity, level="contained", host=f"Landlock {abi}")
    report = outcomes[WHO].report
    assert report is not None
    landlock = report.layer("landlock")
    assert (landlock.state, landlock.facts["abi"], report.level) == (ON, abi, level)
    assert (landlock.why is None) is (abi >= 3)
    assert landlock.facts["net"] is (abi >= 4)
    assert {name: outcomes[name].worked for name in refused} == dict.fromkeys(refused, False)


@pytest.mark.parametrize("identity", ["root", "user"])
def test_a_newer_landlock_than_the_table_is_used_as_far_as_it_is_known(identity: Identity) -> None:
    need_level(identity, Level.CONTAINED)
    outcome = launch([WHO], identity=identity, level="contained", host="Landlock 99")[WHO]
    assert outcome.report is not None
    assert outcome.report.level is Level.CONTAINED
    assert outcome.report.layer("landlock").facts["abi"] == 99


def test_without_openat2_the_resolver_is_the_walk() -> None:
    report = report_on("no openat2", "user")
    assert (report.level, report.resolver) == (Level.FULL, "walk")


@pytest.mark.parametrize("identity", ["root", "user"])
def test_without_landlock_the_namespaces_still_keep_the_host_away(identity: Identity) -> None:
    need_level(identity, Level.FULL)
    names = ["read_outside", "read_above", "stat_outside", "moved_folder_read_above", "chdir_outside"]
    outcomes = launch(names, identity=identity, level="full", host="no Landlock in the kernel")
    assert {name: outcome.worked for name, outcome in outcomes.items()} == dict.fromkeys(names, False)


def test_without_landlock_and_filter_read_only_folders_and_mounts_in_them_stay_so() -> None:
    """What the mounts alone refuse: also in a mount that lies inside the workspace."""
    need_level("root", Level.FULL)
    case = "tests.sandbox.jail.cases:write_into_a_mount_of_the_workspace"
    rights = "tests.sandbox.jail.cases:rights"
    run = launch(
        [case, rights], identity="root", level="full", kind="ro", host="no Landlock, no seccomp", mount=True
    )
    assert run[case].result == "EROFS"
    changes = {what: how for what, how in run[rights].result.items() if not what.startswith(("read", "lock"))}
    assert set(changes.values()) <= {"EROFS", "EXDEV"}
    writable = launch([case], identity="root", level="full", kind="rw", mount=True)[case]
    assert writable.result == "it worked"


@pytest.mark.parametrize(
    ("host", "layer"),
    [
        ("Landlock that does nothing", "landlock"),
        ("seccomp that does nothing", "seccomp"),
        ("capset that does nothing", "capabilities"),
        ("limits that do nothing", "limits"),
    ],
)
@pytest.mark.parametrize("identity", ["root", "user"])
def test_a_layer_that_claims_to_be_on_and_refuses_nothing_has_failed(
    host: str, layer: LayerName, identity: Identity
) -> None:
    """The proof is what decides: nothing is believed because a call said so."""
    need_level(identity, Level.FULL)
    outcome = launch([WHO], identity=identity, level="full", host=host)[WHO]
    assert outcome.report is not None, outcome.said
    assert (outcome.report.failed, outcome.report.level) == (True, Level.NONE)
    failed = {each.name: each.why for each in outcome.report.layers if each.state is LayerState.FAILED}
    assert failed[layer]
    # With capabilities left the attempt to change the root works, and then the root is the workspace.
    assert failed.keys() <= {layer, "landlock"}


@pytest.mark.parametrize(
    ("host", "layer", "why"),
    [
        ("death at the mounts", "namespaces", "the attempt ended without an answer (signal 31)"),
        ("no memory for namespaces", "namespaces", "unshare: ENOMEM"),
        ("no descriptor for Landlock", "landlock", "landlock_create_ruleset: ENFILE"),
        ("no memory for the filter", "seccomp", "seccomp: ENOMEM"),
    ],
)
@pytest.mark.parametrize("identity", ["root", "user"])
def test_a_layer_of_which_nobody_knows_whether_the_host_has_it_has_failed(
    host: str, layer: LayerName, why: str, identity: Identity
) -> None:
    """A kill, or a shortage of the moment, is no answer; taken for one it would lower the level for good."""
    need_level(identity, Level.FULL)
    outcome = launch([WHO], identity=identity, level="full", host=host)[WHO]
    assert outcome.report is not None, outcome.said
    assert (outcome.report.failed, outcome.report.level) == (True, Level.NONE)
    failed = {each.name: each.why for each in outcome.report.layers if each.state is LayerState.FAILED}
    assert failed == {layer: why}


@pytest.mark.parametrize("identity", ["root", "user"])
def test_namespaces_that_did_not_change_are_none(identity: Identity) -> None:
    report = report_on("unshare that does nothing", identity)
    assert report.level is Level.CONTAINED
    assert report.layer("namespaces").state is NO


NOT_TRIED: dict[LayerName, set[str]] = {
    "namespaces": {
        "mnt net ipc uts cgroup",
        "process 1",
        "only index, ws at /",
        *(f"look at /{name}" for name in ("proc", "etc", "usr", "dev")),
    },
    "capabilities": {"no new privileges", "not dumpable", "one account only"},
}
"""What the kernel is asked for, and what other calls of the layer than the one that does nothing see to."""


def attempts_of(proof: tuple[str, ...]) -> set[str]:
    """Return what was tried, or asked, without what answered."""
    return {each.split(":")[0] for each in proof}


@cache
def whole_report(identity: Identity, want: str, kind: str) -> Report:
    """Return the report of a worker on this host as it is, which is the same for each layer."""
    report = launch([WHO], identity=identity, level=want, kind=kind)[WHO].report
    assert report is not None
    return report


NOTHING_DONE: dict[LayerName, str] = {
    "landlock": "Landlock that does nothing",
    "seccomp": "seccomp that does nothing",
    "namespaces": "mount_setattr that does nothing",
    "limits": "limits that do nothing",
    "capabilities": "capset that does nothing",
}


@pytest.mark.parametrize(
    ("want", "layer"),
    [
        (want, layer)
        for want in ("contained", "full")
        for layer in LAYERS
        if (want, layer) != ("contained", "namespaces")
    ],
)
@pytest.mark.parametrize("kind", ["ro", "rw", "index"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_each_attempt_proves_its_own_layer_and_no_other_one_would_refuse_it(
    layer: LayerName, kind: str, want: str, identity: Identity
) -> None:
    """Without the layer every one of its attempts works, though all the others stand."""
    need_level(identity, Level(want))
    whole = whole_report(identity, want, kind)
    broken = launch([WHO], identity=identity, level=want, kind=kind, host=NOTHING_DONE[layer])[WHO].report
    assert broken is not None
    proven = whole.layer(layer)
    assert proven.state is ON
    left = attempts_of(broken.layer(layer).proof)
    if layer == "capabilities" and (identity, want) == ("user", "contained"):
        assert left == attempts_of(proven.proof)  # an ordinary account has none to give up
        return
    if layer == "capabilities" and identity == "root for a user":
        assert left == attempts_of(proven.proof)  # they went with the account
        return
    assert left <= NOT_TRIED.get(layer, set())
    assert attempts_of(proven.proof) - NOT_TRIED.get(layer, set()) != set()
    assert broken.layer(layer).state is LayerState.FAILED


@pytest.mark.parametrize("kind", ["ro", "index"])
@pytest.mark.parametrize("want", ["contained", "full"])
def test_that_landlock_and_the_mounts_each_keep_a_worker_from_making_a_file_is_proven(
    want: str, kind: str
) -> None:
    need_level("user", Level(want))
    report = launch([WHO], identity="user", level=want, kind=kind)[WHO].report
    assert report is not None
    assert "make a file in the workspace: EACCES" in report.layer("landlock").proof
    if want == "full":
        assert "make a file in the workspace: EROFS" in report.layer("namespaces").proof


def test_what_another_reason_refuses_is_no_proof() -> None:
    """A folder that the account cannot write to in any case, and so does not try to."""
    need_level("user", Level.FULL)
    for want in ("contained", "full"):
        report = launch([WHO], identity="user", level=want, kind="ro", mode=0o500)[WHO].report
        assert report is not None
        assert report.level is Level(want)
        assert not any("make a file in the workspace" in each for each in report.layer("landlock").proof)
