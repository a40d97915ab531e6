"""Adding text: what stands there stays, nothing glues, and no blank line comes but those of the text."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fsnotes.errors import InvalidArgument, NoteTooLarge, NotText
from fsnotes.notes.additions import add
from fsnotes.notes.arguments import Position
from fsnotes.notes.seams import draws_in
from fsnotes.notes.sections import stretch
from fsnotes.notes.splices import apply, inverse
from tests.notes.outlining import headings
from tests.notes.strange_notes import BOM, lf, notes, texts

PATH = "a.md"
PLENTY = 10**6
START, END = Position.START, Position.END


def added(
    data: bytes,
    text: str,
    position: Position = END,
    heading: str | None = None,
    most: int = PLENTY,
) -> bytes:
    where = None
    if heading is not None:
        found = stretch(data, heading, path="a.md")
        where = (found.body, found.end)
    return apply(data, add(data, text, position=position, path=PATH, most=most, section=where))


def blank_lines(data: bytes) -> int:
    return sum(not line.strip(b" \t") for line in lf(data).removesuffix(b"\n").split(b"\n"))


def section_of(data: bytes, number: int) -> tuple[int, int]:
    """Where the body of a note's heading begins, and where its section ends."""
    there = headings(data)
    assume(there)
    place = number % len(there)
    following = next((each for each in there[place + 1 :] if each.level <= there[place].level), None)
    return there[place].end, len(data) if following is None else following.start


@settings(deadline=None, max_examples=300)
@given(notes, texts, st.sampled_from([START, END]), st.none() | st.integers(0, 9))
@example(b"a\r\nb", "text", END, None)
@example(b"---\na: b\n---", "text", START, None)
def test_the_text_is_on_lines_of_its_own_and_all_else_is_as_it_was(
    data: bytes, text: str, position: Position, heading: int | None
) -> None:
    where = None if heading is None else section_of(data, heading)
    assume(text.lstrip("\ufeff"))
    (splice,) = add(data, text, position=position, path=PATH, most=PLENTY, section=where)
    at = splice.start
    assert splice.end == at
    result = apply(data, [splice])
    assert apply(result, inverse(data, [splice])) == data
    # One line end between, if there was none; the text; one line end, if it has none.
    wanted = lf(text.encode())
    if at <= len(BOM) and at == (len(BOM) if data.startswith(BOM) else 0):
        wanted = wanted.removeprefix(BOM)
    wanted += b"" if wanted.endswith(b"\n") else b"\n"
    glued = at > (len(BOM) if data.startswith(BOM) else 0) and data[at - 1 : at] not in (b"\n", b"\r")
    expected = (b"\n" if glued else b"") + wanted
    put = lf(splice.replacement)
    drawn_in = draws_in(data, at) and not wanted.removesuffix(b"\n").endswith(b"\n")
    assert put == expected or (drawn_in and put == expected + b"\n")
    assert lf(result) == lf(data[:at]) + put + lf(data[at:])
    # Cut out again, the note is what it was.
    if not glued:
        assert result[:at] + result[at + len(splice.replacement) :] == data
    if not drawn_in and data.removeprefix(BOM):
        before, after = data.removeprefix(BOM), result.removeprefix(BOM)
        assert blank_lines(after) == blank_lines(before) + blank_lines(wanted)


def outline(data: bytes) -> list[tuple[int, str]]:
    return [(each.level, each.text) for each in headings(data)]


@settings(deadline=None)
@given(notes, st.sampled_from([START, END]), st.none() | st.integers(0, 9))
def test_a_paragraph_that_is_added_becomes_part_of_no_heading(
    data: bytes, position: Position, heading: int | None
) -> None:
    where = None if heading is None else section_of(data, heading)
    result = apply(data, add(data, "plain", position=position, path=PATH, most=PLENTY, section=where))
    assert outline(result) == outline(data)


@settings(deadline=None)
@given(notes, st.sampled_from(["word", "word\n", "word\r\n"]), st.sampled_from([START, END]))
def test_adding_again_and_again_collects_no_blank_lines(data: bytes, text: str, position: Position) -> None:
    there = headings(data)
    assume(there)
    last = there[-1]
    made, before = data, None
    for time in range(5):
        found = headings(made)[-1]
        assert (found.level, found.text) == (last.level, last.text)
        (splice,) = add(made, text, position=position, path=PATH, most=PLENTY, section=(found.end, len(made)))
        made = apply(made, [splice])
        if time == 0:
            before = blank_lines(made)
    assert blank_lines(made) == before
    assert lf(made).count(b"word\n") == lf(data).count(b"word\n") + 5


