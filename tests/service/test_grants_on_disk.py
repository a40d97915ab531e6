"""A grant of one folder, on a real disk: nothing outside it is seen, said or changed, whoever asks how."""

from __future__ import annotations

import base64
import itertools
import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fsnotes import wiring
from fsnotes.access import Principal, Right
from fsnotes.calls import Call
from fsnotes.config import Choices, load
from fsnotes.errors import FsnotesError, InvalidArgument, NotAllowed, NoteNotFound, Unavailable
from fsnotes.failures import describe
from fsnotes.notes.etags import etag
from fsnotes.outcomes import Asked, Deletion
from fsnotes.service import Service
from tests.service.conftest import ALICE, BOB, Household, accept, answer, ask

SHARED = "# Same title\nshared words\n"


@pytest.fixture
def shared(household: Household) -> Household:
    """Alice has everything, Bob has `bob` and all rights in it; every title is used on both sides."""
    household.grant(BOB, *Right, folder="bob")
    for path in (
        "top.md",
        "alice/diary.md",
        "alice/deep/er.md",
        "bob/mine.md",
        "bob/deep/er.md",
        "bob-evil/twin.md",
        "bo/short.md",
        "Bob/case.md",
        "bob.md",
    ):
        household.write(path, SHARED)
    return household


OUTSIDE = (
    "top.md",
    "top",
    "alice/diary.md",
    "alice/diary",
    "alice",
    "alice/deep/er.md",
    "bob-evil/twin.md",
    "bob-evil/twin",
    "bo/short.md",
    "Bob/case.md",
    "bob.md",
    "bob",
    "missing.md",
    "missing/deep/note",
    "alice/missing.md",
    "bob-evil/missing",
    "../bob/mine.md",
    "bob/../alice/diary.md",
    "bob/./mine.md",
    "bob/../bob/mine.md",
    "/bob/mine.md",
    "bob\\..\\alice\\diary.md",
    ".trash/x.md",
)


def test_a_folder_grant_lists_its_folder_and_nothing_else(shared: Household) -> None:
    service = shared.service()
    for recursive, folder in itertools.product((True, False), ("", "bob", "bob/")):
        listed = service.list(BOB, shared.uri, folder=folder, recursive=recursive).document()
        assert [note["path"] for note in listed["notes"]] == (
            ["bob/deep/er.md", "bob/mine.md"] if recursive else ["bob/mine.md"]
        )
        assert listed["folders"] == ([] if recursive else ["bob/deep"])
        assert listed["skipped"] == []
    for glob in ("*", "**", "alice/*", "../*", "**/diary.md"):
        paths = [note.path for note in service.list(BOB, shared.uri, recursive=True, glob=glob).notes]
        assert {path.split("/")[0] for path in paths} <= {"bob"}


@pytest.mark.parametrize(
    "folder", ["alice", "alice/deep", "bob-evil", "bo", "Bob", "missing", "..", "bob/..", "/", "."]
)
def test_folders_outside_the_grant_are_one_answer(shared: Household, folder: str) -> None:
    with pytest.raises(NotAllowed):
        shared.service().list(BOB, shared.uri, folder=folder)


def operations(path: str, uri: str) -> dict[str, Callable[[Service], object]]:
    return {
        "read": lambda service: service.read(BOB, uri, path),
        "read a heading": lambda service: service.read(BOB, uri, path, heading="Same title"),
        "create": lambda service: service.create(BOB, uri, path, "text"),
        "edit": lambda service: service.edit(BOB, uri, path, "text", old_text="words"),
        "append": lambda service: service.append(BOB, uri, path, "text", heading="Same title"),
        "properties": lambda service: service.properties(BOB, uri, path, assign=[("k", "v")]),
        "dry run": lambda service: service.append(BOB, uri, path, "text", dry_run=True),
    }


@pytest.mark.kind("rights")
@pytest.mark.parametrize("operation", operations("", ""))
def test_outside_the_grant_existing_and_missing_are_one_answer(shared: Household, operation: str) -> None:
    service, before, lines = shared.service(), shared.tree(), set()
    for path in OUTSIDE:
        with pytest.raises(NotAllowed) as caught:
            operations(path, shared.uri)[operation](service)
        lines.add(describe(caught.value).line)
        assert shared.tree() == before, path
    assert len(lines) == 1


