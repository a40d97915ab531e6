"""What a jail costs: the same calls inline and jailed in turn, how long a worker takes to start, and its memory.

Calls go through the service in this process, so that pipes and protocol are on neither side. A start is measured
from `Jail.start` to the report, with the modules compiled, as an installation has them.
"""

from __future__ import annotations

import compileall
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil

import fsnotes
import sandbox
from fsnotes import wiring
from fsnotes.access import Principal, Right, Rule
from fsnotes.calls import Call
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.notes.opening import PACKAGES, READER, WRITER, WorkerOptions
from fsnotes.service import Service
from sandbox.jail.hiring import ENTRY
from sandbox.jail.process import import_folders
from sandbox.jail.report import Level, WorkerKind
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.names import ROOT
from sandbox.policy import Policy
from tests.benchmarks.report import Report, alternate
from tests.benchmarks.vault import note

MAX_START: Final = 0.080
"""Seconds of a start, at every level."""

MAX_MORE: Final = 60e-6
"""Seconds that a small call takes longer than inline."""

MAX_MEMORY: Final = 35e6
"""Resident bytes of the half that serves."""

REPOSITORY: Final = str(Path(__file__).resolve().parents[2])
LEVELS: Final = {
    Level.NONE: "tests.sandbox.jail.unlocked",
    Level.CONTAINED: ENTRY,
    Level.FULL: ENTRY,
}
"""With the entry of a worker that reaches each."""

ME: Final = Call(Principal("local:benchmark"), request_id="1")


class WorkerBench:
    """Measures on a small vault of its own beneath *top*."""

    def __init__(self, top: Path, report: Report, rounds: int) -> None:
        self.top = Path(os.path.realpath(top)) / "jailed"
        self.vault = self.top / "Notes"
        self.report = report
        self.rounds = rounds
        (self.vault / "made").mkdir(parents=True)
        (self.vault / "small.md").write_text("# Small\n\nA few words.\n", encoding="utf-8")
        for size in (4, 64):
            (self.vault / f"{size}-kb.md").write_text(note(1, size * 1024), encoding="utf-8")
        for count in (30, 100):
            folder = self.vault / f"{count}-notes"
            folder.mkdir()
            for number in range(count):
                (folder / f"note-{number:03d}.md").write_text(note(number), encoding="utf-8")
        for package in (fsnotes, sandbox):
            compileall.compile_dir(os.path.dirname(package.__file__ or ""), quiet=1)

    def run(self) -> None:
        """Measure everything that this host can do."""
        level = self.starts()
        if level is Level.NONE:
            return
        sides = [self._product("off", level), self._product("require", level)]
        print(
            f"\njailed ({level.value}) beside inline, medians of {self.rounds} alternating rounds", flush=True
        )
        try:
            self.calls(*(side.service for side in sides))
        finally:
            for side in sides:
                side.close()

    def starts(self) -> Level:
        """Start workers at every level, and look at their memory; return the highest one that there is."""
        print(f"\nstart of a worker, medians of {self.rounds * 2} alternating rounds", flush=True)
        reached = Level.NONE
        for level in LEVELS:
            jail = self._jail(level, "ro")
            try:
                if jail.start().level is level:
                    reached = level
            except sandbox.errors.WorkerFailed as failure:
                print(f"  no worker at level {level.value}: {failure.why}")
                break
            finally:
                jail.stop()
        levels = [level for level in LEVELS if level.rank <= reached.rank]
        for kind, what in (("ro", "that looks"), ("rw", "that changes")):
            sides = [lambda level=level, kind=kind: self._start(level, kind) for level in levels]  # type: ignore[misc]
            for level, seconds in zip(levels, alternate(self.rounds * 2, *sides), strict=True):
                self.report.row(
                    f"start of a worker {what}, {level.value}",
                    f"{seconds * 1e3:.1f} ms",
                    kept=seconds <= MAX_START,
                )
        self._memory(reached)
        return reached

    def _start(self, level: Level, kind: WorkerKind) -> float:
        jail = self._jail(level, kind)
        begin = time.perf_counter()
        jail.start()
        seconds = time.perf_counter() - begin
        jail.stop()
        return seconds

    def _memory(self, level: Level) -> None:
        jail = self._jail(level, "rw")
        jail.start()
        first = next(event.pid for event in jail.events if event.pid is not None)
        outer = psutil.Process(first)
        halves = [outer, *outer.children()]
        memory = [half.memory_info().rss for half in halves]
        jail.stop()
        self.report.row(
            f"RSS of a worker that changes, {level.value}",
            f"{memory[-1] / 1e6:.1f} MB",
            kept=memory[-1] <= MAX_MEMORY,
        )
        if len(memory) > 1:
            self.report.row("RSS of its outer half, which only waits", f"{memory[0] / 1e6:.1f} MB")

    def calls(self, inline: Service, jailed: Service) -> None:
        """Compare calls."""
        uri = self.vault.as_uri()
        made = iter(range(10**9))
        operations: list[tuple[str, int, Callable[[Service], Any], float | None]] = [
            ("notes_read of 22 bytes", 300, lambda service: service.read(ME, uri, "small.md"), MAX_MORE),
            ("notes_read 4 KB", 300, lambda service: service.read(ME, uri, "4-kb.md"), None),
            ("notes_read 64 KB (38,000 characters)", 100, lambda service: service.read(ME, uri, "64-kb.md"), None),
            ("notes_list of 30 notes", 30, lambda service: service.list(ME, uri, folder="30-notes"), None),
            ("notes_list of 100 notes", 10, lambda service: service.list(ME, uri, folder="100-notes"), None),
            ("notes_create 4 KB, durable", 30,
             lambda service: service.create(ME, uri, f"made/{next(made)}.md", note(1)), None),
        ]  # fmt: skip
        for what, times, act, most in operations:
            act(jailed)

            def repeated(service: Service, act: Callable[[Service], Any] = act, times: int = times) -> float:
                begin = time.perf_counter()
                for _ in range(times):
                    act(service)
                return (time.perf_counter() - begin) / times

            plain, walled = alternate(
                self.rounds * 2,
                lambda: repeated(inline),
                lambda: repeated(jailed),
            )
            self.report.row(
                f"{what} (inline: {plain * 1e6:.1f} us)",
                f"{walled * 1e6:.1f} us",
                f"+ {(walled - plain) * 1e6:.1f} us",
                kept=None if most is None else walled - plain <= most,
            )

    def _jail(self, level: Level, kind: WorkerKind) -> Jail:
        index = self.top / "index"
        index.mkdir(exist_ok=True)
        spec = JailSpec(
            workspace=str(self.vault),
            kind=kind,
            handler=READER if kind == "ro" else WRITER,
            index=str(index),
            want=Level.FULL if level is Level.FULL else Level.CONTAINED,
            options=WorkerOptions(Policy()).to_json(),
            import_paths=tuple(dict.fromkeys((*import_folders(*PACKAGES), REPOSITORY))),
        )
        return Jail(spec, require=level, entry=LEVELS[level])

    def _product(self, mode: str, level: Level) -> wiring.Product:
        workspace = WorkspaceSettings("Notes", str(self.vault), str(self.vault), Policy(), ())
        settings = Settings(
            state_dir=str(self.top / f"state-{mode}"),
            workspaces=(workspace,),
            rules=(Rule(ME.principal.name, "Notes", ROOT, frozenset(Right)),),
            jail_mode=mode,  # type: ignore[arg-type]  # one of the modes
            jail_level="full" if level is Level.FULL else "contained",
        )
        return wiring.build(settings, environ={})
