"""The worker's side of a trial: runs the attack that it is told to, and says what refused it.

A worker loads this, and `attacks.py` with it, only when its spec names `HANDLER`, which nothing but `trial.py` does;
a worker that serves has no way to it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from sandbox.jail.attacks import ATTACKS
from sandbox.jail.targets import Attacker, Target

HANDLER: Final = "sandbox.jail.attacker:build"
"""How a jail is told to be attacked from inside."""

HOLD: Final = "hold"
ATTACK: Final = "attack"
"""The operations: hold the folder `sub` of the workspace open, and try the attack of a name."""

_BY_NAME: Final = {attack.name: attack for attack in ATTACKS}


def build(options: Mapping[str, Any]) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """Return what answers; *options* hold the target.

    An answer is `{"refused": how}`, and how is None when the attack worked.
    """
    attacker = Attacker(Target(**options["target"]))

    def answer(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        if operation == HOLD:
            attacker.held = os.open("sub", os.O_RDONLY | os.O_DIRECTORY)
            return {}
        return {"refused": _refusal(_BY_NAME[args["name"]].act, attacker)}

    return answer


def _refusal(act: Callable[[Attacker], object], attacker: Attacker) -> str | None:
    try:
        act(attacker)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    except MemoryError:
        return "no memory"
    return None
