"""The kinds of hurt that editing text caused elsewhere, each in several shapes: none of them happens here.

A kind is named by its mark, and `docs/lessons.md` lists the kinds with their tests.
"""

from __future__ import annotations

import itertools

import pytest

from fsnotes.errors import AmbiguousHeading, AnchorCount, AnchorNotFound, NoteNotFound
from fsnotes.notes import frontmatter
from fsnotes.notes.additions import add
from fsnotes.notes.arguments import Position
from fsnotes.notes.diffs import diff
from fsnotes.notes.replacements import replace, replace_body
from fsnotes.notes.sections import stretch
from fsnotes.notes.splices import apply, inverse

BOM = b"\xef\xbb\xbf"
PLENTY = 10**6


def edited(data: bytes, old: str, new: str, expected: int = 1, heading: str | None = None) -> bytes:
    within = None
    if heading is not None:
        found = stretch(data, heading, path="a.md")
        within = (found.start, found.end)
    splices = replace(data, old, new, path="a.md", most=PLENTY, expected=expected, within=within)
    result = apply(data, splices)
    assert apply(result, inverse(data, splices)) == data
    assert (diff(data, splices).text == "") == (result == data)
    return result


def rewritten(data: bytes, heading: str, new: str) -> bytes:
    found = stretch(data, heading, path="a.md")
    return apply(data, replace_body(data, new, body=found.body, end=found.end, path="a.md", most=PLENTY))


def appended(data: bytes, text: str, heading: str | None = None, position: Position = Position.END) -> bytes:
    where = None
    if heading is not None:
        found = stretch(data, heading, path="a.md")
        where = (found.body, found.end)
    return apply(data, add(data, text, position=position, path="a.md", most=PLENTY, section=where))


def shapes(*texts: str) -> list[bytes]:
    """Each text with each line end, with and without a mark and frontmatter."""
    return [
        mark + (block + text).replace("|", end).encode()
        for mark, block, text, end in itertools.product(
            (b"", BOM), ("", "---|title: Caf\u00e9|---|"), texts, ("\n", "\r\n", "\r")
        )
    ]


def line_end(data: bytes) -> bytes:
    return next(end for end in (b"\r\n", b"\r", b"\n") if end in data)


MIXED = [b"one\r\ntwo\nthree\rfour", BOM + b"one\ntwo\r\nthree\n\rfour\r", b"one\rtwo\r\n\nthree\nfour\n"]


@pytest.mark.kind("line ends")
@pytest.mark.parametrize(
    "data", shapes("one|two|three|", "one|two|three", "|one|two||three||", "```|one|```|two|three")
)
def test_one_edited_line_leaves_the_line_ends_of_all_others(data: bytes) -> None:
    end = line_end(data)
    assert edited(data, "two", "2") == data.replace(b"two", b"2")
    assert edited(data, "two", "2\nzwei\r\ndeux") == data.replace(
        b"two", b"2" + end + b"zwei" + end + b"deux"
    )


@pytest.mark.kind("line ends")
@pytest.mark.parametrize("data", MIXED)
def test_a_mixed_note_is_not_repaired(data: bytes) -> None:
    assert edited(data, "two", "2") == data.replace(b"two", b"2")
    made = edited(data, "three", "three\nmore")
    at = data.index(b"three")
    before = data[:at]
    end = b"\r\n" if before.endswith(b"\r\n") else before[-1:]
    assert made == data.replace(b"three", b"three" + end + b"more")
    assert appended(data, "x").startswith(data)


@pytest.mark.kind("line ends")
@pytest.mark.parametrize(
    "data", [*shapes("one|two|three|", "zero|one|two|three", "# H|one|two|three|"), *MIXED[:2]]
)
@pytest.mark.parametrize("anchor", ["one\ntwo\nthree", "one\r\ntwo\r\nthree", "one\rtwo\rthree"])
def test_an_anchor_matches_whichever_line_ends_there_are(data: bytes, anchor: str) -> None:
    made = edited(data, anchor, anchor.replace("two", "2"))
    assert made == data.replace(b"two", b"2")


