"""What faults have found, each as a kind: one call that fails, and what was wrong then."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fsnotes.errors import FsnotesError, OutcomeUnknown, Unavailable
from fsnotes.failures import describe
from fsnotes.notes import trashing
from fsnotes.outcomes import Asked, Deletion
from sandbox import _linux, moving, releasing
from sandbox.errors import StorageFailed, Unsettled
from sandbox.names import RelPath
from sandbox.steps import Step
from tests.disk import Interruption, Tree
from tests.service.conftest import ALICE, Household, accept, answer, ask


@pytest.fixture
def household(inline: Household) -> Household:
    """Take the inline one: calls are made to fail in the test's own process."""
    return inline


@contextmanager
def failing(
    place: Any,
    name: str,
    number: int,
    *,
    when: Callable[..., bool] = lambda *_, **__: True,
    late: bool = False,
) -> Iterator[list[bool]]:
    """Have a function of *place* fail the first time that *when* says so; afterwards, if it is to be *late*."""
    real, happened = getattr(place, name), []

    def call(*arguments: Any, **named: Any) -> Any:
        if not happened and when(*arguments, **named):
            happened.append(True)
            if late:
                real(*arguments, **named)
            raise OSError(number, os.strerror(number))
        return real(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, call)
        yield happened
    assert happened


