"""A worker whose lock-down fails as the options say: for a shortage of the moment, or for good."""

from __future__ import annotations

from typing import NoReturn

from sandbox.errors import LockdownFailed
from sandbox.jail.report import Report
from sandbox.jail.spec import Plan
from sandbox.jail.worker import work


def fail(plan: Plan) -> Report:
    """Fail."""
    raise LockdownFailed("namespaces: fork: it failed", passing=plan.spec.options["passing"])


def main(descriptor: int, parent: int) -> NoReturn:
    """Serve on *descriptor*."""
    work(descriptor, parent, lock_down=fail)
