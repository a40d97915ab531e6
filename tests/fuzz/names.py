"""URIs, names, patterns of names, and cursors."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from fnmatch import fnmatchcase
from urllib.parse import unquote_to_bytes, urlsplit

from fsnotes.errors import InvalidArgument
from fsnotes.notes.globs import Glob, Pattern, composed
from fsnotes.notes.index.combing import Mark
from fsnotes.notes.index.searching import Position
from fsnotes.pages import Query
from fsnotes.search_places import InIndex, read_place
from sandbox.errors import InvalidPath, InvalidUri, UnacceptableName
from sandbox.names import (
    MAX_DEPTH,
    MAX_PATH_BYTES,
    RelPath,
    check_new_name,
    component_fault,
    component_of,
    display,
    is_deceptive,
    is_hidden,
)
from sandbox.uris import FileUri
from tests.fuzz.supply import Supply, text_of

_FORBIDDEN = ("/", "\\", "\0")


def uris(data: bytes) -> None:
    """A URI that is taken names what the standard library reads in it, and never anything above or beside it."""
    text = text_of(data)
    try:
        uri = FileUri.parse(text)
    except InvalidUri:
        return
    assert all(part and part not in (".", "..") for part in uri.parts)
    assert not any(mark in part for part in uri.parts for mark in _FORBIDDEN)
    for again in (
        FileUri.parse(str(uri)),
        FileUri.parse(f"{uri}/" if uri.parts else str(uri)),
        FileUri.from_path("/" + "/".join(uri.parts)),
    ):
        assert again == uri
        assert hash(again) == hash(uri)
    assert str(uri).isascii()
    read = urlsplit(text)
    assert (read.scheme, read.query, read.fragment) == ("file", "", "")
    assert read.netloc.lower() in ("", "localhost")
    parts = tuple(unquote_to_bytes(part).decode() for part in read.path.split("/") if part)
    assert parts == uri.parts
    for depth in range(len(parts) + 1):
        base = FileUri(parts[:depth])
        assert uri.relative_to(base) == parts[depth:]
        if depth and len(parts[depth - 1]) > 1 and parts[depth - 1][:-1] not in (".", ".."):
            # A prefix of letters is no folder above.
            assert uri.relative_to(FileUri((*parts[: depth - 1], parts[depth - 1][:-1]))) is None


def names(data: bytes) -> None:
    """A path is its components and nothing else; what is shown of a name is never deceptive, and only that name's."""
    text = text_of(data)
    with contextlib.suppress(InvalidPath):
        path = RelPath.parse(text)
        assert str(path) == text
        assert path.parts == tuple(text.split("/"))
        assert len(path.parts) <= MAX_DEPTH
        assert len(path.encoded()) <= MAX_PATH_BYTES
        assert not any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in path.parts)
        assert is_hidden(path) == ("/." in f"/{text}")
        assert RelPath.parse_folder(f"{text}/") == path
        assert path.starts_with(path.parent)
        assert path.parent.child(path.name) == path
    found = component_of(data)
    if found is not None:
        assert found.encode() == data
        assert component_fault(found) is None
    _check_shown(text)
    _check_shown(data)
    try:
        check_new_name(text)
    except UnacceptableName:
        return
    assert component_fault(text) is None
    assert unicodedata.normalize("NFC", text) == text == text.strip()
    assert not is_deceptive(text)
    assert text[0] != "." != text[-1]
    assert not set(text) & set('<>:"|?*/\\')
    assert display(text) == text


def _check_shown(name: str | bytes) -> None:
    shown = display(name)
    shown.encode()
    assert not is_deceptive(shown)
    text = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
    back = re.sub(
        r"\\(?:\\|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))",
        lambda found: (
            "\\"
            if found[0] == "\\\\"
            else chr(0xDC00 + int(found[1], 16))
            if found[1]
            else chr(int(found[2] or found[3], 16))
        ),
        shown,
    )
    assert back == text


_COMPONENTS = (
    "a",
    "b",
    "ab",
    "é",
    "e\u0301",
    "*",
    "?",
    "**",
    "[a-b]",
    "[!a]",
    "a*",
    "*.md",
    "a.md",
    "[",
    "",
    ".",
)


def globs(data: bytes) -> None:
    """A pattern matches what it matches when it is tried in every way that there is."""
    supply = Supply(data)
    steps = supply.some(_COMPONENTS, most=4) if supply.flag() else [supply.text(20)]
    parts = tuple(part for part in supply.some(_COMPONENTS, most=5) if part) or ("a",)
    text = "/".join(steps)
    pattern = Pattern(text)
    wanted = [step for step in unicodedata.normalize("NFC", text).strip("/").split("/") if step]
    place = composed(parts)
    assert pattern.matches(place, above=False) == (bool(wanted) and _fits(wanted, place))
    assert pattern.matches(place, above=True) == (
        bool(wanted) and any(_fits(wanted, place[:depth]) for depth in range(1, len(place) + 1))
    )
    with contextlib.suppress(InvalidArgument):
        Glob(text).matches("/".join(parts))


def _fits(steps: list[str], parts: tuple[str, ...]) -> bool:
    if not steps:
        return not parts
    if steps[0] == "**":
        return any(_fits(steps[1:], parts[skipped:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], steps[0]) and _fits(steps[1:], parts[1:])


def cursors(data: bytes) -> None:
    """A cursor is a position of this query or none, and what is made of a position says it again."""
    query = Query("notes_search", "file:///w", "word")
    for text in (text_of(data), query.cursor(tuple(Supply(data).text(20, errors="replace").split("\0")))):
        with contextlib.suppress(InvalidArgument):
            position = query.position(text)
            assert position is not None
            assert query.position(query.cursor(position)) == position
            place = read_place(position)
            if isinstance(place, InIndex):
                assert all(type(path) is str and path.encode() is not None for path in place.without)
            again = read_place(place.written())
            assert again == read_place(again.written())
    for kind in (Mark, Position):
        with contextlib.suppress(InvalidArgument):
            mark = kind.parse(text_of(data))
            assert kind.parse(str(mark)) == mark
