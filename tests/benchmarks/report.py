"""How measurements are taken and shown: both sides in turn, medians, and a mark where something is promised."""

from __future__ import annotations

import statistics
from collections.abc import Callable


def median(values: list[float]) -> float:
    return statistics.median(values)


class Report:
    """Prints rows as they come and remembers what fell short."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def row(self, what: str, value: str, ratio: str = "", *, kept: bool | None = None) -> None:
        mark = {None: "", True: "  reached", False: "  MISSED"}[kept]
        print(f"  {what:<58} {value:>14} {ratio:>12}{mark}", flush=True)
        if kept is False:
            self.missed.append(what)

    def against(
        self,
        what: str,
        ours: float,
        other: str,
        theirs: float,
        *,
        most: float | None = None,
        scale: float = 1e6,
        unit: str = "us",
    ) -> None:
        ratio = ours / theirs
        self.row(
            f"{what} (beside {other}: {theirs * scale:.1f} {unit})",
            f"{ours * scale:.1f} {unit}",
            f"x {ratio:.2f}",
            kept=None if most is None else ratio <= most,
        )


def alternate(rounds: int, *sides: Callable[[], float]) -> list[float]:
    """Measure the *sides* in turn, *rounds* times; return each one's median."""
    values: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, seen in zip(sides, values, strict=True):
            seen.append(side())
    return [median(seen) for seen in values]
