"""Escapes through the service, on both resolvers: whatever is asked for, what lies outside stays unread.

The kernel tells of every opening of the watched files, so "untouched and unread" is seen and not assumed.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fsnotes.errors import (
    AmbiguousNote,
    DeceptiveName,
    FsnotesError,
    InvalidArgument,
    NotAllowed,
    NoteExists,
    NoteNotFound,
    NoteTooLarge,
    NotText,
    Unavailable,
)
from fsnotes.failures import describe
from fsnotes.notes import finding
from fsnotes.notes.commands import NoteSummary
from fsnotes.outcomes import Asked, Deletion
from fsnotes.service import Service
from sandbox import Root
from sandbox.errors import StorageFailed
from sandbox.names import MAX_DEPTH, RelPath, is_deceptive
from sandbox.policy import HardLinks, Links
from tests.mounts import run_in_mount_namespace
from tests.service.conftest import ALICE, Household, accept, answer, ask
from tests.service.watching import Watch

TEXT = b"# Outside\nnobody may read this\n"


@pytest.fixture
def outside(household: Household) -> Iterator[Watch]:
    """Notes all around the vault, watched: beside it, in a twin of its name, and above."""
    household.write("inside.md", "# Inside\n")
    household.write("folder/deep.md", "# Deep\n")
    watched = []
    for path in ("outside.md", "Notes-evil/outside.md", "Notes.md", "Note/outside.md"):
        place = household.top / path
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(TEXT)
        watched.append(place)
    with Watch(*watched, *{place.parent for place in watched if place.parent != household.top}) as watch:
        yield watch


@contextmanager
def untouched(household: Household, watch: Watch) -> Iterator[None]:
    """Nothing changes anywhere in the block, and nothing that is watched is opened."""
    before = household.tree()
    watch.seen()  # the tree was read just now
    yield
    assert watch.seen() == set()
    assert household.tree() == before


def attempts(service: Service, uri: str, path: str) -> dict[str, Callable[[], object]]:
    """Everything that can be tried with a path."""
    return {
        "read": lambda: service.read(ALICE, uri, path),
        "create": lambda: service.create(ALICE, uri, path, "text"),
        "edit": lambda: service.edit(ALICE, uri, path, "text", old_text="may"),
        "append": lambda: service.append(ALICE, uri, path, "text"),
        "properties": lambda: service.properties(ALICE, uri, path, assign=[("k", "v")]),
        "dry run": lambda: service.append(ALICE, uri, path, "text", dry_run=True),
        "list": lambda: service.list(ALICE, uri, folder=path),
        "delete": lambda: ask(service, ALICE, uri, path),
    }


# -- paths -----------------------------------------------------------------------------------------

TRAVERSALS = (
    "../outside.md",
    "../outside",
    "../missing",
    "../Notes-evil/outside.md",
    "../Notes/inside.md",
    "folder/../../outside.md",
    "folder/../inside.md",
    "missing/../../outside.md",
    "missing/../inside.md",
    "./inside.md",
    "folder/./deep.md",
    "inside.md/..",
    "..",
    ".",
    "../..",
    "/etc/passwd",
    "/inside.md",
    "//inside.md",
    "\\outside.md",
    "..\\outside.md",
    "folder\\deep.md",
    "folder\\..\\..\\outside.md",
    "a/..\\..\\outside",
    "../" * 40 + "etc/passwd",
)
PLAIN = (
    "%2e%2e/outside.md",
    "..%2foutside.md",
    "%2e%2e%2foutside",
    "..%c0%afoutside.md",
    "\u2024\u2024/outside.md",
    "\uff0e\uff0e/outside.md",
    "..\u2215outside.md",
    "..\uff0foutside.md",
    "…/outside.md",
    ".. /outside.md",
    "...",
    ".../outside.md",
    "~/outside.md",
    "$HOME/outside.md",
    "-rf",
)
"""What looks like an escape and is a name like any other: it means nothing outside."""

MALFORMED = (
    "",
    "a//b",
    "a/",
    "folder//deep.md",
    "file:///etc/passwd",
    "a\0b",
    "\0",
    "x\ud800y",
    "x" * 256,
    "x/" * 64 + "x",
    "é" * 128,
)


@pytest.mark.parametrize("operation", ["read", "create", "edit", "append", "properties", "dry run", "list"])
def test_traversal_in_every_spelling_is_one_answer(
    household: Household, outside: Watch, operation: str
) -> None:
    service, lines = household.service(), set()
    with untouched(household, outside):
        for path in TRAVERSALS:
            with pytest.raises(NotAllowed) as caught:
                attempts(service, household.uri, path)[operation]()
            lines.add(describe(caught.value).line)
    assert len(lines) == 1
    assert service.read(ALICE, household.uri, "folder/deep.md").text == "# Deep\n"


def test_no_title_reaches_outside(household: Household, outside: Watch) -> None:
    service = household.service()
    with untouched(household, outside):
        for title in (*TRAVERSALS, *PLAIN, *MALFORMED):
            with pytest.raises((NoteNotFound, InvalidArgument)):
                ask(service, ALICE, household.uri, title)


def test_what_only_looks_like_a_traversal_is_a_name(household: Household, outside: Watch) -> None:
    service, uri = household.service(), household.uri
    with untouched(household, outside):
        for path in PLAIN:
            missing = NotAllowed if path.startswith(".") else NoteNotFound
            with pytest.raises(missing):
                service.read(ALICE, uri, path)
            with pytest.raises(missing):
                service.list(ALICE, uri, folder=path)
    before = household.tree()
    outside.seen()
    made = {}
    for path in PLAIN:
        try:
            made[service.create(ALICE, uri, path, path).reply.path] = path
        except (NotAllowed, InvalidArgument):
            continue
    assert outside.seen() == set()
    for note, path in made.items():
        assert service.read(ALICE, uri, path).text == path
        assert (household.vault / note).read_text() == path
    after = {name: what for name, what in household.tree().items() if what != "folder"}
    assert after == {name: what for name, what in before.items() if what != "folder"} | {
        f"Notes/{note}": path.encode() for note, path in made.items()
    }
    assert len(made) > 5


def test_a_malformed_path_is_told_as_such(household: Household) -> None:
    service, before = household.service(), household.tree()
    for path in MALFORMED:
        for operation in ("read", "create", "edit", "append", "properties", "dry run"):
            with pytest.raises(InvalidArgument):
                attempts(service, household.uri, path)[operation]()
    assert household.tree() == before


def test_the_deepest_and_longest_paths_that_are_allowed_work(household: Household) -> None:
    service = household.service()
    for path in ("x" * 252, "/".join(["d"] * (MAX_DEPTH - 1)) + "/n", "é" * 126):
        made = service.create(ALICE, household.uri, path, "text").reply.path
        assert service.read(ALICE, household.uri, made).text == "text"
        asked = ask(service, ALICE, household.uri, made)
        deletion = answer(service, ALICE, household.uri, made, asked, accept(made))
        assert isinstance(deletion, Deletion)
        assert service.restore(ALICE, household.uri, str(deletion.trash_id)).reply.path == made
        assert service.read(ALICE, household.uri, made).text == "text"


@pytest.mark.parametrize("length", [246, 247, 252])
def test_a_long_name_is_found_without_its_suffix_too(household: Household, length: int) -> None:
    """Where no name with `.markdown` could be so long, none is meant."""
    service = household.service()
    service.create(ALICE, household.uri, "x" * length, "text")
    assert service.read(ALICE, household.uri, "x" * length).text == "text"


# -- workspace URIs --------------------------------------------------------------------------------


def uris(household: Household) -> dict[str, str]:
    """Spellings that do not mean the vault, existing places and missing ones."""
    uri, top = household.uri, household.top.as_uri()
    return {
        "the folder above": top,
        "above by a dot segment": f"{uri}/..",
        "dot segment and back": f"{uri}/../Notes",
        "escaped dot segment": f"{uri}/%2e%2e/Notes",
        "half escaped dot segment": f"{uri}/.%2E/Notes",
        "single dot": f"{uri}/.",
        "escaped single dot": f"{top}/%2e/Notes",
        "dot in the middle": f"{top}/./Notes",
        "twin by prefix": f"{uri}-evil",
        "twin by a shorter name": uri[:-1],
        "twin by suffix": f"{uri}.md",
        "missing twin": f"{uri}2",
        "a folder in it": f"{uri}/folder",
        "a note in it": f"{uri}/inside.md",
        "the trash": f"{uri}/.trash",
        "two slashes at the end": f"{uri}//",
        "two slashes within": uri.replace("/Notes", "//Notes"),
        "escaped slash": uri.replace("/Notes", "%2FNotes"),
        "escaped slash in the name": f"{top}/x%2f..%2fNotes",
        "escaped backslash": f"{top}/x%5C..%5CNotes",
        "backslash": f"{top}/x\\..\\Notes",
        "escaped NUL": f"{uri}%00",
        "NUL": f"{uri}\0",
        "twice escaped": f"{top}/%254eotes",
        "bad escape": f"{uri}%",
        "bad escape in the middle": f"{top}/%zzNotes",
        "overlong UTF-8": f"{top}/%c1%8eotes",
        "bytes that are not UTF-8": f"{uri}%ff",
        "query": f"{uri}?x",
        "empty query": f"{uri}?",
        "fragment": f"{uri}#x",
        "empty fragment": f"{uri}#",
        "host": uri.replace("file:///", "file://example.org/"),
        "host in figures": uri.replace("file:///", "file://127.0.0.1/"),
        "port": uri.replace("file:///", "file://localhost:80/"),
        "user": uri.replace("file:///", "file://me@localhost/"),
        "host that begins so": uri.replace("file:///", "file://localhost.evil/"),
        "dotless host": uri.replace("file:///", "file://l\u00f6calhost/"),
        "no authority": uri.replace("file:///", "file:/"),
        "no slashes": uri.replace("file:///", "file:"),
        "four slashes": uri.replace("file:///", "file:////"),
        "another scheme": uri.replace("file:", "http:"),
        "scheme that looks alike": uri.replace("file:", "f\u0131le:"),
        "no scheme": str(household.vault),
        "space before": f" {uri}",
        "space after": f"{uri} ",
        "line break after": f"{uri}\n",
        "other case": uri.replace("Notes", "notes"),
        "root": "file:///",
        "empty": "",
        "surrogate": f"{uri}\ud800",
        "full width": uri.replace("Notes", "\uff2eotes"),
        "very long": uri + "/x" * 20_000,
        "the name": "Notes",
    }


def test_no_other_spelling_of_a_uri_means_the_vault_and_all_are_one_answer(
    household: Household, outside: Watch
) -> None:
    service, lines = household.service(), set()
    for uri in uris(household).values():
        with untouched(household, outside):
            for attempt in (
                partial(service.list, ALICE, uri),
                partial(service.read, ALICE, uri, "outside.md"),
                partial(service.create, ALICE, uri, "new.md", "x"),
                partial(ask, service, ALICE, uri, "outside.md"),
                partial(service.trash, ALICE, uri),
                partial(service.restore, ALICE, uri, "20270115T080000Z-" + "0" * 32),
            ):
                with pytest.raises(NotAllowed) as caught:
                    attempt()
                lines.add(describe(caught.value).line)
    assert len(lines) == 1


def test_every_right_spelling_of_the_uri_means_the_vault(household: Household) -> None:
    household.write("inside.md", "x")
    uri = household.uri
    for spelling in (
        uri,
        f"{uri}/",
        uri.replace("file:///", "file://localhost/"),
        uri.replace("file:///", "FILE://LOCALHOST/"),
        uri.replace("Notes", "%4E%6ftes"),
        uri.replace("Notes", "%4e%6Ftes") + "/",
    ):
        assert household.service().read(ALICE, spelling, "inside").text == "x"


# -- links -----------------------------------------------------------------------------------------

Build = Callable[[Household], object]


def link(name: str, target: str) -> Build:
    def build(household: Household) -> None:
        place = household.vault / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target.format(top=household.top, vault=household.vault))

    return build


FILE_LINKS = {
    "out": link("l.md", "../outside.md"),
    "absolute out": link("l.md", "{top}/outside.md"),
    "to a twin": link("l.md", "../Notes-evil/outside.md"),
    "absolute inside": link("l.md", "{vault}/inside.md"),
    "inside": link("l.md", "inside.md"),
    "out and back": link("l.md", "../Notes/inside.md"),
    "loop": link("l.md", "l.md"),
    "dangling": link("l.md", "gone.md"),
    "dangling outside": link("l.md", "../gone.md"),
    "by way of proc": link("l.md", "/proc/self/cwd"),
    "to a device": link("l.md", "/dev/zero"),
    "to the memory": link("l.md", "/proc/self/mem"),
}
FOLDER_LINKS = {
    "out": (link("l", ".."), "outside"),
    "absolute out": (link("l", "{top}"), "outside"),
    "to a twin": (link("l", "../Notes-evil"), "outside"),
    "absolute inside": (link("l", "{vault}/folder"), "deep"),
    "inside": (link("l", "folder"), "deep"),
    "out and back": (link("l", "../Notes/folder"), "deep"),
    "to itself": (link("l", "."), "inside"),
    "loop": (link("l", "l"), "inside"),
    "dangling": (link("l", "gone"), "new"),
    "dangling outside": (link("l", "../gone"), "new"),
    "root by way of proc": (link("l", "/proc/self/root"), "etc/passwd"),
    "descriptors by way of proc": (link("l", "/proc/self/fd"), "0"),
    "root": (link("l", "/"), "etc/passwd"),
}


@pytest.mark.kind("links out")
@pytest.mark.parametrize("kind", FILE_LINKS)
def test_a_link_in_the_place_of_a_note_is_no_note(household: Household, outside: Watch, kind: str) -> None:
    FILE_LINKS[kind](household)
    service, uri = household.service(), household.uri
    with untouched(household, outside):
        with pytest.raises(NotAllowed):
            service.read(ALICE, uri, "l")
        with pytest.raises((NoteExists, NotAllowed)):
            service.create(ALICE, uri, "l", "x")
        for title in ("l.md", "outside"):
            with pytest.raises(NoteNotFound):
                ask(service, ALICE, uri, title)
        listed = service.list(ALICE, uri, recursive=True).document()
        assert [note["path"] for note in listed["notes"]] == ["folder/deep.md", "inside.md"]
        assert listed["skipped"] == [{"path": "l.md", "reason": "link"}]


@pytest.mark.kind("links out")
@pytest.mark.parametrize("kind", FOLDER_LINKS)
def test_a_link_in_the_place_of_a_folder_leads_nowhere(
    household: Household, outside: Watch, kind: str
) -> None:
    build, name = FOLDER_LINKS[kind]
    build(household)
    service, uri = household.service(), household.uri
    with untouched(household, outside):
        for path in (f"l/{name}", f"l/{name}.md", "l/missing", "l/sub/missing"):
            for operation in ("read", "create", "edit", "append", "properties", "dry run"):
                with pytest.raises(NotAllowed):
                    attempts(service, uri, path)[operation]()
        for folder in ("l", "l/", "l/sub"):
            with pytest.raises(NotAllowed):
                service.list(ALICE, uri, folder=folder)
        with pytest.raises(NoteNotFound):
            ask(service, ALICE, uri, f"l/{name}.md")
        listed = service.list(ALICE, uri, recursive=True).document()
        assert [note["path"] for note in listed["notes"]] == ["folder/deep.md", "inside.md"]
        assert listed["skipped"] == [{"path": "l", "reason": "link"}]


@pytest.mark.parametrize("kind", ["out", "absolute out", "to a twin", "dangling outside", "inside"])
def test_a_note_is_never_restored_through_a_link(household: Household, outside: Watch, kind: str) -> None:
    service, uri = household.service(), household.uri
    household.write("l/deep/gone.md", "wanted back")
    asked = ask(service, ALICE, uri, "l/deep/gone.md")
    deletion = answer(service, ALICE, uri, "l/deep/gone.md", asked, accept("l/deep/gone.md"))
    assert isinstance(deletion, Deletion)
    (household.vault / "l/deep").rmdir()
    (household.vault / "l").rmdir()
    FOLDER_LINKS[kind][0](household)
    for new_path in (None, "l/new", "l/deep/new"):
        with untouched(household, outside), pytest.raises(NotAllowed):
            service.restore(ALICE, uri, str(deletion.trash_id), new_path=new_path)
    assert (
        service.restore(ALICE, uri, str(deletion.trash_id), new_path="plain/new").reply.path == "plain/new.md"
    )


def test_links_that_stay_within_are_followed_where_the_workspace_says_so_and_no_others(
    household: Household, outside: Watch
) -> None:
    if household.resolver == "walk":
        pytest.skip("needs openat2")
    household.policy = household.policy.__class__(links=Links.WITHIN)
    link("in.md", "inside.md")(household)
    link("in", "folder")(household)
    for number, kind in enumerate(("out", "absolute out", "to a twin", "absolute inside", "out and back")):
        target = {
            "out": "../outside.md",
            "absolute out": "{top}/outside.md",
            "to a twin": "../Notes-evil/outside.md",
            "absolute inside": "{vault}/inside.md",
            "out and back": "../Notes/inside.md",
        }[kind]
        link(f"bad{number}.md", target)(household)
    service, uri = household.service(), household.uri
    with untouched(household, outside):
        assert service.read(ALICE, uri, "in.md").text == "# Inside\n"
        assert service.read(ALICE, uri, "in/deep").text == "# Deep\n"
        for number in range(5):
            with pytest.raises(NotAllowed):
                service.read(ALICE, uri, f"bad{number}")
        listed = service.list(ALICE, uri).document()
    assert sorted(item["path"] for item in listed["skipped"]) == [f"bad{number}.md" for number in range(5)]


# -- objects that are no files ---------------------------------------------------------------------


def make_socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{_folder(place)}/{place.name}")


def _folder(place: Path) -> int:
    # The path of a socket may have 108 bytes; a temporary folder's may be longer.
    return _OPENED.setdefault(place.parent, os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY))


_OPENED: dict[Path, int] = {}


@pytest.fixture(autouse=True)
def _close_folders() -> Iterator[None]:
    yield
    while _OPENED:
        os.close(_OPENED.popitem()[1])


def make_device(place: Path) -> None:
    try:
        os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("needs the right to make a device")


OBJECTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "fifo": (os.mkfifo, "special_file"),
    "socket": (make_socket, "special_file"),
    "device": (make_device, "special_file"),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_an_object_that_is_no_file_is_answered_within_a_second_and_never_opened(
    household: Household, kind: str
) -> None:
    make, reason = OBJECTS[kind]
    place = household.vault / "odd.md"
    make(place)
    (household.vault / "folder").mkdir()
    make(household.vault / "folder" / "odd.md")
    household.write("inside.md", "# Inside\n")
    service, uri, before = household.service(), household.uri, household.tree()
    with Watch(place, household.vault / "folder" / "odd.md") as watch:
        began = time.monotonic()
        for path in ("odd", "odd.md", "folder/odd"):
            with pytest.raises(NotAllowed):
                service.read(ALICE, uri, path)
            with pytest.raises(NoteExists):
                service.create(ALICE, uri, path, "x")
            with pytest.raises(NoteNotFound):
                ask(service, ALICE, uri, path)
        for folder in ("odd.md", "odd.md/x"):
            with pytest.raises((NoteNotFound, NotAllowed)):
                service.list(ALICE, uri, folder=folder)
        with pytest.raises(FsnotesError):
            service.create(ALICE, uri, "odd.md/x", "x")
        listed = service.list(ALICE, uri, recursive=True).document()
        assert time.monotonic() - began < 1.0 * 12
        assert [note["path"] for note in listed["notes"]] == ["inside.md"]
        assert listed["skipped"] == [
            {"path": "folder/odd.md", "reason": reason},
            {"path": "odd.md", "reason": reason},
        ]
        assert {what for _, what in watch.seen()} == set()
        if kind != "socket":
            os.close(os.open(place, os.O_RDONLY | os.O_NONBLOCK))
            assert ("odd.md", "opened") in watch.seen()  # the watch would have told
    assert household.tree() == before


def test_a_fifo_answers_each_call_within_a_second(household: Household) -> None:
    os.mkfifo(household.vault / "pipe.md")
    service, uri = household.service(), household.uri
    calls: list[Callable[[], Any]] = [
        partial(service.read, ALICE, uri, "pipe"),
        partial(service.create, ALICE, uri, "pipe", "x"),
        partial(service.list, ALICE, uri, recursive=True),
        partial(ask, service, ALICE, uri, "pipe"),
        partial(service.list, ALICE, uri, folder="pipe.md"),
    ]
    for call in calls:
        began = time.monotonic()
        try:
            call()
        except FsnotesError:
            pass
        assert time.monotonic() - began < 1


def test_a_hard_link_is_refused_and_its_other_name_stays_unread(household: Household, outside: Watch) -> None:
    os.link(household.top / "outside.md", household.vault / "hard.md")
    service, uri = household.service(), household.uri
    with untouched(household, outside):
        with pytest.raises(NotAllowed):
            service.read(ALICE, uri, "hard")
        with pytest.raises(NoteNotFound):
            ask(service, ALICE, uri, "outside")
        with pytest.raises(NoteExists):
            service.create(ALICE, uri, "hard", "x")
        listed = service.list(ALICE, uri).document()
        assert listed["skipped"] == [{"path": "hard.md", "reason": "hard_link"}]


def test_a_hard_link_is_served_where_the_workspace_says_so(household: Household) -> None:
    household.policy = household.policy.__class__(hard_links=HardLinks.ALLOW)
    household.write("a.md", "text")
    os.link(household.vault / "a.md", household.vault / "b.md")
    service = household.service()
    assert service.read(ALICE, household.uri, "b").text == "text"
    asked = ask(service, ALICE, household.uri, "b.md")
    deletion = answer(service, ALICE, household.uri, "b.md", asked, accept("b.md"))
    assert isinstance(deletion, Deletion)
    assert household.files() == {"a.md": b"text", f".trash/{deletion.trash_id}/b.md": b"text"}


def test_mounts_are_refused_and_full_or_read_only_disks_lose_nothing(inline: Household) -> None:
    """All cases of `mounted.py`, in a namespace of their own; those that a jail matters to start workers there."""
    run_in_mount_namespace("tests.service.mounted", str(inline.top), inline.resolver)


# -- hidden, ignored, too large, not text ----------------------------------------------------------

HIDDEN = (
    ".hidden.md",
    ".git/config.md",
    ".obsidian/n.md",
    ".trash/n.md",
    "folder/.x.md",
    "folder/.d/n.md",
    ".x",
)


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("path", HIDDEN)
def test_hidden_files_and_folders_are_one_answer_existing_or_not(
    household: Household, path: str, exists: bool
) -> None:
    household.write("inside.md", "x")
    if exists:
        household.write(path, TEXT)
    service, uri, before = household.service(), household.uri, household.tree()
    watched = [household.vault / path] if exists else [household.vault / "inside.md"]
    with Watch(*watched) as watch:
        for operation in ("read", "create", "edit", "append", "properties", "dry run", "list"):
            with pytest.raises(NotAllowed):
                attempts(service, uri, path)[operation]()
        for title in (path, "Outside"):
            with pytest.raises(NoteNotFound):
                ask(service, ALICE, uri, title)
        listed = service.list(ALICE, uri, recursive=True).document()
        if exists:
            assert watch.seen() == set()
    assert [note["path"] for note in listed["notes"]] == ["inside.md"]
    assert listed["skipped"] == []
    assert household.tree() == before


def test_nothing_new_gets_a_hidden_name_by_way_of_a_restore(household: Household) -> None:
    service, uri = household.service(), household.uri
    household.write("n.md", "x")
    deletion = answer(service, ALICE, uri, "n.md", ask(service, ALICE, uri, "n.md"), accept("n.md"))
    assert isinstance(deletion, Deletion)
    before = household.tree()
    for new_path in (*HIDDEN, ".trash/x/y.md", "../x.md", "CON.md", "a\u202eb.md", " a.md"):
        with pytest.raises((NotAllowed, InvalidArgument)):
            service.restore(ALICE, uri, str(deletion.trash_id), new_path=new_path)
        assert household.tree() == before


def test_what_the_workspace_ignores_is_not_there(household: Household) -> None:
    household.ignore = ("Archive/**", "**/*.draft.md")
    for path in (
        "Archive/old.md",
        "Archive/deep/old.md",
        "folder/new.draft.md",
        "folder/kept.md",
        "Archives/a.md",
    ):
        household.write(path, "# Same\n")
    service, uri, before = household.service(), household.uri, household.tree()
    for path in (
        "Archive/old",
        "Archive/missing",
        "Archive/deep/old.md",
        "folder/new.draft.md",
        "x.draft.md",
    ):
        for operation in ("read", "create", "edit", "append", "properties", "dry run"):
            with pytest.raises(NotAllowed):
                attempts(service, uri, path)[operation]()
    for folder in ("Archive", "Archive/deep"):
        with pytest.raises(NotAllowed):
            service.list(ALICE, uri, folder=folder)
    assert [note.path for note in service.list(ALICE, uri, recursive=True).notes] == [
        "Archives/a.md",
        "folder/kept.md",
    ]
    assert ask(service, ALICE, uri, "same").form.note_ids == ("Archives/a.md", "folder/kept.md")
    assert household.tree() == before


def test_a_note_beyond_the_limit_is_refused_and_the_one_below_is_served(household: Household) -> None:
    household.policy = household.policy.__class__(max_file_bytes=1000)
    household.write("fits.md", "x" * 1000)
    household.write("large.md", "x" * 1001)
    service, uri, before = household.service(), household.uri, household.tree()
    with pytest.raises(NoteTooLarge):
        service.read(ALICE, uri, "large")
    with pytest.raises(NoteTooLarge):
        service.create(ALICE, uri, "new", "é" * 501)
    with pytest.raises(NoteNotFound):
        ask(service, ALICE, uri, "large")
    assert household.tree() == before
    listed = service.list(ALICE, uri).document()
    assert listed["skipped"] == [{"path": "large.md", "reason": "too_large"}]
    assert len(service.read(ALICE, uri, "fits").text) == 1000
    assert service.create(ALICE, uri, "new", "é" * 500).reply.size == 1000


def test_bytes_that_are_no_text_can_be_deleted_and_come_back_whole_but_not_be_read(
    household: Household,
) -> None:
    data = bytes(range(256)) * 10
    household.write("binary.md", data)
    service, uri = household.service(), household.uri
    with pytest.raises(NotText):
        service.read(ALICE, uri, "binary")
    asked = ask(service, ALICE, uri, "binary.md")
    deletion = answer(service, ALICE, uri, "binary.md", asked, accept("binary.md"))
    assert household.files() == {f".trash/{deletion.trash_id}/binary.md": data}  # type: ignore[union-attr]
    service.restore(ALICE, uri, deletion.trash_id)  # type: ignore[union-attr, arg-type]
    assert household.files() == {"binary.md": data}


# -- names -----------------------------------------------------------------------------------------

EXISTING = (
    "plain.md",
    "with space.md",
    " leading.md",
    "trailing .md",
    'quote".md',
    "it's.md",
    "a*?[x].md",
    "semi;colon&and|pipe.md",
    "$(rm -rf).md",
    "new\nline.md",
    "tab\t.md",
    "escape\x1b[31m.md",
    "del\x7f.md",
    "bidi\u202egnp.md",
    "zero\u200bwidth.md",
    "line\u2028sep.md",
    "\ufeffbom.md",
    "-rf.md",
    "CON.md",
    "a:b.md",
    "%2e%2e.md",
    "..md",
    "emoji👨\u200d👩\u200d👧.md",
    unicodedata.normalize("NFD", "décomposé.md"),
    "\ud7ff\ue000\U0010ffff.md",
    "UPPER.MD",
    "note.markdown",
    "x" * 252 + ".md",
)


def test_existing_names_of_every_hostile_kind_are_served_and_break_nothing(household: Household) -> None:
    names = [name for name in EXISTING if not name.startswith(".")]
    for number, name in enumerate(names):
        household.write(name, f"text {number}")
    service, uri = household.service(), household.uri
    listed = service.list(ALICE, uri, limit=200)
    assert sorted(note.path for note in listed.notes) == sorted(names)
    assert listed.skipped == ()
    for number, name in enumerate(names):
        assert service.read(ALICE, uri, name).text == f"text {number}"
    for name in names:
        if is_deceptive(name):
            with pytest.raises(DeceptiveName) as caught:
                ask(service, ALICE, uri, name)
            assert not is_deceptive(describe(caught.value).line)
            continue
        asked = ask(service, ALICE, uri, name)
        assert asked.form.note_ids == (name,)
        assert len(asked.form.message.splitlines()) == 2
        before = household.files()
        deletion = answer(service, ALICE, uri, name, asked, accept(name))
        assert isinstance(deletion, Deletion)
        service.restore(ALICE, uri, str(deletion.trash_id))
        assert household.files() == before


UNFIT = (
    "new\nline",
    "tab\t",
    "\x1b[31m",
    "bidi\u202egnp",
    "zero\u200bwidth",
    "\u2028",
    "\ufeffbom",
    " leading",
    "trailing. /x",
    "a:b",
    "a*b",
    "a?b",
    'a"b',
    "a<b",
    "a|b",
    "CON",
    "con.md",
    "NUL.markdown",
    "COM1",
    "LPT9.x.md",
    "CON .md",
    ".~fsn-x",
    "nota\u0301",
    "sub/CON/x",
    "sub./x",
    "sub /x",
    " /x",
    "\u3164",
)


def test_new_names_that_do_not_travel_are_refused(household: Household) -> None:
    service, before = household.service(), household.tree()
    for name in UNFIT:
        with pytest.raises((InvalidArgument, NotAllowed)) as caught:
            service.create(ALICE, household.uri, name, "x")
        assert describe(caught.value).line.isprintable()
        assert household.tree() == before, ascii(name)


FIT = (
    "Ünïcode",
    "日本語",
    "نامه\u200cها",
    "👨\u200d👩\u200d👧",
    "CONSOLE",
    "a.b.c",
    "it's",
    "x" * 252,
    "v1.0",
    "#tag",
    "a%20b",
)


def test_new_names_that_travel_are_fine(household: Household) -> None:
    service = household.service()
    for name in FIT:
        assert service.create(ALICE, household.uri, name, name).reply.path == f"{name}.md"
    assert household.files() == {f"{name}.md": name.encode() for name in FIT}


def test_two_names_that_are_one_text_are_ambiguous_and_neither_is_touched(household: Household) -> None:
    names = ("é.md", unicodedata.normalize("NFD", "é.md"))
    for number, name in enumerate(names):
        household.write(name, str(number))
    service, uri, before = household.service(), household.uri, household.tree()
    for name in names:
        with pytest.raises(AmbiguousNote) as caught:
            service.read(ALICE, uri, name)
        assert sorted(caught.value.paths) == sorted(names)
        line = describe(caught.value).line
        assert line.startswith(f'ambiguous: "{name}" is there under names that look alike, ')
        assert line.endswith("; rename one of them")
        assert all(code in line for code in ('"\\xe9.md"', '"e\\u0301.md"'))
        with pytest.raises((NoteExists, AmbiguousNote)):
            service.create(ALICE, uri, name, "x")
    assert household.tree() == before
    # A person who sees both can choose one of them.
    asked = ask(service, ALICE, uri, "é")
    assert isinstance(asked, Asked)
    assert sorted(asked.form.note_ids) == sorted(names)
    deletion = answer(service, ALICE, uri, "é", asked, accept(names[1]))
    assert isinstance(deletion, Deletion)
    assert household.files() == {names[0]: b"0", f".trash/{deletion.trash_id}/{names[1]}": b"1"}


FAR_TIMES = (10_413_792_000, -(10**10), 10**11, -(10**13), 2**62)


def test_a_file_of_a_far_time_is_a_note_like_any_other(household: Household) -> None:
    household.write("now.md", "now")
    far = 0
    for number, seconds in enumerate(FAR_TIMES):
        household.write(f"{number}.md", "far")
        place = household.vault / f"{number}.md"
        try:
            os.utime(place, ns=(seconds * 10**9, seconds * 10**9))
        except OverflowError:
            continue
        far += abs(place.stat().st_mtime_ns) >= 2**63
    if not far:
        pytest.skip("the file system knows no time that is far enough")
    service, uri = household.service(), household.uri
    for sort in ("path", "modified", "size"):
        cursor, paths = None, []
        while True:
            page = service.list(ALICE, uri, sort=sort, limit=1, cursor=cursor)
            paths += [note.path for note in page.notes]
            cursor = page.cursor
            if cursor is None:
                break
        assert sorted(paths) == sorted(household.files()), sort
    for path in household.files():
        assert service.read(ALICE, uri, path).text in ("far", "now")
    asked = ask(service, ALICE, uri, "0.md")
    assert isinstance(asked, Asked)
    deletion = answer(service, ALICE, uri, "0.md", asked, accept("0.md"))
    assert isinstance(deletion, Deletion)
    service.restore(ALICE, uri, str(deletion.trash_id))
    assert "0.md" in household.files()


def lock(household: Household, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody read a note: neither a worker, which has no rights, nor root, who needs none."""
    (household.vault / name).chmod(0)
    summarize = finding.summarize

    def as_anybody(root: Root, path: RelPath) -> NoteSummary:
        if str(path) == name:
            raise StorageFailed(errno.EACCES, "open")
        return summarize(root, path)

    monkeypatch.setattr(finding, "summarize", as_anybody)


