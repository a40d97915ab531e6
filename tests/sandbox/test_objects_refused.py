"""Every odd object, every operation, both resolvers: what is refused, what is served, what stays untouched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from sandbox import _linux, reading
from sandbox.errors import (
    Escape,
    Exists,
    HardLinkRefused,
    LinkRefused,
    Missing,
    NotAFolder,
    NotRegular,
    SandboxError,
    TooLarge,
)
from sandbox.names import ROOT, RelPath
from sandbox.objects import FileIdentity, Kind
from sandbox.policy import HardLinks, Links, Policy
from sandbox.reading import _read_bounded
from sandbox.root import Root
from tests.disk import Tree
from tests.require import require

ENTRY = "20260728T101112Z-" + "0" * 32
P = RelPath.parse

Operation = Callable[[Root, RelPath, FileIdentity], object]

# Each is given the identity that the object's target really has, so that nothing else can be the reason.
OPERATIONS: dict[str, Operation] = {
    "read": lambda root, path, _: root.read(path),
    "stat": lambda root, path, _: root.stat(path),
    "replace": lambda root, path, expect: root.replace(path, b"changed", expect=expect),
    "move": lambda root, path, expect: root.move(path, P("moved.md"), expect=expect),
    "trash": lambda root, path, _: root.trash(path, entry=ENTRY, expect=lambda _: True),
}
CREATIONS: dict[str, Operation] = {
    "create": lambda root, path, _: root.create(path, b"made"),
    "move to": lambda root, path, _: root.move(P("mine.md"), path, expect=root.stat(P("mine.md"))),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A link: the lines that make it, the path through it, the file it leads to, and what `within` says."""

    lines: tuple[str, ...]
    path: str
    target: str | None
    within: type[SandboxError] | None  # None: served


LINKS = {
    "relative link inside": Case(("root/link.md => a.md",), "link.md", "root/a.md", None),
    "folder link inside": Case(("root/link => sub",), "link/b.md", "root/sub/b.md", None),
    "link text with dots that stays": Case(("root/link.md => sub/../a.md",), "link.md", "root/a.md", None),
    "link in a subfolder": Case(("root/sub/link.md => ../a.md",), "sub/link.md", "root/a.md", None),
    "absolute link to the inside": Case(
        ("root/link.md => {base}/root/a.md",), "link.md", "root/a.md", Escape
    ),
    "absolute folder link to the inside": Case(
        ("root/link => {base}/root/sub",), "link/b.md", "root/sub/b.md", Escape
    ),
    "out and back": Case(("root/link.md => ../root/a.md",), "link.md", "root/a.md", Escape),
    "link out": Case(("root/link.md => ../secret.md",), "link.md", "secret.md", Escape),
    "absolute link out": Case(("root/link.md => {base}/secret.md",), "link.md", "secret.md", Escape),
    "folder link out": Case(("root/link => ..",), "link/secret.md", "secret.md", Escape),
    "link to a prefix twin": Case(("root/link => ../root-evil",), "link/c.md", "root-evil/c.md", Escape),
    "magic link": Case(("root/link => /proc/self/root",), "link/etc/passwd", "/etc/passwd", Escape),
    "magic link by way of proc": Case(
        ("root/link.md => /proc/self/exe",), "link.md", "/proc/self/exe", Escape
    ),
    "loop": Case(("root/link.md => link.md",), "link.md", None, LinkRefused),
    "two-step loop": Case(("root/one => two", "root/two => one"), "one/x.md", None, LinkRefused),
    "dangling inside": Case(("root/link.md => gone.md",), "link.md", None, Missing),
    "dangling outside": Case(("root/link.md => ../gone.md",), "link.md", None, Escape),
}
IS_LAST = {name: case.path.endswith("link.md") for name, case in LINKS.items()}


