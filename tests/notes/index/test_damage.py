"""What stands where the index should be is never trusted and never fatal: it is used, or made anew."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from fsnotes.errors import Busy, IndexUnusable, Unavailable
from fsnotes.notes.index import files, schema
from fsnotes.notes.index.files import LOCK, Folder
from fsnotes.notes.index.keeping import Keeper
from fsnotes.notes.index.reader import Reader
from tests.notes.index.shelves import BOOT, Shelf, is_whole_file
from tests.require import require


def fill(shelf: Shelf, count: int = 60) -> None:
    for number in range(count):
        shelf.write(
            f"{number}.md", f"# Note {number}\n\nword w{number} [[link{number}]] #t{number} {'text ' * 100}"
        )


def made(shelf: Shelf) -> str:
    """An index that is up to date and closed; its generation."""
    fill(shelf)
    shelf.settle()
    generation = shelf.keep().generation
    shelf.shut()
    shelf.reader.close()
    return generation


def sql(*statements: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement).fetchall()

    return change


def outside(file: Path) -> Path:
    return file.parent.parent / "outside"


def link(file: Path) -> None:
    file.rename(outside(file))
    file.symlink_to(outside(file))


def hard_link(file: Path) -> None:
    os.link(file, outside(file))


def fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def other_database(file: Path) -> None:
    file.unlink()
    sql("CREATE TABLE docs (a)", "INSERT INTO docs VALUES (1)")(file)


def cut(share: float) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        os.truncate(file, int(file.stat().st_size * share))

    return change


def longer(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(bytes(4096))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "empty": lambda file: os.truncate(file, 0),
    "a header and no more": lambda file: os.truncate(file, 100),
    "cut to half of it": cut(0.5),
    "cut within a page": cut(0.77),
    "a page longer": longer,
    "text": lambda file: _overwrite(file, b"# A note\n" * 5_000),
    "a header of noise": lambda file: _noise(file, 0, 100),
    "a schema of noise": lambda file: _noise(file, 100, 4_000),
    "another program's database": other_database,
    "a link": link,
    "a file with two names": hard_link,
    "a link to nothing": lambda file: (file.unlink(), file.symlink_to(outside(file)))[-1],  # type: ignore[func-returns-value]
    "a FIFO": fifo,
    "another application": sql("PRAGMA application_id = 1"),
    "a newer format": sql(f"PRAGMA user_version = {schema.FORMAT + 1}"),
    "an older format": sql(f"PRAGMA user_version = {schema.FORMAT - 1}"),
    "other rules of folding": sql("UPDATE meta SET rules = 'other'"),
    "a trigger": sql("CREATE TRIGGER evil AFTER INSERT ON docs BEGIN DELETE FROM docs; END"),
    "a view": sql("CREATE VIEW evil AS SELECT 1"),
    "a missing table": sql("DROP TABLE links"),
    "no meta": sql("DELETE FROM meta"),
    "a write-ahead log": sql("PRAGMA journal_mode = WAL", "UPDATE meta SET rules = 'other'"),
    "another boot without a mark": sql("UPDATE meta SET boot = 'other', clean = 0"),
}


def _overwrite(file: Path, data: bytes) -> None:
    with file.open("r+b") as opened:
        opened.write(data)


def _noise(file: Path, start: int, end: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(start)
        opened.write(random.Random(1).randbytes(end - start))  # noqa: S311 - reproducible noise


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_no_index_is_not_read_and_made_anew(shelf: Shelf, damage: str) -> None:
    generation = made(shelf)
    DAMAGE[damage](shelf.file)
    kept = outside(shelf.file).read_bytes() if outside(shelf.file).exists() else None
    with pytest.raises(IndexUnusable):
        shelf.finds("word")
    shelf.settle()
    assert shelf.keep().generation != generation
    assert sorted(shelf.finds("word")) == shelf.paths()
    assert is_whole_file(shelf)
    assert (outside(shelf.file).read_bytes() if kept is not None else None) == kept
    assert not shelf.file.is_symlink()


@pytest.mark.parametrize(
    "nearest",
    [
        sql("VACUUM"),
        sql("UPDATE meta SET boot = 'other', clean = 1"),
        lambda file: file.rename(outside(file)) and outside(file).rename(file),
        lambda file: file.chmod(0o644),
        lambda _: None,
    ],
    ids=["vacuumed", "another boot with a mark", "renamed there and back", "open to others", "untouched"],
)
def test_a_sound_index_is_used_as_it_is(shelf: Shelf, nearest: Callable[[Path], object]) -> None:
    generation = made(shelf)
    nearest(shelf.file)
    assert sorted(shelf.finds("word")) == shelf.paths()
    shelf.settle()
    assert shelf.keep().generation == generation


@pytest.mark.parametrize("seed", range(12))
def test_noise_within_the_file_leads_to_no_wrong_hit_and_no_crash(shelf: Shelf, seed: int) -> None:
    """What cannot be noticed at once is noticed when it is used, or a note is missed until the index is checked."""
    made(shelf)
    size = shelf.file.stat().st_size
    chance = random.Random(seed)  # noqa: S311 - reproducible noise
    with shelf.file.open("r+b") as opened:
        for _ in range(1 + seed * 3):
            opened.seek(chance.randrange(100, size - 64))
            opened.write(chance.randbytes(chance.choice([1, 8, 64])))
    for query in ("word", "w7", "te*", "tag:t3", "word -w5"):
        try:
            found = shelf.finds(query)
        except IndexUnusable:
            continue
        assert set(found) <= set(shelf.paths())
    shelf.write("new.md", "word new")
    shelf.write("5.md", "word changed")
    shelf.remove("6.md")
    try:
        shelf.settle(idle=True)
        shelf.look_again()
    except Unavailable:
        pytest.fail("damage is made good, not reported")
    if not is_whole_file(shelf):
        shelf.keep().renew()
        shelf.settle()
    assert sorted(shelf.finds("word")) == shelf.paths()


def test_damage_of_which_the_very_message_cannot_be_read_is_damage(shelf: Shelf) -> None:
    """SQLite quotes the statement in its schema at which it fails, and Python cannot decode what it says."""
    generation = made(shelf)
    whole = shelf.file.read_bytes()
    shelf.file.write_bytes(whole.replace(b"CREATE INDEX docs_by_ino", b"CREATE \xbbNDEX docs_by_ino"))
    with pytest.raises(UnicodeDecodeError), closing(sqlite3.connect(shelf.file)) as connection:
        connection.execute("SELECT * FROM docs")
    with pytest.raises(IndexUnusable):
        shelf.finds("word")
    shelf.settle()
    assert shelf.keep().generation != generation
    assert sorted(shelf.finds("word")) == shelf.paths()


def test_an_index_that_is_removed_while_it_is_kept_is_made_anew(shelf: Shelf) -> None:
    made(shelf)
    shelf.settle()
    assert shelf.finds("w7") == ["7.md"]
    for each in shelf.index_path.iterdir():
        each.unlink()
    with pytest.raises(IndexUnusable):
        shelf.finds("w7")
    shelf.write("7.md", "word w7 again")
    shelf.refresh("7.md")
    shelf.settle()
    assert shelf.finds("w7") == ["7.md"]
    with pytest.raises(Busy):
        Keeper(str(shelf.index_path), shelf.vault, boot=BOOT)


def test_a_folder_that_is_none_is_refused(shelf: Shelf) -> None:
    for path in (str(shelf.index_path / "none"), str(shelf.file)):
        shelf.file.write_text("x")
        with pytest.raises(Unavailable):
            Keeper(path, shelf.vault, boot=BOOT)
        assert shelf.file.read_text() == "x"


def test_a_power_cut_is_noticed_by_the_mark(shelf: Shelf) -> None:
    """Whatever was written since the mark was taken away may not be on the disk."""
    made(shelf)

    def mark() -> tuple[object, ...]:
        with closing(sqlite3.connect(f"file:{shelf.file}?mode=ro", uri=True)) as connection:
            found: tuple[object, ...] = connection.execute("SELECT boot, clean FROM meta").fetchone()
            return found

    assert mark() == (BOOT, 1)
    shelf.settle()
    assert mark() == (BOOT, 1), "nothing was written"
    shelf.write("new.md", "word")
    shelf.refresh("new.md")
    assert mark() == (BOOT, 0)
    keeper = shelf.keep()
    keeper._filling.store.abandon()
    keeper._folder.close()
    shelf.keeper = None
    shelf.boot = "the next boot"
    shelf.reader.close()
    shelf.reader = Reader(str(shelf.index_path), boot=shelf.boot)
    with pytest.raises(IndexUnusable):
        shelf.finds("new")
    shelf.settle()
    assert shelf.finds("new") == ["new.md"]
    shelf.shut()
    assert mark() == ("the next boot", 1)


def test_the_mark_is_taken_away_on_the_disk_before_anything_else_is_written(shelf: Shelf) -> None:
    made(shelf)
    shelf.settle()
    said: list[str] = []
    shelf.keep()._filling.store._connection.set_trace_callback(said.append)
    shelf.write("new.md", "word")
    shelf.refresh("new.md")
    written = [statement for statement in said if not statement.lstrip().startswith("SELECT")]
    assert written[:4] == [
        "PRAGMA synchronous = FULL",
        f"UPDATE meta SET clean = 0, boot = '{BOOT}'",  # noqa: S608 - what SQLite says it did
        "PRAGMA synchronous = OFF",
        "BEGIN IMMEDIATE",
    ]


def test_only_one_keeps_an_index_and_others_read_it(shelf: Shelf) -> None:
    fill(shelf, 3)
    shelf.settle()
    with pytest.raises(Busy):
        Keeper(str(shelf.index_path), shelf.vault, boot=BOOT)
    with Shelf(shelf.vault_path.parent) as other:
        assert other.finds("w1") == ["1.md"]
        shelf.shut()
        other.keep()
        with pytest.raises(Busy):
            shelf.keep()


@pytest.mark.parametrize("change", [link, fifo, lambda file: (file.unlink(), file.mkdir())])
def test_what_is_no_lock_is_not_followed_and_not_waited_for(
    shelf: Shelf, change: Callable[[Path], object]
) -> None:
    made(shelf)
    lock = shelf.index_path / "search.lock"
    change(lock)
    with pytest.raises(Unavailable):
        shelf.keep()
    assert sorted(shelf.finds("w1")) == ["1.md"]
    if lock.is_dir():
        lock.rmdir()
    else:
        lock.unlink()
    shelf.settle()
    assert shelf.finds("w1") == ["1.md"]


def test_the_folder_of_another_account_holds_no_index_of_ours(shelf: Shelf) -> None:
    require("root", available=os.geteuid() == 0, why="another user's folder")
    made(shelf)
    before = sorted(os.listdir(shelf.index_path))
    os.chown(shelf.index_path, 1000, 1000)
    with pytest.raises(Unavailable):
        shelf.finds("w1")
    with pytest.raises(Unavailable):
        shelf.keep()
    assert sorted(os.listdir(shelf.index_path)) == before
    os.chown(shelf.index_path, 0, 0)
    assert shelf.finds("w1") == ["1.md"]


def test_what_is_locked_is_a_file_that_can_be_written_and_ends_with_its_descriptor(shelf: Shelf) -> None:
    """Of no other kind is a worker able to lock anything: not the folder that it may only look at."""
    first, second = Folder(str(shelf.index_path)), Folder(str(shelf.index_path))
    first.lock()
    with pytest.raises(Busy):
        second.lock()
    file = os.open(shelf.index_path / LOCK, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # another kind of lock, which says nothing here
    finally:
        os.close(file)  # and drops none that belongs to another description
    with pytest.raises(Busy):
        second.lock()
    first.close()
    second.lock()
    first = Folder(str(shelf.index_path))
    with pytest.raises(Busy):
        first.lock()
    first.close()
    second.close()
    for read_only in (shelf.index_path, shelf.index_path / LOCK):
        descriptor = os.open(read_only, os.O_RDONLY)
        try:
            with pytest.raises(OSError) as caught:
                files._lock(descriptor)
        finally:
            os.close(descriptor)
        assert caught.value.errno == errno.EBADF


def test_a_reader_writes_nothing(shelf: Shelf) -> None:
    made(shelf)
    with shelf.reader.view() as view:
        for statement in ("DELETE FROM docs", "PRAGMA user_version = 9", "CREATE TABLE x (a)"):
            with pytest.raises(sqlite3.OperationalError):
                view.rows(statement)
    assert shelf.finds("w1") == ["1.md"]


def test_a_reader_in_a_call_delays_a_commit_and_loses_nothing(shelf: Shelf) -> None:
    fill(shelf, 5)
    shelf.settle()
    shelf.write("new.md", "word")
    with shelf.reader.view() as view:
        view.rows("SELECT count(*) FROM docs")
        assert shelf.keep().refresh(["new.md"]) == ("new.md",)
        assert view.number("SELECT count(*) FROM docs") == 5
    assert shelf.keep().refresh(["new.md"]) == ()
    assert sorted(shelf.finds("word")) == shelf.paths()


def test_the_index_is_opened_by_the_tables_that_are_made(shelf: Shelf) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.create(connection, generation="g", boot="b")
        assert schema.is_ours(connection)
        assert connection.execute("SELECT k, v FROM notes_config ORDER BY k").fetchall()[:2] == [
            ("automerge", 0),
            ("crisismerge", 1999),
        ]
