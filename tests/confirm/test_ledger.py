"""What is spent stays spent: in one process, over the clock's jumps, and whatever becomes of the file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fsnotes.confirm import AlreadyDone, Ledger, LedgerStep, database, owners
from fsnotes.confirm.ledger import Standing
from fsnotes.errors import Busy, ConfigurationError, InvalidState, Unavailable

NOW = 1_800_000_000.0
ENTRY = "20270115T080000Z-" + "0" * 32
OTHER = "20270115T080000Z-" + "1" * 32
LATE = "20270116T000000Z-" + "2" * 32
CALL = b"c" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite3"


@contextmanager
def _opened(path: Path, **options: Any) -> Iterator[Ledger]:
    ledger = Ledger.open(path, **options)
    try:
        yield ledger
    finally:
        ledger.close()


def _claim(
    ledger: Ledger, entry: str = ENTRY, *, now: float = NOW, ttl: float = 300, choice: bytes = b"a"
) -> None:
    with ledger.claim(entry, ledger=ledger.id, choice=choice, expires_at=now + ttl, now=now):
        pass


def _standing(
    ledger: Ledger, entry: str = ENTRY, *, now: float = NOW, expires_at: float = NOW + 300
) -> Standing:
    return ledger.standing(entry, ledger=ledger.id, expires_at=expires_at, now=now)


def _prune(ledger: Ledger, *, now: float) -> None:
    """Spend an entry of no interest at *now*: what takes a row drops those that have expired by then."""
    ledger.spend(LATE, expires_at=now + 300, now=now)


# -- once --------------------------------------------------------------------------------------------


def test_an_entry_is_claimed_once(path: Path) -> None:
    with _opened(path) as ledger:
        assert _standing(ledger) is Standing.FREE
        _claim(ledger)
        assert _standing(ledger) is Standing.SPENT
        with pytest.raises(InvalidState, match=r"^spent$"):
            _claim(ledger)
        assert _standing(ledger, OTHER) is Standing.FREE


def test_a_claim_is_seen_by_another_ledger_of_the_same_file(path: Path) -> None:
    with _opened(path) as one, _opened(path) as two:
        assert one.id == two.id
        _claim(one)
        assert _standing(two) is Standing.SPENT
        with pytest.raises(InvalidState):
            _claim(two)


def test_a_claim_outlives_the_process(path: Path) -> None:
    with _opened(path) as ledger:
        ledger_id = ledger.id
        _claim(ledger)
    with _opened(path) as ledger:
        assert ledger.id == ledger_id
        assert _standing(ledger) is Standing.SPENT


@pytest.mark.parametrize(
    "error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit, sqlite3.OperationalError]
)
def test_a_claim_whose_work_fails_is_undone_and_the_error_travels(
    path: Path, error: type[BaseException]
) -> None:
    with _opened(path) as ledger:
        ledger_id = ledger.id
        with (
            pytest.raises(error),
            ledger.claim(ENTRY, ledger=ledger_id, choice=b"a", expires_at=NOW + 300, now=NOW),
        ):
            raise error
        assert _standing(ledger) is Standing.FREE
        _claim(ledger)


def test_a_claim_in_another_ledgers_name_is_refused(path: Path) -> None:
    with (
        _opened(path) as ledger,
        pytest.raises(InvalidState, match="of another ledger"),
        ledger.claim(ENTRY, ledger="0" * 32, choice=b"a", expires_at=NOW + 300, now=NOW),
    ):
        raise AssertionError("claimed")


@pytest.mark.parametrize("now", [NOW + 300, NOW + 301, float("nan"), float("inf"), True, None, "1"])
def test_a_claim_out_of_time_or_at_no_time_is_refused(path: Path, now: Any) -> None:
    with _opened(path) as ledger:
        with (
            pytest.raises(InvalidState),
            ledger.claim(ENTRY, ledger=ledger.id, choice=b"a", expires_at=NOW + 300, now=now),
        ):
            raise AssertionError("claimed")
        assert _standing(ledger) is Standing.FREE


def test_exactly_one_of_sixteen_threads_claims(path: Path) -> None:
    start, won, lost = threading.Barrier(16), [], []
    with _opened(path) as ledger:
        ledger_id = ledger.id

        def run(number: int) -> None:
            start.wait(10)
            try:
                with ledger.claim(ENTRY, ledger=ledger_id, choice=b"a", expires_at=NOW + 300, now=NOW):
                    won.append(number)
            except InvalidState as error:
                lost.append(error.reason)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert (len(won), lost) == (1, ["spent"] * 15)


def test_a_claim_behind_an_open_claim_is_busy_and_reading_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert database.BUSY_SECONDS < 2
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with _opened(path) as ledger, _opened(path) as other:
        with ledger.claim(ENTRY, ledger=ledger.id, choice=b"a", expires_at=NOW + 300, now=NOW):
            for behind in (ledger, other):
                assert _standing(behind) is Standing.FREE
                with pytest.raises(Busy):
                    _claim(behind, OTHER)
        assert _standing(other) is Standing.SPENT
        _claim(other, OTHER)


def test_a_commit_that_cannot_be_made_leaves_the_entry_free(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with _opened(path) as ledger:
        ledger_id = ledger.id
        reader = sqlite3.connect(path, isolation_level=None)
        try:
            reader.execute("BEGIN")
            with (
                pytest.raises(Busy),
                ledger.claim(ENTRY, ledger=ledger_id, choice=b"a", expires_at=NOW + 300, now=NOW),
            ):
                reader.execute("SELECT * FROM spent").fetchall()
        finally:
            reader.close()
        assert _standing(ledger) is Standing.FREE
        _claim(ledger)


def test_the_steps_of_a_claim_are_observed_in_order(path: Path) -> None:
    seen: list[str] = []
    with _opened(path, observe=seen.append) as ledger:
        with ledger.claim(ENTRY, ledger=ledger.id, choice=b"a", expires_at=NOW + 300, now=NOW):
            seen.append("work")
        ledger.settle(ENTRY)
    assert seen == [LedgerStep.BEGUN, LedgerStep.CLAIMED, "work", LedgerStep.COMMITTED, LedgerStep.SETTLED]


# -- a process that died before it answered ----------------------------------------------------------


def _owned_by(path: Path, owner: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE spent SET owner = ?", (owner,))
    connection.commit()
    connection.close()


def _dead() -> str:
    pid, _, boot = owners.this_process().split(":")
    return f"{pid}:1:{boot}"


def test_a_deletion_whose_process_died_unanswered_is_answered_by_the_next(path: Path) -> None:
    seen: list[str] = []
    with _opened(path, observe=seen.append) as ledger:
        _claim(ledger)
        _owned_by(path, _dead())
        assert _standing(ledger) is Standing.UNANSWERED
        seen.clear()
        with pytest.raises(AlreadyDone) as caught:
            _claim(ledger)
        assert caught.value.entry == ENTRY
        assert seen == [LedgerStep.BEGUN, LedgerStep.RECLAIMED]
        # This process has taken it over and lives: everything after is a replay.
        assert _standing(ledger) is Standing.SPENT
        with pytest.raises(InvalidState, match=r"^spent$"):
            _claim(ledger)


def test_a_deletion_that_was_answered_is_spent_although_its_process_died(path: Path) -> None:
    with _opened(path) as ledger:
        _claim(ledger)
        assert ledger.settle(ENTRY)
        _owned_by(path, _dead())
        assert _standing(ledger) is Standing.SPENT
        with pytest.raises(InvalidState, match=r"^spent$"):
            _claim(ledger)


def test_another_choice_than_the_deleted_note_is_not_answered(path: Path) -> None:
    with _opened(path) as ledger:
        _claim(ledger, choice=b"a")
        _owned_by(path, _dead())
        with pytest.raises(InvalidState, match=r"^spent$"):
            _claim(ledger, choice=b"b")
        assert _standing(ledger) is Standing.UNANSWERED


def test_a_decline_or_a_restored_entry_is_never_answered_as_deleted(path: Path) -> None:
    with _opened(path) as ledger:
        ledger.decline(ENTRY, CALL, ledger=ledger.id, expires_at=NOW + 300, until=NOW + 60, now=NOW)
        _claim(ledger, OTHER)
        ledger.spend(OTHER, expires_at=NOW + 3600, now=NOW)
        _owned_by(path, _dead())
        for entry in (ENTRY, OTHER):
            assert _standing(ledger, entry) is Standing.SPENT
            with pytest.raises(InvalidState, match=r"^spent$"):
                _claim(ledger, entry)


def test_settling_never_raises_although_the_file_is_gone_bad(path: Path) -> None:
    with _opened(path) as ledger:
        _claim(ledger)
        path.chmod(0o644)
        assert ledger.settle(ENTRY) is False
        path.chmod(0o600)
        assert ledger.settle(ENTRY) is True


# -- declines ----------------------------------------------------------------------------------------


def test_a_decline_spends_the_entry_and_is_remembered_for_its_time(path: Path) -> None:
    with _opened(path) as ledger:
        ledger.decline(ENTRY, CALL, ledger=ledger.id, expires_at=NOW + 300, until=NOW + 60, now=NOW)
        assert _standing(ledger) is Standing.SPENT
        assert [ledger.declined(CALL, now=NOW + after) for after in (-1, 0, 59.9, 60)] == [
            False,
            True,
            True,
            False,
        ]
        assert not ledger.declined(b"d" * 32, now=NOW)
        with pytest.raises(InvalidState):
            _claim(ledger)


def test_a_spent_entry_cannot_be_declined_and_a_declined_one_not_again(path: Path) -> None:
    with _opened(path) as ledger:
        _claim(ledger)
        ledger.decline(OTHER, CALL, ledger=ledger.id, expires_at=NOW + 300, until=NOW + 60, now=NOW)
        for entry in (ENTRY, OTHER):
            with pytest.raises(InvalidState, match=r"^spent$"):
                ledger.decline(entry, CALL, ledger=ledger.id, expires_at=NOW + 300, until=NOW + 90, now=NOW)
        assert not ledger.declined(CALL, now=NOW + 61)


def test_the_memory_of_declines_is_bounded_and_keeps_the_latest(path: Path) -> None:
    with _opened(path, max_rows=3) as ledger:
        for number in range(6):
            now = NOW + number * 10
            ledger.decline(
                f"{number}", bytes([number]), ledger=ledger.id, expires_at=now + 10, until=now + 500, now=now
            )
        assert [ledger.declined(bytes([number]), now=NOW + 60) for number in range(6)] == [False] * 3 + [
            True
        ] * 3


# -- bounds and time ---------------------------------------------------------------------------------


def test_a_full_ledger_refuses_and_drops_nothing_that_lives(path: Path) -> None:
    with _opened(path, max_rows=2) as ledger:
        _claim(ledger, "a")
        _claim(ledger, "b")
        with pytest.raises(Busy):
            _claim(ledger, "c")
        with pytest.raises(Busy):
            ledger.decline("c", CALL, ledger=ledger.id, expires_at=NOW + 300, until=NOW + 60, now=NOW)
        with pytest.raises(Busy):
            ledger.spend("c", expires_at=NOW + 300, now=NOW)
        assert not ledger.declined(CALL, now=NOW)
        standings = [_standing(ledger, entry) for entry in "abc"]
        assert standings == [Standing.SPENT, Standing.SPENT, Standing.FREE]
        # An entry that is there already needs no room.
        ledger.spend("a", expires_at=NOW + 300, now=NOW)
        # Room comes with time alone.
        _claim(ledger, "c", now=NOW + 300)


def test_expired_rows_are_pruned_and_living_ones_stay(path: Path) -> None:
    with _opened(path) as ledger:
        _claim(ledger, "a", ttl=100)
        _claim(ledger, "b", ttl=101)
        _prune(ledger, now=NOW + 100)
        with sqlite3.connect(path) as connection:
            rows = connection.execute("SELECT entry FROM spent").fetchall()
        connection.close()
        assert sorted(rows) == sorted([("b",), (LATE,)])
        assert _standing(ledger, "b", now=NOW + 100) is Standing.SPENT


def test_a_clock_that_is_set_back_revives_nothing(path: Path) -> None:
    with _opened(path) as ledger:
        _claim(ledger)
        _prune(ledger, now=NOW + 1000)
        for entry in (ENTRY, OTHER):
            with pytest.raises(InvalidState, match="pruned"):
                _standing(ledger, entry, now=NOW + 10)
            with pytest.raises(InvalidState, match="pruned"):
                _claim(ledger, entry, now=NOW, ttl=300)
        # What expires later than all that was pruned is not in doubt.
        assert _standing(ledger, OTHER, now=NOW + 10, expires_at=NOW + 301) is Standing.FREE


def test_after_a_clock_was_set_back_fresh_forms_work_and_old_ones_do_not(path: Path) -> None:
    seen: list[str] = []
    with _opened(path, observe=seen.append) as ledger:
        before = ledger.id
        _claim(ledger)
        _prune(ledger, now=NOW + 1000)
        assert ledger.admit(expires_at=NOW + 301, now=NOW + 1) == before
        fresh = ledger.admit(expires_at=NOW - 700, now=NOW - 1000)
        assert fresh == ledger.id != before
        assert seen[-1] == LedgerStep.RENEWED
        with (
            pytest.raises(InvalidState, match="of another ledger"),
            ledger.claim(ENTRY, ledger=before, choice=b"a", expires_at=NOW + 300, now=NOW),
        ):
            raise AssertionError("claimed")
        _claim(ledger, OTHER, now=NOW - 1000)
        assert ledger.admit(expires_at=NOW - 699, now=NOW - 999) == fresh


def test_a_renewal_between_check_and_claim_is_noticed_by_the_claim(path: Path) -> None:
    with _opened(path) as ledger, _opened(path) as other:
        before = ledger.id
        _claim(ledger)
        _prune(ledger, now=NOW + 1000)
        claim = ledger.claim(ENTRY, ledger=before, choice=b"a", expires_at=NOW + 300, now=NOW)
        other.admit(expires_at=NOW + 300, now=NOW)
        with pytest.raises(InvalidState, match="of another ledger"), claim:
            raise AssertionError("claimed")


def test_a_restored_entry_is_spent_for_good_though_its_deletion_was_never_committed(path: Path) -> None:
    with _opened(path) as ledger:
        ledger.spend(ENTRY, expires_at=NOW + 3600, now=NOW)
        with pytest.raises(InvalidState, match=r"^spent$"):
            _claim(ledger)


def test_an_entry_restored_long_after_its_time_stays_spent_when_the_clock_is_set_back(path: Path) -> None:
    with _opened(path) as ledger:
        ledger.spend(ENTRY, expires_at=NOW + 3600, now=NOW + 100_000)
        with pytest.raises(InvalidState):
            _claim(ledger)
        _prune(ledger, now=NOW + 100_000)
        with pytest.raises(InvalidState):
            _claim(ledger)


@pytest.mark.parametrize("time", [float("nan"), float("inf"), None, "1", True])
def test_no_row_is_written_at_no_time(path: Path, time: Any) -> None:
    with _opened(path) as ledger:
        for write in (
            lambda: ledger.spend(ENTRY, expires_at=time, now=NOW),
            lambda: ledger.spend(ENTRY, expires_at=NOW, now=time),
            lambda: ledger.decline(ENTRY, CALL, ledger=ledger.id, expires_at=NOW + 9, until=time, now=NOW),
            lambda: ledger.declined(CALL, now=time),
            lambda: ledger.admit(expires_at=time, now=NOW),
        ):
            with pytest.raises(InvalidState):
                write()
        assert _standing(ledger) is Standing.FREE


# -- the file ----------------------------------------------------------------------------------------


def test_the_file_is_private_and_made_only_when_it_is_needed(path: Path) -> None:
    with _opened(path) as ledger:
        assert os.listdir(path.parent) == []
        assert len(ledger.id) == 32
        _claim(ledger)
    modes = {name: oct((path.parent / name).stat().st_mode) for name in sorted(os.listdir(path.parent))}
    assert modes == {"ledger.sqlite3": "0o100600", "ledger.sqlite3-journal": "0o100600"}


def test_commits_are_synced_with_a_journal_that_cannot_come_back(path: Path) -> None:
    with _opened(path) as ledger:
        _claim(ledger)
        assert ledger._database is not None
        with ledger._database.reading() as read:
            assert [read.row("PRAGMA journal_mode"), read.row("PRAGMA synchronous")] == [("truncate",), (2,)]
    assert (path.parent / "ledger.sqlite3-journal").stat().st_size == 0


def test_two_ledgers_have_different_ids(tmp_path: Path) -> None:
    with _opened(tmp_path / "one") as one, _opened(tmp_path / "two") as two:
        assert one.id != two.id


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all, " * 500)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:8192])


def _page_lost(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8192:16384] = bytes(8192)
    path.write_bytes(data)


def _schema_of_no_text(path: Path) -> None:
    """SQLite's message quotes it, and Python cannot decode what it says."""
    path.write_bytes(path.read_bytes().replace(b"CREATE INDEX", b"CREATE \xbbNDEX"))