def build(disk: Tree, case: Case) -> FileIdentity:
    disk.build("secret.md: secret", "root-evil/c.md: evil", "root/a.md: a", "root/sub/b.md: b")
    disk.build("root/mine.md: mine", *(line.format(base=disk.base) for line in case.lines))
    target = disk.path(case.target if case.target is not None else "root/a.md")
    return FileIdentity.of(os.stat(target))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("link", LINKS)
def test_link_of_any_kind_is_refused_and_nothing_changes(disk: Tree, link: str, operation: str) -> None:
    expect = build(disk, LINKS[link])
    before = disk.snapshot()
    with disk.open_root() as root, pytest.raises(LinkRefused) as caught:
        OPERATIONS[operation](root, P(LINKS[link].path), expect)
    assert caught.value.path == LINKS[link].path
    assert disk.snapshot() == before


@pytest.mark.parametrize("operation", CREATIONS)
@pytest.mark.parametrize("link", LINKS)
def test_nothing_is_created_through_a_link(disk: Tree, link: str, operation: str) -> None:
    """A name that is a link is taken; a folder that is one is refused."""
    expect = build(disk, LINKS[link])
    before = disk.snapshot()
    with disk.open_root() as root, pytest.raises(Exists if IS_LAST[link] else LinkRefused):
        CREATIONS[operation](root, P(LINKS[link].path), expect)
    assert disk.snapshot() == before


@pytest.mark.parametrize("link", [name for name in LINKS if not IS_LAST[name]])
def test_new_folder_is_never_made_through_a_link(disk: Tree, link: str) -> None:
    build(disk, LINKS[link])
    before = disk.snapshot()
    through = P(LINKS[link].path).parent.child("new").child("deep").child("note.md")
    with disk.open_root() as root, pytest.raises(LinkRefused):
        root.create(through, b"made")
    assert disk.snapshot() == before


@pytest.mark.parametrize("link", LINKS)
def test_link_is_a_link_to_kind_and_list(disk: Tree, link: str) -> None:
    build(disk, LINKS[link])
    name = LINKS[link].path.partition("/")[0]
    with disk.open_root() as root:
        folder = (
            ROOT if disk.exists(f"root/{name}") and os.path.islink(disk.path(f"root/{name}")) else P("sub")
        )
        link_path = folder.child(name if folder == ROOT else "link.md")
        assert root.kind(link_path) is Kind.LINK
        kinds = {entry.name: entry.kind for entry in root.list(folder, with_identity=True).entries}
        assert kinds[link_path.name] is Kind.LINK
        with pytest.raises(LinkRefused):
            root.list(link_path, with_identity=False)


@pytest.mark.parametrize("link", LINKS)
def test_within_serves_links_that_stay_and_refuses_the_others(openat2_disk: Tree, link: str) -> None:
    case = LINKS[link]
    build(openat2_disk, case)
    with openat2_disk.open_root(policy=Policy(links=Links.WITHIN)) as root:
        if case.within is None:
            assert case.target is not None
            assert root.read(P(case.path)).data == openat2_disk.read(case.target)
            assert root.stat(P(case.path)).ino == os.stat(openat2_disk.path(case.target)).st_ino
            return
        with pytest.raises(SandboxError) as caught:
            root.read(P(case.path))
        assert type(caught.value) is case.within


def test_within_changes_files_behind_a_folder_link_but_never_the_link(openat2_disk: Tree) -> None:
    """Renaming acts on a link itself, so a link at the end of a path is refused to every change."""
    disk = openat2_disk
    disk.build("root/a.md: a", "root/sub/b.md: b", "root/folder => sub", "root/link.md => a.md")
    with disk.open_root(policy=Policy(links=Links.WITHIN)) as root:
        root.create(P("folder/new.md"), b"new")
        root.replace(P("folder/b.md"), b"changed", expect=root.stat(P("folder/b.md")))
        for operation in ("replace", "move", "trash"):
            with pytest.raises(LinkRefused):
                OPERATIONS[operation](root, P("link.md"), root.stat(P("link.md")))
        with pytest.raises(Exists):
            root.create(P("link.md"), b"x")
    assert disk.snapshot("root") == {
        "a.md": b"a",
        "sub": "folder",
        "sub/b.md": b"changed",
        "sub/new.md": b"new",
        "folder": "=> sub",
        "link.md": "=> a.md",
    }


