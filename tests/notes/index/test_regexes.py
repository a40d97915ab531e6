"""Regular expressions find what Python's own find, whatever a pattern is no call takes long, and no match is missed."""

from __future__ import annotations

import itertools
import random
import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsnotes.errors import InvalidArgument
from fsnotes.notes.index.combing import Mark, comb, comb_through
from fsnotes.notes.index.folding import folded, tokens
from fsnotes.notes.index.regexes import Pattern, Unfinished, beginning_in, searchable
from fsnotes.notes.index.snippets import MAX_CHARACTERS, Line
from tests.notes.index.shelves import Shelf


def combed(shelf: Shelf, pattern: str, *, limit: int = 50, **how: object) -> list[str]:
    """The paths of all notes in which the pattern matches, page by page."""
    asked = shelf.asked("unused", **how)  # type: ignore[arg-type]
    found: list[str] = []
    after: Mark | None = None
    while True:
        part = comb(
            shelf.reader, shelf.root, Pattern(pattern), asked, limit=limit, clock=lambda: 0.0, after=after
        )
        found += [hit.path for hit in part.hits]
        if part.after is None:
            return found
        after = Mark.parse(str(part.after))


@pytest.mark.parametrize(
    ("pattern", "text", "lines"),
    [
        (r"TODO\(\w+\)", "a\nb TODO(alice) c\nTODO()\n", [(2, "b TODO(alice) c")]),
        ("^foo$", "foo bar\r\nfoo\r\nx foo", [(2, "foo")]),
        ("^foo$", "x\rfoo\ry", [(2, "foo")]),
        ("(?i)straße", "Die STRASSE, die Straße\nSTRAßE", [(1, "Die STRASSE, die Straße"), (2, "STRAßE")]),
        ("a.c", "a\nc\nabc\naéc", [(3, "abc"), (4, "aéc")]),
        (r"\pL+é", "caf\u00e9", [(1, "café")]),
        (r"x\s+y", "x\n\ny", [(1, "x")]),
        ("[0-9]{4}-[0-9]{2}", "on 2024-05-01", [(1, "on 2024-05-01")]),
        ("a|b", "c\nb\na\na\na\na", [(2, "b"), (3, "a"), (4, "a")]),
        ("$", "", [(1, "")]),
        ("\x00", "a\x00b", [(1, "a\x00b")]),
    ],
)
def test_a_pattern_is_shown_on_the_lines_where_it_matches(
    pattern: str, text: str, lines: list[tuple[int, str]]
) -> None:
    made, data = Pattern(pattern), searchable(text.encode())
    found = made.first(data, 0)
    assert isinstance(found, tuple)
    assert [(line.number, line.text) for line in made.lines(data, found)] == lines


@pytest.mark.parametrize("filling", ["word ", "écrit ", "漢字"])
@pytest.mark.parametrize("place", [0, 30, 5_000, 200_000])
def test_a_long_line_is_cut_around_the_match(filling: str, place: int) -> None:
    text = (filling * place)[:place] + " needle7 " + filling * 5_000
    made, data = Pattern(r"needle\d"), text.encode()
    found = made.first(data, 0)
    assert isinstance(found, tuple)
    (line,) = made.lines(data, found)
    assert "needle7" in line.text
    assert len(line.text) <= MAX_CHARACTERS
    assert text[line.column - 1 :].startswith(line.text)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "(",
        "[",
        "*",
        "a**",
        r"(?=x)",
        r"(?<!x)y",
        r"(a)\1",
        "x{1001}",
        "(?P<n>x",
        "\ud800",
        "a" * 1_001,
        "a{500}{500}",
    ],
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        Pattern(pattern)
    assert refused.value.argument == "query"


@pytest.mark.parametrize(
    "pattern", [r".{1000}", r"\pL{3,20}", "(?:(?:.{100}x){10}|.{1000})q", r"(?:\pL\pN){9}"]
)
def test_a_pattern_that_could_take_long_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidArgument, match="too large"):
        Pattern(pattern)


