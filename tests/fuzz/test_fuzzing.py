"""Every harness stands the inputs that are kept, random changes of them, and bytes without any sense."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.fuzz.harnesses import CORPUS, NAMES, ROOMS, corpus, load

MOST_BYTES = 8_192
"""No input that is kept is longer: what it shows can be seen in it."""

COSTLY = {"index": 8, "repeated": 4, "ways": 20, "properties": 20, "queries": 20, "matching": 20, "audit": 20}
"""How many random inputs a harness is given that takes milliseconds for each."""


@cache
def seeds(name: str) -> tuple[bytes, ...]:
    return tuple(corpus(name))


@st.composite
def changed(draw: st.DrawFn, name: str) -> bytes:
    """One of the inputs that are kept, with some stretches replaced by others, of any input or of none."""
    data = draw(st.sampled_from(seeds(name)))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 12)))
        other = draw(st.sampled_from(seeds(name)))
        at = draw(st.integers(0, len(other)))
        data = data[:start] + draw(st.binary(max_size=6) | st.just(other[at : at + 12])) + data[end:]
    return data


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_is_answered_or_refused_as_it_should_be(name: str) -> None:
    harness = load(name)
    for data in seeds(name):
        harness(data)
        assert len(data) <= MOST_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_what_is_random_is_answered_or_refused_as_it_should_be(name: str) -> None:
    harness = load(name)

    @settings(max_examples=examples(COSTLY.get(name, 40), long=2_000), database=None)
    @given(changed(name) | st.binary(max_size=60))
    def try_out(data: bytes) -> None:
        harness(data)

    try_out()


def test_every_harness_has_a_corpus_and_every_corpus_a_harness() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(NAMES)
    assert all(seeds(name) for name in NAMES)


def test_no_harness_is_forgotten() -> None:
    """Each room has just the harnesses that it is listed with: what takes bytes and returns nothing."""
    for room, names in ROOMS.items():
        tree = ast.parse((Path(__file__).parent / f"{room}.py").read_text())
        found = [
            each.name
            for each in tree.body
            if isinstance(each, ast.FunctionDef)
            and not each.name.startswith("_")
            and [ast.unparse(argument) for argument in each.args.args] == ["data: bytes"]
        ]
        assert tuple(found) == names


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("config", b"a = " + b"9" * 5_000),
        ("config", b"[jail]\ncall_deadline_seconds = 0x" + b"f" * 5_000),
    ],
)
def test_what_was_found_stays_mended(name: str, data: bytes) -> None:
    load(name)(data)
