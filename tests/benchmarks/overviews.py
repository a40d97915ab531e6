"""`python -m tests.benchmarks.overviews`: tags and links of 10,000 notes through the service, without a jail and with.

Without an index every answer looks into the notes anew, in bounded calls. Printed are the best of some rounds, how many
calls that took, and the longest one of that round. What is promised is marked; the exit code is 1 when it is missed.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from fsnotes import wiring
from fsnotes.access import Principal, Right, Rule
from fsnotes.calls import Call
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.service import Service
from sandbox.names import ROOT
from tests.benchmarks.vault import FOLDER_SIZE, note

NOTES: Final = 10_000
ROUNDS: Final = 3
LONGEST: Final = 0.1
"""Seconds for one call of a worker: it ends after half of that, once it has done what it has begun."""

ME: Final = Call(Principal("local:me"))


def make_vault(folder: Path) -> None:
    """Fill *folder* with notes of 4 KB whose links lead to one another, all but a few, with tags in every third."""
    chance = random.Random(1)  # noqa: S311 - reproducible text, no secret

    def link(_: re.Match[str]) -> str:
        number, kind = chance.randrange(NOTES), chance.random()
        if kind < 0.002:
            return f"[[Gone {number}]]"
        if kind < 0.3:
            return f"[it](../folder-{number // FOLDER_SIZE:03d}/Note%20{number}.md)"
        return f"[[Note {number}#Note {number}]]"

    for number in range(NOTES):
        place = folder / f"folder-{number // FOLDER_SIZE:03d}"
        place.mkdir(parents=True, exist_ok=True)
        text = re.sub(r"\[\[Note \d+\]\]", link, note(number))
        if number % 3 == 0:
            text += "".join(f"#tag{chance.randrange(300)}/x{chance.randrange(5)}\n" for _ in range(4))
        (place / f"Note {number}.md").write_text(text)


def measure(vault: Path, state: Path, jail: str) -> bool:
    """Print the figures with this *jail*; say whether the mark was kept."""
    workspace = WorkspaceSettings("Notes", str(vault), str(vault))
    rule = Rule(ME.principal.name, "Notes", ROOT, frozenset(Right))
    settings = Settings(state_dir=str(state), workspaces=(workspace,), rules=(rule,), jail_mode=jail)
    product = wiring.build(settings, environ={})
    try:
        print(
            f"\n{NOTES} notes of 4 KB, jail {product.service.workspaces(ME).workspaces[0].jail}", flush=True
        )
        return _measure(product.service, vault.as_uri())
    finally:
        product.close()


def _measure(service: Service, uri: str) -> bool:
    spent: list[float] = []
    run = service._runner.run

    def timed(*arguments: Any, **named: Any) -> Any:
        begin = time.perf_counter()
        try:
            return run(*arguments, **named)
        finally:
            spent.append(time.perf_counter() - begin)

    service._runner.run = timed  # type: ignore[method-assign]
    path = f"folder-050/Note {50 * FOLDER_SIZE}"
    cases: dict[str, Callable[[], Any]] = {
        "notes_tags": lambda: service.tags(ME, uri).tags,
        "notes_list, a tag, by time": lambda: (
            service.list(ME, uri, recursive=True, tag="tag7", sort="modified").notes
        ),
        "notes_links out": lambda: service.links(ME, uri, path).links,
        "notes_links in": lambda: service.links(ME, uri, path, direction="in").links,
        "notes_links broken": lambda: service.links(ME, uri, "", direction="broken", limit=200).links,
        "notes_links ambiguous": lambda: service.links(ME, uri, "", direction="ambiguous").links,
    }
    kept = True
    for name, case in cases.items():
        rounds = []
        for _ in range(ROUNDS):
            spent.clear()
            begin = time.perf_counter()
            found = len(case())
            rounds.append((time.perf_counter() - begin, len(spent), max(spent)))
        seconds, calls, longest = min(rounds)
        kept = kept and longest <= LONGEST
        mark = "" if longest <= LONGEST else f"  MISSED: {LONGEST} s"
        print(
            f"{name:28} {seconds:7.3f} s  {calls:3} calls, the longest {longest:.3f} s  {found:3} found{mark}"
        )
    return kept


def main() -> int:
    """Print the figures; return 1 when the mark is missed."""
    with tempfile.TemporaryDirectory() as top:
        vault = Path(top).resolve() / "Notes"
        make_vault(vault)
        kept = [measure(vault, Path(top) / f"state-{jail}", jail) for jail in ("off", "best-effort")]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
