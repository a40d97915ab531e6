"""Runs what a page shows of a terminal: commands behind `$`, what is typed into them, and what they print.

In a `console` block a command goes on in lines that begin with `>`, as a shell shows it. Behind a question that ends a
line's beginning stands what is typed. What varies from run to run (times, ids of the trash, the home folder, who one
is) is shown as it was at one time, and not compared.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.shell import ROOT, Terminal
from tests.docs.pages import Fence

QUESTION = "yes or no: "
ENTRY = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{32}")
SHOWN_HOME = "/home/alice"
_VARYING = [
    (ENTRY, "<entry>"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?"), "<time>"),
    (re.compile(r"local:\S+ +"), "<principal> "),
]

_PROGRAM = """\
#!{python}
import sys
sys.path.insert(0, {root!r})
from fsnotes.cli import main
words = sys.argv[1:]
if words[0] in {quick!r}:
    words += ["--jail", "off"]
sys.exit(main(words))
"""

_QUICK = (
    "create", "list", "read", "edit", "append", "search", "tags", "move", "links", "delete", "trash", "restore",
)  # fmt: skip
"""Commands that are run without a jail: to start workers takes most of their time, and changes nothing of what they
print. The server that the page starts has them."""


@dataclass(frozen=True)
class Command:
    """A command, the line of the page that it stands in, and what is shown below it."""

    text: str
    line: int
    shown: str


def commands(fence: Fence) -> Iterator[Command]:
    """Yield the commands of a `console` block."""
    begun: list[str] = []
    shown: list[str] = []
    first = fence.line
    for number, line in enumerate(fence.text.splitlines(), start=fence.line):
        if line.startswith("$ "):
            if begun:
                yield Command("\n".join(begun), first, "\n".join(shown))
            begun, shown, first = [line[2:]], [], number
        elif line.startswith(">") and not shown:
            begun.append(line[2:])
        else:
            shown.append(line)
    if begun:
        yield Command("\n".join(begun), first, "\n".join(shown))


@dataclass
class Session:
    """A person at a terminal, with `fsnotes` installed in a home that is empty otherwise."""

    home: Path
    entry: str = field(default="", init=False)
    """The latest trash id that was printed."""

    def __post_init__(self) -> None:
        program = self.home / ".local/bin/fsnotes"
        program.parent.mkdir(parents=True)
        program.write_text(_PROGRAM.format(python=sys.executable, root=str(ROOT), quick=_QUICK))
        program.chmod(0o755)

    @property
    def program(self) -> str:
        """Where `fsnotes` is."""
        return str(self.home / ".local/bin/fsnotes")

    def run(self, command: Command) -> str:
        """Run a command and return what the terminal shows, typed answers among it."""
        text = ENTRY.sub(lambda _: self.entry, command.text)
        typed = re.findall(rf"{QUESTION}(\w+)$", command.shown, re.MULTILINE)
        environ = {
            "HOME": str(self.home),
            "PATH": f"{self.home}/.local/bin:/usr/local/bin:/usr/bin:/bin",
            "TERM": "xterm",
            "NO_COLOR": "1",
            "COLUMNS": "120",
        }
        with Terminal(["sh", "-c", text], environ, self.home, results_too=True) as terminal:
            for word in typed:
                terminal.answer(QUESTION, f"{word}\n")
            seen = terminal.end().err
        for word in typed:
            seen = seen.replace(QUESTION, f"{QUESTION}{word}\n", 1)
        found = ENTRY.search(seen)
        if found is not None:
            self.entry = found[0]
        return seen.replace(str(self.home), SHOWN_HOME)


def same(shown: str, seen: str) -> tuple[str, str]:
    """Return both texts without what varies, to be compared."""
    texts = [shown.rstrip("\n"), seen.rstrip("\n")]
    for pattern, name in _VARYING:
        texts = [pattern.sub(name, text) for text in texts]
    first, second = ("\n".join(line.rstrip() for line in text.splitlines()) for text in texts)
    return first, second
