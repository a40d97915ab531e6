"""One change in a process of its own, which kills itself right after one step (`test_root_kills.py`)."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from enum import StrEnum
from typing import cast

from sandbox.names import RelPath
from sandbox.resolve import ResolverChoice
from sandbox.root import Change, Root
from sandbox.steps import ignore

ENTRY = "20260728T101112Z-" + "0" * 32
PATH = RelPath.parse("sub/note.md")
MOVED = RelPath.parse("other/moved.md")
OLD = b"old " * 5_000
STAGED = [RelPath.parse(path) for path in ("one.md", "sub/two.md", "sub/three.md")]
NEW = b"new " * 5_000


def change(root: Root, what: str) -> None:
    """Do one change under the lock."""
    with root.lock(timeout=30):
        match what:
            case "create":
                root.create(PATH, NEW)
            case "replace":
                root.replace(PATH, NEW, expect=root.stat(PATH))
            case "stage":
                staged = root.stage([Change(path, NEW, root.stat(path)) for path in STAGED])
                for each in staged:
                    root.put(each, aside=each.path.parent, path=each.path)
                root.sync(path.parent for path in STAGED)
            case "move":
                root.move(PATH, MOVED, expect=root.stat(PATH))
            case "trash":
                root.trash(PATH, entry=ENTRY, expect=lambda data: data == OLD)
            case "restore":
                root.restore(ENTRY)
            case _:
                raise ValueError(what)


def write_for_ever(root: Root) -> None:
    """Create and replace until somebody kills us."""
    print("ready", flush=True)
    for number in itertools.count():
        with root.lock(timeout=30):
            text = b"%08d\n" % number * 2_000
            root.replace(PATH, text, expect=root.stat(PATH))
            root.create(RelPath.parse(f"made/{os.getpid()}-{number}.md"), text)


def main() -> None:
    """Run as `python -m tests.sandbox.killed WHAT FOLDER RESOLVER STEP`."""
    _, what, folder, resolver, deadly = sys.argv

    def observe(step: StrEnum) -> None:
        if step.value == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    choice = cast(ResolverChoice, resolver)
    with Root.open(folder, resolver=choice, observe=observe if deadly else ignore) as root:
        if what == "write for ever":
            write_for_ever(root)
        change(root, what)


if __name__ == "__main__":
    main()
