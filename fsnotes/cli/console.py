"""Decides how text reaches a person: nothing that comes from a note or a file name may move their terminal.

Also decides what happens when a result cannot be delivered. What an answer means is left to `confirming`.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sandbox.names import display

MAX_ANSWER: Final = 1024
"""Most bytes of a typed line; a longer one is no answer."""

_BAR: Final = 30
"""Characters of a whole bar."""

_USUAL_WIDTH: Final = 80

# Everything that moves a cursor or reverses the order of what is read. A tab and a line feed are left alone.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_LINE_BREAKS: Final = re.compile("[\r\n\t]+")


class OutputFailed(Exception):
    """The result could not be written: a full disk, a closed descriptor."""


class Console:
    """Standard input, output and error of one command. *log_format* `json` turns each complaint into an object."""

    def __init__(self, *, log_format: str | None = None) -> None:
        self._as_json = log_format == "json"
        self._progressing = False
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A name that the terminal's encoding lacks must not end the listing.
            sys.stdout.reconfigure(errors="backslashreplace")

    @property
    def is_terminal(self) -> bool:
        """Whether results are read by a person: then they are shown for reading, else for programs."""
        return sys.stdout is not None and sys.stdout.isatty()

    @property
    def has_style(self) -> bool:
        """Whether that terminal shows tables: it says what it is, and is no dumb one."""
        return self.is_terminal and _is_capable()

    @property
    def has_colours(self) -> bool:
        """Whether nobody has asked for none (no-color.org)."""
        return not os.environ.get("NO_COLOR")

    def say(self, text: str = "") -> None:
        """Write a line of results. Names in it must have been through `shown`."""
        with _delivered():
            sys.stdout.write(text + "\n")

    def show_json(self, document: Any) -> None:
        """Write a result for programs: ASCII JSON, so that no name can harm a terminal."""
        self.say(json.dumps(document, indent=2, ensure_ascii=True))

    def show_text(self, text: str) -> None:
        """Write a note's text: as it is into a pipe, with control characters made visible on a terminal."""
        if self.is_terminal:
            lines = visible(text.replace("\r\n", "\n"))
            if lines:
                self.say(lines.removesuffix("\n"))
        else:
            with _delivered():
                sys.stdout.flush()
                sys.stdout.buffer.write(text.encode("utf-8"))

    def flush(self) -> None:
        """Deliver what has been written. Raises OutputFailed, and BrokenPipeError when nobody reads any more."""
        if sys.stdout is not None:
            with _delivered():
                sys.stdout.flush()

    # -- standard error ----------------------------------------------------------------------------

    def complain(self, text: str) -> None:
        """Write one line that is no result."""
        line = one_line(text)
        if self._as_json:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            fields = {"time": stamp, "level": "warning", "logger": "fsnotes", "message": line}
            self._murmur(json.dumps(fields))
        else:
            self._murmur(f"fsnotes: {line}")

    def explain(self, text: str) -> None:
        """Write some lines for the person who is about to be asked."""
        self._murmur(visible(text))

    def show_progress(self, what: str, done: int, of: int | None) -> None:
        """Show a person how far something is, on a line that is written again and again; nobody else is told."""
        if not (sys.stderr is not None and sys.stderr.isatty()) or os.environ.get("TERM") == "dumb":
            return
        bar = "" if not of else f"  [{'#' * (done * _BAR // of):<{_BAR}}]"
        self._murmur(f"\r\x1b[K{what}  {done}{f' of {of}' if of is not None else ''}{bar}", end="")
        self._progressing = True

    def end_progress(self) -> None:
        """Take that line away."""
        if self._progressing:
            self._murmur("\r\x1b[K", end="")
            self._progressing = False

    def _murmur(self, text: str, *, end: str = "\n") -> None:
        # A terminal that hung up, a full disk: whoever should have read this does not, and nothing else fails.
        try:
            sys.stderr.write(text + end)
            sys.stderr.flush()
        except OSError:
            pass

    # -- asking ------------------------------------------------------------------------------------

    def can_ask(self) -> bool:
        """Say whether a person sits there: both what we ask with and what we hear with is a terminal."""
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    def ask(self, question: str) -> str | None:
        """Ask on the terminal and return the line that is typed as the answer, None where none is.

        What was typed or pasted before the question was there answers nothing.
        """
        try:
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
            self._murmur(visible(question), end="")
            _await_keys()
            line = sys.stdin.buffer.readline(MAX_ANSWER)
        except (OSError, termios.error):
            return None
        except KeyboardInterrupt:
            self._murmur("")
            raise
        if not line.endswith(b"\n"):
            self._murmur("")
            return None
        return line.decode("utf-8", "replace").strip()

    def hear(self, most: int) -> bytes | None:
        """Return standard input to its end, at most *most* bytes of it; None where it is closed."""
        if sys.stdin is None:
            return None
        if not sys.stdin.isatty():
            return sys.stdin.buffer.read(most)
        self.complain("type the text; Ctrl-D on a line of its own ends it")
        text = b""
        try:
            while len(text) < most:
                _await_keys()
                typed = os.read(sys.stdin.fileno(), most - len(text))
                if not typed:
                    break
                text += typed
        except KeyboardInterrupt:
            self._murmur("")
            raise
        return text


def terminal_width() -> int:
    """Return how many characters a line of the terminal has; 80 where neither COLUMNS nor the terminal says."""
    # As `shutil` has it, which brings the compression libraries along: 5 ms for who needs no width.
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    try:
        return os.get_terminal_size(1).columns or _USUAL_WIDTH
    except OSError:
        return _USUAL_WIDTH


def _is_capable() -> bool:
    return os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def _await_keys() -> None:
    # In short waits: a Ctrl-C right before a read that blocks would be noticed with the next key only.
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        pass


@contextmanager
def _delivered() -> Iterator[None]:
    if sys.stdout is None:
        raise OutputFailed("it is closed")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(error.strerror) from error


def shown(name: str) -> str:
    """Return a name as a person may see it, with what would deceive them made visible."""
    return display(name)


def one_line(text: str) -> str:
    """Return a sentence as one harmless line. Names in it may have been through `shown` already."""
    # `display` doubles every backslash, so that no two names look alike; a sentence is read, not compared.
    return display(_LINE_BREAKS.sub(" ", text)).replace("\\\\", "\\")


def visible(text: str) -> str:
    """Return *text* with its control and reversing characters made visible, line feeds and tabs aside."""
    return _CONTROLS.sub(lambda found: _escape(ord(found[0])), text)


def _escape(number: int) -> str:
    return f"\\x{number:02x}" if number <= 0xFF else f"\\u{number:04x}"
