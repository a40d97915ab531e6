"""What a worker has proven about its own jail: layers, the level they add up to, and what they leave possible.

The level is computed from the layers and never stored. A report comes from the worker, so it is hostile
input: `from_json` checks every type and bound, and `sandbox.jail.outside` lets the parent contradict what it
can see for itself (seccomp, capabilities, limits, the process namespace). Landlock, the mounts and the
network namespace cannot be seen from outside without more rights than the parent has; for those the proof is
that the report was made by our own code before the first request.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal, Self, get_args

from sandbox.errors import InvalidReport
from sandbox.records import record

WorkerKind = Literal["ro", "rw", "index"]
"""Notes and index readable; notes and journal writable; notes readable and the index writable."""

LayerName = Literal["landlock", "seccomp", "namespaces", "limits", "capabilities"]

KINDS: Final[tuple[WorkerKind, ...]] = get_args(WorkerKind)
LAYERS: Final[tuple[LayerName, ...]] = get_args(LayerName)

LANDLOCK_FLOOR: Final = 3
"""The first ABI that guards truncation; below it a jailed process empties files outside."""

DISK_QUOTA: Final = MappingProxyType({"state": "advisory"})
"""What holds a worker to a share of the disk, the same for all: its handlers alone, since no kernel gives an
unprivileged process a quota for one folder."""

MAX_TEXT: Final = 4096
MAX_PROOFS: Final = 32
MAX_FACTS: Final = 16
MAX_ROOT_ENTRIES: Final = 16
MAX_NUMBER: Final = 2**63 - 1

Fact = str | int | bool

FILL_DISK: Final = "the disk can be filled with small files"
CHANGE_NOTES: Final = (
    "every file of the workspace can be changed, removed and shown to other accounts, with what other programs run or"
    " believe: .git and its hooks, .obsidian, .trash"
)
HOLD_LOCK: Final = "the workspace's lock can be held, so that nobody else can change anything"
CHANGE_INDEX: Final = "what is kept for the workspace beside it (index, journal of moves) can be falsified"
FALSIFY_INDEX: Final = "the index can be falsified"
HOLD_INDEX: Final = "the index can be kept from being updated"
SEE_OUTSIDE: Final = (
    "files outside can be looked at: existence, owner, mode, times, size, and how full their disk is"
)
OPEN_OUTSIDE: Final = (
    "files and devices outside can be opened, but neither read nor written, as far as the account may"
)
USE_OUTSIDE: Final = "files outside can be read and changed, as far as the account may"
EMPTY_OUTSIDE: Final = "files outside can be emptied, as far as the account may"
MARK_OUTSIDE: Final = (
    "modes, owners, times and attributes of files, outside too, can be changed, as far as the account may"
)
USE_KERNEL: Final = "programs can be started, and every interface of the kernel can be tried"
MEET_OTHERS: Final = "the network can be used, and other processes of the account can be met"
USE_UP: Final = "memory, descriptors and file sizes are bounded by the host alone"
KEEP_RIGHTS: Final = "the rights of the account that started the server are kept"

_HINTS: Final = {
    ("landlock_create_ruleset", errno.ENOSYS): "the kernel has no Landlock, which came with 5.13",
    ("landlock_create_ruleset", errno.EOPNOTSUPP): "Landlock is not switched on; see lsm= of the kernel",
    ("seccomp", errno.EINVAL): "the kernel has no seccomp filters",
    ("seccomp", errno.ENOSYS): "the kernel has no seccomp filters",
    ("unshare", errno.EPERM): "a container or the host's policy forbids namespaces",
    ("unshare", errno.ENOSPC): "the host's limit of namespaces is reached",
    ("mount", errno.EACCES): "the host's policy forbids mounts in namespaces",
    ("mount", errno.EPERM): "the host's policy forbids mounts in namespaces",
}


_SHORTAGES: Final = frozenset({errno.EAGAIN, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class Level(StrEnum):
    """How much of the jail stands. Compare by `rank`."""

    NONE = "none"
    PARTIAL = "partial"
    CONTAINED = "contained"
    FULL = "full"

    @property
    def rank(self) -> int:
        """0 for none up to 3 for full."""
        return list(Level).index(self)


class LayerState(StrEnum):
    """What became of one layer."""

    ENFORCED = "enforced"
    """It was tried from inside, and refused."""
    FAILED = "failed"
    """It claimed to be on and did not refuse, or it could not be found out whether it does. Always fatal."""
    UNAVAILABLE = "unavailable"
    """This host does not give it; `why` says what answered."""
    OFF = "off"
    """Nobody asked for it."""


@record
class Layer:
    """One layer, with the attempts that it refused and facts for people to read."""

    name: LayerName
    state: LayerState
    why: str | None = None
    proof: tuple[str, ...] = ()
    facts: Mapping[str, Fact] = MappingProxyType({})

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "state": self.state.value,
            "why": self.why,
            "proof": list(self.proof),
            "facts": dict(self.facts),
        }


@record
class Report:
    """The jail of one worker.

    *cwd* is where the worker stands and *root_entries* is everything that is visible at its `/` (None where
    the whole tree of the host is), both as text to be shown. *resolver* names how paths beneath the
    workspace are resolved in there.
    """

    kind: WorkerKind
    layers: tuple[Layer, ...]
    cwd: str
    root_entries: tuple[str, ...] | None
    resolver: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidReport("unknown kind of worker")
        if tuple(layer.name for layer in self.layers) != LAYERS:
            raise InvalidReport("not each layer once, in order")

    def layer(self, name: LayerName) -> Layer:
        """Return the layer called *name*."""
        return self.layers[LAYERS.index(name)]

    def has(self, name: LayerName) -> bool:
        """Whether the layer is enforced as strongly as a level needs it (Landlock: ABI 3)."""
        layer = self.layer(name)
        if layer.state is not LayerState.ENFORCED:
            return False
        return name != "landlock" or _abi(layer) >= LANDLOCK_FLOOR

    @property
    def failed(self) -> bool:
        """Whether a layer claimed to be on and did not refuse. Such a worker must not be used."""
        return any(layer.state is LayerState.FAILED for layer in self.layers)

    @property
    def level(self) -> Level:
        """The level that the layers add up to; none when one of them failed."""
        if self.failed:
            return Level.NONE
        if all(self.has(name) for name in LAYERS if name != "namespaces"):
            return Level.FULL if self.has("namespaces") else Level.CONTAINED
        bearing: tuple[LayerName, ...] = ("landlock", "seccomp", "namespaces")
        if any(self.layer(name).state is LayerState.ENFORCED for name in bearing):
            return Level.PARTIAL
        return Level.NONE

    @property
    def leaves(self) -> tuple[str, ...]:
        """What stays possible for code that has taken the worker over, one sentence each."""
        return tuple(_leaves(self))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `level`, `disk_quota` and `leaves` are there for readers."""
        return {
            "kind": self.kind,
            "level": self.level.value,
            "layers": [layer.to_json() for layer in self.layers],
            "disk_quota": dict(DISK_QUOTA),
            "cwd": self.cwd,
            "root_entries": None if self.root_entries is None else list(self.root_entries),
            "resolver": self.resolver,
            "leaves": list(self.leaves),
        }

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what a worker sent. Raises InvalidReport for anything but the exact shape of `to_json`.

        `level` and `leaves` must be the ones that follow from the layers.
        """
        keys = {"kind", "level", "layers", "disk_quota", "cwd", "root_entries", "resolver", "leaves"}
        table = _table(value, keys)
        kind = next((kind for kind in KINDS if kind == table["kind"]), None)
        if kind is None:
            raise InvalidReport("unknown kind of worker")
        entries = table["root_entries"]
        report = cls(
            kind=kind,
            layers=tuple(_layer(item) for item in _list(table["layers"], len(LAYERS))),
            cwd=_text(table["cwd"]),
            root_entries=None if entries is None else _texts(entries, MAX_ROOT_ENTRIES),
            resolver=_text(table["resolver"]),
        )
        if table["level"] != report.level.value or table["leaves"] != list(report.leaves):
            raise InvalidReport("level or leaves do not follow from the layers")
        if table["disk_quota"] != DISK_QUOTA:
            raise InvalidReport("no worker is held to a quota")
        return report


def reason(error: OSError) -> str:
    """Return which call failed and how, for the `why` of a layer; the error's text is the call's name."""
    number = error.errno or 0
    name = "EOPNOTSUPP" if number == errno.EOPNOTSUPP else errno.errorcode.get(number, str(number))
    hint = _HINTS.get((error.strerror or "", number))
    return f"{error.strerror}: {name}" + (f" ({hint})" if hint else "")


def is_shortage(error: OSError) -> bool:
    """Whether *error* tells of this moment alone, and nothing of what the host gives: no layer is missing for it."""
    return error.errno in _SHORTAGES


def _abi(layer: Layer) -> int:
    abi = layer.facts.get("abi", 0)
    return abi if type(abi) is int else 0


def _leaves(report: Report) -> list[str]:
    found = [HOLD_INDEX]
    if report.kind != "ro":
        found += [CHANGE_INDEX if report.kind == "rw" else FALSIFY_INDEX, FILL_DISK]
    if report.kind == "rw":
        found.append(CHANGE_NOTES)
    if report.kind == "rw" or not report.has("seccomp"):
        found.append(HOLD_LOCK)
    if not report.has("namespaces"):
        found += _left_outside(report)
    if not report.has("seccomp"):
        found.append(USE_KERNEL)
        if not report.has("namespaces"):
            found.append(MEET_OTHERS)
    if not report.has("limits"):
        found.append(USE_UP)
    if not report.has("capabilities"):
        found.append(KEEP_RIGHTS)
    return found


def _left_outside(report: Report) -> list[str]:
    """What stays possible where the host's whole tree is there to be named."""
    found = [SEE_OUTSIDE]
    if report.layer("landlock").state is not LayerState.ENFORCED:
        found.append(USE_OUTSIDE)
    elif not report.has("landlock") and not report.has("seccomp"):
        found.append(EMPTY_OUTSIDE)
    if not report.has("seccomp"):
        found += [OPEN_OUTSIDE, MARK_OUTSIDE]
    elif report.resolver == "openat2":
        # Its flags are in memory, where no filter sees them, and one access mode is none to Landlock.
        found.append(OPEN_OUTSIDE)
    return found


