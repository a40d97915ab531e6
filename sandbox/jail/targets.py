"""What an attack is, where it is made, and what there is to reach. The attacks themselves are in `attacks.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """What there is to reach, in the host's own paths."""

    outside: str
    """A folder that belongs to the worker's account, with files that nobody needs."""
    above: str
    """The same folder as seen from the workspace: `../..`, and down again."""
    keys: str
    """The keys in the state folder, or their folder where none were made yet."""
    parent: int
    tcp: int
    udp: int
    abstract: str
    memory: int
    open_files: int
    file_size: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


class Ground(Enum):
    """Where an attack is made."""

    WORKSPACE = "workspace"
    """The folder that is served; nothing in it is touched."""
    OWN = "own"
    """A folder that was made for the trial, with a note, a folder and a link that leads out."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One way out. *trace* is what it would change or reach outside, which is looked at afterwards."""

    name: str
    what: str
    act: Callable[[Attacker], object]
    left: tuple[str, ...]
    trace: str | None = None
    ground: Ground = Ground.WORKSPACE
    is_trip_wire: bool = False
    """Whether the filter ends the process for it, so that a worker is spent on it."""


class Attacker:
    """A worker that attacks: what there is to reach, and the folder that it holds, if any."""

    __slots__ = ("held", "target")

    def __init__(self, target: Target) -> None:
        self.target = target
        self.held = -1

    def at(self, name: str) -> str:
        """Return the path of something outside."""
        return f"{self.target.outside}/{name}"