def _foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE meta (id, inode, horizon)")
    connection.execute("INSERT INTO meta VALUES (?, ?, 0.0)", ("0" * 32, path.stat().st_ino))
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    path.chmod(0o600)


def _newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()


def _without_its_id(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM meta")
    connection.commit()
    connection.close()


def _open_to_others(path: Path) -> None:
    path.chmod(0o640)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "spoil",
    [
        _garbage,
        _empty,
        _half,
        _page_lost,
        _schema_of_no_text,
        _foreign,
        _newer,
        _without_its_id,
        _open_to_others,
        _link,
        _fifo,
    ],
)
def test_a_spoiled_ledger_is_unavailable_and_nothing_can_be_claimed(path: Path, spoil: Any) -> None:
    with _opened(path) as ledger:
        ledger_id = ledger.id
        _claim(ledger)
    spoil(path)
    with _opened(path) as ledger:
        for use in (
            lambda: ledger.id,
            lambda: ledger.admit(expires_at=NOW + 300, now=NOW),
            lambda: ledger.standing(OTHER, ledger=ledger_id, expires_at=NOW + 300, now=NOW),
            lambda: ledger.declined(CALL, now=NOW),
            lambda: ledger.spend(OTHER, expires_at=NOW + 300, now=NOW),
            lambda: ledger.claim(
                OTHER, ledger=ledger_id, choice=b"a", expires_at=NOW + 300, now=NOW
            ).__enter__(),
        ):
            with pytest.raises(Unavailable):
                use()


