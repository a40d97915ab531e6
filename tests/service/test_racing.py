"""Races: one confirmation, one path, one trash entry, and many who want it at the same instant."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from fsnotes.access import Right
from fsnotes.errors import Busy, FsnotesError, InvalidState
from fsnotes.outcomes import Asked, Deletion
from tests.service import actors
from tests.service.conftest import ALICE, BOB, Household, accept, answer, ask

EIGHT = 8


@pytest.fixture
def household(inline: Household) -> Household:
    """Take the inline one: each of many processes would have workers of its own to start.

    What also races in jailed workers is in `test_jailed_races.py`.
    """
    return inline


def places_of(household: Household, data: bytes) -> list[str]:
    return [path for path, held in household.files().items() if held == data]


def expect_one_winner(household: Household, said: list[Any], note: str, data: bytes) -> str:
    """Exactly one said deleted, the others that the confirmation is spent; return the entry."""
    (won,) = [each for each in said if isinstance(each, dict)]
    assert sorted(each for each in said if isinstance(each, str)) == ["InvalidState"] * (len(said) - 1)
    assert won == {"outcome": "deleted", "path": note, "trashId": won["trashId"]}
    assert places_of(household, data) == [f".trash/{won['trashId']}/{note}"]
    return str(won["trashId"])


def race_for_one_confirmation(household: Household, rounds: int) -> None:
    with actors.Racers(household, EIGHT) as racers:
        for number in range(rounds):
            note, data = f"folder/n{number}.md", b"round %d\n" % number * 200
            household.write(note, data)
            asked = ask(household.service(), ALICE, household.uri, note)
            job = actors.reply(ALICE, note, asked.state, accept(note))
            entry = expect_one_winner(household, racers.race([job] * EIGHT), note, data)
            # Restored, it stays: the confirmation is as spent for those who come late.
            household.service().restore(ALICE, household.uri, entry)
            assert racers.race([job] * EIGHT) == ["InvalidState"] * EIGHT
            assert places_of(household, data) == [note]
    deletions = [line for line in household.audit() if line["outcome"] == "deleted"]
    assert len(deletions) == rounds
    assert not [line for line in household.audit() if line["outcome"] == "begun"]


def test_eight_processes_race_on_one_confirmation_and_exactly_one_deletes(household: Household) -> None:
    race_for_one_confirmation(household, 6)


@pytest.mark.slow
def test_eight_processes_race_on_many_confirmations_and_exactly_one_deletes_each(
    household: Household,
) -> None:
    race_for_one_confirmation(household, 60)


def test_processes_that_choose_different_notes_of_one_form_delete_one_note(household: Household) -> None:
    with actors.Racers(household, EIGHT) as racers:
        for number in range(5):
            notes = [f"{number}-{each}/twin.md" for each in range(EIGHT)]
            for note in notes:
                household.write(note, f"# Twin {number}\n{note}")
            title = f"twin {number}"
            asked = ask(household.service(), ALICE, household.uri, title)
            said = racers.race([actors.reply(ALICE, title, asked.state, accept(note)) for note in notes])
            (won,) = [each for each in said if isinstance(each, dict)]
            assert [each for each in said if isinstance(each, str)] == ["InvalidState"] * (EIGHT - 1)
            left = [note for note in notes if (household.vault / note).exists()]
            assert left == [note for note in notes if note != won["path"]]
            entry = household.vault / ".trash" / won["trashId"]
            assert (entry / won["path"]).read_text() == f"# Twin {number}\n{won['path']}"


def test_eight_forms_about_one_note_delete_it_once(household: Household) -> None:
    """Each confirmation is good, and one note can be deleted once: the others changed nothing and stay usable."""
    with actors.Racers(household, EIGHT) as racers:
        for number in range(4):
            data = b"round %d" % number
            household.write("n.md", data)
            forms = [ask(household.service(), ALICE, household.uri, "n.md") for _ in range(EIGHT)]
            said = racers.race([actors.reply(ALICE, "n.md", form.state, accept("n.md")) for form in forms])
            (won,) = [each for each in said if isinstance(each, dict)]
            assert sorted(each for each in said if isinstance(each, str)) == ["NoteChanged"] * (EIGHT - 1)
            assert places_of(household, data) == [f".trash/{won['trashId']}/n.md"]


def in_threads(work: list[Callable[[], Any]]) -> list[Any]:
    """Do all the work at once; return what each thread returned or raised (its class's name)."""
    start, said = threading.Barrier(len(work)), [None] * len(work)

    def run(place: int) -> None:
        start.wait(30)
        while said[place] is None:
            try:
                said[place] = work[place]()
            except Busy:
                continue
            except FsnotesError as error:
                said[place] = type(error).__name__

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return said


def test_eight_threads_race_on_one_confirmation_and_exactly_one_deletes(household: Household) -> None:
    service = household.service()
    for number in range(15):
        note, data = f"n{number}.md", b"round %d\n" % number
        household.write(note, data)
        asked = ask(service, ALICE, household.uri, note)

        def confirm(note: str = note, asked: Asked = asked) -> Any:
            deletion = answer(service, ALICE, household.uri, note, asked, accept(note))
            assert isinstance(deletion, Deletion)
            service.answered(deletion)
            return deletion.document()

        expect_one_winner(household, in_threads([confirm] * EIGHT), note, data)


def test_threads_that_delete_what_another_thread_creates_and_restores_lose_nothing(
    household: Household,
) -> None:
    """One note, one thread that restores whatever is in the trash, seven that ask and confirm."""
    service, uri, data = household.service(), household.uri, b"the one note\n"
    household.write("n.md", data)
    stop = threading.Event()
    deleted: list[str] = []
    restored: list[str] = []

    def restore() -> None:
        while not stop.is_set():
            for entry in service.trash(ALICE, uri).entries:
                try:
                    service.restore(ALICE, uri, entry.trash_id)
                except FsnotesError:
                    continue
                restored.append(entry.trash_id)

    def delete() -> str:
        for _ in range(6):
            try:
                asked = ask(service, ALICE, uri, "n.md")
                deletion = answer(service, ALICE, uri, "n.md", asked, accept("n.md"))
            except InvalidState:
                return "a confirmation of its own was refused"
            except FsnotesError:
                continue  # in the trash at the moment, or somebody is at it
            assert isinstance(deletion, Deletion)
            deleted.append(str(deletion.trash_id))
        return "done"

    restorer = threading.Thread(target=restore)
    restorer.start()
    try:
        assert in_threads([delete] * 7) == ["done"] * 7
    finally:
        stop.set()
        restorer.join(30)
    assert len(places_of(household, data)) == len(household.files()) == 1
    assert len(set(deleted)) == len(deleted) > 0
    assert set(restored) <= set(deleted)
    assert len(set(restored)) == len(restored)
    assert len(deleted) - len(restored) == (0 if (household.vault / "n.md").exists() else 1)


def test_two_principals_delete_and_restore_at_once_in_one_vault(household: Household) -> None:
    household.grant(ALICE, *Right, folder="alice")
    household.rules = household.rules[1:]
    household.grant(BOB, *Right, folder="bob")
    texts = {"alice": b"of alice\n", "bob": b"of bob\n"}
    for name, data in texts.items():
        household.write(f"{name}/same.md", data)
    with actors.Racers(household, 2) as racers:
        for _ in range(8):
            asked = [ask(household.service(), call, household.uri, "same") for call in (ALICE, BOB)]
            assert [each.form.note_ids for each in asked] == [("alice/same.md",), ("bob/same.md",)]
            said = racers.race(
                [
                    actors.reply(call, "same", form.state, accept(form.form.note_ids[0]))
                    for call, form in zip((ALICE, BOB), asked, strict=True)
                ]
            )
            assert [each["path"] for each in said] == ["alice/same.md", "bob/same.md"]
            # Each tries to take the other's out of the trash, and then its own.
            stolen = racers.race(
                [actors.restore(ALICE, said[1]["trashId"]), actors.restore(BOB, said[0]["trashId"])]
            )
            assert stolen == ["NoteNotFound", "NoteNotFound"]
            back = racers.race(
                [actors.restore(ALICE, said[0]["trashId"]), actors.restore(BOB, said[1]["trashId"])]
            )
            assert [each["path"] for each in back] == ["alice/same.md", "bob/same.md"]
            assert household.files() == {f"{name}/same.md": data for name, data in texts.items()}


def test_eight_processes_restore_one_entry_and_exactly_one_does(household: Household) -> None:
    data = b"deleted and wanted back\n"
    with actors.Racers(household, EIGHT) as racers:
        for number in range(5):
            household.write("n.md", data)
            asked = ask(household.service(), ALICE, household.uri, "n.md")
            deletion = answer(household.service(), ALICE, household.uri, "n.md", asked, accept("n.md"))
            assert isinstance(deletion, Deletion)
            entry = str(deletion.trash_id)
            targets = [None if place % 2 else f"other/{number}-{place}.md" for place in range(EIGHT)]
            said = racers.race([actors.restore(ALICE, entry, target) for target in targets])
            (won,) = [each for each in said if isinstance(each, dict)]
            assert {each for each in said if isinstance(each, str)} <= {"NoteNotFound", "NoteExists"}
            assert household.files() == {won["path"]: data}
            (household.vault / won["path"]).unlink()


def test_eight_processes_create_one_path_and_exactly_one_wins_with_its_bytes_whole(
    household: Household,
) -> None:
    with actors.Racers(household, EIGHT) as racers:
        for number in range(8):
            texts = [f"{place}" * 20_000 for place in range(EIGHT)]
            path = f"made/deep/{number}"
            said = racers.race([actors.create(ALICE, path, text) for text in texts])
            (winner,) = [place for place, each in enumerate(said) if isinstance(each, dict)]
            assert [each for each in said if isinstance(each, str)] == ["NoteExists"] * (EIGHT - 1)
            assert (household.vault / f"{path}.md").read_text() == texts[winner]
    assert household.temporaries() == []
    assert len(household.files()) == 8


def test_spellings_of_one_path_are_one_path_for_those_who_create_it_at_once(household: Household) -> None:
    """`.md` or not: one note, and nobody finds two of them afterwards."""
    with actors.Racers(household, EIGHT) as racers:
        for number in range(4):
            spellings = [f"é{number}", f"é{number}.md"] * 4
            said = racers.race(
                [actors.create(ALICE, path, str(place)) for place, path in enumerate(spellings)]
            )
            assert sum(isinstance(each, dict) for each in said) == 1
            assert household.service().read(ALICE, household.uri, f"é{number}").text in "01234567"
    assert len(household.files()) == 4


def test_a_creation_and_a_restore_of_one_path_lose_neither_text(household: Household) -> None:
    with actors.Racers(household, 2) as racers:
        for number in range(6):
            old, new = b"old %d\n" % number, f"new {number}\n"
            household.write("n.md", old)
            asked = ask(household.service(), ALICE, household.uri, "n.md")
            deletion = answer(household.service(), ALICE, household.uri, "n.md", asked, accept("n.md"))
            assert isinstance(deletion, Deletion)
            entry = str(deletion.trash_id)
            said = racers.race([actors.create(ALICE, "n", new), actors.restore(ALICE, entry)])
            assert sorted(isinstance(each, dict) for each in said) == [False, True]
            created = isinstance(said[0], dict)
            assert household.files() == (
                {"n.md": new.encode(), f".trash/{entry}/n.md": old} if created else {"n.md": old}
            )
            (household.vault / "n.md").unlink()
            if created:
                household.service().restore(ALICE, household.uri, entry)
                (household.vault / "n.md").unlink()
