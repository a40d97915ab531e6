"""Where one of several serving processes begins: with what only its parent can have given it."""

from __future__ import annotations

from collections.abc import Sequence

from fsnotes import cli
from fsnotes.cli.console import Console
from fsnotes.errors import ConfigurationError
from fsnotes.failures import describe


def main(arguments: Sequence[str]) -> int:
    """Run a child; *arguments* are two descriptors, `first` or `further`, and a command line."""
    from fsnotes.server.http.child import Child

    try:
        listening, link, turn, *words = arguments
        child = Child.begun(int(listening), int(link), is_first=turn == "first")
    except (ConfigurationError, ValueError):
        failure = describe(ConfigurationError("this is started by fsnotes serve, and by nobody else"))
        Console().complain(failure.line)
        return failure.exit_code
    return cli.main(words, child=child)
