"""What a dry run says of folders that may not be changed, and what the change says then: the same. Run by a test.

As another account where root runs it, since root may do everything. Arguments: a folder to work in, a resolver.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fsnotes.errors import FsnotesError
from fsnotes.notes import frontmatter
from fsnotes.notes.commands import AppendNote, Assignment, EditNote, Moved, SetProperties
from fsnotes.notes.counting import until_counted
from fsnotes.notes.handlers import handle
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace
from sandbox.names import ROOT, check_new_name
from sandbox.root import Root
from tests.notes.movers import move

FILES = {
    "open/n.md": "[[r]] [x](../ro/r.md)\n",
    "open/m.md": "m\n",
    "ro/r.md": "[[m]] r\n",
    "ro/sub/s.md": "s\n",
    "other/o.md": "o\n",
    "drop/d.md": "d\n",
}
MODES = {"ro": 0o555, "drop": 0o300, "ro/sub": 0o555}

Run = Callable[[object], object]


def main(top: str, resolver: str) -> None:
    frontmatter.yaml()
    check_new_name("x.md")  # loads what the other account may not be allowed to
    if os.geteuid() == 0:
        os.chown(top, 65534, 65534)
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    for number, (name, case) in enumerate(CASES.items()):
        told = []
        for dry_run in (True, False):
            with vault(Path(top) / f"{number}{dry_run}", resolver) as (run, snapshot):
                before = snapshot()
                told.append(answer(partial(case, run, dry_run)))
                if (dry_run or "refused" in name) and snapshot() != before:
                    raise SystemExit(f"{name}: something has changed")
        if told[0] != told[1]:
            raise SystemExit(f"{name}: the dry run says {told[0]}, the change {told[1]}")
        if ("refused" in name) != told[0].startswith("Unavailable: the file system gives no permission"):
            raise SystemExit(f"{name}: {told[0]}")


def answer(call: Callable[[], object]) -> str:
    try:
        return repr(call())
    except FsnotesError as error:
        return f"{type(error).__name__}: {error}"


@contextmanager
def vault(folder: Path, resolver: str) -> Iterator[tuple[Run, Callable[[], object]]]:
    for path, text in FILES.items():
        (folder / "v" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "v" / path).write_text(text)
    (folder / "part").mkdir()
    for path, mode in MODES.items():
        (folder / "v" / path).chmod(mode)
    root = Root.open(folder / "v", resolver=resolver)  # type: ignore[arg-type]
    workspace = Workspace(root, part=str(folder / "part"))

    def run(command: object) -> object:
        return until_counted(
            lambda: handle(workspace, Scope((ROOT,)), command),  # type: ignore[arg-type]
            abandoned=lambda: False,
        )

    def snapshot() -> object:
        return sorted(
            (str(path), path.is_file() and path.read_text()) for path in (folder / "v").glob("[or]*/**/*")
        )

    yield run, snapshot
    workspace.close()


def moved(path: str, new_path: str, told: str | None = None) -> Callable[[Run, bool], object]:
    def case(run: Run, dry_run: bool) -> object:
        reply: Moved = move(run, path, new_path, dry_run=dry_run)  # type: ignore[arg-type]
        if told is not None and [each.path for each in reply.left_alone] != [told]:
            raise SystemExit(f"{path}: {reply.left_alone}")
        return reply

    return case


CASES: dict[str, Callable[[Run, bool], object]] = {
    "an edit that is refused": lambda run, dry: run(EditNote("ro/r", "q", "[[m", dry_run=dry)),
    "an addition that is refused": lambda run, dry: run(AppendNote("ro/r", "q", dry_run=dry)),
    "a property that is refused": lambda run, dry: run(
        SetProperties("ro/r", (Assignment("a", "1"),), dry_run=dry)
    ),
    "an edit in a folder that may not be listed, refused": lambda run, dry: run(
        AppendNote("drop/d", "q", dry_run=dry)
    ),
    "an edit that changes nothing": lambda run, dry: run(EditNote("ro/r", "m", "m", dry_run=dry)),
    "an edit elsewhere": lambda run, dry: run(AppendNote("open/m", "q", dry_run=dry)),
    "a move out of it, refused": moved("ro/r", "open/r"),
    "a move into it, refused": moved("open/n", "ro/n"),
    "a move into a new folder in it, refused": moved("open/n", "ro/a/b/n"),
    "a move within it, refused": moved("ro/r", "ro/q"),
    "a folder out of it, refused": moved("ro/sub", "open/sub"),
    "a folder that may not be written to, refused": moved("ro", "open/ro"),
    "a folder that may not be written to, which keeps its parent": moved("ro", "so"),
    "a folder into it, refused": moved("other", "ro/other"),
    "a move into a folder that may not be listed, refused": moved("open/n", "drop/n"),
    "a move with a link in it": moved("open/m", "open/mm", "ro/r.md"),
    "a move elsewhere": moved("other/o", "open/deep/o"),
    "a folder elsewhere": moved("other", "open/other"),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