@pytest.mark.kind("BOM")
@pytest.mark.parametrize(
    "data", [each for each in shapes("one|two|", "# One|two|", "two") if each.startswith(BOM)]
)
def test_a_note_with_a_mark_keeps_one_mark_and_one_block(data: bytes) -> None:
    block = frontmatter.split(data)
    for made in (
        edited(data, "two", "2"),
        appended(data, "three"),
        appended(data, "three", position=Position.START),
        appended(data, "\ufeffthree", position=Position.START),
        edited(data, data.decode()[: 1 + data.decode().index("two")], "\ufeffx")
        if not block.present
        else data,
    ):
        assert made.startswith(BOM)
        assert made.count(BOM) == 1 or block.present
        found = frontmatter.split(made)
        assert (found.bom, found.opening, found.block, found.closing) == (
            BOM,
            block.opening,
            block.block,
            block.closing,
        )


@pytest.mark.kind("BOM")
@pytest.mark.parametrize(
    "data", [each for each in shapes("one|two|", "# One|two|", "two") if not each.startswith(BOM)]
)
def test_a_note_without_a_mark_gets_none(data: bytes) -> None:
    first = data.decode()[0]
    for made in (
        edited(data, first, "\ufeff" + first, data.decode().count(first)),
        appended(data, "\ufeffzero", position=Position.START),
        appended(data, "three"),
    ):
        assert not made.startswith(BOM)


@pytest.mark.kind("replacement text")
@pytest.mark.parametrize("data", shapes("one|two|three|", "two", "# two|text|"))
@pytest.mark.parametrize(
    "text", ["$&", "\\1", "$$", "\\g<0>", "${two}", "%s {0}", "\\n", "$`$'", "\\", "(.*)", "\x00\x1b[0m"]
)
def test_replacement_text_is_never_expanded(data: bytes, text: str) -> None:
    assert edited(data, "two", text) == data.replace(b"two", text.encode())
    assert edited(data.replace(b"two", text.encode()), text, "two") == data
    assert text.encode() in appended(data, text)


@pytest.mark.kind("anchors")
@pytest.mark.parametrize("data", shapes("one|two|three|", "|one||three", "# one|```|three|```|"))
def test_an_anchor_that_is_not_there_changes_nothing_and_says_what_is_near(data: bytes) -> None:
    with pytest.raises(AnchorNotFound) as caught:
        edited(data, "threee", "x")
    line = data[: data.index(b"three")] + b"x"
    assert (caught.value.line, caught.value.nearest) == (len(line.splitlines()), "three")
    assert edited(data, "three", "x") == data.replace(b"three", b"x")


@pytest.mark.kind("anchors")
@pytest.mark.parametrize("data", shapes("one|two|one|", "one one", "# one||one|text"))
def test_an_anchor_that_is_there_twice_changes_nothing_and_says_where(data: bytes) -> None:
    with pytest.raises(AnchorCount) as caught:
        edited(data, "one", "1")
    lines = [
        number for number, line in enumerate(data.splitlines(), start=1) for _ in range(line.count(b"one"))
    ]
    assert (caught.value.count, list(caught.value.lines)) == (2, lines)
    assert edited(data, "one", "1", 2) == data.replace(b"one", b"1")


@pytest.mark.kind("anchors")
@pytest.mark.parametrize("data", shapes("one|two|one|", "one one", "# one||one|text"))
def test_of_several_expected_places_all_change_or_none(data: bytes) -> None:
    with pytest.raises(AnchorCount) as caught:
        edited(data, "one", "1", 3)
    assert caught.value.count == 2
    assert edited(data, "one", "1", 2).count(b"one") == 0


@pytest.mark.kind("headings")
@pytest.mark.parametrize(
    "data",
    shapes(
        "# A|```|# B|```|# B|old|# C|",
        "# A|````|```|# B|```|````|# B|old|# C|",
        "# A|text||    # B|# B|old|# C|",
        "# A|~~~|# B|```|~~~|# B|old|# C|",
        "# A|<!--|# B|-->|# B|old|# C|",
    ),
)
def test_what_only_looks_like_a_heading_begins_and_ends_no_section(data: bytes) -> None:
    end = line_end(data)
    assert rewritten(data, "B", "new") == data.replace(b"old", b"new")
    at = data.rindex(b"# B")
    start = data.index(b"# A" + end) + 3 + len(end)
    assert rewritten(data, "A", "new") == data[:start] + b"new" + end + data[at:]
    assert appended(data, "new", "A") == data[:at] + b"new" + end + data[at:]


