"""`audit`: what was changed and refused, by whom. Looks at the state folder alone, and changes nothing there."""

from __future__ import annotations

import argparse
import datetime
import json
import re
import select
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from functools import lru_cache
from typing import Final

from fsnotes import vocabulary
from fsnotes.audit import Entry, Follower, History, Wanted, stamp
from fsnotes.cli.console import Console, OutputFailed, shown
from fsnotes.cli.logs import start_logging
from fsnotes.cli.settings import settings_for
from fsnotes.errors import ConfigurationError, Unavailable
from fsnotes.state import StateFolder

MOST: Final = vocabulary.MOST_LINES
"""Most lines that `--limit` may ask for: they are held until the oldest is found."""

FOLLOWED: Final = 10
"""How many lines `--follow` begins with unless told otherwise, as tail(1) does."""

LOOK_SECONDS: Final = 0.2

_TOOL_WIDTH: Final = 10
_OUTCOME_WIDTH: Final = 14
_AGO: Final = re.compile(r"([0-9]{1,6})([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}

# What would make two fields of one, or a path of two: then it stands in quotes.
_AMBIGUOUS: Final = re.compile(r'^$|^-$|^\s|\s$|\s\s|->|"')


def audit(options: argparse.Namespace, console: Console) -> int:
    """Print the log's lines, the oldest first. 0, or 1 where a file of the log could not be read."""
    wanted, limit = _wanted(options, now=time.time()), _limit(options)
    settings = settings_for(options)
    start_logging(settings.log_level, settings.log_format)
    path = StateFolder(settings.state_dir).audit
    show = _Show(console, as_json=options.json)
    with closing(History(path)) as history:
        begun = []
        try:
            found = history.entries(wanted) if limit is None else history.last(wanted, limit)
            for start, entry in found:
                show.entry(entry)
                if start is not None and entry.is_begun:
                    begun.append(start)
        finally:
            show.broken(history.broken)
            show.refused(history.files.refused)
        console.flush()
        if options.follow:
            with closing(Follower(path, history, wanted, begun=begun)) as follower:
                history.close()
                _follow(follower, show, before=history.broken)
    if history.files.refused:
        raise Unavailable("a file of the audit log cannot be read")
    return 0


def _follow(follower: Follower, show: _Show, *, before: int) -> None:
    """Print what comes, until somebody ends it."""
    while True:
        for entry in follower.poll(time.monotonic()):
            show.entry(entry)
        show.flush()
        show.broken(before + follower.broken)
        show.refused(follower.files.refused)
        _wait()


def _wait() -> None:
    """Wait a moment, or raise BrokenPipeError as soon as nobody reads any more, OutputFailed where nobody ever did."""
    if sys.stdout is None:
        raise OutputFailed("it is closed")
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)  # hang-ups and errors are told unasked
        ended = poll.poll(LOOK_SECONDS * 1000)
    except (OSError, ValueError, AttributeError):  # no file, or none that can be waited for
        time.sleep(LOOK_SECONDS)
        return
    if ended:
        raise BrokenPipeError


class _Show:
    """Prints lines, and tells each complaint once."""

    def __init__(self, console: Console, *, as_json: bool) -> None:
        self._console = console
        self._as_json = as_json
        self._told: set[str] = set()
        self._broken = 0

    def entry(self, entry: Entry) -> None:
        """Print a line."""
        self._console.say(_raw(entry) if self._as_json else _human(entry))

    def flush(self) -> None:
        """Deliver what was printed."""
        self._console.flush()

    def broken(self, count: int) -> None:
        """Say how many lines are none, once more when there are more."""
        if count > self._broken:
            self._broken = count
            what = "1 line is" if count == 1 else f"{count} lines are"
            self._console.complain(f"{what} torn, or not the audit log's, and left out")

    def refused(self, names: Iterable[str]) -> None:
        """Say which files are none of ours."""
        for name in names:
            if name not in self._told:
                self._told.add(name)
                self._console.complain(f"{name} is no readable file of this user's, and left out")


def _raw(entry: Entry) -> str:
    """Return the line as it stands in the file, in ASCII: that is how it is written, unless by somebody else."""
    if entry.text.isascii() and entry.text.isprintable():
        return entry.text
    return json.dumps(dict(entry.fields), ensure_ascii=True, separators=(",", ":"))


def _human(entry: Entry) -> str:
    """Return a line for people: when on their clock, who, what, what came of it, where."""
    tool = _field(entry["tool"].removeprefix("notes_"))
    where = [_field(entry["workspace"])]
    if entry["path"]:
        where.append(_field(entry["path"]))
    if entry["newPath"]:
        where += ["->", _field(entry["newPath"])]
    return "  ".join(
        [
            _moment(entry["time"]),
            _field(entry["principal"]),
            f"{tool:<{_TOOL_WIDTH}}",
            f"{_field(entry['outcome']):<{_OUTCOME_WIDTH}}",
            *where,
        ]
    )


@lru_cache(maxsize=4096)  # the same few words stand in most lines
def _field(text: str) -> str:
    """Return a field as a person may see it, in quotes where it could be taken for more than one."""
    if _AMBIGUOUS.search(text):
        quoted = shown(text).replace('"', '\\"')
        return f'"{quoted}"'
    return shown(text)


def _moment(text: str) -> str:
    """Return a line's time on the person's own clock; as it is where no calendar has it."""
    try:
        moment = datetime.datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return text
    return moment.strftime("%Y-%m-%d %H:%M:%S")


# -- what is asked for -----------------------------------------------------------------------------------


def _wanted(options: argparse.Namespace, *, now: float) -> Wanted:
    return Wanted(
        since=None if options.since is None else _since(options.since, now=now),
        principal=options.principal,
        workspace=options.workspace,
        tool=options.tool,
        outcome=options.outcome,
    )


def _limit(options: argparse.Namespace) -> int | None:
    limit: int | None = options.limit
    if limit is None:
        return FOLLOWED if options.follow and options.since is None else None
    if not 0 <= limit <= MOST:
        raise ConfigurationError(f"--limit {limit}: 0 to {MOST}")
    return limit


def _since(text: str, *, now: float) -> str:
    """Return the time that *text* means, as lines have it. Raises ConfigurationError."""
    ago = _AGO.fullmatch(text)
    try:
        if ago:
            return stamp(max(0.0, now - int(ago[1]) * _SECONDS[ago[2]]))
        moment = datetime.datetime.fromisoformat(text)
        # Without an offset it is meant on the clock of whoever typed it.
        return stamp(max(0.0, moment.timestamp()))
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigurationError(
            f"--since {shown(text)}: a time such as 2026-01-31, 2026-01-31T22:59:00Z, or 90m, 2h, 7d ago"
        ) from error
