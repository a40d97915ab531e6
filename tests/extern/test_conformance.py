"""The official conformance suite: what it asks of any server of the product, and the rest of its edges.

What it asks of tools of its own is asked of a server of those, behind the product's transport, front and confirmation.
What is left out is in `left_out.toml`, each with its reason.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.shell import ROOT, SECONDS
from tests.extern.packages import Packages
from tests.extern.serving import OLDER_OVER_HTTP, at_home, over_http

pytestmark = [pytest.mark.extern, pytest.mark.timeout(180)]

SCENARIOS = {"2026-07-28": 50, "2025-11-25": 33}
"""How many the suite has for servers of a revision, those that count and those that are run beside them."""

LEFT_OUT = Path(__file__).with_name("left_out.toml")


@dataclass(frozen=True)
class Check:
    """One check of a scenario, and what the suite says of it."""

    scenario: str
    id: str
    status: str
    message: str

    @property
    def names(self) -> set[str]:
        """What it is called in the list."""
        return {self.scenario, f"{self.scenario}:{self.id}"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def product(folder: Path, *options: str) -> Iterator[str]:
    """Serve notes, to a page of the server's own origin too."""
    shell = at_home(folder)
    for number in range(3):
        shell.write(f"{number}.md", f"# {number}\n")
    port = free_port()
    shell.configure(f'[http]\nallowed_origins = ["http://127.0.0.1:{port}"]\n')
    with over_http(shell, "--port", str(port), *options) as url:
        yield url


@contextmanager
def fixture(folder: Path) -> Iterator[str]:
    """Serve what the suite asks for by name."""
    log = folder / "log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "tests.extern.fixture_server", str(folder)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=ROOT,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            ended = process.poll()
            process.kill()
            assert ended is None, log.read_text(encoding="utf-8")


def older(folder: Path) -> AbstractContextManager[str]:
    """Serve notes to clients that open with a handshake, too."""
    return product(folder, "--legacy", "on")


Serve = Callable[[Path], AbstractContextManager[str]]

SERVERS: dict[str, tuple[Serve, str]] = {
    "product": (product, "2026-07-28"),
    "fixture": (fixture, "2026-07-28"),
    **({"older": (older, "2025-11-25")} if OLDER_OVER_HTTP else {}),
}
"""The servers, and the revision whose scenarios they are asked."""


def run_suite(packages: Packages, url: str, revision: str, results: Path) -> list[Check]:
    """Run all scenarios for servers of *revision*, and return every check."""
    command = packages.program("@modelcontextprotocol/conformance", "dist/index.js")
    words = ["server", "--url", url, "--requirements", revision, "-o", str(results)]
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=4 * SECONDS, cwd=results, check=False
    )
    found = {}
    for file in results.glob("server-*/checks.json"):
        scenario = file.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        found[scenario] = json.loads(file.read_text(encoding="utf-8"))
    assert len(found) == SCENARIOS[revision], done.stdout[-2000:] + done.stderr
    return [
        Check(scenario, check["id"], check["status"], check.get("errorMessage", ""))
        for scenario, checks in found.items()
        for check in checks
    ]


def left_out(server: str) -> set[str]:
    """Return the entries of the list for *server*, each of which has a reason."""
    document = tomllib.loads(LEFT_OUT.read_text(encoding="utf-8"))
    assert document.keys() == {"both", "product", "older"}
    groups = [*(document["both"] if server != "older" else ()), *document.get(server, ())]
    assert all(group["reason"].endswith(".") for group in groups)
    entries = [entry for group in groups for entry in group["entries"]]
    assert len(entries) == len(set(entries))
    return set(entries)


@pytest.mark.parametrize("server", SERVERS)
def test_nothing_of_the_suite_fails_but_what_is_left_out_for_a_reason(
    server: str, packages: Packages, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    serve, revision = SERVERS[server]
    with serve(tmp_path) as url:
        checks = run_suite(packages, url, revision, results)
    failed = [check for check in checks if check.status == "FAILURE"]
    entries = left_out(server)
    assert [check for check in failed if not check.names & entries] == []
    # What passes, or is not there, is not left out.
    assert entries - {name for check in failed for name in check.names} == set()
    # The suite has looked at what it was sent.
    passed = {check.id for check in checks if check.status == "SUCCESS"}
    assert {"wire-schema-valid", "localhost-host-rebinding-rejected", "tools-list"} <= passed