BOMBS = [
    "(a|aa)+$", "(a+)+b", "(x+x+)+y", "(?:a?){500}a{500}b", "x[xy]{500}z", "(?:x|y)*x(?:x|y){20}z", "x.{400}z",
    ".*.*.*.*.*.*=", r"(\w+\s*){1,50}!", "(?i)" + "|".join("x" * n + "." * (40 - n) + "z" for n in range(12)),
    "a{1000}", "((((a*)*)*)*)*b", r"\b(\w|\w\w)*\b!", "[^a]|a[^x]|ax[^y]", "(.?){200}\n",
]  # fmt: skip


@pytest.mark.parametrize("pattern", BOMBS)
def test_no_pattern_makes_a_call_take_long(pattern: str) -> None:
    """Between two looks at the clock there is one stretch, which takes a tenth of a second where it is worst."""
    chance = random.Random(1)  # noqa: S311 - reproducible text
    made = Pattern(pattern)
    for text in (b"a" * 300_000, bytes(chance.choices(b"xy", k=300_000)), b"word " * 60_000):
        start = time.process_time()
        looks = itertools.count()
        made.first(text, 0, is_over=lambda looks=looks: next(looks) >= 0)  # type: ignore[misc]
        assert time.process_time() - start < 0.9


def test_a_large_note_is_searched_in_several_calls_and_nothing_is_missed() -> None:
    pattern = Pattern("x[xy]{300}z")
    assert pattern._stretch < 50_000
    body = b"xy" * 100_000
    for place in range(0, 150_000, 7_777):
        text = body[:place] + b"w" + b"x" * 301 + b"z" + body
        start, calls = 0, 0
        while True:
            found = pattern.first(text, start, is_over=lambda: True)
            if not isinstance(found, Unfinished):
                break
            start, calls = found.offset, calls + 1
        assert found == (place + 1, place + 303)
    assert calls > 3


PIECES = [
    "foo", "Foo", " ", "ab1", r"\.", "-", "^", "x*", "(foo)", "[a-z]", ".", r"\w+", r"\bfoo", "o+", "f{2,30}", "é", "_",
    "$", r"\pL", "[^x]foo", "(?:foo)?", "|", r" ?foo", "fooo?",
]  # fmt: skip
WORDS = ["foo", "Foo", "fooo", " ", "ab1", ".", "-", "\n", "x", "é", "_", "\u0301", "ff"]


@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join),
    st.lists(st.sampled_from(WORDS), max_size=12).map("".join),
)
@example(" x{1,200}foo", " xfoo")
@example("-foo", "é-foo\u0301bar")
def test_every_match_has_the_beginning_that_is_asked_of_the_index(pattern: str, text: str) -> None:
    try:
        made = Pattern(pattern)
    except InvalidArgument:
        return
    if made.first(text.encode(), 0) is not None and made.begins is not None:
        assert any(token.startswith(made.begins) for token in tokens(folded(text)))


@pytest.mark.parametrize(
    ("pattern", "begins"),
    [
        (r"^status: \w+", "status"),
        (r"- \[ \] call", "call"),
        (r"\(TODO\)", "todo"),
        (r" foobar\d", "foobar"),
        (r"foobar", None),
        (r"\bfoobar", None),
        (r" foobars?", "foobar"),
        (r" fo*", None),
        (r" foo|bar", None),
        (r"( foo)?bar", None),
        (r"(?i) foo", None),
        (r"\s+foo", None),
        (r" ?foo", None),
        (r"x{1,200}", None),
        (r" \pLetter", None),
        (r"[ ]foo", None),
        (r"éfoo foob", "foob"),
    ],
)
def test_the_beginning_of_a_word_is_known_where_it_is_certain(pattern: str, begins: str | None) -> None:
    assert beginning_in(pattern) == begins