def test_a_note_that_cannot_be_read_is_said_to_be_left_out(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    household.write("a.md", "a")
    household.write("locked.md", "x")
    household.write("z.md", "z")
    lock(household, "locked.md", monkeypatch)
    service = household.service()
    for sort in ("path", "modified", "size"):
        listed = service.list(ALICE, household.uri, sort=sort).document()
        assert sorted(note["path"] for note in listed["notes"]) == ["a.md", "z.md"]
        assert listed["skipped"] == [{"path": "locked.md", "reason": "unreadable"}], sort
    first = service.list(ALICE, household.uri, limit=2)
    second = service.list(ALICE, household.uri, limit=2, cursor=first.cursor)
    assert [note.path for note in (*first.notes, *second.notes)] == ["a.md", "z.md"]
    assert second.cursor is None


def test_pages_of_any_size_tell_of_everything_once_where_names_meet(household: Household) -> None:
    for path in ("a.md/in1.md", "a.md/in2.md", "b.md/x.md", "c.md", "z.md/y.md", "z.md/z.md/n.md"):
        household.write(path, "x")
    for path in (".a.md.icloud", ".c.md.icloud", "z.md/.z.md.icloud", ".z.md.icloud"):
        household.write(path, "bplist")
    (household.vault / "b.md" / "link").symlink_to("x.md")
    service, uri = household.service(), household.uri
    for recursive in (True, False):
        whole = service.list(ALICE, uri, recursive=recursive).document()
        assert len(whole["skipped"]) == (5 if recursive else 3)
        for limit in range(1, 8):
            pages, cursor = [], None
            while not pages or cursor is not None:
                pages.append(service.list(ALICE, uri, recursive=recursive, limit=limit, cursor=cursor))
                cursor = pages[-1].cursor
            told = [page.document() for page in pages]
            for half in ("notes", "folders", "skipped"):
                assert [item for page in told for item in page[half]] == whole[half], (recursive, limit, half)


def test_a_note_that_cannot_be_read_is_not_said_to_be_missing(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    household.write("locked.md", "x")
    household.write("B.md", "# other\n")
    lock(household, "locked.md", monkeypatch)
    service = household.service()
    for title in ("locked", "locked.md", "LOCKED"):
        with pytest.raises(Unavailable):
            ask(service, ALICE, household.uri, title)
    assert isinstance(ask(service, ALICE, household.uri, "other"), Asked)
    assert isinstance(ask(service, ALICE, household.uri, "b"), Asked)


def test_a_cloud_placeholder_is_told_as_not_downloaded(household: Household) -> None:
    household.write(".Far away.md.icloud", "bplist")
    listed = household.service().list(ALICE, household.uri).document()
    assert listed == {
        "notes": [],
        "folders": [],
        "skipped": [{"path": "Far away.md", "reason": "not_downloaded"}],
    }


# -- the trash as a way out ------------------------------------------------------------------------


NO_ENTRIES = (
    "",
    "..",
    "../..",
    "/",
    "20270115T080000Z-" + "0" * 31,
    "20270115T080000Z-" + "0" * 33,
    "20270115T080000Z-" + "G" * 32,
    "20270115T080000Z-" + "A" * 32,
    "２0270115T080000Z-" + "0" * 32,
    "20270115T080000Z-" + "0" * 32 + "\n",
    "20270115T080000Z-" + "0" * 32 + "/..",
    "20271399T999999Z-" + "0" * 32,
    "swept-20270115T080000Z",
    "\0",
    "x" * 10_000,
)


def test_no_other_trash_id_means_anything(household: Household) -> None:
    household.write(".trash/note.md", "foreign")
    household.write(".trash/swept-20270115T080000Z/.~fsn-x", "swept")
    household.write(".trash/20271399T999999Z-" + "0" * 32 + "/n.md", "a time that never was")
    service, before = household.service(), household.tree()
    for trash_id in NO_ENTRIES:
        with pytest.raises(NoteNotFound):
            service.restore(ALICE, household.uri, trash_id)
        assert household.tree() == before
    assert service.trash(ALICE, household.uri).entries == ()


def _two_files(_: Household, entry: Path) -> None:
    (entry / "a.md").write_text("a")
    (entry / "b.md").write_text("b")


def _hidden_folder(_: Household, entry: Path) -> None:
    (entry / ".git").mkdir()
    (entry / ".git/a.md").write_text("a")


ENTRIES: dict[str, Callable[[Household, Path], object]] = {
    "empty": lambda *_: None,
    "two files": _two_files,
    "link out": lambda household, entry: (entry / "a.md").symlink_to(household.top / "outside.md"),
    "folder link out": lambda household, entry: (entry / "folder").symlink_to(household.top),
    "hard link": lambda household, entry: os.link(household.top / "outside.md", entry / "a.md"),
    "fifo": lambda _, entry: os.mkfifo(entry / "a.md"),
    "no note": lambda _, entry: (entry / "a.txt").write_text("a"),
    "hidden": lambda _, entry: (entry / ".a.md").write_text("a"),
    "hidden folder": _hidden_folder,
    "name that is not UTF-8": lambda _, entry: open(os.fsencode(entry) + b"/\xff.md", "wb").close(),
    "backslash": lambda _, entry: (entry / "..\\a.md").write_text("a"),
}


@pytest.mark.parametrize("what", ENTRIES)
def test_what_somebody_planted_in_an_entry_is_neither_read_nor_restored(
    household: Household, outside: Watch, what: str
) -> None:
    name = "20270115T080000Z-" + "0" * 32
    entry = household.vault / ".trash" / name
    entry.mkdir(parents=True, mode=0o700)
    ENTRIES[what](household, entry)
    service = household.service()
    with untouched(household, outside):
        with pytest.raises((NoteNotFound, NotAllowed)):
            service.restore(ALICE, household.uri, name)
        service.trash(ALICE, household.uri)
