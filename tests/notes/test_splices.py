"""Splices: what is outside of them stays, and each can be undone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsnotes.notes.splices import Splice, apply, inverse, resulting_size


@st.composite
def edits(draw: st.DrawFn) -> tuple[bytes, list[Splice]]:
    data = draw(st.binary(max_size=40))
    places = sorted(
        draw(st.lists(st.integers(0, len(data)), max_size=8).filter(lambda found: len(found) % 2 == 0))
    )
    pairs = zip(places[::2], places[1::2], strict=True)
    return data, [Splice(start, end, draw(st.binary(max_size=5))) for start, end in pairs]


@given(edits())
def test_only_the_bytes_of_the_splices_change(edit: tuple[bytes, list[Splice]]) -> None:
    data, splices = edit
    outside, inside = [], []
    position = 0
    for splice in splices:
        outside.append(data[position : splice.start])
        inside.append(splice.replacement)
        position = splice.end
    outside.append(data[position:])
    result = apply(data, splices)
    for kept, put in zip(outside, [*inside, b""], strict=True):
        assert result.startswith(kept + put)
        result = result[len(kept + put) :]
    assert result == b""


@given(edits())
def test_applying_and_undoing_gives_the_same_bytes(edit: tuple[bytes, list[Splice]]) -> None:
    data, splices = edit
    result = apply(data, splices)
    undoing = inverse(data, splices)
    assert apply(result, undoing) == data
    assert apply(data, inverse(result, undoing)) == result
    assert resulting_size(data, splices) == len(result)


def test_no_splice_changes_nothing() -> None:
    assert apply(b"note", []) == b"note"
    assert inverse(b"note", []) == ()


@pytest.mark.parametrize(
    "splices",
    [
        [Splice(0, 2, b""), Splice(1, 3, b"")],
        [Splice(2, 3, b""), Splice(0, 1, b"")],
        [Splice(0, 5, b"")],
        [Splice(5, 5, b"x")],
    ],
)
def test_splices_that_overlap_stand_in_disorder_or_behind_the_end_are_refused(splices: list[Splice]) -> None:
    for function in (apply, inverse):
        with pytest.raises(ValueError):
            function(b"note", splices)


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (2, 1)])
def test_a_splice_that_cannot_be_meant_is_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError):
        Splice(start, end, b"")


def test_splices_that_touch_are_made_in_their_order() -> None:
    splices = [Splice(0, 1, b"x"), Splice(1, 1, b"y"), Splice(1, 4, b"z"), Splice(4, 4, b"!")]
    assert apply(b"note", splices) == b"xyz!"
    assert apply(b"xyz!", inverse(b"note", splices)) == b"note"