def test_within_lists_a_link_as_what_it_leads_to(openat2_disk: Tree) -> None:
    disk = openat2_disk
    disk.build("secret.md: s", "root/a.md: a", "root/f => sub", "root/sub/", "root/l.md => a.md")
    disk.build("root/out.md => ../secret.md", "root/gone.md => nothing")
    with disk.open_root(policy=Policy(links=Links.WITHIN)) as root:
        kinds = {entry.name: entry.kind for entry in root.list(with_identity=True).entries}
        assert root.kind(P("gone.md")) is Kind.LINK
        assert root.kind(P("out.md")) is Kind.LINK
        assert root.kind(P("l.md")) is Kind.FILE
    assert kinds == {
        "a.md": Kind.FILE,
        "f": Kind.FOLDER,
        "gone.md": Kind.LINK,
        "l.md": Kind.FILE,
        "out.md": Kind.LINK,
        "sub": Kind.FOLDER,
    }


def test_nearest_plain_file_is_served_by_every_operation(disk: Tree) -> None:
    disk.build("root/link => sub", "root/sub/b.md: b")
    with disk.open_root() as root:
        assert root.read(P("sub/b.md")).data == b"b"
        seen = root.stat(P("sub/b.md"))
        assert root.kind(P("sub/b.md")) is Kind.FILE
        assert root.kind(P("sub")) is Kind.FOLDER
        assert root.kind(P("sub/none.md")) is None
        replaced = root.replace(P("sub/b.md"), b"changed", expect=seen)
        root.move(P("sub/b.md"), P("sub/c.md"), expect=replaced.identity)
        root.trash(P("sub/c.md"), entry=ENTRY, expect=lambda data: data == b"changed")
        assert root.restore(ENTRY) == P("sub/c.md")
    assert disk.read("root/sub/c.md") == b"changed"


def test_root_itself_may_be_reached_through_a_link_once(disk: Tree) -> None:
    disk.build("real/a.md: a", "root => real")
    with disk.open_root() as root:
        assert root.read(P("a.md")).data == b"a"
        os.unlink(disk.path("root"))
        os.symlink("nowhere", disk.path("root"))
        assert root.read(P("a.md")).data == b"a"


# -- special files -----------------------------------------------------------------------------


