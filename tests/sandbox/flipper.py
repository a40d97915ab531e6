"""A process that exchanges two names as fast as it can, until its input ends (`test_races.py`).

`python -m tests.sandbox.flipper exchange|toggle ONE OTHER`: `exchange` swaps two existing names, `toggle`
moves one thing back and forth between two names. It prints how often it flipped, and for how long.
"""

from __future__ import annotations

import os
import select
import sys
import time

from sandbox import _linux

HERE = -100  # AT_FDCWD
BATCH = 500


def main() -> None:
    """Flip until standard input ends."""
    _, mode, one, other = sys.argv
    flags = _linux.RENAME_EXCHANGE if mode == "exchange" else _linux.RENAME_NOREPLACE
    first, second = os.fsencode(one), os.fsencode(other)
    flips = 0
    print("ready", flush=True)
    start = time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(BATCH):
            try:
                _linux.renameat2(HERE, first, HERE, second, flags=flags)
            except OSError:
                continue  # taken away or given back meanwhile by the operation under test
            flips += 1
            if mode == "toggle":
                first, second = second, first
    print(flips, time.monotonic() - start, flush=True)


if __name__ == "__main__":
    main()
