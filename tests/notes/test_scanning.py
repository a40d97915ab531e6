"""Walking a workspace: path order, bounded stretches, what is skipped and why, nothing outside the scope."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsnotes.errors import AmbiguousNote, InvalidArgument, NoteNotFound, PathRefused
from fsnotes.notes import scanning, walking
from fsnotes.notes.commands import Scanned, ScanNotes, Skipped
from fsnotes.notes.scanning import place_of, position_after
from fsnotes.notes.scope import Scope
from fsnotes.notes.walking import Passed, Seen
from sandbox.errors import InvalidPath, StorageFailed
from sandbox.names import ROOT, RelPath
from sandbox.policy import HardLinks, Links, Policy
from sandbox.root import Root
from tests.notes.conftest import Vault


def _paths(scanned: Scanned) -> list[str]:
    return [note.path for note in scanned.notes]


def _all(
    vault: Vault, folder: str = "", *, recursive: bool = True, budget: int = 2000, **scope: Any
) -> Scanned:
    notes: list[Any] = []
    folders: list[str] = []
    skipped: list[Skipped] = []
    after: str | None = None
    for _ in range(1000):
        part = vault.run(ScanNotes(folder, recursive, after, budget), **scope)
        assert len(part.notes) + len(part.folders) + len(part.skipped) <= budget
        notes += part.notes
        folders += part.folders
        skipped += part.skipped
        after = part.resume
        if after is None:
            return Scanned(tuple(notes), tuple(folders), tuple(skipped), None)
    raise AssertionError("the walk does not end")


def test_notes_come_in_path_order_by_component(vault: Vault) -> None:
    vault.build(
        "b.md: x",
        "a/z.md: x",
        "a.md: x",
        "a b.md: x",
        "a/b/c.md: x",
        "B.md: x",
        "\u00e4.md: x",
        "a/a.txt: x",
        "empty/",
    )
    expected = ["B.md", "a/b/c.md", "a/z.md", "a b.md", "a.md", "b.md", "\u00e4.md"]
    assert expected == sorted(expected, key=lambda path: path.split("/"))
    scanned = vault.run(ScanNotes(recursive=True))
    assert (_paths(scanned), scanned.folders, scanned.skipped, scanned.resume) == (expected, (), (), None)


def test_one_folder_shows_its_notes_and_folders(vault: Vault) -> None:
    vault.build("a/x.md: 12345", "a/sub/y.md: x", "a/.hidden/z.md: x", "a/t.txt: x", "b.md: x")
    scanned = vault.run(ScanNotes("a"))
    status = os.stat(vault.disk.path("root/a/x.md"))
    assert [(note.path, note.size, note.mtime_ns) for note in scanned.notes] == [
        ("a/x.md", 5, status.st_mtime_ns)
    ]
    assert (scanned.folders, scanned.skipped, scanned.resume) == (("a/sub",), (), None)
    assert vault.run(ScanNotes("a/")) == scanned


@pytest.mark.parametrize("budget", [1, 2, 3, 7])
@pytest.mark.parametrize("recursive", [True, False])
def test_stretches_of_any_size_add_up_to_the_whole(vault: Vault, budget: int, recursive: bool) -> None:
    vault.build(
        "a.md: x", "a/b.md: x", "a/c/d.md: x", "a/c/e.md: x", "a/f.md: x", "g.md => a.md", "h/",
        "i/j/k/l.md: x", ".m.md.icloud: x",
        "n.md: x", "n.txt: x", ".o.md: x",
    )  # fmt: skip
    os.mkfifo(os.path.join(os.fsencode(vault.disk.path("root/a")), b"\xff"))
    assert _all(vault, recursive=recursive, budget=budget) == _all(vault, recursive=recursive)


_NAMES = st.sampled_from(
    ["a", "b", "a.md", "b.md", "a b.md", ".h", ".b.md.icloud", "c.txt", "\u00e9.md", "a\\b.md"]
)


def _plant(base: str, trees: Iterable[tuple[str, ...]]) -> None:
    """Make empty files at these paths, as far as they can stand beside each other."""
    for parts in trees:
        path = os.path.join(base, *parts)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb"):
                pass
        except OSError:
            continue


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(_NAMES, _NAMES, _NAMES), max_size=8),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_a_walk_in_stretches_survives_deletions_and_tells_everything_else_once(
    tmp_path_factory: pytest.TempPathFactory, trees: list[tuple[str, str, str]], budget: int, random: Any
) -> None:
    base = str(tmp_path_factory.mktemp("walk"))
    _plant(base, trees)
    with Root.open(base) as root:
        scope = Scope((ROOT,))
        whole = _paths(scanning.scan(root, scope, ScanNotes(recursive=True)))
        assert whole == sorted(whole, key=lambda path: path.split("/"))
        seen: list[str] = []
        gone: set[str] = set()
        after: str | None = None
        for _ in range(200):
            part = scanning.scan(root, scope, ScanNotes("", recursive=True, after=after, budget=budget))
            seen += _paths(part)
            after = part.resume
            if after is None:
                break
            if whole and random.random() < 0.3:
                victim = random.choice(whole)
                if os.path.exists(os.path.join(base, victim)):
                    os.remove(os.path.join(base, victim))
                    gone.add(victim)
        assert after is None
        assert seen == sorted(set(seen), key=lambda path: path.split("/"))
        assert set(whole) - gone <= set(seen) <= set(whole)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(_NAMES, _NAMES), max_size=12), st.randoms(use_true_random=False), st.booleans())
def test_a_walk_passes_by_exactly_the_notes_that_are_as_they_are_known_wherever_it_begins(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    trees: list[tuple[str, str]],
    random: Any,
    ignoring: bool,
) -> None:
    monkeypatch.setattr(walking, "LEAST_KNOWN", 1)
    monkeypatch.setattr(walking, "MANY_AT_ONCE", random.choice([1, 2, 3, 256]))
    base = str(tmp_path_factory.mktemp("known"))
    _plant(base, trees)
    scope = Scope((ROOT,), ("b.md",) if ignoring else ())
    with Root.open(base) as root:
        every = list(walking.walk(root, scope, "", recursive=True, after=None))
        seen = [finding for _, finding in every if isinstance(finding, Seen)]
        right = {str(note.path) for note in seen if random.random() < 0.7}
        numbers = {
            str(note.path): (note.identity.ino, note.identity.size, note.identity.mtime_ns + wrong)
            for note in seen
            for wrong in (0 if str(note.path) in right else 1,)
        }

        def known(folder: RelPath, first: str, last: str) -> dict[str, tuple[int, int, int]]:
            before = "/".join((*folder.parts, ""))
            return {
                path[len(before) :]: each
                for path, each in numbers.items()
                if path.startswith(before) and first <= path[len(before) :] <= last
            }

        starts = [None, *(walking.position_text(position) for position, _ in every)]
        for after in starts:
            told: list[tuple[str, object]] = []
            before: tuple[str, ...] = ()
            for position, finding in walking.walk(root, scope, "", recursive=True, after=after, known=known):
                assert before < position
                before = position
                match finding:
                    case Passed(folder, names):
                        told += [(str(folder.child(name)), "passed") for name in names]
                        assert position == (*folder.parts, names[-1])
                    case Seen(path, _):
                        told.append((str(path), "seen"))
                    case Skipped(path):
                        told.append((str(path), "skipped"))
                    case _:
                        pass
            expected = [
                (str(finding.path), "passed" if str(finding.path) in right else "seen")
                if isinstance(finding, Seen)
                else (str(finding.path), "skipped")
                for _, finding in walking.walk(root, scope, "", recursive=True, after=after)
                if isinstance(finding, Seen | Skipped)
            ]
            assert told == expected


@pytest.mark.kind("sync")
@pytest.mark.parametrize("budget", [1, 2, 3, 4])
@pytest.mark.parametrize("placeholder", [".b.md.icloud: x", ".b.md.icloud/n.md: x"])
def test_a_placeholder_beside_a_folder_of_its_name_is_told_once_and_so_is_what_is_in_the_folder(
    vault: Vault, placeholder: str, budget: int
) -> None:
    vault.build("b.md/a.md: x", "b.md/z.md: x", placeholder, "c.md: x")
    notes: list[str] = []
    skipped: list[str | None] = []
    after: str | None = None
    while True:
        part = vault.run(ScanNotes("", recursive=True, after=after, budget=budget))
        notes += _paths(part)
        skipped += [item.path for item in part.skipped]
        after = part.resume
        if after is None:
            break
    is_file = not placeholder.startswith(".b.md.icloud/")  # a folder of that name is hidden and nothing else
    assert (notes, skipped) == (["b.md/a.md", "b.md/z.md", "c.md"], ["b.md"] if is_file else [])


_LAST = "\U0010ffff"  # sorts behind all other characters, and may be in a name
_LAST_NAMES = (f"{_LAST}.md", f"{_LAST * 63}.md", _LAST * 63, f"{_LAST * 62}z.md")


def _plant_unnameable(folder: str, count: int) -> None:
    os.makedirs(folder, exist_ok=True)
    for number in range(count):
        with open(os.path.join(os.fsencode(folder), b"u%02d\xff.md" % number), "wb"):
            pass


@pytest.mark.parametrize("rank", [walking.REST, walking.PLACEHOLDER], ids=["rest", "placeholder"])
def test_a_rank_sorts_behind_all_names_and_is_none(rank: str) -> None:
    for end in ("", "zzz", "\uffff"):
        assert RelPath((_LAST * 63 + end,)).name < rank
    with pytest.raises(InvalidPath):
        RelPath((rank,))
    assert walking.REST < walking.PLACEHOLDER


@pytest.mark.parametrize("budget", [1, 2, 50, 51])
def test_a_name_of_the_last_character_is_walked_once_and_so_is_what_comes_behind_its_folder(
    vault: Vault, budget: int
) -> None:
    vault.build(*(f"q/{name}: x" for name in _LAST_NAMES if name.endswith(".md")), "z0.md: x", "z1.md: x")
    _plant_unnameable(vault.disk.path("root/q"), 60)
    assert _all(vault, budget=budget) == _all(vault)
    assert _paths(_all(vault, budget=budget))[-2:] == ["z0.md", "z1.md"]


@pytest.mark.parametrize("budget", [1, 2, 4])
def test_a_placeholder_beside_a_folder_whose_names_are_counted_is_told_once(
    vault: Vault, budget: int
) -> None:
    vault.build("plan.md/", ".plan.md.icloud: x", "z.md: x")
    _plant_unnameable(vault.disk.path("root/plan.md"), 51)
    whole = _all(vault)
    assert whole.skipped[-2:] == (Skipped(None, 1, "unnameable"), Skipped("plan.md", 1, "not_downloaded"))
    assert _all(vault, budget=budget) == whole


_ODD_NAMES = st.sampled_from(["a", "a.md", ".a.md.icloud", "b.md", *_LAST_NAMES, _LAST])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(_ODD_NAMES, _ODD_NAMES), max_size=8),
    st.lists(st.tuples(st.sampled_from(["", "a", "a.md", _LAST]), st.integers(49, 52)), max_size=2),
    st.integers(1, 4),
    st.booleans(),
)
def test_stretches_tell_together_what_one_walk_tells_whatever_the_names_are(
    tmp_path_factory: pytest.TempPathFactory,
    trees: list[tuple[str, ...]],
    many: list[tuple[str, int]],
    budget: int,
    recursive: bool,
) -> None:
    base = str(tmp_path_factory.mktemp("odd"))
    _plant(base, trees)
    for name, count in many:
        if not os.path.isfile(os.path.join(base, name)):
            _plant_unnameable(os.path.join(base, name), count)
    with Root.open(base) as root:
        scope = Scope((ROOT,))
        every = list(walking.walk(root, scope, "", recursive=recursive, after=None))
        positions = [position for position, _ in every]
        assert positions == sorted(set(positions))
        found: list[tuple[walking.Position, walking.Finding]] = []
        after: str | None = None
        while True:
            part = list(
                itertools.islice(walking.walk(root, scope, "", recursive=recursive, after=after), budget)
            )
            if not part:
                break
            found += part
            assert len(found) <= len(every)
            after = walking.position_text(part[-1][0])
        assert found == every
        for position, finding in every:
            if isinstance(finding, Skipped) and finding.path is not None:
                assert place_of(finding)[: len(position)] == position


def test_a_walk_goes_on_behind_a_folder_that_vanished(vault: Vault) -> None:
    vault.build("a/b.md: x", "a/c.md: x", "d.md: x")
    first = vault.run(ScanNotes("", recursive=True, budget=2))
    assert _paths(first) == ["a/b.md"]
    for path in ("a/b.md", "a/c.md"):
        os.remove(vault.disk.path(f"root/{path}"))
    os.rmdir(vault.disk.path("root/a"))
    assert _paths(vault.run(ScanNotes("", recursive=True, after=first.resume))) == ["d.md"]


def test_a_position_is_only_compared_and_may_come_from_anybody(vault: Vault) -> None:
    vault.build("a.md: x", "b/c.md: x")
    for after in (
        "../../etc",
        "/",
        "",
        "a\\b",
        "\ud800",
        "b/\0",
        "x" * 5000,
        position_after(Skipped("a.md", 1, "link")),
    ):
        vault.run(ScanNotes("", recursive=True, after=after))
    with pytest.raises(InvalidArgument):
        vault.run(ScanNotes("", recursive=True, after="x" * 10_000))


def test_what_is_shown_can_be_gone_on_behind(vault: Vault) -> None:
    vault.build("a/b.md: x", "l => a", ".n.md.icloud: x", "z.md: x")
    os.mkfifo(os.path.join(os.fsencode(vault.disk.path("root")), b"m\xff"))
    whole = vault.run(ScanNotes())
    behind = {path: path for path in (*_paths(whole), *whole.folders)}
    behind |= {item.path or "": position_after(item) for item in whole.skipped}
    shown = sorted(behind)
    assert shown == ["a", "l", "m\\xff", "n.md", "z.md"]
    for place, path in enumerate(shown):
        rest = vault.run(ScanNotes("", after=behind[path]))
        assert (
            sorted([*_paths(rest), *rest.folders, *(item.path or "" for item in rest.skipped)])
            == shown[place + 1 :]
        )


# -- what is skipped ---------------------------------------------------------------------------


def test_what_is_no_acceptable_note_is_skipped_with_a_reason(vault: Vault) -> None:
    vault.reopen(Policy(max_file_bytes=10))
    vault.disk.build("secret.md: secret", "outside/x.md: x")
    vault.build(
        "ok.md: x", "link.md => ok.md", "out => ../outside", "dangling => nowhere", "pipe.md | fifo", "sock | socket",
        "big.md: 12345678901", "big.txt: 12345678901", ".cloud.md.icloud: x", ".cloud.txt.icloud: x",
        ".git/a.md: x", ".a.md: x",
        ".l => ok.md",
    )  # fmt: skip
    vault.disk.build("root/hard.md == secret.md")
    folder = os.fsencode(vault.disk.path("root"))
    for name in (b"caf\xe9.md", b"a\\b.md", b".\xff"):
        with open(os.path.join(folder, name), "wb"):
            pass
    scanned = vault.run(ScanNotes(recursive=True))
    assert _paths(scanned) == ["ok.md"]
    assert sorted(scanned.skipped, key=lambda item: str(item.path)) == [
        Skipped("a\\\\b.md", 1, "unnameable"),
        Skipped("big.md", 1, "too_large"),
        Skipped("caf\\xe9.md", 1, "unnameable"),
        Skipped("cloud.md", 1, "not_downloaded"),
        Skipped("dangling", 1, "link"),
        Skipped("hard.md", 1, "hard_link"),
        Skipped("link.md", 1, "link"),
        Skipped("out", 1, "link"),
        Skipped("pipe.md", 1, "special_file"),
        Skipped("sock", 1, "special_file"),
    ]


def test_many_unnameable_files_are_counted(vault: Vault) -> None:
    vault.build("a.md: x")
    folder = os.fsencode(vault.disk.path("root"))
    for number in range(60):
        with open(os.path.join(folder, b"%02d\xff.md" % number), "wb"):
            pass
    for budget in (2000, 10):
        skipped = _all(vault, budget=budget).skipped
        assert sum(item.count for item in skipped) == 60
        assert [item for item in skipped if item.path is None] == [Skipped(None, 10, "unnameable")]


def test_however_many_hidden_files_have_no_name_nothing_is_said_of_them(vault: Vault) -> None:
    folder = os.fsencode(vault.disk.path("root"))
    for name in (*(b".%02d\xff.md" % number for number in range(60)), b"a\xff.md"):
        with open(os.path.join(folder, name), "wb"):
            pass
    assert vault.run(ScanNotes()).skipped == (Skipped("a\\xff.md", 1, "unnameable"),)


def test_a_deceptive_name_is_counted_and_not_shown_among_the_skipped(vault: Vault) -> None:
    vault.build("\u202egpj.md => x", "ok.md: x")
    assert vault.run(ScanNotes()).skipped == (Skipped(None, 1, "link"),)


def test_hard_links_are_listed_where_the_policy_allows_them(vault: Vault) -> None:
    vault.reopen(Policy(hard_links=HardLinks.ALLOW))
    vault.build("a.md: x")
    vault.disk.build("root/b.md == root/a.md")
    assert _paths(vault.run(ScanNotes())) == ["a.md", "b.md"]


def test_folders_deeper_than_a_path_may_be_are_skipped(vault: Vault) -> None:
    deep = vault.disk.path("root") + "/d" * 64
    os.makedirs(deep)
    for name in ("too.md", "sub.md"):
        with open(os.path.join(deep, name), "wb"):
            pass
    scanned = vault.run(ScanNotes(recursive=True))
    assert _paths(scanned) == []
    assert [(item.count, item.reason) for item in scanned.skipped] == [(1, "too_deep")] * 2


def test_a_folder_with_too_many_entries_is_skipped_and_the_others_listed(vault: Vault) -> None:
    vault.reopen(Policy(max_entries=3))
    vault.build("a/1.md: x", "a/2.md: x", "a/3.md: x", "a/4.md: x", "b/1.md: x")
    scanned = vault.run(ScanNotes(recursive=True))
    assert (_paths(scanned), scanned.skipped) == (["b/1.md"], (Skipped("a", 1, "too_many"),))
    assert vault.run(ScanNotes("a")).skipped == (Skipped("a", 1, "too_many"),)


def test_a_folder_that_cannot_be_read_is_skipped(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.build("a/1.md: x", "b.md: x")
    listing = Root.list

    def refuse(root: Root, path: RelPath = ROOT, **options: Any) -> Any:
        if str(path) == "a":
            raise StorageFailed(errno.EACCES, "'a'")
        return listing(root, path, **options)

    monkeypatch.setattr(Root, "list", refuse)
    scanned = vault.run(ScanNotes(recursive=True))
    assert (_paths(scanned), scanned.skipped) == (["b.md"], (Skipped("a", 1, "unreadable"),))
    assert _all(vault, budget=1) == scanned


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        (lambda path: os.rename(path + "/a", path + "/.gone"), ["b.md"]),
        (lambda path: os.rename(path + "/b.md", path + "/.gone"), ["a/1.md"]),
    ],
)
def test_what_vanishes_between_listing_and_look_breaks_nothing(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, change: Callable[[str], None], paths: list[str]
) -> None:
    vault.build("a/1.md: x", "b.md: x")
    listing = Root.list
    changed: list[bool] = []

    def list_and_change(root: Root, *args: Any, **options: Any) -> Any:
        found = listing(root, *args, **options)
        if not changed:
            changed.append(True)
            change(vault.disk.path("root"))
        return found

    monkeypatch.setattr(Root, "list", list_and_change)
    scanned = vault.run(ScanNotes(recursive=True))
    assert (_paths(scanned), scanned.skipped) == (paths, ())


# -- links within ------------------------------------------------------------------------------


def test_links_that_stay_within_are_listed_where_the_policy_follows_them(openat2_vault: Vault) -> None:
    vault = openat2_vault
    vault.reopen(Policy(links=Links.WITHIN))
    vault.disk.build("outside/x.md: x")
    vault.build("a/n.md: x", "b => a", "c.md => a/n.md", "out => ../outside", "a/loop => ../a", "a/up => ..")
    scanned = vault.run(ScanNotes(recursive=True))
    assert _paths(scanned) == ["a/n.md", "b/n.md", "c.md"]
    assert {(item.path, item.reason) for item in scanned.skipped} == {
        ("a/loop", "link"), ("a/up", "link"), ("b/loop", "link"), ("b/up", "link"), ("out", "link"),
    }  # fmt: skip


# -- scope -------------------------------------------------------------------------------------


def test_only_the_folders_of_the_scope_are_opened(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.build("a/1.md: x", "b/2.md: x", "b/c/3.md: x", "d/4.md: x", "e.md: x", "ab/5.md: x")
    opened: list[str] = []
    listing = Root.list

    def note_and_list(root: Root, path: Any = ROOT, **options: Any) -> Any:
        opened.append(str(path))
        return listing(root, path, **options)

    monkeypatch.setattr(Root, "list", note_and_list)
    scope = {"folders": ("b/c", "a", "gone", "d/none")}
    assert _paths(_all(vault, budget=1, **scope)) == ["a/1.md", "b/c/3.md"]
    # Looking for a folder that is not there lists what is above it, and nothing of that is told.
    assert set(opened) <= {"a", "b/c", "", "d"}
    assert _paths(vault.run(ScanNotes("b/c", recursive=True), **scope)) == ["b/c/3.md"]
    for folder in ("b", "d", "ab", "none", ".trash", ".git"):
        with pytest.raises(PathRefused):
            vault.run(ScanNotes(folder, recursive=True), **scope)


def test_a_granted_folder_in_another_spelling_is_listed_as_it_is_spelled(vault: Vault) -> None:
    vault.build("Cafe\u0301/a.md: x")
    assert _paths(vault.run(ScanNotes(recursive=True), folders=("Caf\u00e9",))) == ["Cafe\u0301/a.md"]
    vault.build("Caf\u00e9/b.md: x")
    assert _paths(vault.run(ScanNotes(recursive=True), folders=("Caf\u00e9",))) == []
    with pytest.raises(AmbiguousNote):
        vault.run(ScanNotes("Caf\u00e9"), folders=("Caf\u00e9",))


def test_ignored_paths_are_neither_listed_nor_walked_nor_told(vault: Vault) -> None:
    vault.build("Archive/a.md: x", "sub/x.draft.md: x", "sub/y.md: x", "Archive/l => a.md")
    scanned = vault.run(ScanNotes(recursive=True), ignore=("Archive/**", "**/*.draft.md"))
    assert (_paths(scanned), scanned.skipped) == (["sub/y.md"], ())
    assert vault.run(ScanNotes(), ignore=("Archive/**",)).folders == ("sub",)
    with pytest.raises(PathRefused):
        vault.run(ScanNotes("Archive"), ignore=("Archive/**",))


def test_a_folder_that_is_not_there_or_is_none_is_refused(vault: Vault) -> None:
    vault.disk.build("outside/x.md: x")
    vault.build("a.md: x", "l => ../outside")
    for folder in ("none", "a.md", "a.md/x"):
        with pytest.raises(NoteNotFound) as caught:
            vault.run(ScanNotes(folder))
        assert caught.value.what == "folder"
    for folder in ("l", "../outside", "/", "a/../b", ".hidden"):
        with pytest.raises(PathRefused):
            vault.run(ScanNotes(folder))
    with pytest.raises(InvalidArgument) as invalid:
        vault.run(ScanNotes("a//b"))
    assert invalid.value.argument == "folder"


def test_a_call_ends_soon_where_single_entries_take_long_and_the_next_one_goes_on(vault: Vault) -> None:
    """A folder of nothing but other files is one entry, and may take as long as many notes."""
    vault.build(*(f"{number}/{name}.txt: x" for number in range(4) for name in "abc"), "4/n.md: x")
    ticks = iter(range(10_000))
    root = vault.workspace.root
    calls, after, found = 0, None, []
    while True:
        scanned = scanning.scan(
            root,
            Scope((ROOT,)),
            ScanNotes(recursive=True, after=after),
            clock=lambda: next(ticks) * scanning.CALL_SECONDS * 2,
        )
        calls += 1
        found += [note.path for note in scanned.notes]
        after = scanned.resume
        if after is None:
            break
    assert calls > 2
    assert found == ["4/n.md"]


def test_a_call_ends_once_it_has_taken_long(vault: Vault) -> None:
    """It ends when the time is up, but not before it got on: each call lists its folder anew."""
    vault.build(*(f"{number:04}.md: x" for number in range(scanning.LEAST_ENTRIES + 10)))
    ticks = iter(range(10_000))
    root = vault.workspace.root
    scanned = scanning.scan(
        root, Scope((ROOT,)), ScanNotes(), clock=lambda: next(ticks) * scanning.CALL_SECONDS / 333
    )
    assert (len(scanned.notes), scanned.resume) == (
        scanning.LEAST_ENTRIES,
        f"{scanning.LEAST_ENTRIES - 1:04}.md",
    )