@contextmanager
def blocked_partner(fifo: str, mode: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits in open(2) for somebody to open the other end of the FIFO."""
    partner = subprocess.Popen([sys.executable, "-I", "-S", "-c", f"open({fifo!r}, {mode!r}).close()"])
    try:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with open(f"/proc/{partner.pid}/wchan") as wchan:
                if wchan.read().strip("\0\n") in {"wait_for_partner", "fifo_open"}:
                    break
            time.sleep(0.01)
        else:
            pytest.skip("cannot see that the partner waits")
        yield partner
    finally:
        partner.kill()
        partner.wait()


@pytest.mark.parametrize("mode", ["wb", "rb"])
@pytest.mark.parametrize("operation", [*OPERATIONS, "kind", "list", "list root"])
def test_fifo_answers_within_a_second_and_is_never_opened(disk: Tree, operation: str, mode: str) -> None:
    """A process that waits for a partner in open(2) is still waiting afterwards."""
    disk.build("root/pipe.md | fifo", "root/a.md: a")
    expect = FileIdentity.of(os.stat(disk.path("root/pipe.md")))
    with disk.open_root() as root, blocked_partner(disk.path("root/pipe.md"), mode) as partner:
        start = time.monotonic()
        if operation == "kind":
            assert root.kind(P("pipe.md")) is Kind.OTHER
        elif operation == "list root":
            kinds = [(entry.name, entry.kind) for entry in root.list(with_identity=True).entries]
            assert kinds == [("a.md", Kind.FILE), ("pipe.md", Kind.OTHER)]
        elif operation == "list":
            with pytest.raises(NotAFolder):
                root.list(P("pipe.md"), with_identity=True)
        else:
            with pytest.raises(NotRegular):
                OPERATIONS[operation](root, P("pipe.md"), expect)
        assert time.monotonic() - start < 1.0
        with pytest.raises(subprocess.TimeoutExpired):
            partner.wait(timeout=0.02)
    assert disk.snapshot("root") == {"pipe.md": "fifo", "a.md": b"a"}


def test_partner_of_the_fifo_test_would_notice_an_opening(disk: Tree) -> None:
    """The control: a plain O_NONBLOCK opening releases the waiting process."""
    disk.build("root/pipe.md | fifo")
    with blocked_partner(disk.path("root/pipe.md"), "wb") as partner:
        os.close(os.open(disk.path("root/pipe.md"), os.O_RDONLY | os.O_NONBLOCK))
        assert partner.wait(timeout=10) == 0


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("what", ["fifo", "socket", "device", "folder"])
def test_special_file_is_only_looked_at(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, what: str, operation: str
) -> None:
    """Every opening that names the object carries O_PATH: no driver and no peer ever hears of it."""
    if what == "device":
        require("device nodes", available=os.geteuid() == 0, why="mknod wants root")
    disk.build("root/odd.md/" if what == "folder" else f"root/odd.md | {what}")
    expect = FileIdentity.of(os.stat(disk.path("root/odd.md")))
    flags_seen: list[int] = []
    real_open, real_openat2 = os.open, _linux.openat2

    def spying_open(path: object, flags: int, *rest: object, **more: object) -> int:
        if os.fsencode(path).endswith(b"odd.md"):  # type: ignore[arg-type]  # a spy takes what comes
            flags_seen.append(flags)
        return real_open(path, flags, *rest, **more)  # type: ignore[arg-type]  # as above

    def spying_openat2(folder: int, path: bytes, *, flags: int, resolve: int) -> int:
        if path.endswith(b"odd.md"):
            flags_seen.append(flags)
        return real_openat2(folder, path, flags=flags, resolve=resolve)

    with disk.open_root() as root:
        monkeypatch.setattr(os, "open", spying_open)
        monkeypatch.setattr(_linux, "openat2", spying_openat2)
        with pytest.raises(NotRegular):
            OPERATIONS[operation](root, P("odd.md"), expect)
        monkeypatch.undo()
    assert flags_seen != []
    assert all(flags & os.O_PATH for flags in flags_seen)


def test_fifo_that_takes_the_name_after_the_look_is_refused_without_waiting(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window between look and opening: the opened object is judged again."""
    disk.build("root/a.md: a", "root/pipe | fifo")
    judge = Policy.judge

    def judge_then_swap(policy: Policy, path: RelPath, status: os.stat_result) -> None:
        judge(policy, path, status)
        if disk.exists("root/pipe"):
            os.replace(disk.path("root/pipe"), disk.path("root/a.md"))

    with disk.open_root() as root:
        monkeypatch.setattr(Policy, "judge", judge_then_swap)
        start = time.monotonic()
        with pytest.raises(NotRegular):
            root.read(P("a.md"))
        assert time.monotonic() - start < 1.0


# -- hard links, sizes, names, depth -----------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS)
def test_hard_link_is_refused_unless_the_policy_allows_it(disk: Tree, operation: str) -> None:
    disk.build("secret.md: secret", "root/mine.md == secret.md")
    expect = FileIdentity.of(os.stat(disk.path("secret.md")))
    before = disk.snapshot()
    with disk.open_root() as root, pytest.raises(HardLinkRefused):
        OPERATIONS[operation](root, P("mine.md"), expect)
    assert disk.snapshot() == before
    with disk.open_root(policy=Policy(hard_links=HardLinks.ALLOW)) as root:
        OPERATIONS[operation](root, P("mine.md"), expect)
    assert disk.read("secret.md") == b"secret"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_file_of_a_terabyte_is_refused_by_its_size(disk: Tree, operation: str) -> None:
    disk.build("root/huge.md: ")
    os.truncate(disk.path("root/huge.md"), 1 << 40)
    expect = FileIdentity.of(os.stat(disk.path("root/huge.md")))
    with disk.open_root() as root, pytest.raises(TooLarge) as caught:
        OPERATIONS[operation](root, P("huge.md"), expect)
    assert caught.value.limit == 1_048_576
    assert os.stat(disk.path("root/huge.md")).st_size == 1 << 40


def test_size_limit_is_exact_for_reading_and_for_writing(disk: Tree) -> None:
    disk.build("root/fits.md: 12345", "root/big.md: 123456")
    with disk.open_root(policy=Policy(max_file_bytes=5)) as root:
        assert root.read(P("fits.md")).data == b"12345"
        with pytest.raises(TooLarge):
            root.read(P("big.md"))
        root.create(P("new.md"), b"12345")
        with pytest.raises(TooLarge):
            root.create(P("more.md"), b"123456")
        with pytest.raises(TooLarge):
            root.replace(P("fits.md"), b"123456", expect=root.stat(P("fits.md")))
    assert disk.snapshot("root") == {"fits.md": b"12345", "big.md": b"123456", "new.md": b"12345"}


def test_reading_counts_what_it_gets_not_what_it_was_told(disk: Tree) -> None:
    disk.build("root/grown.md: 1234567890")
    fd = os.open(disk.path("root/grown.md"), os.O_RDONLY)
    try:
        assert _read_bounded(fd, P("grown.md"), 3, 10) == b"1234567890"
        os.lseek(fd, 0, os.SEEK_SET)
        with pytest.raises(TooLarge):
            _read_bounded(fd, P("grown.md"), 3, 9)
    finally:
        os.close(fd)


HOSTILE_NAMES = [
    "with space.md", " lead", "trail ", "-rf", "--", "*", "?.md", "$(id)", "`id`", "';--.md", '"', "a\nb.md",
    "a\tb", "\x01", "\x7f", "...", "..a", "a..", "~", "CON", "nul.md", "a:b", "%2e%2e", "%00", "C:x",
    "a\u202eb.md", "\u200b", "e\u0301.md", "\u00e9.md", "\U0001f469\u200d\U0001f680.md", "\uff0e\uff0e", "\u2215etc",
    "x" * 255, "\u00e9" * 127, ".hidden", ".git",
]  # fmt: skip


def test_existing_file_of_any_nameable_name_is_listed_and_read(disk: Tree) -> None:
    for number, name in enumerate(HOSTILE_NAMES):
        disk.build("root/")
        disk.write(f"root/{name}", str(number).encode())
    with disk.open_root() as root:
        listing = root.list(with_identity=True)
        assert [entry.name for entry in listing.entries] == sorted(HOSTILE_NAMES)
        assert (listing.unnameable, listing.unnameable_count) == ((), 0)
        for number, name in enumerate(HOSTILE_NAMES):
            assert root.read(RelPath((name,))).data == str(number).encode()


def test_names_that_no_text_can_carry_are_counted_and_shown_escaped(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/back\\slash.md: x")
    for number in range(60):
        disk.write(os.fsdecode(b"root/bad-\xff-%03d.md" % number), b"x")
    with disk.open_root() as root:
        listing = root.list(with_identity=True)
    assert [entry.name for entry in listing.entries] == ["a.md"]
    assert listing.unnameable_count == 61
    assert len(listing.unnameable) == 50
    for shown in listing.unnameable:
        shown.encode()  # no lone surrogate
        assert "slash" in shown or "\\xff" in shown


def test_of_many_names_that_no_text_can_carry_the_first_are_shown_in_whatever_order_they_are_read(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.build("root/a.md: a")
    numbers = list(range(230))
    for number in numbers:
        disk.write(os.fsdecode(b"root/%03d-\xff.md" % number), b"x")
    scan = reading.bounded_entries
    with disk.open_root() as root:
        for order in (slice(0, 3), slice(2, None, -1), slice(1, 3)):

            def ordered(*args: Any, order: slice = order) -> list[os.DirEntry[str]]:
                return sorted(scan(*args), key=lambda entry: entry.name[order], reverse=True)

            monkeypatch.setattr(reading, "bounded_entries", ordered)
            listing = root.list(with_identity=False)
            assert listing.unnameable == tuple(f"{number:03}-\\xff.md" for number in numbers[:50])
            assert listing.unnameable_count == len(numbers)


def test_folder_with_more_entries_than_allowed_is_too_large(disk: Tree) -> None:
    disk.build("root/a", "root/b", "root/c")
    with disk.open_root(policy=Policy(max_entries=3)) as root:
        assert [entry.name for entry in root.list(with_identity=False).entries] == ["a", "b", "c"]
        disk.build("root/d")
        with pytest.raises(TooLarge) as caught:
            root.list(with_identity=False)
        assert caught.value.limit == 3


def test_only_wanted_names_are_listed_and_all_of_them_count(disk: Tree) -> None:
    disk.build("root/a", "root/b", "root/c/d", "root/back\\\\slash")
    with disk.open_root(policy=Policy(max_entries=4)) as root:
        listing = root.list(with_identity=True, wanted=lambda name: name >= "b")
        assert [entry.name for entry in listing.entries] == ["b", "c"]
        assert listing.entries == root.list(with_identity=True).entries[1:]
        assert listing.unnameable_count == 1
        disk.build("root/e")
        with pytest.raises(TooLarge):
            root.list(with_identity=True, wanted=lambda _: False)


def test_tree_of_six_hundred_levels_is_listed_and_swept_without_harm(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/.~fsn-old: t")
    here = os.open(disk.path("root"), os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        with disk.open_root() as root:
            names = [entry.name for entry in root.list(with_identity=True).entries]
            assert names == [".~fsn-old", "a.md", "d"]
            deepest = RelPath(("d",) * 64)
            assert root.kind(deepest) is Kind.FOLDER
            with pytest.raises(NotRegular):
                root.read(deepest)
            report = root.sweep(now=time.time() + 3600)
            assert (report.moved, report.complete) == (1, False)
    finally:
        subprocess.run(["rm", "-rf", disk.path("root/d")], check=True)


def test_listing_is_sorted_and_carries_identities_of_files_and_folders(disk: Tree) -> None:
    disk.build("root/b.md: bb", "root/a/", "root/c.md: c")
    with disk.open_root() as root:
        entries = root.list(with_identity=True).entries
        assert [(entry.name, entry.kind) for entry in entries] == [
            ("a", Kind.FOLDER), ("b.md", Kind.FILE), ("c.md", Kind.FILE),
        ]  # fmt: skip
        assert [entry.identity for entry in entries] == [
            FileIdentity.of(os.stat(disk.path(f"root/{name}"))) for name in ("a", "b.md", "c.md")
        ]
        bare = root.list(with_identity=False).entries
        assert [entry.kind for entry in bare] == [entry.kind for entry in entries]
        assert {entry.identity for entry in bare} == {None}


def test_missing_and_misplaced_things_are_told_apart(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/sub/")
    with disk.open_root() as root:
        for path, expected in (("none.md", Missing), ("sub/none.md", Missing), ("a.md/x.md", NotAFolder)):
            with pytest.raises(SandboxError) as caught:
                root.read(P(path))
            assert type(caught.value) is expected
        with pytest.raises(NotRegular):
            root.read(P("sub"))
        with pytest.raises(NotRegular):
            root.read(ROOT)
        with pytest.raises(NotAFolder):
            root.list(P("a.md"), with_identity=False)
        with pytest.raises(Missing):
            root.list(P("none"), with_identity=False)
        with pytest.raises(NotAFolder):
            root.create(P("a.md/x.md"), b"x")
