"""A worker that is not locked down and reports that it is, or sends another report that is not true."""

from __future__ import annotations

import os
import time
from types import MappingProxyType
from typing import Any, NoReturn

from sandbox import records
from sandbox.jail.report import LAYERS, Layer, LayerState, Report
from sandbox.jail.spec import Plan
from sandbox.jail.worker import work
from tests.sandbox.jail.unlocked import report_nothing


class Shapeless(Report):
    """A report with a field that no report has."""

    def to_json(self) -> dict[str, Any]:
        """Return too much."""
        return {**super().to_json(), "more": 1}


def lie(plan: Plan) -> Report:
    """Return the report that the options ask for."""
    report = report_nothing(plan)
    enforced = tuple(
        Layer(name, LayerState.ENFORCED, proof=("I swear",), facts=MappingProxyType({"abi": 7}))
        for name in LAYERS
    )
    match plan.spec.options["lie"]:
        case "all":
            return records.replace(report, layers=(*enforced[:2], report.layers[2], *enforced[3:]))
        case "weakening":
            strong = (*enforced[:2], report.layers[2], *enforced[3:])
            return report if os.path.exists("weak") else records.replace(report, layers=strong)
        case "filter":
            return records.replace(
                report,
                layers=tuple(enforced[1] if each.name == "seccomp" else each for each in report.layers),
            )
        case "split":
            return records.replace(report, layers=enforced)
        case "kind":
            return records.replace(report, kind="ro")
        case "failed":
            failed = (Layer("landlock", LayerState.FAILED, "it did not refuse"), *report.layers[1:])
            return records.replace(report, layers=failed)
        case "child":
            if os.fork() == 0:
                time.sleep(60)
            return report
        case _:
            return Shapeless(report.kind, report.layers, report.cwd, report.root_entries, report.resolver)


def main(descriptor: int, parent: int) -> NoReturn:
    """Serve on *descriptor*."""
    work(descriptor, parent, lock_down=lie)
