"""The main stories of the service, on a real folder and with both resolvers."""

from __future__ import annotations

import json

import pytest

from fsnotes.access import Right
from fsnotes.errors import InvalidState, NoteExists, NoteNotFound
from fsnotes.outcomes import Deletion
from tests.service.conftest import ALICE, BOB, Household, accept, answer, ask


def outcomes(household: Household) -> list[tuple[str, str, str | None, str]]:
    lines = (household.top / "state/private/audit.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    return [(e["principal"], e["tool"], e["path"], e["outcome"]) for e in entries]


def test_a_note_is_created_read_listed_deleted_and_restored(household: Household) -> None:
    service, uri = household.service(), household.uri
    made = service.create(ALICE, uri, "Projects/Plan", "# The plan\r\nline\r\n")
    assert household.files() == {"Projects/Plan.md": b"# The plan\r\nline\r\n"}
    read = service.read(ALICE, uri, "Projects/Plan")
    assert (read.text, read.header()["etag"]) == ("# The plan\r\nline\r\n", made.document()["etag"])
    listed = service.list(ALICE, uri, recursive=True).document()
    assert [(note["path"], note["title"]) for note in listed["notes"]] == [("Projects/Plan.md", "The plan")]

    asked = ask(service, ALICE, uri, "The plan")
    assert asked.form.note_ids == ("Projects/Plan.md",)
    assert household.files() == {"Projects/Plan.md": b"# The plan\r\nline\r\n"}
    deleted = answer(service, ALICE, uri, "The plan", asked, accept("Projects/Plan.md"))
    assert isinstance(deleted, Deletion)
    assert deleted.document() == {
        "outcome": "deleted",
        "path": "Projects/Plan.md",
        "trashId": deleted.trash_id,
    }
    assert household.files() == {f".trash/{deleted.trash_id}/Projects/Plan.md": b"# The plan\r\nline\r\n"}
    with pytest.raises(InvalidState):
        answer(service, ALICE, uri, "The plan", asked, accept("Projects/Plan.md"))

    trashed = service.trash(ALICE, uri).document()["entries"]
    assert [(entry["trashId"], entry["path"], entry["size"]) for entry in trashed] == [
        (deleted.trash_id, "Projects/Plan.md", 18)
    ]
    back = service.restore(ALICE, uri, str(deleted.trash_id))
    assert back.document() == {"path": "Projects/Plan.md", "etag": made.document()["etag"]}
    assert household.files() == {"Projects/Plan.md": b"# The plan\r\nline\r\n"}
    with pytest.raises(NoteNotFound):
        service.restore(ALICE, uri, str(deleted.trash_id))
    with pytest.raises(InvalidState):
        answer(service, ALICE, uri, "The plan", asked, accept("Projects/Plan.md"))
    assert household.files() == {"Projects/Plan.md": b"# The plan\r\nline\r\n"}
    assert outcomes(household) == [
        ("local:alice", "notes_create", "Projects/Plan.md", "created"),
        ("local:alice", "notes_delete", "Projects/Plan.md", "deleted"),
        ("local:alice", "notes_delete", None, "invalid_state"),
        ("local:alice", "notes_restore", "Projects/Plan.md", "restored"),
        ("local:alice", "notes_restore", None, "note_not_found"),
        ("local:alice", "notes_delete", None, "invalid_state"),
    ]


def test_creating_never_overwrites_and_the_refusal_is_in_the_log(household: Household) -> None:
    household.write("a.md", "old")
    with pytest.raises(NoteExists):
        household.service().create(ALICE, household.uri, "a", "new")
    assert household.files() == {"a.md": b"old"}
    assert outcomes(household) == [("local:alice", "notes_create", "a", "note_exists")]


def test_every_page_of_a_listing_is_bounded_and_together_they_are_the_whole(household: Household) -> None:
    household.grant(BOB, Right.READ, folder="f1")
    expected = set()
    for number in range(450):
        path = f"f{number % 3}/note-{number:04d}.md"
        household.write(path, f"# {number}")
        expected.add(path)
    service = household.service()
    for sort in ("path", "modified", "size"):
        seen: list[str] = []
        cursor = None
        while True:
            page = service.list(ALICE, household.uri, recursive=True, limit=60, sort=sort, cursor=cursor)
            assert len(page.notes) <= 60
            assert len(json.dumps(page.document(), ensure_ascii=False, separators=(",", ":"))) < 40_000
            seen += [note.path for note in page.notes]
            cursor = page.cursor
            if cursor is None:
                break
        assert len(seen) == 450
        assert set(seen) == expected
    bobs = service.list(BOB, household.uri, recursive=True, limit=200)
    assert {note.path for note in bobs.notes} == {path for path in expected if path.startswith("f1/")}
    assert bobs.cursor is None
