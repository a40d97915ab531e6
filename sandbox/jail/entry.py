"""Where a jailed worker begins: its life, with the real lock-down.

Apart from `worker.py` so that a test of the life alone can bring a lock-down of its own.
"""

from __future__ import annotations

from typing import NoReturn

from sandbox.jail.lockdown import lock_down
from sandbox.jail.worker import work


def main(descriptor: int, parent: int) -> NoReturn:
    """Serve on the inherited socket *descriptor* as a child of the process *parent*."""
    work(descriptor, parent, lock_down=lock_down)