def test_inside_the_grant_everything_works(shared: Household) -> None:
    """The nearest thing that is allowed, for each refusal above."""
    service, uri = shared.service(), shared.uri
    assert service.read(BOB, uri, "bob/mine").text == SHARED
    assert service.create(BOB, uri, "bob/new/note", "text").reply.path == "bob/new/note.md"
    assert service.edit(BOB, uri, "bob/mine", "more", old_text="words").outcome == "changed"
    assert (
        service.edit(BOB, uri, "bob/mine", "words", old_text="more", dry_run=True).outcome == "would_change"
    )
    assert service.append(BOB, uri, "bob/mine", "text", heading="Same title").outcome == "changed"
    assert service.properties(BOB, uri, "bob/mine", assign=[("k", "v")]).outcome == "changed"
    asked = ask(service, BOB, uri, "bob/mine.md")
    deletion = answer(service, BOB, uri, "bob/mine.md", asked, accept("bob/mine.md"))
    assert isinstance(deletion, Deletion)
    assert [entry.path for entry in service.trash(BOB, uri).entries] == ["bob/mine.md"]
    assert (
        service.restore(BOB, uri, str(deletion.trash_id), new_path="bob/again").reply.path == "bob/again.md"
    )


def test_titles_outside_the_grant_are_neither_offered_nor_counted(shared: Household) -> None:
    for number in range(40):
        shared.write(f"alice/many/{number}.md", "# Many\n")
    shared.write("bob/one.md", "# many\n")
    service = shared.service()
    assert ask(service, BOB, shared.uri, "same title").form.note_ids == ("bob/deep/er.md", "bob/mine.md")
    assert ask(service, BOB, shared.uri, "many").form.note_ids == ("bob/one.md",)
    for title in ("diary", "alice/diary.md", "alice", "twin", "bob-evil/twin", "top", "bob.md"):
        with pytest.raises(NoteNotFound) as caught:
            ask(service, BOB, shared.uri, title)
        assert caught.value.candidates == ()


def test_a_form_of_the_folder_confirms_nothing_outside_it(shared: Household) -> None:
    service, before = shared.service(), shared.tree()
    asked = ask(service, BOB, shared.uri, "same title")
    for path in ("alice/diary.md", "bob/../alice/diary.md", "top.md"):
        with pytest.raises(FsnotesError):
            answer(service, BOB, shared.uri, "same title", asked, accept(path))
    assert shared.tree() == before


def delete(household: Household, call: Call, path: str) -> str:
    service = household.service()
    asked = ask(service, call, household.uri, path)
    deletion = answer(service, call, household.uri, path, asked, accept(path))
    assert isinstance(deletion, Deletion)
    household.clock.now += 1
    return str(deletion.trash_id)


def test_the_trash_of_others_is_neither_seen_nor_restored(shared: Household) -> None:
    alices = [
        delete(shared, ALICE, path) for path in ("top.md", "alice/diary.md", "bob-evil/twin.md", "bob.md")
    ]
    bobs = delete(shared, BOB, "bob/mine.md")
    service, uri = shared.service(), shared.uri
    assert [entry.trash_id for entry in service.trash(BOB, uri).entries] == [bobs]
    assert [entry.trash_id for entry in service.trash(ALICE, uri).entries] == [bobs, *reversed(alices)]
    before, lines = shared.tree(), set()
    for entry in (*alices, "20270115T080000Z-" + "0" * 32):
        for new_path in (None, "bob/stolen", "alice/diary"):
            with pytest.raises(NoteNotFound) as caught:
                service.restore(BOB, uri, entry, new_path=new_path)
            lines.add(describe(caught.value).line.replace(entry, "ENTRY"))
            assert shared.tree() == before
    assert len(lines) == 1  # another's entry and none at all are one answer
    # Trying spent nothing that is Alice's: hers come back to her.
    for entry in alices:
        service.restore(ALICE, uri, entry)


@pytest.mark.parametrize(
    "new_path", ["alice/x", "x", "bob/../x", "../x", "/x", "bob-evil/x", "bob", "bob/.hidden/x", "Bob/x"]
)
def test_a_restore_never_leads_out_of_the_grant(shared: Household, new_path: str) -> None:
    entry = delete(shared, BOB, "bob/mine.md")
    before = shared.tree()
    with pytest.raises(NotAllowed):
        shared.service().restore(BOB, shared.uri, entry, new_path=new_path)
    assert shared.tree() == before
    assert shared.service().restore(BOB, shared.uri, entry).reply.path == "bob/mine.md"


