"""Outcomes as results: two halves, each whole alone, and none too long."""

from __future__ import annotations

import pytest

from fsnotes.errors import NoteTooLarge
from fsnotes.failures import Failure
from fsnotes.server import results

LONGEST = results.MAX_CHARACTERS - 1


def test_the_text_half_is_the_compact_json_of_the_structured_half() -> None:
    document = {"path": "\u00e9\U0001f600.md", "lines": [1, 2]}
    assert results.structured(document) == {
        "content": [{"type": "text", "text": '{"path":"\u00e9\U0001f600.md","lines":[1,2]}'}],
        "structuredContent": document,
        "isError": False,
        "resultType": "complete",
    }


def test_a_note_is_text_only_after_a_block_that_says_what_it_is() -> None:
    assert results.note_text({"path": "a.md"}, "# A\r\n{}") == {
        "content": [{"type": "text", "text": '{"path":"a.md"}'}, {"type": "text", "text": "# A\r\n{}"}],
        "isError": False,
        "resultType": "complete",
    }


def test_a_failure_is_one_line_without_structure() -> None:
    failure = Failure("not_found", "not_found: there is none", 4)
    assert results.failed(failure) == {
        "content": [{"type": "text", "text": "not_found: there is none"}],
        "isError": True,
        "resultType": "complete",
    }


def test_no_half_is_longer_than_a_page() -> None:
    wrapping = len('{"a":""}')
    assert results.structured({"a": "x" * (LONGEST - wrapping)})["isError"] is False
    with pytest.raises(NoteTooLarge):
        results.structured({"a": "x" * (LONGEST - wrapping + 1)})
    assert results.note_text({}, "x" * (LONGEST - 2))["isError"] is False
    with pytest.raises(NoteTooLarge):
        results.note_text({}, "x" * (LONGEST - 1))
