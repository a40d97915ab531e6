"""A worker without a lock-down, for what is the same with and without one: every layer is reported off."""

from __future__ import annotations

import os
from typing import NoReturn

from sandbox.jail.report import LAYERS, Layer, LayerState, Report
from sandbox.jail.spec import Plan
from sandbox.jail.worker import work


def report_nothing(plan: Plan) -> Report:
    """Go to the workspace, and claim nothing."""
    os.chdir(plan.spec.workspace)
    layers = tuple(Layer(name, LayerState.OFF) for name in LAYERS)
    return Report(plan.spec.kind, layers, cwd=plan.spec.workspace, root_entries=None, resolver="walk")


def main(descriptor: int, parent: int) -> NoReturn:
    """Serve on *descriptor*."""
    work(descriptor, parent, lock_down=report_nothing)
