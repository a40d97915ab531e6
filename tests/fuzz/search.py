"""Queries and regular expressions, against a reading of their own and against the index."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

from fsnotes.errors import InvalidArgument
from fsnotes.notes.index.bounds import MAX_CHARACTERS
from fsnotes.notes.index.expressions import HEADERS, expression
from fsnotes.notes.index.folding import folded, tokens
from fsnotes.notes.index.matching import Matcher, Subject
from fsnotes.notes.index.queries import Query, parse
from fsnotes.notes.index.regexes import Pattern, Unfinished, searchable
from fsnotes.notes.index.rows import Stat, row_of
from fsnotes.notes.index.schema import COLUMNS
from fsnotes.notes.index.snippets import snippets
from tests.fuzz.supply import Supply
from tests.notes.index import oracle

_TYPED = ("foo", "foo bar", "OR", "-", "*", '"', "tag:", "title:", "path:", "prop:", "=", "#a/b", "(", ")", "C++",
          ".NET", "v1.2", "don't", "漢字", "a.md", "NOT", "é", "ß", " ", "\u0301", "x²", "🎉", "_", "AND")  # fmt: skip


def queries(data: bytes) -> None:
    """A query is refused or reaches FTS5 as what it can read; it finds there what it means, note by note."""
    supply = Supply(data)
    if supply.flag():
        text = " ".join(supply.some(_TYPED, most=6)) + supply.text(12)
    else:
        text = "".join(supply.some(_TYPED, most=8)) + supply.text(30)
    try:
        query = parse(text)
    except InvalidArgument:
        return
    notes = {f"{name}.md": _note(supply) for name in ("a", "b c", "x/漢字")}
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            f"CREATE VIRTUAL TABLE notes USING fts5({', '.join(COLUMNS)}, content='', tokenize='ascii')"
        )
        paths = [path for path, note in notes.items() if _add(connection, path, note)]
        for made in (expression(query), expression(query, columns=HEADERS, folders=["x", 'b" OR'], tag='x"')):
            connection.execute("SELECT rowid FROM notes WHERE notes MATCH ?", (made,)).fetchall()
        found = connection.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rowid", (expression(query),)
        ).fetchall()
    _compare(query, paths, notes, {list(notes)[rowid - 1] for (rowid,) in found})


def _note(supply: Supply) -> bytes:
    words = " ".join(supply.some(_TYPED, most=8))
    front = b"---\nk: one\ntags: [a/b, c]\n---\n" if supply.flag() else b""
    return front + words.encode() + supply.take(supply.below(16))


def _add(connection: sqlite3.Connection, path: str, note: bytes) -> bool:
    row = row_of(path, note, Stat(1, len(note), 1), sure=True)
    if row.words is None:
        return False
    number = {"a.md": 1, "b c.md": 2, "x/漢字.md": 3}[path]
    marks = ", ".join("?" for _ in COLUMNS)
    insert = f"INSERT INTO notes (rowid, {', '.join(COLUMNS)}) VALUES (?, {marks})"  # noqa: S608 - ours
    connection.execute(insert, (number, *row.words))
    return True


def _compare(query: Query, paths: list[str], notes: dict[str, bytes], found: set[str]) -> None:
    matcher = Matcher(query)
    meant = {path for path in paths if matcher.matches(Subject(path, notes[path]))}
    assert meant <= found, (query, meant, found)
    assert not query.exact or meant == found, (query, meant, found)
    for path in meant:
        text = notes[path].decode()
        for line in snippets(matcher, text):
            assert len(line.text) <= MAX_CHARACTERS
            assert 1 <= line.number <= len(text) + 1


def matching(data: bytes) -> None:
    """A query means the notes that a plain reading of it means, character by character."""
    supply = Supply(data)
    sides = tuple(
        oracle.Side(
            must=tuple(_asked(supply) for _ in range(1 + supply.below(3))),
            never=tuple(_asked(supply) for _ in range(supply.below(2))),
        )
        for _ in range(1 + supply.below(2))
    )
    note = _oracles_note(supply)
    try:
        matcher = Matcher(parse(oracle.typed(sides)))
    except InvalidArgument:
        return
    meant = matcher.matches(Subject(note.path, note.text().encode()))
    assert meant == oracle.finds(sides, note), (oracle.typed(sides), note)


_PIECES = (*oracle.WORDS, *oracle.STRETCHES)
_FIELDS = ("", "", "", "title", "path")
_NESTED = ("a", "b", "ab", "a/b", "b/c", "ab/c")


def _asked(supply: Supply) -> oracle.Asked:
    match supply.below(5):
        case 3:
            return oracle.Tag(supply.pick(_NESTED), supply.flag())
        case 4:
            return oracle.Prop(supply.pick(("k", "kk", "m")), supply.pick((None, "one", "two", "a b")))
        case _:
            words = " ".join(supply.pick(_PIECES) for _ in range(1 + supply.below(3)))
            numbers = list(supply.take(supply.below(8)))
            return oracle.Phrase(oracle.spelled(words, numbers), supply.flag(), supply.pick(_FIELDS))


_GAPS = (" ", "\n", ". ", "—", "。", "")


def _oracles_note(supply: Supply) -> oracle.Note:
    def line() -> str:
        parts = [supply.pick(_PIECES) + supply.pick((" ", ". ", "—", "")) for _ in range(supply.below(4))]
        return " ".join("".join(parts).split())

    return oracle.Note(
        path=supply.pick(("", "a/", "ab/x2/", "漢字/")) + supply.pick(("n.md", "ab.md", "漢.md")),
        title=line(),
        headings=tuple(each for each in (line() for _ in range(supply.below(2))) if each),
        tags=tuple(supply.some(_NESTED, most=2)),
        properties=(("k", supply.pick(("one", "two", "a b"))),) if supply.flag() else (),
        body="".join(supply.pick(_PIECES) + supply.pick(_GAPS) for _ in range(supply.below(8))),
    )


_PATTERNS = ("foo", "Foo", " ", "ab1", r"\.", "-", "^", "x*", "(foo)", "[a-z]", ".", "o+", "f{2,30}", "é", "_", "$",
             "[^x]foo", "(?:foo)?", "|", " ?foo", "fooo?", "{", "}", "[", "]", "\\", "(?i)", r"\bfoo", r"\x41",
             r"\pL", r"\Q", "(")  # fmt: skip
_TEXTS = ("foo", "Foo", "fooo", " ", "ab1", ".", "-", "\n", "x", "é", "_", "\u0301", "ff", "\r\n", "A")
_COMMON = frozenset(("foo", "Foo", " ", "ab1", r"\.", "-", "x*", "(foo)", "[a-z]", ".", "o+", "_", "[^x]foo",
                     "(?:foo)?", "|", " ?foo", "fooo?", "^", "$"))  # fmt: skip


def regexes(data: bytes) -> None:
    """A pattern is refused or finds what Python's own finds, and the word that the index is asked for is there."""
    supply = Supply(data)
    pieces, more = supply.some(_PATTERNS, most=6), supply.text(12)
    text = "".join(supply.some(_TEXTS, most=12)) + supply.text(10, errors="replace")
    try:
        pattern = Pattern("".join(pieces) + more)
    except InvalidArgument:
        return
    note = searchable(text.encode())
    found = pattern.first(note, 0)
    assert not isinstance(found, Unfinished)
    if found is not None:
        assert 0 <= found[0] <= found[1] <= len(note)
        for line in pattern.lines(note, found):
            assert len(line.text) <= MAX_CHARACTERS
            assert 1 <= line.number <= note.count(b"\n") + 1
        if pattern.begins is not None:
            assert any(token.startswith(pattern.begins) for token in tokens(folded(text))), pattern.begins
    # Where both know all that there is, and no empty match is repeated.
    if not more and set(pieces) <= _COMMON and note.isascii():
        own = re.search(f"(?m){''.join(pieces)}", note.decode())
        assert (own is None) == (found is None)
        assert own is None or found is None or own.start() == found[0]