def test_another_restore_by_somebody_else_does_not_spend_a_confirmation_that_was_not_answered(
    shared: Household,
) -> None:
    """Who may not see an entry has no influence on what becomes of it."""
    from tests.service import actors

    asked = ask(shared.service(), ALICE, shared.uri, "alice/diary.md")
    job = actors.reply(ALICE, "alice/diary.md", asked.state, accept("alice/diary.md"))
    actors.run(shared, job, kill_after="ledger: the claim is committed")
    (entry,) = (shared.vault / ".trash").iterdir()
    with pytest.raises(NoteNotFound):
        shared.service().restore(BOB, shared.uri, entry.name)
    deletion = answer(shared.service(), ALICE, shared.uri, "alice/diary.md", asked, accept("alice/diary.md"))
    assert deletion == Deletion("deleted", "alice/diary.md", entry.name)


def test_entries_that_never_were_take_no_room_in_the_ledger(household: Household) -> None:
    """Else a caller fills it with the future, and nobody can delete any more."""
    import sqlite3

    service = household.service()
    for number in range(20):
        with pytest.raises(NoteNotFound):
            service.restore(ALICE, household.uri, f"99991231T235959Z-{number:032x}")
    household.write("a.md")
    delete(household, ALICE, "a.md")
    connection = sqlite3.connect(household.top / "state/private/ledger.sqlite3")
    try:
        assert connection.execute("SELECT count(*) FROM spent").fetchone() == (1,)
    finally:
        connection.close()


def test_each_of_many_that_were_deleted_in_one_second_can_be_restored(household: Household) -> None:
    """Their entries differ in nothing but the hash, and some are somebody else's."""
    household.grant(BOB, *Right, folder="bob")
    entries = {}
    for number in range(12):
        path = f"{'bob' if number % 2 else 'alice'}/n{number:02}.md"
        household.write(path, str(number))
        entries[path] = delete(household, ALICE, path)
        household.clock.now -= 1
    assert len({entry[:16] for entry in entries.values()}) == 1
    service = household.service()
    for path, entry in entries.items():
        if path.startswith("bob/"):
            assert service.restore(BOB, household.uri, entry).reply.path == path
        else:
            with pytest.raises(NoteNotFound):
                service.restore(BOB, household.uri, entry)
    assert sorted(path for path in household.files() if path.startswith("bob/")) == sorted(
        path for path in entries if path.startswith("bob/")
    )


def test_two_principals_interleaved_never_see_each_others_pages(shared: Household) -> None:
    shared.withdraw(ALICE)
    shared.grant(ALICE, *Right, folder="alice")
    for name in ("alice", "bob"):
        for number in range(30):
            shared.write(f"{name}/n{number:02}.md", f"# {name} {number}\n")
    entries: dict[str, set[str]] = {"alice": set(), "bob": set()}
    for number in range(5):
        entries["alice"].add(delete(shared, ALICE, f"alice/n{number:02}.md"))
        entries["bob"].add(delete(shared, BOB, f"bob/n{number:02}.md"))
    service, uri = shared.service(), shared.uri
    callers = {"alice": ALICE, "bob": BOB}

    def pages(list_one: Callable[[Call, str | None], Any]) -> dict[str, list[Any]]:
        """Let both turn their pages in turn; each tries the other's cursor as well."""
        cursors: dict[str, str | None] = dict.fromkeys(callers)
        seen: dict[str, list[Any]] = {name: [] for name in callers}
        left = set(callers)
        while left:
            for name in sorted(left):
                page = list_one(callers[name], cursors[name])
                seen[name].append(page)
                cursors[name] = page.cursor
                if page.cursor is None:
                    left.discard(name)
                other = "bob" if name == "alice" else "alice"
                if page.cursor is not None:
                    with pytest.raises(InvalidArgument):
                        list_one(callers[other], page.cursor)
        return seen

    for sort in ("path", "modified", "size"):
        found = pages(
            lambda call, cursor, sort=sort: service.list(
                call, uri, recursive=True, limit=7, sort=sort, cursor=cursor
            )
        )
        for name in callers:
            paths = [note.path for page in found[name] for note in page.notes]
            assert len(set(paths)) == len(paths) >= 25
            assert {path.split("/")[0] for path in paths} == {name}
    found = pages(lambda call, cursor: service.trash(call, uri, limit=2, cursor=cursor))
    for name in callers:
        assert {entry.trash_id for page in found[name] for entry in page.entries} == entries[name]
        assert {entry.path.split("/")[0] for page in found[name] for entry in page.entries} == {name}


