"""Quotas and floors through the service: refused, logged, nothing changed, and never in the way of anything else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from fsnotes.access import Right
from fsnotes.config import WorkspaceSettings
from fsnotes.errors import Abandoned, NoRoom, NotCounted
from fsnotes.failures import describe
from fsnotes.notes import counting, handlers, room
from fsnotes.outcomes import Deletion
from fsnotes.workers import Worker
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.policy import Quota
from sandbox.records import replace
from tests.service.conftest import ALICE, Household, accept, answer, ask

PEBIBYTE = 1 << 50


def test_at_its_limit_a_workspace_takes_nothing_more_and_can_still_be_tidied(household: Household) -> None:
    household.quota = Quota(max_bytes=12, max_entries=5)
    household.write("sub/a.md", "1234567")
    service, uri = household.service(), household.uri
    assert service.create(ALICE, uri, "b", "12345").reply.path == "b.md"
    before = household.files()
    with pytest.raises(NoRoom) as caught:
        service.create(ALICE, uri, "c", "x")
    failure = describe(caught.value)
    assert (failure.slug, failure.exit_code) == ("limit", 6)
    assert "12 bytes" in failure.line
    assert household.files() == before
    asked = ask(service, ALICE, uri, "sub/a.md")
    deletion = answer(service, ALICE, uri, "sub/a.md", asked, accept("sub/a.md"))
    assert isinstance(deletion, Deletion)
    with pytest.raises(NoRoom):  # the trash counts
        service.create(ALICE, uri, "c", "x")
    assert service.restore(ALICE, uri, str(deletion.trash_id)).reply.path == "sub/a.md"
    assert household.files() == before
    assert household.audited() == [
        ("local:alice", "notes_create", "b.md", "created"),
        ("local:alice", "notes_create", "c", "no_room"),
        ("local:alice", "notes_delete", "sub/a.md", "deleted"),
        ("local:alice", "notes_create", "c", "no_room"),
        ("local:alice", "notes_restore", "sub/a.md", "restored"),
    ]


def test_a_disk_that_is_fuller_than_its_floor_is_not_written_to(household: Household) -> None:
    household.write("a.md", "x")
    household.quota = Quota(min_free_bytes=PEBIBYTE)
    service, uri = household.service(), household.uri
    with pytest.raises(NoRoom) as caught:
        service.create(ALICE, uri, "new/b", "x")
    assert caught.value.bound == "min_free_bytes"
    assert service.read(ALICE, uri, "a").text == "x"
    assert household.tree() == {"Notes": "folder", "Notes/a.md": b"x"}
    household.quota = Quota(min_free_bytes=1)
    assert household.service().create(ALICE, uri, "new/b", "x").reply.path == "new/b.md"


@pytest.mark.parametrize(
    ("quota", "shown"),
    [
        (Quota(), {}),
        (Quota(max_entries=7), {"maxEntries": 7}),
        (
            Quota(max_bytes=1, max_entries=2, min_free_bytes=0),
            {"maxBytes": 1, "maxEntries": 2, "minFreeBytes": 0},
        ),
    ],
)
def test_the_bounds_that_are_set_are_shown_with_the_workspace(
    household: Household, quota: Quota, shown: dict[str, int]
) -> None:
    household.quota = quota
    (workspace,) = household.service().workspaces(ALICE).document()["workspaces"]
    assert workspace["policies"] == {
        "symlinks": "refuse",
        "hardlinks": "refuse",
        "mounts": "refuse",
        "maxNoteBytes": 1_048_576,
        **shown,
    }


def test_each_workspace_has_its_own_quota(household: Household) -> None:
    other = household.top / "Other"
    other.mkdir()
    household.quota = Quota(max_bytes=3)
    household.others.append(WorkspaceSettings("Other", str(other), str(other)))
    household.grant(ALICE, *Right, workspace="Other")
    service = household.service()
    with pytest.raises(NoRoom):
        service.create(ALICE, household.uri, "a", "1234")
    assert service.create(ALICE, other.as_uri(), "a", "1234").reply.path == "a.md"


def test_two_processes_count_for_themselves(household: Household) -> None:
    """The bound of the error: what another one has added since the count."""
    household.quota = Quota(max_bytes=13)
    one, uri = household.service(), household.uri
    one.create(ALICE, uri, "a", "123456")
    household.write("of-another.md", "123456789")
    one.create(ALICE, uri, "b", "1234567")
    household.quota = Quota(max_bytes=14)
    with pytest.raises(NoRoom):
        household.service().create(ALICE, uri, "c", "x")


# -- while it is counted ----------------------------------------------------------------------------


@pytest.fixture
def in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "STEP_SECONDS", 0.0)


@pytest.mark.usefixtures("in_small_steps")
def test_a_change_waits_for_the_count_and_is_made_then(inline: Household) -> None:
    inline.quota = Quota(max_entries=51)
    for number in range(50):
        inline.write(f"{number}.md")
    service = inline.service()
    assert service.create(ALICE, inline.uri, "new", "x").reply.path == "new.md"
    with pytest.raises(NoRoom):
        service.create(ALICE, inline.uri, "newer", "x")


@pytest.mark.usefixtures("in_small_steps")
def test_a_caller_that_goes_while_it_is_counted_changes_nothing_and_the_next_counts_on(
    inline: Household,
) -> None:
    inline.quota = Quota(max_entries=100)
    for number in range(50):
        inline.write(f"{number}.md")
    service, asked = inline.service(), iter(range(1_000))
    gone = replace(ALICE, abandoned=lambda: next(asked) > 20)
    with pytest.raises(Abandoned):
        service.create(gone, inline.uri, "new", "x")
    assert "new.md" not in inline.files()
    assert service.create(ALICE, inline.uri, "new", "x").reply.path == "new.md"


@pytest.mark.usefixtures("in_small_steps")
def test_a_count_without_end_is_busy_and_goes_on_with_the_next_call(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MAX_COUNTING", 20)
    inline.quota = Quota(max_entries=100)
    for number in range(50):
        inline.write(f"{number}.md")
    service = inline.service()
    for _ in range(2):
        with pytest.raises(NotCounted):
            service.create(ALICE, inline.uri, "new", "x")
    assert service.create(ALICE, inline.uri, "new", "x").reply.path == "new.md"
    assert [line[3] for line in inline.audited()] == ["not_counted", "not_counted", "created"]


FOLDERS, FILES = 200, 250


@pytest.fixture
def large(household: Household) -> Household:
    """Set up 50,000 files."""
    for folder in range(FOLDERS):
        place = household.vault / f"f{folder}"
        place.mkdir()
        for number in range(FILES):
            (place / f"{number}.md").touch()
    household.quota = Quota(max_entries=FOLDERS * (FILES + 1) + 2)
    return household


class Timed:
    """A worker whose calls are timed."""

    def __init__(self, worker: Jail, took: list[float]) -> None:
        self._worker = worker
        self._took = took

    def __getattr__(self, name: str) -> Any:
        return getattr(self._worker, name)

    def call(self, op: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
        begun = time.monotonic()
        try:
            return self._worker.call(op, args, **more)
        finally:
            self._took.append(time.monotonic() - begun)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_large_workspace_is_counted_in_short_calls_and_reads_overtake(
    large: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[float] = []
    handle: Callable[..., Any] = handlers.handle

    def timed_handle(*args: Any, **more: Any) -> Any:
        begun = time.monotonic()
        try:
            return handle(*args, **more)
        finally:
            steps.append(time.monotonic() - begun)

    def make(spec: JailSpec, *, require: Level) -> Worker:
        return Timed(Jail(spec, require=require), steps)  # type: ignore[return-value]  # the rest is passed on

    monkeypatch.setattr(handlers, "handle", timed_handle)
    large.worker = make
    service, uri = large.service(), large.uri
    reads: list[float] = []
    over = threading.Event()

    def read() -> None:
        while not over.wait(0.005):
            begun = time.monotonic()
            service.read(ALICE, uri, "f1/1")
            reads.append(time.monotonic() - begun)

    reader = threading.Thread(target=read)
    reader.start()
    begun = time.monotonic()
    assert service.create(ALICE, uri, "one", "x").reply.path == "one.md"
    took = time.monotonic() - begun
    over.set()
    reader.join(30)
    steps.sort()
    print(f"counted in {took:.2f} s; {len(steps)} calls, the longest {1000 * steps[-1]:.0f} ms;"
          f" {len(reads)} reads meanwhile, the longest {1000 * max(reads):.0f} ms")  # fmt: skip
    assert len(steps) > 3
    # A call that was put off by the machine is no long call.
    assert steps[int(len(steps) * 0.9)] < 0.05
    assert steps[-1] < 0.5
    assert max(reads) < 0.5
    assert service.create(ALICE, uri, "two", "x").reply.path == "two.md"
    with pytest.raises(NoRoom):
        service.create(ALICE, uri, "three", "x")
