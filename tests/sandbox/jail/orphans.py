"""A program with a jail, to be killed by a test: it says which processes there are, and waits."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any, cast

from sandbox.jail.process import import_folders
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from tests.mounts import REPOSITORY


def main() -> None:
    """Run as `python -m tests.sandbox.jail.orphans WORKSPACE LEVEL STATE`."""
    _, workspace, level, state = sys.argv
    spec = JailSpec(
        workspace=workspace,
        kind="rw",
        handler="tests.sandbox.jail.handlers:build",
        want=cast(Level, Level(level)),
        import_paths=(REPOSITORY, *import_folders("sandbox", "pathvalidate")),
    )
    jail = Jail(spec, require=Level(level))
    jail.start()
    calls: dict[str, tuple[str, dict[str, Any]]] = {"busy": ("sleep", {"seconds": 600}), "hung": ("spin", {})}
    if state in calls:
        op, args = calls[state]
        options: dict[str, Any] = {"deadline": time.monotonic() + 600, "write": True}
        threading.Thread(target=jail.call, args=(op, args), kwargs=options, daemon=True).start()
        time.sleep(0.1)
    worker = jail._keeper._worker
    if worker is not None:
        print(json.dumps(sorted({worker.process.pid, worker.process.serving.pid})), flush=True)
    if state == "ends":
        return  # without stopping the jail
    time.sleep(600)


if __name__ == "__main__":
    main()
