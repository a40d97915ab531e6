"""Start `launcher.py` in a fresh interpreter, as root or as an ordinary account, and read what became of its cases."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import pytest

from sandbox.jail.outside import Seen
from sandbox.jail.report import LayerName, Level, Report
from tests.require import require
from tests.sandbox.jail.attempts import LATE_MODULE, WORKED

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TIMEOUT_SECONDS = 300
USER = 1000
KILLED = 128 + signal.SIGSYS

NOTHING = "tests.sandbox.jail.cases:nothing"
FEATURES: dict[LayerName, str] = {"landlock": "landlock", "seccomp": "seccomp", "namespaces": "userns"}
"""How `FSNOTES_REQUIRE` calls them."""

Identity = Literal["root", "user", "root for a user"]
"""Root with a workspace of root's; an ordinary account; root with a workspace of an ordinary account's."""

IDENTITIES: tuple[Identity, ...] = ("root", "user", "root for a user")


@dataclass(frozen=True)
class Outcome:
    """What became of one case."""

    status: int
    error: str | None
    result: Any
    report: Report | None
    milliseconds: float | None
    trace: str | None
    seen: Seen | None

    @property
    def killed(self) -> bool:
        """Whether the filter's trip-wire killed the process."""
        return self.status == KILLED

    @property
    def worked(self) -> bool:
        """Whether the case came to its end, or the program that it started did."""
        return (self.status == 0 and self.error is None) or self.status == WORKED

    @property
    def said(self) -> str:
        """A short text for a failing test."""
        return self.trace or f"status {self.status}, {self.error}, {self.result}"


def need(identity: Identity) -> None:
    """Skip unless this process may start something as *identity*."""
    if identity != "user" and os.geteuid() != 0:
        pytest.skip("needs root")


def launch(
    cases: Sequence[str],
    *,
    identity: Identity,
    level: str | None,
    kind: str = "rw",
    host: str | None = None,
    limits: dict[str, int] | None = None,
    mount: bool = False,
    mode: int = 0o755,
    follows_links: bool = False,
) -> dict[str, Outcome]:
    """Run *cases*, each in a process of its own, under the jail at *level* or without one (None).

    *mode* is the workspace's.
    """
    need(identity)
    base = tempfile.mkdtemp(prefix="fsnotes-jail-")
    try:
        return _launch(
            base,
            cases,
            identity=identity,
            level=level,
            kind=kind,
            host=host,
            limits=limits or {},
            mount=mount,
            mode=mode,
            follows_links=follows_links,
        )
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _launch(base: str, cases: Sequence[str], *, identity: Identity, **order: Any) -> dict[str, Outcome]:
    imports = f"{base}/imports"
    os.mkdir(imports)
    with open(f"{imports}/{LATE_MODULE}.py", "w", encoding="utf-8") as file:
        file.write("VALUE = 1\n")
    work = f"{base}/work"
    os.mkdir(work)
    os.chmod(base, 0o755)  # noqa: S103 - other accounts go through it
    os.chmod(imports, 0o755)  # noqa: S103 - and import from it
    is_root = os.geteuid() == 0
    if is_root and identity == "user":
        os.chown(work, USER, USER)
    text = json.dumps(
        {
            "base": work,
            "account": USER if is_root and identity == "user" else None,
            "owner": 0 if identity == "root" else USER,
            "cases": list(cases),
            "imports": imports,
            **order,
        }
    )
    code = (
        f"import sys; sys.path.insert(0, {REPOSITORY!r})\n"
        "from tests.sandbox.jail import launcher; launcher.main(sys.argv[1])"
    )
    done = subprocess.run(
        [
            *(["unshare", "--mount"] if order["mount"] else []),
            sys.executable,
            "-I",
            "-S",
            "-B",
            "-c",
            code,
            text,
        ],
        cwd="/",
        env={"LANG": "C.UTF-8"},
        input="",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: _outcome(value) for name, value in json.loads(done.stdout).items()}


def _outcome(value: dict[str, Any]) -> Outcome:
    report = value.get("report")
    return Outcome(
        status=value["status"],
        error=value.get("error"),
        result=value.get("result"),
        report=None if report is None else Report.from_json(report),
        milliseconds=value.get("milliseconds"),
        trace=value.get("trace"),
        seen=None
        if value.get("seen") is None
        else Seen(**{**value["seen"], "numbers": tuple(value["seen"]["numbers"])}),
    )


@cache
def _probe(identity: Identity) -> Report:
    report = launch([NOTHING], identity=identity, level="full")[NOTHING].report
    assert report is not None
    return report


def need_level(identity: Identity, level: Level) -> None:
    """Skip by the name of what is missing unless this host has everything that *level* is made of."""
    need(identity)
    report = _probe(identity)
    for name, feature in FEATURES.items():
        if name != "namespaces" or level is Level.FULL:
            require(feature, available=report.has(name), why=report.layer(name).why or "")