def test_a_cursor_belongs_to_its_query(shared: Household) -> None:
    for number in range(30):
        shared.write(f"bob/n{number:02}.md")
    service, uri = shared.service(), shared.uri
    cursor = service.list(BOB, uri, recursive=True, limit=5).cursor
    assert cursor is not None
    assert service.list(BOB, uri, recursive=True, limit=9, cursor=cursor).notes  # another page size is fine
    for query in (
        {"recursive": False},
        {"folder": "bob"},
        {"glob": "*"},
        {"sort": "size"},
        {"sort": "modified"},
    ):
        with pytest.raises(InvalidArgument):
            service.list(BOB, uri, **({"recursive": True} | query), cursor=cursor)
    with pytest.raises(InvalidArgument):
        service.trash(BOB, uri, cursor=cursor)


FORGED_POSITIONS = (
    b"",
    b"\0",
    b"\0alice/",
    b"\0../",
    b"\0/etc/passwd",
    "\0\U0010ffff".encode(),
    b"\0" + b"a" * 4000,
    b"\0\xff",
    b"\0" * 50,
    b"\0-1\0alice/diary.md",
    b"\0" + b"9" * 20 + b"\0x",
    b"\0" + b"9" * 3000 + b"\0x",
    b"\x001.5\0x",
    b"\0nan\0x",
    "\0١\0x".encode(),
    b"\x000",
    b"\x0020270115T080000Z-" + b"f" * 32,
    b"\x0099991231T235959Z-" + b"f" * 32,
)


def test_forged_cursors_open_nothing(shared: Household) -> None:
    """A cursor is a position and not a right, so whatever it says, only what is granted is seen."""
    for number in range(30):
        shared.write(f"bob/n{number:02}.md")
    for path in ("alice/diary.md", "bob/n00.md", "bob/n01.md", "bob/n02.md"):
        delete(shared, ALICE, path)
    service, uri = shared.service(), shared.uri
    queries: list[Callable[..., Any]] = [
        partial(service.list, BOB, uri, recursive=True, limit=1),
        partial(service.list, BOB, uri, recursive=True, limit=1, sort="size"),
        partial(service.trash, BOB, uri, limit=1),
    ]
    for query in queries:
        cursor = query().cursor
        mark, _, position = base64.urlsafe_b64decode(cursor + "===").partition(b"\0")
        assert len(mark) == 16
        assert position
        for forged in FORGED_POSITIONS:
            try:
                page = query(cursor=base64.urlsafe_b64encode(mark + forged).decode().rstrip("="))
            except InvalidArgument:
                continue
            items = page.entries if hasattr(page, "entries") else page.notes
            assert {item.path.split("/")[0] for item in items} <= {"bob"}, forged
        for odd in (
            "",
            "!",
            "é",
            "=" * 50,
            "A" * 100_000,
            "\0",
            "W10",
            "e30",
            "-" * 3,
            "x" + cursor,
            cursor[:9],
        ):
            with pytest.raises(InvalidArgument):
                query(cursor=odd)


def test_what_is_shown_of_a_workspace_counts_only_what_is_granted(shared: Household) -> None:
    (bobs,) = shared.service().workspaces(BOB).document()["workspaces"]
    assert (bobs["folder"], bobs["noteCount"], bobs["noteCountComplete"]) == ("bob", 2, True)
    assert bobs["rights"] == ["read", "write", "delete"]
    (alices,) = shared.service().workspaces(ALICE).document()["workspaces"]
    assert (alices["folder"], alices["noteCount"]) == ("", 9)
    assert shared.service().workspaces(Call(Principal("local:nobody"))).document() == {"workspaces": []}


@pytest.mark.parametrize("what", ["missing", "a link", "a file", "vault gone"])
def test_a_granted_folder_that_is_not_there_hides_no_other_workspace(household: Household, what: str) -> None:
    household.grant(BOB, *Right, folder="bob")
    household.grant(BOB, Right.READ, folder="there")
    household.write("there/a.md")
    match what:
        case "a link":
            (household.vault / "bob").symlink_to("there")
        case "a file":
            (household.vault / "bob").write_text("x")
    service = household.service()
    if what == "vault gone":
        household.vault.rename(household.top / "Elsewhere")
    shown = service.workspaces(BOB).document()["workspaces"]
    if what == "vault gone":
        assert [(each["noteCount"], each["noteCountComplete"]) for each in shown] == [(0, False), (0, False)]
        with pytest.raises(Unavailable):
            service.list(BOB, household.uri, recursive=True)
        return
    assert [(each["folder"], each["noteCount"]) for each in shown][1:] == [("there", 1)]
    assert (shown[0]["folder"], shown[0]["noteCount"]) == ("bob", 0)
    assert [note.path for note in service.list(BOB, household.uri, recursive=True).notes] == ["there/a.md"]