_CASES = [
    # at the end of a note
    (END, None, "a|", "t", "a|t|"),
    (END, None, "a", "t", "a|t|"),
    (END, None, "a", "t|", "a|t|"),
    (END, None, "a||", "t|", "a||t|"),
    (END, None, "a|  ", "t", "a|  |t|"),
    (END, None, "a|", "t|u", "a|t|u|"),
    (END, None, "a|", "|t||", "a||t||"),
    (END, None, "a", "|t", "a||t|"),
    (END, None, "a|", "|", "a||"),
    (END, None, "a", "|", "a||"),
    (END, None, "a|", "  ", "a|  |"),
    # at the start of a note
    (START, None, "a|", "t", "t|a|"),
    (START, None, "a|", "t|", "t|a|"),
    (START, None, "|a|", "t", "t||a|"),
    (START, None, "# H|a|", "t", "t|# H|a|"),
    (START, None, "Setext|===|", "t", "t||Setext|===|"),
    (START, None, "Setext|===|", "t||", "t||Setext|===|"),
    (START, None, "text|more|", "t", "t|text|more|"),
    # at the end of a section
    (END, "H", "# H|a|# N|", "t", "# H|a|t|# N|"),
    (END, "H", "# H|a||# N|", "t", "# H|a|t||# N|"),
    (END, "H", "# H|a|||# N|", "t|", "# H|a|t|||# N|"),
    (END, "H", "# H|a| |# N|", "t|", "# H|a|t| |# N|"),
    (END, "H", "# H|# N|", "t", "# H|t|# N|"),
    (END, "H", "# H||# N|", "t", "# H|t||# N|"),
    (END, "H", "# H|a|## D|b||# N|", "t", "# H|a|## D|b|t||# N|"),
    (END, "H", "# H|a", "t", "# H|a|t|"),
    (END, "H", "# H|a||", "t", "# H|a|t||"),
    (END, "H", "# H|", "t", "# H|t|"),
    (END, "H", "# H|a||Next|===|b|", "t", "# H|a|t||Next|===|b|"),
    (END, "H", "H|===|a|# N|", "t", "H|===|a|t|# N|"),
    (END, "H", "# H|```|# x|```|# N|", "t", "# H|```|# x|```|t|# N|"),
    (END, "H", "# H|Next|===|", "t", "# H|t||Next|===|"),
    # at the start of a section
    (START, "H", "# H|a|", "t", "# H|t|a|"),
    (START, "H", "# H||a|", "t", "# H|t||a|"),
    (START, "H", "H|===|a|", "t", "H|===|t|a|"),
    (START, "H", "# H|## D|b|", "t", "# H|t|## D|b|"),
    (START, "H", "# H|Deep|---|b|", "t", "# H|t||Deep|---|b|"),
    (START, "H", "# H|a", "t", "# H|t|a"),
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["", "\ufeff", "---|a: b|---|", "\ufeff---|---|"])
@pytest.mark.parametrize(("position", "heading", "note", "text", "result"), _CASES)
def test_where_text_is_added(
    position: Position, heading: str | None, note: str, text: str, result: str, before: str, end: str
) -> None:
    if "|" not in before + note:
        end = "\n"  # nothing in the note tells of another
    data = (before + note).replace("|", end).encode()
    for asked in ("\n", "\r\n", "\r"):
        made = added(data, text.replace("|", asked), position, heading)
        assert made == (before + result).replace("|", end).encode()


@pytest.mark.parametrize("position", [START, END])
@pytest.mark.parametrize(
    ("data", "result"),
    [
        (b"", b"t\n"),
        (BOM, BOM + b"t\n"),
        (b"---\na: b\n---", b"---\na: b\n---\nt\n"),
        (b"---\r\na: b\r\n---\r\n", b"---\r\na: b\r\n---\r\nt\r\n"),
        (BOM + b"---\ra: b\r...", BOM + b"---\ra: b\r...\rt\r"),
        (b"---\n---", b"---\n---\nt\n"),
        (b"---\n---\n", b"---\n---\nt\n"),
    ],
)
def test_a_note_with_nothing_in_it_has_one_place(data: bytes, result: bytes, position: Position) -> None:
    for text in ("t", "t\n", "\ufefft" if data in (b"", BOM) else "t\r"):
        assert added(data, text, position) == result


@pytest.mark.parametrize(
    ("data", "line_end"), [(b"a\r\nb\nc", b"\n"), (b"a\nb\r\nc", b"\r\n"), (b"a\nb\rc\n\r", b"\r")]
)
def test_a_mixed_note_stays_mixed_and_the_text_takes_the_line_end_before_it(
    data: bytes, line_end: bytes
) -> None:
    between = b"" if data.endswith(b"\r") else line_end
    assert added(data, "t\nu\r\n") == data + between + b"t" + line_end + b"u" + line_end


def test_text_that_is_added_under_a_heading_never_joins_line_ends() -> None:
    """A CR before the place and a LF behind it."""
    assert added(b"# H\r\n\nb", "t", START, "H") == b"# H\r\nt\r\n\nb"
    assert lf(added(b"x\r# H\r" + b"\x20\n\nb", "t", START, "H")) == b"x\n# H\nt\n \n\nb"
    data = b"# H\ra\r" + b"\n"
    assert lf(added(data, "t", END, "H")) == b"# H\na\nt\n"


@pytest.mark.parametrize("text", ["", "\ufeff"])
def test_no_text_is_an_invalid_argument(text: str) -> None:
    for position in (START, END):
        with pytest.raises(InvalidArgument) as caught:
            added(b"", text, position)
        assert caught.value.argument == "text"
    assert added(b"a\n", "\ufeff") == "a\n\ufeff\n".encode()


def test_what_is_not_text_or_becomes_too_large_is_refused() -> None:
    with pytest.raises(NotText):
        added(b"\xff", "t")
    with pytest.raises(InvalidArgument):
        added(b"a", "\ud800")
    for text in ("tt", "t" * 100):
        with pytest.raises(NoteTooLarge) as caught:
            added(b"a", text, most=4)
        assert (caught.value.path, caught.value.limit) == (PATH, 4)
    assert added(b"a", "t", most=4) == b"a\nt\n"


def test_a_position_is_named_as_the_caller_names_it() -> None:
    assert [Position("start"), Position("end")] == [START, END]