@pytest.mark.kind("headings")
@pytest.mark.parametrize("data", shapes("# A|text|## B|more|", "A|===|text", "# A|```|# Missing|```|"))
def test_a_missing_heading_is_an_error_with_candidates(data: bytes) -> None:
    for change in (rewritten, lambda data, heading, text: appended(data, text, heading)):
        with pytest.raises(NoteNotFound) as caught:
            change(data, "Missing", "x")
        assert caught.value.candidates[0] == "A"
        assert b"x" in change(data, "A", "x")


@pytest.mark.kind("headings")
@pytest.mark.parametrize(
    "data",
    shapes(
        "# A|## T|one|# B|## T|two|",
        "# A||## T||one||# B||## T||two",
        "A|===|T|---|one||B|===|T|---|two|",
    ),
)
def test_twins_are_told_apart_by_their_paths(data: bytes) -> None:
    with pytest.raises(AmbiguousHeading):
        rewritten(data, "T", "x")
    assert rewritten(data, "B/T", "x") == data.replace(b"two", b"x")
    assert rewritten(data, "A/T", "x") == data.replace(b"one", b"x")
    assert edited(data, "two", "x", heading="B/T") == data.replace(b"two", b"x")
    with pytest.raises(AnchorNotFound):
        edited(data, "two", "x", heading="A/T")


@pytest.mark.kind("append")
@pytest.mark.parametrize("data", shapes("one", "one|", "one||", "# A|one", "# A||one|", "```|one"))
@pytest.mark.parametrize("text", ["two", "two\n", "two\r\n", "two\r"])
def test_exactly_one_line_end_stands_between(data: bytes, text: str) -> None:
    end = line_end(data) if set(data) & set(b"\r\n") else b"\n"
    between = b"" if data.endswith((b"\n", b"\r")) else end
    once = appended(data, text)
    assert once == data + between + b"two" + end
    assert appended(once, text) == once + b"two" + end
    assert (
        appended(appended(once, text), "three\nfour") == once + b"two" + end + b"three" + end + b"four" + end
    )


@pytest.mark.kind("append")
@pytest.mark.parametrize(
    "data", [b"", BOM, b"---\na: b\n---", b"---\r\na: b\r\n---\r\n", BOM + b"---\ra: b\r---"]
)
def test_text_is_added_to_a_note_with_nothing_in_it(data: bytes) -> None:
    for position in Position:
        made = appended(data, "one", position=position)
        assert made.startswith(data)
        assert frontmatter.split(made).body.rstrip(b"\r\n") == b"one"
        assert len(made[len(data) :].split()) == 1
        assert made.count(b"one\n") + made.count(b"one\r") == 1


@pytest.mark.kind("append")
@pytest.mark.parametrize(
    "data", shapes("# A|one|# B|two|", "# A|one||# B|two", "# A||one|||# B||two|", "A|===|one||B|===|two")
)
def test_adding_to_a_section_moves_no_blank_line_and_adds_none(data: bytes) -> None:
    end = line_end(data)
    made = data
    for number in range(1, 4):
        made = appended(made, "new", "A")
        assert made == data.replace(b"one" + end, b"one" + end + (b"new" + end) * number)
    made = appended(data, "new", "A", Position.START)
    at = stretch(data, "A", path="a.md").body
    assert made == data[:at] + b"new" + end + data[at:]


@pytest.mark.kind("shrink and grow")
@pytest.mark.parametrize(
    "data", shapes("one|" + "long line |" * 500 + "two", "one two", "# H|" + "x" * 9_000 + "|two|")
)
def test_a_note_has_exactly_the_bytes_of_the_edit_when_it_shrinks_or_grows(data: bytes) -> None:
    longer = edited(data, "two", "2" * 10_000)
    assert longer == data.replace(b"two", b"2" * 10_000)
    assert edited(longer, "2" * 10_000, "") == data.replace(b"two", b"")
    assert edited(longer, "2" * 10_000, "two") == data
    assert b"\x00" not in longer
    text = data.decode()
    assert edited(data, text, "x", heading=None).removeprefix(BOM) == b"x"