def test_a_ledger_of_another_user_is_unavailable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _opened(path) as ledger:
        assert ledger.id
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(Unavailable):
            _claim(ledger)


def test_a_folder_open_to_others_is_refused_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(ConfigurationError):
        Ledger.open(folder / "ledger.sqlite3")


@pytest.mark.parametrize("journal_too", [False, True])
def test_a_deleted_file_is_noticed_and_what_it_admitted_is_refused(path: Path, *, journal_too: bool) -> None:
    with _opened(path) as ledger:
        before = ledger.id
        _claim(ledger)
        path.unlink()
        if journal_too:
            path.with_name("ledger.sqlite3-journal").unlink()
        assert ledger.id != before
        for entry in (ENTRY, OTHER):
            with (
                pytest.raises(InvalidState, match="of another ledger"),
                ledger.claim(entry, ledger=before, choice=b"a", expires_at=NOW + 300, now=NOW),
            ):
                raise AssertionError("claimed")


def test_a_copy_put_in_the_place_of_the_file_revives_nothing(path: Path) -> None:
    with _opened(path) as ledger:
        before = ledger.id
        copy = path.with_name("copy")
        shutil.copy2(path, copy)
        _claim(ledger)
        copy.rename(path)
        assert ledger.id != before
        with _opened(path) as other:
            assert other.id == ledger.id
        with (
            pytest.raises(InvalidState, match="of another ledger"),
            ledger.claim(ENTRY, ledger=before, choice=b"a", expires_at=NOW + 300, now=NOW),
        ):
            raise AssertionError("claimed")


