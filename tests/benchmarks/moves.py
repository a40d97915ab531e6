"""What moving a note costs among many, with links to it in some, inline and jailed: surveyed, rewritten and durable."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Final

from fsnotes import wiring
from fsnotes.access import Principal, Right, Rule
from fsnotes.calls import Call
from fsnotes.config import Settings, WorkspaceSettings
from sandbox.names import ROOT
from sandbox.policy import Policy
from tests.benchmarks.report import Report, alternate
from tests.benchmarks.vault import make_vault

NOTES: Final = 10_000
BACKLINKS: Final = 50
MAX_MOVE: Final = 0.5
"""Seconds, with the notes in the page cache."""

ME: Final = Call(Principal("local:benchmark"), request_id="1")


class MoveBench:
    """Measures on a vault of its own beneath *top*."""

    def __init__(self, top: Path, report: Report, rounds: int) -> None:
        self.top = top / "moves"
        self.vault = self.top / "Notes"
        self.report = report
        self.rounds = rounds
        make_vault(self.vault, NOTES)
        (self.vault / "Goal 0.md").write_text(
            "# Goal\n\n[[Note 3]] [x](folder-003/note-00300.md)\n", encoding="utf-8"
        )
        chance = random.Random(1)  # noqa: S311 - reproducible places, no secret
        for number in chance.sample(range(NOTES), BACKLINKS):
            with (self.vault / f"folder-{number // 100:03d}" / f"note-{number:05d}.md").open("a") as file:
                file.write("\nsee [[Goal 0]]\n")
        # What was just made is listed again and again, since a folder's time ticks coarsely.
        time.sleep(2.5)

    def run(self) -> None:
        """Measure both ways, in turn: the note goes to and fro."""
        print(
            f"\na note with {BACKLINKS} links to it among {NOTES}, medians of {self.rounds * 2} alternating rounds",
            flush=True,
        )
        sides = [self._product("off"), self._product("best-effort")]
        names = [f"folder-{number:03d}/Goal {number}" for number in range(1, 10)]
        places = ["Goal 0"]

        def move(product: wiring.Product) -> float:
            new = names[len(places) % len(names)]
            begin = time.perf_counter()
            moved = product.service.move(ME, self.vault.as_uri(), places[-1], new)
            seconds = time.perf_counter() - begin
            assert moved.reply.relinked_count >= BACKLINKS
            places.append(new)
            return seconds

        def look(product: wiring.Product) -> float:
            begin = time.perf_counter()
            product.service.move(ME, self.vault.as_uri(), places[-1], "folder-090/Other", dry_run=True)
            return time.perf_counter() - begin

        try:
            for side in sides:
                look(side)
            results = alternate(
                self.rounds * 2,
                *(lambda side=side, act=act: act(side) for side in sides for act in (look, move)),  # type: ignore[misc]
            )
        finally:
            for side in sides:
                side.close()
        for place, jail in enumerate(("inline", "jailed")):
            looked, moved = results[2 * place : 2 * place + 2]
            self.report.row(f"notes_move, dry run, {jail}", f"{looked * 1e3:.0f} ms")
            self.report.row(f"notes_move, {jail}", f"{moved * 1e3:.0f} ms", kept=moved <= MAX_MOVE)

    def _product(self, mode: str) -> wiring.Product:
        settings = Settings(
            state_dir=str(self.top / f"state-{mode}"),
            workspaces=(WorkspaceSettings("Notes", str(self.vault), str(self.vault), Policy(), ()),),
            rules=(Rule(ME.principal.name, "Notes", ROOT, frozenset(Right)),),
            jail_mode=mode,  # type: ignore[arg-type]  # one of the modes
        )
        return wiring.build(settings, environ={})
