"""A process that starts locked-down ones by forking, without the supervisor; run by `launching.py`.

It imports everything, becomes the account of the test, and runs each case in a fork of its own: perhaps an
imitated host in front, the lock-down, then the case. Nothing of pytest is loaded here. It prints one JSON
object: what became of each case.
"""

from __future__ import annotations

import contextlib
import ctypes
import encodings.idna  # noqa: F401 - imported late by its name, and the interpreter may be out of reach then
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from sandbox.jail import outside
from sandbox.jail.lockdown import lock_down
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec, Limits, Plan
from sandbox.records import fields
from tests.sandbox.jail import descriptors, hosts
from tests.sandbox.jail.attempts import Target

DEADLINE_SECONDS = 20
MAX_LINE = 1 << 20


@dataclass(frozen=True)
class Order:
    """What `launching.py` asks for."""

    base: str
    account: int | None
    owner: int
    level: str | None
    kind: str
    host: str | None
    cases: tuple[str, ...]
    limits: dict[str, int]
    imports: str
    mount: bool
    mode: int
    follows_links: bool


def build(base: str) -> None:
    """Make a workspace, a state folder and a world outside of both."""
    for folder in ("ws/sub", "ws/.git/hooks", "outside/empty", "state/private", "state/ws/1"):
        os.makedirs(f"{base}/{folder}")
    for name, text in {
        "ws/mine.md": "mine",
        "ws/sub/note.md": "note",
        "ws/.git/config": "[core]\n",
        "outside/secret.txt": "secret",
        "outside/victim.txt": "victim",
        "state/private/keys": "keys",
        "state/private/ledger": "ledger",
        "state/ws/1/cache": "cache",
    }.items():
        with open(f"{base}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    for name in ("outside/secret.txt", "ws/mine.md"):
        os.setxattr(f"{base}/{name}", "user.tag", b"tag")
    for link, target in {
        "outside/a-link": "secret.txt",
        "ws/link-to-file": "../outside/secret.txt",
        "ws/link-to-folder": "../outside",
    }.items():
        os.symlink(target, f"{base}/{link}")


def become(account: int) -> None:
    """Change the account for good, as a login would: dumpable, without other groups."""
    os.setgroups([])
    os.setresgid(account, account, account)
    os.setresuid(account, account, account)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)


class World:
    """What there is outside of the jail for one case."""

    def __init__(self, base: str, bystander: int) -> None:
        self.base = base
        self.sockets = [socket.create_server(("127.0.0.1", 0))]
        self.sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.sockets[1].bind(("127.0.0.1", 0))
        self.tcp, self.udp = (each.getsockname()[1] for each in self.sockets)
        self.abstract = f"fsnotes-escape-{os.getpid()}-{time.monotonic_ns()}"
        for address in (f"{base}/outside/socket", "\0" + self.abstract):
            made = socket.socket(socket.AF_UNIX)
            made.bind(address)
            made.listen()
            self.sockets.append(made)
        self.folder = os.open(f"{base}/outside", os.O_RDONLY)
        self.file = os.open(f"{base}/outside/secret.txt", os.O_RDONLY)
        self.bystander = bystander

    def close(self) -> None:
        """Close what was opened."""
        for each in self.sockets:
            each.close()
        for descriptor in (self.folder, self.file):
            os.close(descriptor)

    def target(self, launcher: int, channel: socket.socket) -> Target:
        """Return it as a case sees it."""

        def ask(what: str) -> None:
            channel.sendall(what.encode() + b"\n")
            if channel.recv(1) != b"\n":
                raise ConnectionResetError

        return Target(
            outside=f"{self.base}/outside",
            state=f"{self.base}/state",
            index=f"{self.base}/state/ws/1",
            launcher=launcher,
            bystander=self.bystander,
            tcp=self.tcp,
            udp=self.udp,
            abstract=self.abstract,
            inherited_folder=self.folder,
            inherited_file=self.file,
            channel=channel.fileno(),
            ask=ask,
        )


def plan(order: Order, parent: int, keep: int) -> Plan:
    """Return how the process is locked down."""
    return Plan(
        JailSpec(
            workspace=f"{order.base}/ws",
            index=f"{order.base}/state/ws/1",
            kind=order.kind,  # type: ignore[arg-type]  # checked by the constructor
            want=Level(order.level or "full"),
            handler="none:none",
            limits=Limits(**order.limits),
            follows_links=order.follows_links,
        ),
        parent=parent,
        keep=(keep,),
    )


def find(case: str) -> Callable[[Target], object]:
    """Return an attempt by its name, or a function as `module:name`."""
    module, _, name = case.rpartition(":")
    if not module:
        return descriptors.ATTEMPTS[name]
    found: Callable[[Target], object] = getattr(importlib.import_module(module), name)
    return found