def test_a_file_deleted_under_an_open_claim_lets_nobody_else_claim_the_entry(path: Path) -> None:
    with _opened(path) as ledger, _opened(path) as other:
        before = ledger.id
        with ledger.claim(ENTRY, ledger=before, choice=b"a", expires_at=NOW + 300, now=NOW):
            path.unlink()
            with (
                pytest.raises(InvalidState, match="of another ledger"),
                other.claim(ENTRY, ledger=before, choice=b"a", expires_at=NOW + 300, now=NOW),
            ):
                raise AssertionError("claimed")
        assert ledger.id == other.id != before
        _claim(other, OTHER)
        assert _standing(ledger, OTHER) is Standing.SPENT


def test_a_journal_that_outlived_its_file_is_not_played_into_the_next(path: Path) -> None:
    journal = path.with_name("ledger.sqlite3-journal")
    with _opened(path) as ledger:
        before = ledger.id
        _claim(ledger)
    # With a cache this small the pages go to the disk before the commit, so the journal is one to play back.
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    for number in range(500):
        connection.execute("INSERT INTO spent VALUES (?, 'deleted', 0, x'', '', 1)", (f"{number:0500}",))
    hot = journal.read_bytes()
    connection.close()
    assert hot[:8] == bytes.fromhex("d9d505f920a163d7")
    path.unlink()
    journal.write_bytes(hot)
    path.with_name("ledger.sqlite3.new").write_bytes(b"half")
    with _opened(path) as ledger:
        assert ledger.id != before
        assert _standing(ledger) is Standing.FREE
    assert not path.with_name("ledger.sqlite3.new").exists()


