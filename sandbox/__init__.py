"""Directories that a program may touch, and nothing beside them.

A `Root` is one directory held by its descriptor; a `RelPath` says where in it; a `Policy` says which
objects are acceptable there. The package has never heard of a note.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sandbox.names import ROOT, RelPath, is_entry_name
    from sandbox.objects import (
        Content,
        Entry,
        FileIdentity,
        Kind,
        Listing,
        Replaced,
        SweepReport,
        TrashedFile,
    )
    from sandbox.policy import HardLinks, Links, Mounts, Policy, Quota
    from sandbox.root import Features, Root
    from sandbox.steps import Observer, Step, ignore
    from sandbox.uris import FileUri

_HOMES: Final = {
    "Content": "sandbox.objects",
    "Entry": "sandbox.objects",
    "Features": "sandbox.root",
    "FileIdentity": "sandbox.objects",
    "FileUri": "sandbox.uris",
    "HardLinks": "sandbox.policy",
    "Kind": "sandbox.objects",
    "Links": "sandbox.policy",
    "Listing": "sandbox.objects",
    "Mounts": "sandbox.policy",
    "Observer": "sandbox.steps",
    "Policy": "sandbox.policy",
    "Quota": "sandbox.policy",
    "ROOT": "sandbox.names",
    "RelPath": "sandbox.names",
    "Replaced": "sandbox.objects",
    "Root": "sandbox.root",
    "Step": "sandbox.steps",
    "SweepReport": "sandbox.objects",
    "TrashedFile": "sandbox.objects",
    "ignore": "sandbox.steps",
    "is_entry_name": "sandbox.names",
}
"""Where each name is. It is loaded when it is first asked for: who needs a module of this package needs few others."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(home), name)
    globals()[name] = found
    return found


__all__ = [
    "ROOT",
    "Content",
    "Entry",
    "Features",
    "FileIdentity",
    "FileUri",
    "HardLinks",
    "Kind",
    "Links",
    "Listing",
    "Mounts",
    "Observer",
    "Policy",
    "Quota",
    "RelPath",
    "Replaced",
    "Root",
    "Step",
    "SweepReport",
    "TrashedFile",
    "ignore",
    "is_entry_name",
]


def __dir__() -> list[str]:
    """Return what is exported, with what is loaded."""
    return sorted({*globals(), *__all__})
