"""The ids of an index: of a part of a workspace that part alone is read, and of all no more is kept than fits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from fsnotes.notes import known_ids
from fsnotes.notes.id_chart import IdChart
from fsnotes.notes.index.reader import View
from fsnotes.notes.known_ids import KnownIds, ids_in
from sandbox.names import RelPath

PATHS = [
    "a/1.md", "a/2.md", "a/b/3.md", "a!/no.md", "a.md", "a0/no.md", "ab/no.md", "c/4.md", "c/5.md",
    "e\u0301/nfd.md", "\u00e9/nfc.md", "\u00e9x/no.md", "z.md",
]  # fmt: skip


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    made.execute("CREATE TABLE docs (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL)")
    made.executemany("INSERT INTO docs (path) VALUES (?)", [(path,) for path in PATHS])
    yield made
    made.close()


@pytest.mark.parametrize("stretch", [1, 2, 3, 4, 100])
def test_stretches_of_some_folders_are_what_is_in_them_and_each_once(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, stretch: int
) -> None:
    monkeypatch.setattr(known_ids, "STRETCH", stretch)
    folders = [RelPath.parse(name) for name in ("a", "c", "\u00e9", "nothing")]
    found: list[str] = []
    after: int | None = 0
    while after is not None:
        entries, behind = ids_in(View(connection, 0), folders, after)
        assert len(entries) <= stretch
        assert behind is None or behind == after + stretch
        found += [path for _, path in entries]
        after = behind
    assert sorted(found) == sorted(path for path in PATHS if "/" in path and "no.md" not in path)


def test_what_lies_elsewhere_is_not_read(connection: sqlite3.Connection) -> None:
    plan = connection.execute(f"EXPLAIN QUERY PLAN {known_ids._IN_RANGE}", ("a/", "a0", 9, 0)).fetchall()
    assert [row[-1] for row in plan] == [
        "SEARCH docs USING COVERING INDEX sqlite_autoindex_docs_1 (path>? AND path<?)"
    ]


@pytest.mark.parametrize(("most", "characters", "kept"), [(13, 999, True), (12, 999, False), (13, 60, False)])
def test_all_ids_are_kept_where_they_are_neither_too_many_nor_too_long(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, most: int, characters: int, kept: bool
) -> None:
    monkeypatch.setattr(known_ids, "STRETCH", 5)
    monkeypatch.setattr(known_ids, "MOST_CHARTED", most)
    monkeypatch.setattr(known_ids, "MOST_CHARACTERS", characters)
    ids, version = KnownIds(), (1, 1)
    for _ in range(2):
        found: list[str] = []
        after: int | None = 0
        while after is not None:
            entries, after = ids.stretch(View(connection, 0), version, after, draw=IdChart)
            found += [path for _, path in entries]
        assert found == PATHS
        assert (ids.chart(version) is not None) is kept
