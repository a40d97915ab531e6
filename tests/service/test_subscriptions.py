"""What a subscription hears: changes of notes and of the list, by anybody, within what may be read, and no more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fsnotes import changes
from fsnotes.access import Access, Right
from fsnotes.calls import Call
from fsnotes.changes import Changes, Hub, Listener
from fsnotes.config import WorkspaceSettings
from fsnotes.notes.scope import Scope
from fsnotes.service import Service
from fsnotes.subscriptions import Subscription
from sandbox.errors import WatchUnavailable
from sandbox.names import ROOT, RelPath
from sandbox.policy import Policy
from tests.disk import Tree
from tests.require import has_openat2, require
from tests.service.conftest import ALICE, BOB, Household

SECONDS = 10.0


class Heard:
    """What one subscription was told, gathered."""

    def __init__(self, service: Service, call: Call, *uris: str, lists: bool = False) -> None:
        self.bell = threading.Event()
        self.subscription: Subscription = service.subscribe(call, uris, lists=lists, wake=self.bell.set)
        self.uris: set[str] = set()
        self.is_list_changed = False

    def look(self) -> None:
        told = self.subscription.take()
        self.uris |= set(told.uris)
        self.is_list_changed = self.is_list_changed or told.is_list_changed

    def wait(self, enough: Callable[[Heard], bool]) -> None:
        """Gather until there is *enough*."""
        end = time.monotonic() + SECONDS
        while not enough(self):
            assert self.bell.wait(end - time.monotonic()), (self.uris, self.is_list_changed)
            self.bell.clear()
            self.look()


@contextmanager
def hearing(service: Service, call: Call, *uris: str, lists: bool = False) -> Iterator[Heard]:
    made = Heard(service, call, *uris, lists=lists)
    try:
        yield made
    finally:
        made.subscription.close()


def test_changes_by_us_and_by_other_programs_are_heard(household: Household) -> None:
    household.write("ours.md")
    household.write("theirs.md")
    household.write("other.md")
    service = household.service()
    ours, theirs = (f"{household.uri}/{name}.md" for name in ("ours", "theirs"))
    with hearing(service, ALICE, ours, theirs) as heard:
        assert heard.subscription.uris == (ours, theirs)
        service.append(ALICE, household.uri, "ours.md", "more")
        heard.wait(lambda each: ours in each.uris)
        household.write("other.md", "changed")
        household.write("theirs.md", "changed")
        heard.wait(lambda each: theirs in each.uris)
        assert (heard.uris, heard.is_list_changed) == ({ours, theirs}, False)


def test_a_note_that_is_renamed_deleted_and_made_again_is_heard_of(inline: Household) -> None:
    inline.write("a.md")
    later, moved, note = (f"{inline.uri}/{path}" for path in ("later/new.md", "b.md", "a.md"))
    service = inline.service()
    with hearing(service, ALICE, later, moved, note, lists=True) as heard:
        assert (heard.subscription.uris, heard.subscription.lists) == ((later, moved, note), True)
        service.move(ALICE, inline.uri, "a.md", "b.md")
        heard.wait(lambda each: {note, moved} <= each.uris and each.is_list_changed)
        heard.uris, heard.is_list_changed = set(), False
        (inline.vault / "b.md").unlink()
        heard.wait(lambda each: moved in each.uris and each.is_list_changed)
        inline.write("later/new.md")
        heard.wait(lambda each: later in each.uris)
        heard.uris = set()
        (inline.vault / "later").rename(inline.vault / "elsewhere")
        heard.wait(lambda each: later in each.uris)


def test_two_principals_hear_of_what_each_may_read(household: Household) -> None:
    household.grant(BOB, Right.READ, folder="shared")
    household.write("private.md")
    household.write("shared/a.md")
    service = household.service()
    private, shared = f"{household.uri}/private.md", f"{household.uri}/shared/a.md"
    with (
        hearing(service, ALICE, private, shared, lists=True) as alice,
        hearing(service, BOB, private, shared, lists=True) as bob,
    ):
        assert (alice.subscription.uris, bob.subscription.uris) == ((private, shared), (shared,))
        household.write("private.md", "changed")
        alice.wait(lambda each: private in each.uris and each.is_list_changed)
        time.sleep(3 * changes.GATHER_SECONDS)
        bob.look()
        assert (bob.uris, bob.is_list_changed) == (set(), False)
        household.write("shared/a.md", "changed")
        bob.wait(lambda each: shared in each.uris and each.is_list_changed)
        alice.wait(lambda each: shared in each.uris)
    assert household.audited() == [("local:bob", "subscriptions/listen", None, "not_allowed")]
    assert [line["workspace"] for line in household.audit()] == [private]


def test_what_names_no_note_is_not_listened_to(inline: Household) -> None:
    service = inline.service()
    good = f"{inline.uri}/not%20there.md"
    hostile = [
        "",
        "x",
        inline.uri,
        f"{inline.uri}/a",
        f"{inline.uri}/.a.md",
        f"{inline.uri}/../a.md",
        "\ud800",
    ]
    with hearing(service, ALICE, *hostile, good) as heard:
        assert (heard.subscription.uris, heard.subscription.is_over) == ((good,), False)
    with hearing(service, ALICE, *hostile) as heard:
        assert (heard.subscription.uris, heard.subscription.is_over) == ((), True)


def test_what_a_workspace_ignores_is_neither_acknowledged_nor_told_and_what_stands_beside_it_is(
    household: Household,
) -> None:
    household.ignore = ("Archive/**", "**/*.draft.md")
    paths = ("Archive/a.md", "Archive/deep/new.md", "b.draft.md", "Archives/a.md", "b.md")
    for path in paths:
        household.write(path)
    uris = {path: f"{household.uri}/{path}" for path in paths}
    served = [uris["Archives/a.md"], uris["b.md"]]
    with hearing(household.service(), ALICE, *uris.values(), lists=True) as heard:
        assert (heard.subscription.uris, heard.subscription.lists) == (tuple(served), True)
        for path in paths[:3]:
            household.write(path, "changed")
        time.sleep(3 * changes.GATHER_SECONDS)
        heard.look()
        assert (heard.uris, heard.is_list_changed) == (set(), False)
        for path in paths[3:]:
            household.write(path, "changed")
        heard.wait(lambda each: each.uris == set(served) and each.is_list_changed)
    assert [line["outcome"] for line in household.audit()] == ["not_allowed"]


def test_each_spelling_is_told_as_it_was_asked_for(inline: Household) -> None:
    """NFC and NFD too, of which one stands on the disk."""
    uris = [f"{inline.uri}/caf%C3%A9.md", f"{inline.uri}/caf\u00e9.md", f"{inline.uri}/cafe%CC%81.md"]
    with hearing(inline.service(), ALICE, *uris) as heard:
        inline.write("cafe\u0301.md")
        heard.wait(lambda each: each.uris == set(uris))


def test_a_right_that_is_withdrawn_is_heard_no_more(inline: Household) -> None:
    inline.grant(BOB, Right.READ, folder="shared")
    service = inline.service()
    uris = [f"{inline.uri}/shared/{name}.md" for name in "ab"]
    with hearing(service, BOB, *uris, lists=True) as heard:
        inline.write("shared/a.md")
        heard.wait(lambda each: uris[0] in each.uris)
        heard.uris, heard.is_list_changed = set(), False
        heard.look()
        heard.uris, heard.is_list_changed = set(), False
        heard.subscription._access = Access(service._access._workspaces, ())
        inline.write("shared/b.md")
        assert heard.bell.wait(SECONDS)
        heard.look()
        assert (heard.uris, heard.is_list_changed, heard.subscription.is_over) == (set(), False, True)


def test_a_workspace_that_cannot_be_watched_is_not_acknowledged(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    product = inline.product()

    def refuse() -> Any:
        raise WatchUnavailable("the limit is reached")

    hub = product._hubs._hubs["Notes"]
    with monkeypatch.context() as patch:
        patch.setattr(hub, "_watch", refuse)
        with hearing(product.service, ALICE, f"{inline.uri}/a.md", lists=True) as heard:
            assert (heard.subscription.uris, heard.subscription.lists) == ((), False)
    with hearing(product.service, ALICE, f"{inline.uri}/a.md", lists=True) as heard:
        assert (heard.subscription.uris, heard.subscription.lists) == ((f"{inline.uri}/a.md",), True)


def test_only_so_many_workspaces_are_watched_at_once(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MOST_WATCHED", 0)
    product = inline.product()
    with hearing(product.service, ALICE, lists=True) as heard:
        assert not heard.subscription.lists
    monkeypatch.setattr(changes, "MOST_WATCHED", 1)
    with (
        hearing(product.service, ALICE, lists=True) as one,
        hearing(product.service, ALICE, lists=True) as two,
    ):
        assert (one.subscription.lists, two.subscription.lists) == (True, True)


def test_where_the_list_cannot_be_told_no_place_is_taken_for_it(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = inline.top / "Other"
    other.mkdir()
    inline.others.append(WorkspaceSettings("Other", str(other), str(other), Policy()))
    inline.grant(ALICE, Right.READ, workspace="Other")
    inline.grant(BOB, Right.READ, workspace="Other")
    monkeypatch.setattr(changes, "MOST_WATCHED", 1)
    monkeypatch.setattr(changes, "WAIT_SECONDS", 0.02)
    product = inline.product()
    with hearing(product.service, ALICE, lists=True) as alice:
        assert alice.subscription.is_over
        end = time.monotonic() + SECONDS
        while product._hubs._hubs["Notes"].is_watching:
            assert time.monotonic() < end
            time.sleep(0.01)
        with hearing(product.service, BOB, lists=True) as bob:
            assert bob.subscription.lists


def test_a_workspace_that_does_not_answer_holds_up_no_other(inline: Household) -> None:
    other = inline.top / "Other"
    other.mkdir()
    inline.others.append(WorkspaceSettings("Other", str(other), str(other), Policy()))
    inline.grant(BOB, Right.READ, workspace="Other")
    product = inline.product()
    hub, asked, go = product._hubs._hubs["Other"], threading.Event(), threading.Event()
    watch = hub._watch

    def stuck() -> Any:
        asked.set()
        assert go.wait(SECONDS)
        return watch()

    hub._watch = stuck
    waiting = threading.Thread(
        target=lambda: Heard(product.service, BOB, lists=True).subscription.close(), daemon=True
    )
    waiting.start()
    assert asked.wait(SECONDS)
    with hearing(product.service, ALICE, f"{inline.uri}/a.md") as heard:
        assert heard.subscription.uris == (f"{inline.uri}/a.md",)
    go.set()
    waiting.join(SECONDS)
    assert not waiting.is_alive()


@pytest.fixture(params=["openat2", "walk"])
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Tree:
    if request.param == "openat2":
        require("openat2", available=has_openat2())
    return Tree(tmp_path, request.param)


# -- the hub -----------------------------------------------------------------------------------------


def listener(*paths: str, scope: Scope | None = None, wake: Callable[[], None] = lambda: None) -> Listener:
    return Listener([RelPath.parse(path) for path in paths], scope, wake)


def told(made: Listener) -> tuple[set[str], bool]:
    paths, changed = made.take()
    return {str(path) for path in paths}, changed


def of(*files: str, folders: tuple[str, ...] = (), everything: bool = False) -> Changes:
    return Changes(
        everything, frozenset(map(RelPath.parse, files)), frozenset(map(RelPath.parse_folder, folders))
    )


@pytest.mark.parametrize(
    ("change", "paths", "listed"),
    [
        (of("a/x.md"), {"a/x.md"}, True),
        (of("a/z.md"), set(), True),
        (of("b/y.md"), {"b/y.md"}, False),
        (of(folders=("a",)), {"a/x.md"}, True),
        (of(folders=("a/deep",)), set(), True),
        (of(folders=("b",)), {"b/y.md"}, False),
        (of(folders=("bb",)), set(), False),
        (of(everything=True), {"a/x.md", "b/y.md"}, True),
        (of(), set(), False),
    ],
)
def test_a_listener_hears_of_what_concerns_it(change: Changes, paths: set[str], listed: bool) -> None:
    rings: list[int] = []
    made = listener("a/x.md", "b/y.md", scope=Scope((RelPath(("a",)),)), wake=lambda: rings.append(1))
    made.hear(change)
    assert (told(made), len(rings)) == ((paths, listed), 1 if paths or listed else 0)
    assert told(made) == (set(), False)


def test_a_thousand_changes_are_one_thing_to_tell(inline: Household) -> None:
    names = [f"{number}.md" for number in range(20)]
    uris = [f"{inline.uri}/{name}" for name in names]
    with hearing(inline.service(), ALICE, uris[0], lists=True) as heard:
        takes = 0
        for turn in range(50):
            for name in names:
                inline.write(name, str(turn))
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            if heard.bell.wait(0.1):
                heard.bell.clear()
                takes += 1
                heard.look()
        assert (heard.uris, heard.is_list_changed) == ({uris[0]}, True)
        assert takes <= 12


def test_a_hub_ends_its_watcher_with_the_last_listener_and_begins_again(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "WAIT_SECONDS", 0.02)
    with disk.open_root() as root:
        hub = Hub("Notes", root.watch)
        assert not hub.is_watching
        for turn in range(3):
            rung = threading.Event()
            made, other = listener("a.md", wake=rung.set), listener("b.md")
            assert (hub.add(made), hub.add(other)) == ((), ())
            disk.build(f"root/a.md: {turn}")
            assert rung.wait(SECONDS)
            assert told(made)[0] == {"a.md"}
            hub.remove(made)
            hub.remove(other)
            end = time.monotonic() + SECONDS
            while hub.is_watching:
                assert time.monotonic() < end
                time.sleep(0.01)
        hub.close()
        assert hub.add(listener("a.md")) is None


def test_after_a_watcher_has_ended_all_counts_as_changed(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "RETRY_SECONDS", 0.02)
    with disk.open_root() as root:
        hub = Hub("Notes", root.watch)
        rung = threading.Event()
        made = listener("a.md", scope=Scope((ROOT,)), wake=rung.set)
        assert hub.add(made) == ()
        assert hub._watcher is not None
        hub._watcher.close()
        assert rung.wait(SECONDS)
        assert told(made) == ({"a.md"}, True)
        end = time.monotonic() + SECONDS
        while hub._watcher is None or hub._watcher.has_ended:
            assert time.monotonic() < end
            time.sleep(0.01)
        hub.close()


def test_one_listener_s_trouble_is_not_the_others(disk: Tree) -> None:
    def fail() -> None:
        raise RuntimeError("a mistake")

    with disk.open_root() as root:
        hub = Hub("Notes", root.watch)
        rung = threading.Event()
        bad, good = listener("a.md", wake=fail), listener("a.md", wake=rung.set)
        assert (hub.add(bad), hub.add(good)) == ((), ())
        disk.build("root/a.md: text")
        assert rung.wait(SECONDS)
        rung.clear()
        disk.build("root/a.md: more")
        assert rung.wait(SECONDS)
        hub.close()


def test_a_listener_is_removed_without_waiting(disk: Tree) -> None:
    """It is done on the event loop."""
    with disk.open_root() as root:
        hub = Hub("Notes", root.watch)
        made = listener("a.md")
        hub.add(made)
        with hub._beginning:
            begun = time.monotonic()
            hub.remove(made)
            assert time.monotonic() - begun < 0.5
        hub.close()
