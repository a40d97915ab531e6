"""The life of a worker: import everything, lock down, prove it, then serve until the supervisor is gone.

The first request on the channel is the supervisor's order (`order`, `read_order`); its answer is the report.
Nothing is imported after the lock-down: what a handler would import late is refused with a clear message. A
worker that cannot begin says in its answer which exception it was, writes the traceback to stderr and ends.

What the lock-down does is decided in `lockdown.py`; what is served, by the factory that the order names.
"""

from __future__ import annotations

import gc
import importlib
import os
import socket
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final, NoReturn

from sandbox.errors import LockdownFailed
from sandbox.jail.channel import MAX_REPLY, MAX_REQUEST, Channel, decode, encode
from sandbox.jail.report import Level, Report
from sandbox.jail.serving import Handler, Post, refusal, show
from sandbox.jail.spec import JailSpec, Limits, Plan, index_path, workspace_path

START: Final = "start"
"""The operation of the order, which has the id 0."""

RESERVED: Final = frozenset({"workspace", "index", "abandoned"})
"""Options that a worker adds for the factory: both folders as seen in there, and whether the caller has gone."""

CODECS: Final = ("encodings.latin_1", "encodings.utf_16", "encodings.utf_8_sig")
"""What Python imports by a codec's name, and then takes a refused import for an unknown codec.

All else a handler imports at its top, also what Python would load for it later (`_strptime` for `strptime`): each
module costs every start.
"""

EXIT_DONE: Final = 0
EXIT_FAILED: Final = 70


class LateImportRefuser:
    """Refuses every import: after the lock-down the files are out of reach, and half an import would be worse."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the protocol's
        target: ModuleType | None = None,  # noqa: ARG002 - the protocol's
    ) -> NoReturn:
        """Raise ImportError, naming the module."""
        raise ImportError(
            f"{fullname} would be imported after the lock-down; import it at the top", name=fullname
        )


def order(spec: JailSpec) -> dict[str, Any]:
    """Return *spec* as the arguments of the first request."""
    return {
        "workspace": spec.workspace,
        "kind": spec.kind,
        "handler": spec.handler,
        "index": spec.index,
        "want": spec.want.value,
        "limits": {
            "memory": spec.limits.memory,
            "open_files": spec.limits.open_files,
            "file_size": spec.limits.file_size,
            "cpu_seconds": spec.limits.cpu_seconds,
        },
        "options": dict(spec.options),
        "identity": _listed(spec.identity),
        "index_identity": _listed(spec.index_identity),
        "follows_links": spec.follows_links,
    }


def read_order(args: dict[str, Any]) -> JailSpec:
    """Return the spec that `order` wrote; the import folders are in force already and left out."""
    fields = dict(args)
    for name in ("identity", "index_identity"):
        if fields[name] is not None:
            fields[name] = tuple(fields[name])
    return JailSpec(want=Level(fields.pop("want")), limits=Limits(**fields.pop("limits")), **fields)


def _listed(identity: tuple[int, int] | None) -> list[int] | None:
    return None if identity is None else list(identity)


def work(descriptor: int, parent: int, *, lock_down: Callable[[Plan], Report]) -> NoReturn:
    """Serve on the inherited socket *descriptor* as a child of the process *parent*; never return.

    *lock_down* is called once, after all imports and before the factory.
    """
    channel = Channel(socket.socket(fileno=descriptor), most=MAX_REQUEST)
    post = Post(channel)
    status = EXIT_FAILED
    try:
        request = decode(channel.receive(until=None))
        try:
            spec = read_order(request["args"])
            build = _load(spec.handler)
            report = lock_down(Plan(spec, parent=parent, keep=(descriptor,)))
            sys.meta_path[:] = [LateImportRefuser()]
            # What is there now stays: no later search for garbage needs to look at it.
            gc.freeze()
            gc.enable()
            # A layer that does not hold is for the supervisor to hear of, and nothing else is done.
            handler = None if report.failed else build(_options(spec, report, post))
            reply = encode({"id": request["id"], "ok": report.to_json()}, most=MAX_REPLY)
        except Exception as error:
            channel.send(refusal(request["id"], error), until=None)
            raise
        channel.send(reply, until=None)
        if handler is not None:
            post.serve(handler)
            status = EXIT_DONE
    except Exception as error:  # noqa: BLE001 - the last line of defence of a process
        if not isinstance(error, LockdownFailed):
            show(error)
    finally:
        # SAFETY: no destructor and no atexit function of a library may run in a half locked process.
        os._exit(status)


def _load(name: str) -> Callable[[dict[str, Any]], Handler]:
    """Import all there is to import, and return the factory."""
    for each in CODECS:
        importlib.import_module(each)
    module, _, factory = name.partition(":")
    build: Callable[[dict[str, Any]], Handler] = getattr(importlib.import_module(module), factory)
    return build


def _options(spec: JailSpec, report: Report, post: Post) -> dict[str, Any]:
    return {
        **spec.options,
        "workspace": workspace_path(spec, report),
        "index": index_path(spec, report),
        "abandoned": post.is_abandoned,
    }