PATTERNS = [
    r"w\d7",
    r"^# Note \d*3$",
    r"(?i)WORD",
    r" word1\d",
    r"x+y",
    r"note|w12",
    r"\d\d\.",
    "nothing at all",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("limit", [3, 50])
def test_notes_are_found_in_which_the_pattern_matches_and_each_once(
    shelf: Shelf, pattern: str, limit: int
) -> None:
    texts = {f"f{n % 3}/{n}.md": f"# Note {n}\r\n\r\nw{n} word{n} {'x' * (n % 4)}y {n}." for n in range(60)}
    for path, text in texts.items():
        shelf.write(path, text)
    shelf.write("binary.md", b"word1 \xff")
    shelf.settle()
    shelf.rename("f1/7.md", "moved/7.md")
    shelf.refresh("f1/7.md", "moved/7.md")
    texts["moved/7.md"] = texts.pop("f1/7.md")
    python = re.compile(f"(?m){pattern}".replace("(?m)(?i)", "(?mi)"))
    expected = [path for path, text in texts.items() if python.search(text.replace("\r\n", "\n"))]
    assert combed(shelf, pattern, limit=limit) == sorted(
        expected, key=lambda path: -int(path.rpartition("/")[2].removesuffix(".md"))
    )


def test_folder_tag_and_scope_hold_for_patterns_too(shelf: Shelf) -> None:
    for path in ("a/1.md", "a/b/2.md", "c/3.md"):
        shelf.write(path, "a word #t" if path != "a/1.md" else "a word")
    shelf.settle()
    for pattern in ("word", " word"):
        assert combed(shelf, pattern, folder="a") == ["a/b/2.md", "a/1.md"]
        assert combed(shelf, pattern, folders=("c",)) == ["c/3.md"]
        assert combed(shelf, pattern, tag="t") == ["c/3.md", "a/b/2.md"]
        assert combed(shelf, pattern, tag="t", folders=("a",)) == ["a/b/2.md"]


def test_only_notes_with_the_beginning_of_the_word_are_read(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        shelf.write(f"{number}.md", f"state: done{number}")
    shelf.settle()
    seen: list[str] = []
    monkeypatch.setattr(
        "fsnotes.notes.index.combing.read_as_known",
        lambda _, path, *__: seen.append(path) or b"state: done44",
    )
    assert combed(shelf, r": done4\d") == [*(f"{number}.md" for number in range(49, 39, -1)), "4.md"]
    assert len(seen) == 11


def test_a_call_that_took_long_ends_within_a_note_and_goes_on_there(shelf: Shelf) -> None:
    shelf.write("big.md", b"xy" * 200_000 + b" x" + b"y" * 301 + b"z")
    shelf.write("small.md", "nothing")
    shelf.settle()
    pattern = Pattern("x[xy]{300}z| x[xy]{301}z")
    asked = shelf.asked("unused")
    ticks = itertools.count()
    after: Mark | None = None
    calls: list[Mark | None] = []
    hits = []
    for _ in range(10_000):
        part = comb(
            shelf.reader, shelf.root, pattern, asked, limit=5, clock=lambda: float(next(ticks)), after=after
        )
        hits += part.hits
        calls.append(part.after)
        after = part.after
        if after is None:
            break
    assert [hit.path for hit in hits] == ["big.md"]
    assert len(calls) > 10
    paths: tuple[str, ...] = ("big.md", "small.md")
    offset, found = 0, []
    for _ in range(10_000):
        through = comb_through(
            shelf.root, pattern, asked, paths, clock=lambda: float(next(ticks)), offset=offset
        )
        found += through.hits
        paths, offset = through.left, through.offset
        if not paths:
            break
    assert [hit.path for hit in found] == ["big.md"]


@pytest.mark.parametrize("text", ["", "1", "1:", "-1:0", "1:2:3", "9" * 20 + ":0"])
def test_a_mark_that_nobody_wrote_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        Mark.parse(text)
    assert Mark.parse(str(Mark(7, 4096))) == Mark(7, 4096)


def test_a_line_is_a_line_of_a_snippet() -> None:
    made = Pattern("b")
    assert made.lines(b"a\nb", (2, 3)) == (Line(2, 1, "b"),)