# -- reading hostile JSON ----------------------------------------------------------------------


def _layer(value: object) -> Layer:
    table = _table(value, {"name", "state", "why", "proof", "facts"})
    name = next((name for name in LAYERS if name == table["name"]), None)
    state = next((state for state in LayerState if state.value == table["state"]), None)
    if name is None or state is None:
        raise InvalidReport("unknown layer or state")
    facts = table["facts"]
    if type(facts) is not dict or len(facts) > MAX_FACTS:
        raise InvalidReport("facts are a small object")
    for key, fact in facts.items():
        _text(key)
        if type(fact) is str:
            _text(fact)
        elif type(fact) is not bool and not (type(fact) is int and abs(fact) <= MAX_NUMBER):
            raise InvalidReport("a fact is a text, a whole number within its bounds or a truth value")
    why = table["why"]
    return Layer(
        name=name,
        state=state,
        why=None if why is None else _text(why),
        proof=_texts(table["proof"], MAX_PROOFS),
        facts=MappingProxyType(dict(facts)),
    )


def _table(value: object, keys: set[str]) -> dict[str, Any]:
    if type(value) is not dict or value.keys() != keys:
        raise InvalidReport("not the expected fields")
    return value


def _list(value: object, most: int) -> list[Any]:
    if type(value) is not list or len(value) > most:
        raise InvalidReport("not a short list")
    return value


def _texts(value: object, most: int) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(value, most))


def _text(value: object) -> str:
    if type(value) is not str or len(value) > MAX_TEXT:
        raise InvalidReport("not a short text")
    return value