def test_a_grant_of_two_folders_is_the_two_and_nothing_between(household: Household) -> None:
    household.grant(BOB, *Right, folder="a/x")
    household.grant(BOB, *Right, folder="c")
    for path in ("a/n.md", "a/x/n.md", "a/y/n.md", "b/n.md", "c/n.md", "d.md"):
        household.write(path)
    service = household.service()
    for limit in (1, 100):
        seen, cursor = [], None
        while True:
            page = service.list(BOB, household.uri, recursive=True, limit=limit, cursor=cursor)
            seen += [note.path for note in page.notes]
            if (cursor := page.cursor) is None:
                break
        assert seen == ["a/x/n.md", "c/n.md"]
    for folder in ("a", "a/y", "b", "d.md"):
        with pytest.raises(NotAllowed):
            service.list(BOB, household.uri, folder=folder)
    entry = delete(household, BOB, "a/x/n.md")
    assert service.restore(BOB, household.uri, entry, new_path="c/from-a").reply.path == "c/from-a.md"


RIGHTS: dict[str, Callable[[Service, str, str, str], object]] = {
    "list": lambda service, uri, *_: service.list(BOB, uri),
    "read": lambda service, uri, *_: service.read(BOB, uri, "n"),
    "search": lambda service, uri, *_: service.search(BOB, uri, "n"),
    "trash": lambda service, uri, *_: service.trash(BOB, uri),
    "create": lambda service, uri, *_: service.create(BOB, uri, "new", "x"),
    "restore": lambda service, uri, entry, _: service.restore(BOB, uri, entry),
    "ask": lambda service, uri, *_: ask(service, BOB, uri, "n.md"),
    "confirm": lambda service, uri, _, state: service.delete(
        BOB,
        uri,
        "n.md",
        arguments={"workspaceUri": uri, "title": "n.md"},
        state=state,
        answers={"delete_choice": accept("n.md")},
    ),
}
NEEDED = {
    "list": Right.READ,
    "read": Right.READ,
    "search": Right.READ,
    "trash": Right.READ,
    "create": Right.WRITE,
    "restore": Right.WRITE,
    "ask": Right.DELETE,
    "confirm": Right.DELETE,
}


@pytest.mark.kind("rights")
@pytest.mark.parametrize("operation", RIGHTS)
def test_each_operation_needs_its_own_right_and_no_other(household: Household, operation: str) -> None:
    household.grant(BOB, *Right)
    household.write("n.md")
    household.write("gone.md")
    entry = delete(household, BOB, "gone.md")
    state = ask(household.service(), BOB, household.uri, "n.md").state
    household.withdraw(BOB)
    household.grant(BOB, *(right for right in Right if right is not NEEDED[operation]))
    before = household.tree()
    with pytest.raises(NotAllowed):
        RIGHTS[operation](household.service(), household.uri, entry, state)
    assert household.tree() == before
    household.withdraw(BOB)
    household.grant(BOB, NEEDED[operation])
    RIGHTS[operation](household.service(), household.uri, entry, state)


def test_read_only_settings_leave_no_way_to_change_anything(household: Household) -> None:
    """Through the real settings: what is named on the command line is granted in full, and then for reading."""
    household.write("n.md", "text")
    me = ALICE.principal
    choices = {"state_dir": str(household.top / "state"), "jail": "off", "folders": (str(household.vault),)}
    full = load(Choices(**choices), principal=me, environ={}, home=str(household.top))
    product = wiring.build(full, environ={}, clock=household.clock, resolver=household.resolver)
    service, uri = product.service, household.uri
    asked = ask(service, ALICE, uri, "n.md")
    service.create(ALICE, uri, "gone", "x")
    gone = answer(service, ALICE, uri, "gone", ask(service, ALICE, uri, "gone"), accept("gone.md"))
    assert isinstance(gone, Deletion)
    product.close()

    product = wiring.build(
        load(Choices(**choices, read_only=True), principal=me, environ={}, home=str(household.top)),
        environ={},
        clock=household.clock,
        resolver=household.resolver,
    )
    service, before = product.service, household.tree()
    for attempt in (
        lambda: service.create(ALICE, uri, "new", "x"),
        lambda: ask(service, ALICE, uri, "n.md"),
        lambda: answer(service, ALICE, uri, "n.md", asked, accept("n.md")),
        lambda: service.restore(ALICE, uri, str(gone.trash_id)),
    ):
        with pytest.raises(NotAllowed):
            attempt()
    assert household.tree() == before
    assert service.read(ALICE, uri, "n").text == "text"
    assert [entry.path for entry in service.trash(ALICE, uri).entries] == ["gone.md"]
    (shown,) = service.workspaces(ALICE).document()["workspaces"]
    assert shown["rights"] == ["read"]
    product.close()


