"""A keeper in a process of its own, which is killed at some point (`test_kills.py`).

`python -m tests.notes.index.killed FOLDER WHAT AMOUNT`. WHAT is `calls`: stop after so many calls, say so, and wait for
the end; or `bytes`: be killed by the write that makes a file longer than so much; or `refusal`: as before, but the
write only fails.
"""

from __future__ import annotations

import itertools
import resource
import signal
import sys
import time
from pathlib import Path

from fsnotes.errors import Unavailable
from fsnotes.notes.index import building
from tests.notes.index.shelves import Shelf


def main() -> None:
    """Run."""
    folder, what, amount = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ticks = itertools.count()
    with Shelf(Path(folder)) as shelf:
        shelf.vault = shelf.vault._replace(clock=lambda: next(ticks) / 50)  # two pieces a call
        building.COMMIT_NOTES = 64  # type: ignore[misc]
        if what != "calls":
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if what == "bytes" else signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (amount, resource.RLIM_INFINITY))
        keeper = shelf.keep()
        for call in itertools.count(1):
            try:
                progress = keeper.step()
            except Unavailable as error:
                print("refused", error.why, flush=True)
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                continue
            if what == "calls" and call == amount:
                print("ready", progress.phase, flush=True)
                time.sleep(60)
            if progress.idle:
                break
        print("done", flush=True)


if __name__ == "__main__":
    main()