CHANGES: dict[str, Callable[[Household], object]] = {
    "created": lambda house: house.service().create(ALICE, house.uri, "b", "new\n"),
    "edited": lambda house: house.service().edit(ALICE, house.uri, "a", "new", old_text="old"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_that_may_not_last_is_told_as_unknown_and_not_as_undone(
    household: Household, what: str
) -> None:
    household.write("a.md", "old\n")
    before = household.files()
    is_folder = lambda descriptor: os.path.isdir(f"/proc/self/fd/{descriptor}")  # noqa: E731
    with failing(os, "fsync", errno.EIO, when=is_folder), pytest.raises(OutcomeUnknown) as caught:
        CHANGES[what](household)
    assert describe(caught.value).line == (
        "unavailable: the file system failed after the change; outcome unknown: read before retrying"
    )
    assert household.files() != before
    assert [outcome for *_, outcome in household.audited()] == ["outcome_unknown"]


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_whose_text_cannot_be_synced_is_not_made(household: Household, what: str) -> None:
    household.write("a.md", "old\n")
    before = household.tree()
    with failing(os, "fsync", errno.EIO), pytest.raises(Unavailable):
        CHANGES[what](household)
    assert household.tree() == before


@pytest.mark.parametrize("what", CHANGES)
def test_a_descriptor_that_cannot_be_closed_is_no_reason_to_refuse_or_to_deny_a_change(
    household: Household, what: str
) -> None:
    """close(2) frees it whatever it answers. A crash after a change said nothing of the change."""
    household.write("a.md", "old\n")
    service = household.service()  # whose start is no matter here
    household.service = lambda **_: service  # type: ignore[method-assign]
    real = os.close

    def close(descriptor: int) -> None:
        real(descriptor)
        raise OSError(errno.EINTR, os.strerror(errno.EINTR))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "close", close)
        CHANGES[what](household)
    assert "new" in "".join(text.decode() for text in household.files().values())
    assert not household.temporaries()


def test_closing_what_is_not_open_is_still_a_mistake() -> None:
    descriptor = os.open("/", os.O_RDONLY)
    releasing.release(descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        releasing.release(descriptor)


@pytest.mark.parametrize("what", CHANGES)
def test_a_rename_that_was_made_although_it_failed_is_taken_for_made(household: Household, what: str) -> None:
    """As a file system over a network does it that lost the answer."""
    household.write("a.md", "old\n")
    with failing(_linux, "renameat2", errno.EIO, late=True):
        CHANGES[what](household)
    assert "new" in "".join(text.decode() for text in household.files().values())
    assert not household.temporaries()


@pytest.mark.parametrize("what", CHANGES)
def test_a_rename_that_was_not_made_is_not(household: Household, what: str) -> None:
    household.write("a.md", "old\n")
    before = household.tree()
    with failing(_linux, "renameat2", errno.EIO), pytest.raises(Unavailable):
        CHANGES[what](household)
    assert household.tree() == before


def test_a_folder_that_was_made_although_that_failed_is_removed(household: Household) -> None:
    before = household.tree()
    service = household.service()
    with failing(os, "mkdir", errno.EIO, late=True), pytest.raises(Unavailable):
        service.create(ALICE, household.uri, "new/folder/note", "text")
    assert household.tree() == before


def delete(household: Household, step: Step, happens: Callable[[], None]) -> Asked | Deletion:
    """Delete the note `a`, confirmed, and let something happen at a *step* of its move."""
    service = household.service(observe=Interruption(step, happens))
    asked = ask(service, ALICE, household.uri, "a")
    return answer(service, ALICE, household.uri, "a", asked, accept("a.md"))


def test_a_deletion_of_which_nothing_can_be_seen_is_told_as_unknown_and_not_as_undone(
    household: Household,
) -> None:
    """It was `nothing was done`, with the note in the trash and nowhere else."""
    household.write("a.md", "old\n")

    with pytest.MonkeyPatch.context() as patch:

        def die() -> None:
            def dead(*_: object, **__: object) -> None:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

            patch.setattr(os, "read", dead)
            patch.setattr(moving, "move_file", dead)

        with pytest.raises(OutcomeUnknown) as caught:
            delete(household, Step.TRASH_MOVED, die)
    assert describe(caught.value).line == (
        "unavailable: the file system failed after the change; outcome unknown: read before retrying"
    )
    assert not (household.vault / "a.md").exists()
    assert list(household.vault.glob(".trash/*/a.md"))
    assert household.audited()[-1][-1] == "outcome_unknown"


@pytest.mark.parametrize("can_be_seen", [True, False])
def test_a_deletion_that_fails_is_undone_only_where_its_receipt_is_seen_to_be_missing(
    household: Household, *, can_be_seen: bool
) -> None:
    household.write("a.md", "old\n")
    before = household.files()

    def unseen(*_: object) -> None:
        raise Unavailable("the file system failed")

    with pytest.MonkeyPatch.context() as patch:

        def die() -> None:
            reads: list[int] = []
            read = os.read

            def dead(descriptor: int, size: int) -> bytes:
                where = os.readlink(f"/proc/self/fd/{descriptor}")
                if where.startswith(str(household.vault)) and not reads:
                    reads.append(descriptor)
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return read(descriptor, size)

            patch.setattr(os, "read", dead)
            if not can_be_seen:
                patch.setattr(trashing, "find_receipt", unseen)

        with pytest.raises(Unavailable if can_be_seen else OutcomeUnknown):
            delete(household, Step.TRASH_MOVED, die)
    assert household.files() == before


def test_a_text_that_took_a_notes_name_and_stays_in_the_trash_is_told(household: Household) -> None:
    """It was a conflict of which nothing was done."""
    household.write("a.md", "old\n")

    def meddle() -> None:
        (moved,) = household.vault.glob(".trash/*/a.md")
        moved.write_text("stranger one\n")
        household.write("a.md", "stranger two\n")

    with pytest.raises(OutcomeUnknown) as caught:
        delete(household, Step.TRASH_MOVED, meddle)
    assert describe(caught.value).line == (
        "unavailable: another text had the note's name and lies in the trash; outcome unknown: read before retrying"
    )
    assert sorted(household.files().values()) == [b"stranger one\n", b"stranger two\n"]


@pytest.mark.parametrize("resolver", ["openat2", "walk"])
def test_an_exchange_of_which_nobody_sees_what_came_out_is_undone(resolver: Any, tmp_path: Any) -> None:
    disk = Tree(tmp_path, resolver)
    disk.build("root/a.md: old")
    with disk.open_root() as root:
        held = root.read(RelPath.parse("a.md"))
        # The look at the note, the exchange's own, and then the one at what came out.
        looks = iter([False, False, True])
        with (
            failing(os, "stat", errno.EIO, when=lambda *_, **__: next(looks, False)),
            pytest.raises(Exception, match="errno 5") as caught,
        ):
            root.replace(RelPath.parse("a.md"), b"new", expect=held.identity)
    assert not isinstance(caught.value, Unsettled)
    assert disk.snapshot("root") == {"a.md": b"old"}


def test_a_note_that_is_read_in_pieces_is_read_whole(household: Household) -> None:
    """read(2) may give less than there is. A search read the beginning and said nothing."""
    household.write("a.md", "# A\n" + "filling\n" * 100 + "needle\n")
    service, real = household.service(), os.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "read", lambda descriptor, size: real(descriptor, min(size, 7)))
        found = service.search(ALICE, household.uri, "needle").document()
    assert [hit["path"] for hit in found["hits"]] == ["a.md"]


def is_of(folder: Household, name: str) -> Callable[..., bool]:
    """Say whether a folder that is about to be listed is the one of that *name*."""
    return lambda descriptor: os.readlink(f"/proc/self/fd/{descriptor}") == str(folder.vault / name)


def test_a_folder_that_cannot_be_listed_breaks_no_link(household: Household) -> None:
    """Nobody can say where links lead then; one that may not be listed has no files, as before."""
    household.write("a.md", "[[b]]\n")
    household.write("sub/b.md", "# B\n")
    service = household.service()
    with failing(os, "scandir", errno.EMFILE, when=is_of(household, "sub")), pytest.raises(Unavailable):
        service.links(ALICE, household.uri, "", direction="broken")
    assert service.links(ALICE, household.uri, "", direction="broken").document()["links"] == []
    household.write("sub/later.md", "new names")
    with failing(os, "scandir", errno.EACCES, when=is_of(household, "sub")):
        broken = service.links(ALICE, household.uri, "", direction="broken").document()["links"]
    assert [link["link"] for link in broken] == ["[[b]]"]


def test_a_deleted_note_that_cannot_be_looked_at_is_not_left_out_of_the_trash(household: Household) -> None:
    entry = "20260101T000000Z-" + "1" * 32
    household.write(f".trash/{entry}/a.md", "x")
    service = household.service()
    listed = is_of(household, f".trash/{entry}")
    with failing(os, "scandir", errno.EIO, when=listed), pytest.raises(Unavailable):
        service.trash(ALICE, household.uri)
    with failing(os, "scandir", errno.EACCES, when=listed):
        assert service.trash(ALICE, household.uri).document()["entries"] == []
    assert [each["trashId"] for each in service.trash(ALICE, household.uri).document()["entries"]] == [entry]


def test_notes_in_a_folder_that_cannot_be_listed_make_the_count_of_notes_incomplete(
    household: Household,
) -> None:
    household.write("a.md")
    household.write("sub/b.md")
    service = household.service()
    with failing(os, "scandir", errno.EIO, when=is_of(household, "sub")):
        (shown,) = service.workspaces(ALICE).document()["workspaces"]
    assert (shown["noteCount"], shown["noteCountComplete"]) == (1, False)
    (shown,) = service.workspaces(ALICE).document()["workspaces"]
    assert (shown["noteCount"], shown["noteCountComplete"]) == (2, True)


def test_a_folder_that_cannot_be_listed_for_the_next_page_is_told_there(household: Household) -> None:
    for number in range(4):
        household.write(f"sub/{number}.md")
    service = household.service()
    first = service.list(ALICE, household.uri, recursive=True, limit=2).document()
    with failing(os, "scandir", errno.EIO, when=is_of(household, "sub")):
        second = service.list(
            ALICE, household.uri, recursive=True, limit=2, cursor=first["nextCursor"]
        ).document()
    assert second["notes"] == []
    assert second["skipped"] == [{"path": "sub", "reason": "unreadable"}]


def test_a_file_that_cannot_be_looked_at_ends_no_sweep(household: Household) -> None:
    """It ended in the first folder that failed, for all workspaces, and was no error of the family."""
    household.write("one/.~fsn-0123456789abcdef01234567", "left")
    household.write("two/.~fsn-0123456789abcdef01234568", "left")
    household.clock.now = 2_000_000_000.0
    product = household.product()
    with failing(os, "scandir", errno.EIO, when=is_of(household, "one")):
        assert product.sweep() == 1
    assert product.sweep() == 1
    assert not household.temporaries()


def test_what_is_swept_to_a_trash_that_cannot_be_synced_is_counted(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told as not swept, though it was, and had no line in the audit log."""
    household.write("one/.~fsn-0123456789abcdef01234567", "left")
    household.clock.now = 2_000_000_000.0
    product = household.product()

    def broken(*_: object) -> None:
        raise StorageFailed(errno.EIO, "x")

    monkeypatch.setattr("sandbox.sweeping.sync_folder", broken)
    assert product.sweep() == 1
    assert not household.temporaries()
    assert [(line["tool"], line["outcome"]) for line in household.audit()] == [("sweep", "swept_1")]


def test_a_sweep_that_cannot_be_logged_is_made_all_the_same(
    household: Household, caplog: pytest.LogCaptureFixture
) -> None:
    household.write(".~fsn-0123456789abcdef01234567", "left")
    household.clock.now = 2_000_000_000.0
    product = household.product()
    with failing(os, "pwrite", errno.ENOSPC):
        assert product.sweep() == 1
    assert not household.temporaries()
    assert "a sweep is missing from it" in caplog.text


class Failing(sqlite3.Connection):
    """One that cannot read what an index says of itself."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql.startswith("SELECT generation, clean"):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        return super().execute(sql, *values)


def test_an_index_that_cannot_be_read_when_it_is_opened_is_unavailable_and_made_the_next_time(
    household: Household,
) -> None:
    """It was an error of SQLite's, and its connection stayed open."""
    household.write("a.md", "# A\n")
    product, connect = household.product(), sqlite3.connect
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *words, **named: connect(*words, factory=Failing, **named))
        with pytest.raises(Unavailable):
            product.build_index("Notes", lambda _: None)
    assert product.build_index("Notes", lambda _: None) == ()


def test_keys_that_cannot_be_written_leave_no_file(household: Household) -> None:
    household.write("a.md")
    service = household.service()
    before = household.tree()
    with failing(os, "fsync", errno.ENOSPC), pytest.raises(FsnotesError):
        service.delete(ALICE, household.uri, "a", arguments={})
    assert household.tree() == before
    assert not [place.name for place in (household.top / "state/private").iterdir() if "new" in place.name]
