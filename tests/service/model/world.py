"""A world for the model: two workspaces, what lies around them, and an account of it all that is kept in memory.

Whatever text is written anywhere carries a mark that nothing else carries, so that an answer tells by itself which
files its text is from.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fsnotes import wiring
from fsnotes.access import Right, Rule
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.notes.etags import etag
from fsnotes.notes.model import is_note
from sandbox.names import OWN_PREFIX, RelPath
from tests.disk import Tree

MARK: Final = re.compile(r"tok[0-9]+q")
CANARY: Final = "canary-that-is-outside"
OF_PAPERS: Final = "of-papers-alone"

ALICE, BOB = "alice", "bob"
"""ALICE may do everything in `Notes` and nothing in `Papers`; BOB everything in `Notes/shared`, and reads `Papers`."""

SHARED: Final = "shared/"
TRASH: Final = ".trash/"


def token(number: int) -> str:
    """Return the mark of the text *number*."""
    return f"tok{number}q"


def marks(text: str) -> set[str]:
    """Return the marks in a text."""
    return set(MARK.findall(text))


@dataclass
class Essence:
    """Etags and kinds by path, and the etags in the trash by the paths in its entries, whatever these are called."""

    places: dict[str, str]
    trash: Counter[tuple[str, str]]

    def copy(self) -> Essence:
        """Return another one that is equal."""
        return Essence(dict(self.places), Counter(self.trash))


@dataclass(frozen=True)
class Tale:
    """What there is in `Notes` at one moment.

    *things* are all paths: the bytes of files, `=> target` for links, kinds for the rest; *twice* are files of several
    names.
    """

    things: Mapping[str, object]
    twice: frozenset[str]

    @property
    def notes(self) -> dict[str, bytes]:
        """Return the notes that are served: plain files of one name, neither hidden nor in a hidden folder."""
        return {
            path: data
            for path, data in self.things.items()
            if isinstance(data, bytes)
            and is_note(path.rpartition("/")[2])
            and path not in self.twice
            and not any(part.startswith(".") for part in path.split("/"))
        }

    @property
    def trash(self) -> dict[str, dict[str, bytes]]:
        """Return the files in the trash, by entry and by the path in it; what was swept is among them."""
        found: dict[str, dict[str, bytes]] = {}
        for path, data in self.things.items():
            if path.startswith(TRASH) and isinstance(data, bytes):
                entry, _, inner = path.removeprefix(TRASH).partition("/")
                found.setdefault(entry, {})[inner] = data
        return found

    @property
    def deleted(self) -> dict[str, tuple[str, bytes]]:
        """Return what was deleted by a confirmation: the path and the bytes in each entry."""
        return {
            entry: next(iter(held.items()))
            for entry, held in self.trash.items()
            if not entry.startswith("swept-")
        }

    @property
    def temporaries(self) -> list[str]:
        """Return what killed writes left, but for what was swept."""
        return [path for path in self.things if _is_temporary(path)]

    @property
    def folders(self) -> list[str]:
        """Return the folders that are not hidden."""
        return sorted(
            path for path, what in self.things.items() if what == "folder" and not path.startswith(".")
        )

    def essence(self) -> Essence:
        """Return what must be told by an answer where it changes. Folders and temporaries are left out."""
        places = {
            path: etag(what) if isinstance(what, bytes) else str(what)
            for path, what in self.things.items()
            if what != "folder" and not path.startswith(TRASH) and not _is_temporary(path)
        }
        return Essence(places, Counter((path, etag(data)) for path, data in self.deleted.values()))

    def marks(self, paths: Iterable[str]) -> set[str]:
        """Return the marks in the files at *paths*."""
        found: set[str] = set()
        for path in paths:
            data = self.things[path]
            if isinstance(data, bytes):
                found |= marks(data.decode("utf-8", "replace"))
        return found

    def all_marks(self) -> set[str]:
        """Return the marks of everything there is, temporaries and the trash among it."""
        return self.marks(self.things)

    def readable(self, principal: str) -> set[str]:
        """Return the marks that a principal may be shown: those of notes, also deleted ones, in its folders."""
        folder = SHARED if principal == BOB else ""
        found = self.marks(path for path in self.notes if path.startswith(folder))
        for entry in self.trash.values():
            for path, data in entry.items():
                if path.startswith(folder):
                    found |= marks(data.decode("utf-8", "replace"))
        return found


def _is_temporary(path: str) -> bool:
    return path.rpartition("/")[2].startswith(OWN_PREFIX) and not path.startswith(TRASH)


@dataclass
class World:
    """The folder of everything: `Notes` and `Papers`, a twin by prefix, what is outside, and the state."""

    top: Path

    @property
    def notes(self) -> Path:
        """The workspace of which most is told here."""
        return self.top / "Notes"

    @property
    def uri(self) -> str:
        """Its URI."""
        return self.notes.as_uri()

    @property
    def papers(self) -> str:
        """The URI of the other one."""
        return (self.top / "Papers").as_uri()

    def build(self) -> None:
        """Make the folders, and what must never be read or changed."""
        papers = f"# Paper\n\n{OF_PAPERS} common\n"
        Tree(self.top).build(
            "Notes/shared/",
            "Notes/private/",
            f"Papers/paper.md: {papers}",
            f"Papers/deep/other.md: {papers}",
            f"Notes-twin/a.md: # Twin\n\n{CANARY} common\n",
            f"outside/secret.md: # Secret\n\n{CANARY} common #alpha\n",
            f"outside/shared/a.md: # A\n\n{CANARY} common\n",
            f"outside/.trash/a.md: {CANARY}\n",
        )

    def around(self) -> dict[str, object]:
        """Return what is outside of `Notes`: also when each file was written and what its mode is."""
        found: dict[str, object] = {}
        for name in ("outside", "Notes-twin", "Papers"):
            tree = Tree(self.top / name)
            for path, what in tree.snapshot().items():
                status = os.lstat(tree.path(path))
                # A folder's time is not told: a look that is allowed makes nothing, and what is made is seen.
                when = status.st_mtime_ns if isinstance(what, bytes) else 0
                found[f"{name}/{path}"] = (what, stat.S_IMODE(status.st_mode), when)
        return found | {name: "" for name in os.listdir(self.top) if not name.startswith("state")}

    def look(self) -> Tale:
        """Return what there is in `Notes`."""
        tree = Tree(self.notes)
        things = tree.snapshot()
        twice = frozenset(
            path
            for path, what in things.items()
            if isinstance(what, bytes) and os.lstat(tree.path(path)).st_nlink > 1
        )
        return Tale(things, twice)

    def settings(self, *, state: str, jailed: bool) -> Settings:
        """Return the configuration of a server with that state folder."""
        return Settings(
            state_dir=str(self.top / state),
            workspaces=tuple(
                WorkspaceSettings(name, str(self.top / name), str(self.top / name))
                for name in ("Notes", "Papers")
            ),
            rules=(
                _rule(ALICE, "Notes", "", *Right),
                _rule(BOB, "Notes", "shared", *Right),
                _rule(BOB, "Papers", "", Right.READ),
            ),
            jail_mode="require" if jailed else "off",
            decline_memory_seconds=1.0,
        )


def _rule(name: str, workspace: str, folder: str, *rights: Right) -> Rule:
    return Rule(f"token:{name}", workspace, RelPath.parse_folder(folder), frozenset(rights))


Resolver = wiring.ResolverChoice