def child(
    order: Order, case: Callable[[Target], object], world: World, parent: int, channel: socket.socket
) -> None:
    """Run one case; tell the launcher what it returned or raised."""
    answer: dict[str, Any] = {"report": None}
    try:
        if order.host is not None:
            hosts.imitate(order.host)
        if order.level is None:
            os.chdir(f"{order.base}/ws")
        else:
            begin = time.perf_counter()
            answer["report"] = lock_down(plan(order, parent, channel.fileno())).to_json()
            answer["milliseconds"] = (time.perf_counter() - begin) * 1000
        answer["error"] = None
        answer["result"] = case(world.target(parent, channel))
    except BaseException as error:  # noqa: BLE001 - told to the test
        answer["error"] = f"{type(error).__name__}: {error}"[:500]
        if not isinstance(error, OSError):
            answer["trace"] = "".join(traceback.format_exception(error))[-2000:]
    channel.sendall(b"=" + json.dumps(answer, default=repr).encode() + b"\n")


def innermost(process: int) -> int:
    """Return the worker's own process: the child where the outer half waits for it."""
    with open(f"/proc/{process}/task/{process}/children", "rb") as file:
        children = file.read().split()
    return int(children[0]) if children else process


def describe(worker: int) -> dict[str, Any] | None:
    """Return what the product sees of a worker, as JSON."""
    seen = outside.look(worker)
    return None if seen is None else {name: getattr(seen, name) for name in fields(type(seen))}


def serve(order: Order, channel: socket.socket, process: int) -> dict[str, Any] | None:
    """Do what the case asks for until it ends; return its answer."""
    buffer = b""
    seen: dict[str, Any] = {}
    end = time.monotonic() + DEADLINE_SECONDS
    while select.select([channel], [], [], max(0, end - time.monotonic()))[0]:
        try:
            piece = channel.recv(1 << 16)
        except ConnectionResetError:
            return None  # it ended without reading what it was sent
        if not piece or len(buffer) > MAX_LINE:
            return None
        buffer += piece
        while b"\n" in buffer:
            line, _, buffer = buffer.partition(b"\n")
            if line.startswith(b"="):
                return {**json.loads(line[1:]), **seen}
            if line == b"look at me":
                worker = innermost(process)
                seen = {"seen": describe(worker)}
            if line == b"move sub out":
                os.rename(f"{order.base}/ws/sub", f"{order.base}/outside/sub")
            if line == b"send a folder":
                channel.sendall(b"\n")
                folder = os.open(f"{order.base}/outside", os.O_RDONLY)
                with contextlib.suppress(BrokenPipeError):  # it was killed for taking it, and is gone
                    socket.send_fds(channel, [b"\n"], [folder])
                os.close(folder)
            elif line:
                channel.sendall(b"\n")
    return {"error": "timeout"}


def run(order: Order, name: str, bystander: int) -> dict[str, Any]:
    """Run one case in a fork, in a world of its own; return its answer and how it ended."""
    case = find(name)
    top = f"{order.base}/{len(os.listdir(order.base))}-{name.rpartition(':')[2]}"
    os.mkdir(top)
    if os.geteuid() == 0:
        os.chown(top, order.owner, order.owner)
        os.setegid(order.owner)
        os.seteuid(order.owner)
        build(top)
        os.seteuid(0)
        os.setegid(0)
    else:
        build(top)
    os.chmod(f"{top}/ws", order.mode)
    order = Order(**{**vars(order), "base": top})
    if order.mount:
        subprocess.run(["mount", "-t", "tmpfs", "none", f"{top}/ws/sub"], check=True)
    world = World(top, bystander)
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    process = os.fork()
    if process == 0:
        ours.close()
        try:
            child(order, case, world, parent, theirs)
        finally:
            os._exit(0)
    theirs.close()
    try:
        answer = serve(order, ours, process) or {"error": None, "report": None}
    finally:
        ours.close()
    end = time.monotonic() + DEADLINE_SECONDS
    while not (status := os.waitpid(process, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.kill(process, signal.SIGKILL)
        time.sleep(0.0005)
    world.close()
    code = os.waitstatus_to_exitcode(status[1])
    answer["status"] = 128 - code if code < 0 else code  # as the outer half passes it on
    return answer


def interrupted(number: int, frame: FrameType | None) -> None:
    """Tell on stderr where a launcher hangs."""
    traceback.print_stack(frame)
    os._exit(1)


def main(text: str) -> None:
    """Run all cases of an order."""
    signal.signal(signal.SIGTERM, interrupted)
    order = Order(**json.loads(text))
    sys.path.append(order.imports)
    for name in order.cases:
        find(name)
    if order.account is not None:
        become(order.account)
    bystander = os.fork()
    if bystander == 0:
        signal.pause()
        os._exit(0)
    try:
        json.dump({name: run(order, name, bystander) for name in order.cases}, sys.stdout)
    finally:
        os.kill(bystander, signal.SIGKILL)
