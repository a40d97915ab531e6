"""Log records on stderr: a name in one moves no terminal and forges no second record."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from unittest import mock

from fsnotes.cli.logs import start_logging


@contextlib.contextmanager
def stderr() -> Iterator[io.StringIO]:
    """Give what is written to stderr; the handlers of the test run come back afterwards."""
    log = logging.getLogger()
    handlers, level = log.handlers[:], log.level
    stream = io.StringIO()
    try:
        with mock.patch.object(sys, "stderr", stream):
            yield stream
    finally:
        log.handlers[:], log.level = handlers, level


def crash(name: str) -> None:
    try:
        raise ValueError(name)
    except ValueError:
        logging.getLogger("fsnotes.test").exception("failed: %s", name)


def test_a_name_in_a_record_forges_no_line_and_moves_no_terminal() -> None:
    with stderr() as said:
        start_logging("info", "text")
        logging.getLogger("fsnotes.test").info("name %s", "a\nfsnotes: ERROR forged\x1b[2J\u202e")
        logging.getLogger("fsnotes.test").debug("not shown")
    assert (
        said.getvalue() == "fsnotes: INFO fsnotes.test: name a\\u000afsnotes: ERROR forged\\u001b[2J\\u202e\n"
    )


def test_a_trace_keeps_its_lines_and_moves_no_terminal() -> None:
    with stderr() as said:
        start_logging("error", "text")
        crash("a\x1b[2J")
    first, second, *_, last = said.getvalue().splitlines()
    assert (first, second, last) == (
        "fsnotes: ERROR fsnotes.test: failed: a\\u001b[2J",
        "Traceback (most recent call last):",
        "ValueError: a\\u001b[2J",
    )


def test_a_record_as_json_is_one_line_with_its_time_in_utc() -> None:
    with stderr() as said:
        start_logging("warning", "json")
        crash("a\nb")
    (line,) = said.getvalue().splitlines()
    record = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record.pop("time"))
    assert record.pop("exception").startswith("Traceback (most recent call last):\n")
    assert record == {"level": "error", "logger": "fsnotes.test", "message": "failed: a\nb"}
