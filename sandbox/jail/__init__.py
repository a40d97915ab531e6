"""A process that has nothing left but one workspace: how it is locked down, watched and talked to.

What it computes is handed over by name and none of this package's business. What is exported here is for programs that
run code of their own so; each name is loaded when it is first used, since a worker loads this module and few others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sandbox.jail.process import import_folders
    from sandbox.jail.report import Level, Report
    from sandbox.jail.spec import JailSpec, Limits
    from sandbox.jail.supervisor import Jail

__all__ = [
    "Jail",
    "JailSpec",
    "Level",
    "Limits",
    "Report",
    "import_folders",
]

_HOMES: Final = {
    "Jail": "supervisor",
    "JailSpec": "spec",
    "Level": "report",
    "Limits": "spec",
    "Report": "report",
    "import_folders": "process",
}


def __getattr__(name: str) -> object:
    """Load an exported name from its module (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    """Return what is exported, with what is loaded."""
    return sorted({*globals(), *__all__})