def test_a_granted_folder_is_found_in_the_spelling_it_has_on_the_disk(household: Household) -> None:
    household.grant(BOB, *Right, folder="Grüße")
    stored = unicodedata.normalize("NFD", "Grüße")
    household.write(f"{stored}/n.md", SHARED)
    household.write("n.md", SHARED)
    service = household.service()
    assert [note.path for note in service.list(BOB, household.uri, recursive=True).notes] == [
        f"{stored}/n.md"
    ]
    assert service.read(BOB, household.uri, "Grüße/n").text == SHARED
    made = service.create(BOB, household.uri, "Grüße/new", "x").reply.path
    assert made == f"{stored}/new.md"
    entry = delete(household, BOB, f"{stored}/n.md")
    assert service.restore(BOB, household.uri, entry).reply.path == f"{stored}/n.md"
    assert (household.vault / stored / "n.md").read_text() == SHARED


@pytest.mark.parametrize("granted", [0, 1])
def test_a_twin_of_the_granted_folder_in_another_spelling_is_not_granted(
    household: Household, granted: int
) -> None:
    """Two folders that are one text to a person: which is meant cannot be told, so neither is opened."""
    twins = ["Grüße", unicodedata.normalize("NFD", "Grüße")]
    household.grant(BOB, *Right, folder=twins[granted])
    for name in twins:
        household.write(f"{name}/n.md", SHARED)
    service, uri = household.service(), household.uri
    before = household.tree()
    assert service.list(BOB, uri, recursive=True).notes == ()
    for name in twins:
        for attempt in (
            partial(service.read, BOB, uri, f"{name}/n.md"),
            partial(service.create, BOB, uri, f"{name}/new", "x"),
            partial(service.list, BOB, uri, folder=name),
            partial(ask, service, BOB, uri, f"{name}/n.md"),
        ):
            with pytest.raises(FsnotesError):
                attempt()
    assert household.tree() == before


def test_what_was_deleted_from_a_twin_of_the_granted_folder_is_not_shown(household: Household) -> None:
    twins = ["Grüße", unicodedata.normalize("NFD", "Grüße")]
    household.grant(BOB, *Right, folder=twins[0])
    household.write(f"{twins[0]}/bobs.md", SHARED)
    household.write(f"{twins[1]}/alices.md", SHARED)
    entry = delete(household, ALICE, f"{twins[1]}/alices.md")
    assert household.service().trash(BOB, household.uri).entries == ()
    with pytest.raises(NoteNotFound):
        household.service().restore(BOB, household.uri, entry, new_path=f"{twins[0]}/stolen")


@pytest.mark.parametrize(
    "uri", ["{uri}/bob", "{uri}-evil", "{uri}/..", "{top}", "file:///", "", "Notes", "{vault}"]
)
def test_no_other_uri_means_the_workspace(shared: Household, uri: str) -> None:
    uri = uri.format(uri=shared.uri, top=shared.top.as_uri(), vault=shared.vault)
    service, lines = shared.service(), set()
    for call, attempt in itertools.product(
        (ALICE, BOB),
        (
            lambda call: service.list(call, uri),
            lambda call: service.read(call, uri, "bob/mine"),
            lambda call: service.create(call, uri, "bob/new", "x"),
            lambda call: ask(service, call, uri, "bob/mine.md"),
            lambda call: service.trash(call, uri),
            lambda call: service.restore(call, uri, "20270115T080000Z-" + "0" * 32),
        ),
    ):
        with pytest.raises(NotAllowed) as caught:
            attempt(call)
        lines.add(describe(caught.value).line)
    assert len(lines) == 1


def test_etags_are_of_bytes_alone_so_they_tell_nothing_about_who_or_where(shared: Household) -> None:
    listed = shared.service().list(BOB, shared.uri, recursive=True).notes
    assert {note.etag for note in listed} == {etag(SHARED.encode())}
    assert isinstance(shared.vault, Path)
    assert isinstance(ask(shared.service(), BOB, shared.uri, "bob/mine.md"), Asked)
