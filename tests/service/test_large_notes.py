"""A workspace that allows the largest notes there may be is searched all the same, in bounded time and memory."""

from __future__ import annotations

import time

import pytest

from sandbox.policy import Policy
from tests.service.conftest import ALICE, Household

MOST = 16 << 20
"""The largest `max_note_bytes` that can be configured."""


@pytest.mark.parametrize("unit", ["a\n=\n", "*_", "[a](", "word "])
def test_the_largest_note_of_any_shape_is_searched_with_the_others(household: Household, unit: str) -> None:
    household.policy = Policy(max_file_bytes=MOST)
    last = b"\n\nthe needle\n"
    household.write("a.md", (unit * (MOST // len(unit))).encode()[: MOST - len(last)] + last)
    household.write("b.md", "a needle #tag")
    service = household.service()
    start = time.monotonic()
    for query, more, expected in [
        ("needle", {}, ["a.md", "b.md"]),
        ('"the needle" -nowhere', {}, ["a.md"]),
        ("nowhere", {}, []),
        ("needle", {"tag": "tag"}, ["b.md"]),
    ]:
        pages = [service.search(ALICE, household.uri, query, **more)]
        while pages[-1].cursor is not None:  # a page is answered after about a second
            pages.append(service.search(ALICE, household.uri, query, cursor=pages[-1].cursor, **more))
        assert [hit.path for page in pages for hit in page.hits] == expected
        assert not any(page.skipped for page in pages)
    assert time.monotonic() - start < 20
