"""Which ids what was typed may mean, and in which order."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsnotes.notes import id_chart
from fsnotes.notes.completing import MOST_MATCHES, Best, folded_ids, rank, wanted
from fsnotes.notes.id_chart import IdChart

words = st.text("aAb\u00e9\u0301/ .", max_size=8)


def best(typed: str, *paths: str, most: int = MOST_MATCHES) -> list[str]:
    found = Best(wanted(typed), most)
    found.take(paths)
    return list(found.paths)


@pytest.mark.parametrize(
    ("typed", "ordered"),
    [
        ("plan", ["plan.md", "planning.md", "x/plan.md", "x/my plan.md", "p-l-a-n.md"]),
        ("PLAN", ["Plan.md", "x/pLan.md"]),
        ("caf\u00e9", ["cafe\u0301.md", "x/caf\u00e9.md"]),
        ("", ["a.md", "b.md", "aa.md"]),
    ],
)
def test_ids_that_begin_with_it_come_first_and_short_ones_before_long_ones(
    typed: str, ordered: list[str]
) -> None:
    assert best(typed, *ordered[::-1]) == ordered
    assert best(typed, *ordered[1:], ordered[0]) == ordered


@pytest.mark.parametrize(
    ("typed", "path"), [("x", "a.md"), ("ba", "ab.md"), ("aa", "a.md"), ("a/b", "ab.md")]
)
def test_ids_without_its_letters_in_this_order_are_none(typed: str, path: str) -> None:
    assert rank(path, wanted(typed)) is None


@given(words, st.text("aAb\u00e9/ .", max_size=8))
def test_an_id_is_meant_by_each_beginning_of_it(path: str, more: str) -> None:
    assert rank(path + more, wanted(path)) is not None


@given(words, st.lists(words, unique=True, max_size=12), st.integers(1, 5), st.randoms())
def test_what_comes_in_stretches_is_ordered_as_if_it_came_at_once(
    typed: str, paths: list[str], most: int, chance: random.Random
) -> None:
    whole = Best(wanted(typed))
    whole.take(paths)
    parts, rest = Best(wanted(typed), most), list(paths)
    while rest:
        size = chance.randint(1, len(rest))
        parts.take(rest[:size])
        rest = rest[size:]
    assert (parts.paths, parts.count) == (whole.paths[:most], whole.count)


@given(words, st.lists(words, unique=True, max_size=30))
def test_a_chart_finds_the_same_ids_in_the_same_order(typed: str, paths: list[str]) -> None:
    whole = Best(wanted(typed))
    whole.take(paths)
    assert tuple(IdChart(folded_ids(paths)).matching(wanted(typed))) == whole.paths


@given(words, st.lists(words, unique=True, max_size=30), st.integers(0, 3))
def test_a_chart_finds_many_as_it_finds_few(typed: str, paths: list[str], few: int) -> None:
    whole = Best(wanted(typed))
    whole.take(paths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(id_chart, "FEW", few)
        patch.setattr(id_chart, "MOST_LETTERS", 2)
        assert tuple(IdChart(folded_ids(paths)).matching(wanted(typed))) == whole.paths


def test_half_a_character_is_in_no_id() -> None:
    assert list(IdChart(folded_ids(["a.md"])).matching(wanted("a\ud800"))) == []


def test_a_chart_takes_every_character_for_itself() -> None:
    paths = [f"a{character}b.md" for character in r"\[]^-.*+?(){}|&~#$ '"]
    chart = IdChart(folded_ids(paths))
    for path in paths:
        assert path in chart.matching(wanted(path[:2]))
        assert next(chart.matching(wanted(path[1:3]))) == path
    assert list(chart.matching("a.*b")) == []


def test_letters_are_looked_for_in_linear_time() -> None:
    chart = IdChart(folded_ids(f"{'a' * 200}/{number:05}.md" for number in range(5_000)))
    begun = time.perf_counter()
    assert list(chart.matching("a" * 150 + "b")) == []
    assert time.perf_counter() - begun < 2.0
