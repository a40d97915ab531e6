"""Workers that are tried and answer as no attacker of the product does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.jail.attacker import build

Answer = Callable[[str, dict[str, Any]], dict[str, Any]]


def liar(options: Mapping[str, Any]) -> Answer:
    """Attack, and say each time that it was refused."""
    honest = build(options)

    def answer(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        said = honest(operation, args)
        return said if operation == "hold" else {"refused": "EPERM"}

    return answer


def mute(options: Mapping[str, Any]) -> Answer:
    """Answer nothing that can be understood, each time in another way."""
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "read_by_path": dict,
        "read_above": lambda: {"refused": ["EPERM"]},
        "read_from_held": lambda: {"refused": ""},
        "list_above": lambda: 1 // 0,  # type: ignore[dict-item, return-value]
        "read_keys": lambda: os._exit(0),
        "read_environment": lambda: os._exit(1),
        "run_late_code": lambda: time.sleep(60),  # type: ignore[dict-item, return-value]
        "append": lambda: {"refused": "\x1b[31m" + "x" * 1000},
    }

    def answer(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        way = ways.get(args.get("name", ""))
        return {"refused": "EPERM"} if way is None else way()

    return answer