def test_a_spent_entry_is_never_kept_for_a_shorter_time(path: Path) -> None:
    with _opened(path) as ledger:
        _claim(ledger, ttl=300)
        ledger.spend(ENTRY, expires_at=NOW + 100, now=NOW)
        _prune(ledger, now=NOW + 200)
        assert _standing(ledger, now=NOW + 200) is Standing.SPENT


def test_connections_are_used_again_and_their_number_is_bounded(path: Path) -> None:
    with _opened(path) as ledger:
        for number in range(5):
            _claim(ledger, f"{number}")
        assert ledger._database is not None
        assert len(ledger._database._idle) == 1


def test_a_closed_ledger_is_unavailable(path: Path) -> None:
    with _opened(path) as ledger:
        _claim(ledger)
    with pytest.raises(Unavailable):
        assert ledger.id


def test_a_ledger_is_not_used_by_a_forked_child(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _opened(path) as ledger:
        assert ledger.id
        monkeypatch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(Unavailable):
            assert ledger.id


def test_no_descriptor_is_left_open(path: Path) -> None:
    def descriptors() -> set[str]:
        return {
            os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_open(name)
        }

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    with _opened(path) as ledger:
        _claim(ledger)
        path.unlink()
        assert ledger.id
    assert [name for name in descriptors() if str(path.parent) in name] == []


def _is_open(name: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{name}")
