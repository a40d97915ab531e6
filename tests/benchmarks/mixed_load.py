"""A mixed load over HTTP that leaves a vault as large as it was: what each client does is undone by what it does next.

Each client is a principal of its own with a connection of its own, and a rate that it keeps: so the time of a call is
that of the server and not of a queue that the clients make.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.vault import FOLDER_SIZE, WORDS
from tests.server.http.raw import Raw
from tests.server.wire import accept

AGAIN: Final = 200
"""How often a call is made again that the server was too busy for."""


@dataclass
class Measured:
    """The calls of all clients since the last look: seconds by kind, and what failed. Thread-safe."""

    times: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    busy: int = 0
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, seconds: float) -> None:
        """Note a call."""
        with self._mutex:
            self.times.setdefault(kind, []).append(seconds)

    def fail(self, what: str) -> None:
        """Note a failure that there should not be."""
        with self._mutex:
            self.failures.append(what)

    def take(self) -> dict[str, list[float]]:
        """Return the times since the last look, and forget them."""
        with self._mutex:
            taken, self.times = self.times, {}
        return taken


class Client:
    """One principal at work, until told to stop. *own* says whether it may change what it can read."""

    def __init__(
        self,
        number: int,
        bearer: str,
        *,
        port: int,
        vault: Path,
        notes: int,
        changes: bool,
        rate: float,
        measured: Measured,
        stop: threading.Event,
    ) -> None:
        self._number = number
        self._bearer = bearer
        self._port = port
        self._vault = vault
        self._notes = notes
        self._pause = 1 / rate
        self._measured = measured
        self._stop = stop
        self._chance = random.Random(number)  # noqa: S311 - which call is next
        self._round = 0
        looks: list[tuple[int, Callable[[], None]]] = [
            (40, self._read),
            (12, self._list),
            (25, self._search),
            (4, self._links),
            (3, self._trash),
            (1, self._tags),
        ]
        changing: list[tuple[int, Callable[[], None]]] = [
            (8, self._edit),
            (4, self._append),
            (3, self._properties),
            (3, self._create_move_delete),
            (2, self._outside),
        ]
        works = [*looks, *(changing if changes else [])]
        self._works = [work for _, work in works]
        self._weights = [weight for weight, _ in works]

    def run(self) -> None:
        """Work."""
        due = time.monotonic() + self._chance.random() * self._pause
        with Raw(self._port) as self._raw:
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                due = max(
                    due + self._pause, time.monotonic() - 1.0
                )  # what was missed for long is not made up for
                (work,) = self._chance.choices(self._works, self._weights)
                try:
                    work()
                except Exception as error:  # noqa: BLE001 - told at the end
                    self._measured.fail(f"{work.__name__}: {error!r}")
                    return

    def _call(self, kind: str, tool: str, *, more: dict[str, Any] | None = None, **arguments: Any) -> Any:
        given = {"workspaceUri": self._vault.as_uri(), **arguments}
        for _ in range(AGAIN):
            begun = time.perf_counter()
            answer = self._raw.call(tool, given, bearer=self._bearer, **(more or {}))
            seconds = time.perf_counter() - begun
            message = answer.message
            result = message.get("result")
            if result is not None and not result.get("isError", False):
                self._measured.add(kind, seconds)
                return result
            text = str(message)
            if "busy: " not in text:
                raise RuntimeError(text[:300])
            self._measured.busy += 1
            time.sleep(0.02)
        raise RuntimeError("busy for ever")

    # -- looking -----------------------------------------------------------------------------------

    def _path(self) -> str:
        number = self._chance.randrange(self._notes)
        return f"folder-{number // FOLDER_SIZE:03d}/note-{number:05d}.md"

    def _read(self) -> None:
        self._call("read", "notes_read", path=self._path())

    def _list(self) -> None:
        self._call("list", "notes_list", folder=self._path().partition("/")[0], limit=50)

    def _search(self) -> None:
        words = self._chance.sample(WORDS, 2)
        query = (
            f'"{words[0]} {words[1]}"'
            if self._chance.random() < 0.5
            else f"note {self._chance.randrange(10**5)}"
        )
        self._call("search", "notes_search", query=query, limit=10)

    def _links(self) -> None:
        self._call("links", "notes_links", path=self._path())

    def _trash(self) -> None:
        self._call("trash", "notes_trash", limit=20)

    def _tags(self) -> None:
        self._call("tags", "notes_tags", limit=20)

    # -- changing ----------------------------------------------------------------------------------

    def _mine(self) -> str:
        """Return the path of a note that this client alone changes; it is made where there is none."""
        path = f"made/client-{self._number}.md"
        if not (self._vault / path).exists():
            self._call("create", "notes_create", path=path, content="# Mine\n\nword 0000000\n")
            self._round = 0
        return path

    def _edit(self) -> None:
        path, former = self._mine(), f"word {self._round:07d}"
        self._round += 1
        self._call("edit", "notes_edit", path=path, oldText=former, newText=f"word {self._round:07d}")

    def _append(self) -> None:
        path = self._mine()
        self._call("append", "notes_append", path=path, text="one more line")
        self._call("edit", "notes_edit", path=path, oldText="one more line\n", newText="")

    def _properties(self) -> None:
        path = self._mine()
        value = self._chance.choice(("new", "old"))
        self._call("properties", "notes_properties", path=path, set=[{"key": "status", "value": value}])

    def _create_move_delete(self) -> None:
        """Make a note, move it, delete it, restore it, delete it for good, and clear the trash as a person does."""
        path = f"made/passing-{self._number}.md"
        self._call("create", "notes_create", path=path, content="# Passing\n\n[[note-00001]]\n")
        moved = f"made/passed-{self._number}.md"
        self._call("move", "notes_move", path=path, newPath=moved, updateLinks=False)
        entry = self._deleted(moved)
        self._call("restore", "notes_restore", trashId=entry)
        shutil.rmtree(self._vault / ".trash" / self._deleted(moved))

    def _deleted(self, path: str) -> str:
        form = self._call("form", "notes_delete", title=path)
        more = {"requestState": form["requestState"], "inputResponses": accept(path)}
        done = self._call("delete", "notes_delete", more=more, title=path)
        return str(done["structuredContent"]["trashId"])

    def _outside(self) -> None:
        """Save a note as another program does, as long as it was."""
        number = self._chance.randrange(self._notes)
        place = self._vault / f"folder-{number // FOLDER_SIZE:03d}" / f"note-{number:05d}.md"
        text = place.read_text()
        aside = place.with_name(f"{self._number}.saving")
        aside.write_text(text[:-8] + f"{self._chance.randrange(10**7):07d}\n")
        aside.replace(place)
