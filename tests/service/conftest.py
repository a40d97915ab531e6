"""A household: a vault on a real folder, and the product on it, as one or more principals.

Every test that takes one runs four times: inline on each resolver, and with jailed workers at the highest level that
the host gives, and without namespaces, where they have other calls and walk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from fsnotes import wiring
from fsnotes.access import Principal, Right, Rule
from fsnotes.calls import Call
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.outcomes import Asked, Deletion
from fsnotes.service import Service
from fsnotes.workers import Worker, WorkerMaker
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.names import OWN_PREFIX, RelPath
from sandbox.policy import Policy, Quota
from sandbox.records import replace
from tests.disk import Interruption, Tree
from tests.require import has_openat2, require
from tests.workers import Home, jail_level, require_jail

ALICE = Call(Principal("local:alice"), request_id="1")
BOB = Call(Principal("local:bob"), request_id="2")


@dataclass
class Clock:
    """A clock that is set, never waited for."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Household:
    """A vault at `top/Notes`, state at `top/state`, and products built on them."""

    top: Path
    resolver: wiring.ResolverChoice
    clock: Clock = field(default_factory=Clock)
    rules: list[Rule] = field(default_factory=list)
    policy: Policy = field(default_factory=Policy)
    quota: Quota = field(default_factory=Quota)
    ignore: tuple[str, ...] = ()
    served: bool = True
    """Whether the vault is configured as the workspace `Notes`."""
    others: list[WorkspaceSettings] = field(default_factory=list)
    """Workspaces beside the vault."""
    is_jailed: bool = False
    worker: WorkerMaker | None = None
    """What starts workers, where there are any."""
    most: Level = Level.FULL
    """The level that its workers are started for."""
    _products: list[wiring.Product] = field(default_factory=list)

    @property
    def vault(self) -> Path:
        return self.top / "Notes"

    @property
    def uri(self) -> str:
        return self.vault.as_uri()

    @property
    def level(self) -> str:
        """The jail level that the products say they have."""
        if not self.is_jailed:
            return "none"
        return min(jail_level()[0], self.most, key=lambda level: level.rank).value

    def grant(self, call: Call, *rights: Right, folder: str = "", workspace: str = "Notes") -> None:
        self.rules.append(
            Rule(call.principal.name, workspace, RelPath.parse_folder(folder), frozenset(rights))
        )

    def withdraw(self, call: Call) -> list[Rule]:
        """Take away everything that a principal was granted; return what that was."""
        taken = [rule for rule in self.rules if rule.principal == call.principal.name]
        self.rules = [rule for rule in self.rules if rule not in taken]
        return taken

    def write(self, path: str, text: str | bytes = "x\n") -> Path:
        place = self.vault / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        return place

    def product(
        self,
        *,
        state: str = "state",
        observe: Callable[[StrEnum], None] = wiring.ignore,
        environ: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> wiring.Product:
        """Build a product of its own, as another process would: only files are shared.

        One that is to be interrupted in a step of a change is served inline: the steps of a worker are seen by
        nobody here.
        """
        is_jailed = self.is_jailed and not isinstance(observe, Interruption)
        canonical = os.path.realpath(self.vault)
        workspace = WorkspaceSettings(
            "Notes", canonical, str(self.vault), self.policy, self.ignore, self.quota
        )
        made = wiring.build(
            Settings(
                state_dir=str(self.top / state),
                workspaces=(*([workspace] if self.served else []), *self.others),
                rules=tuple(self.rules),
                jail_mode="require" if is_jailed else "off",
                **settings,
            ),
            environ=environ or {},
            observe=observe,
            clock=self.clock,
            # In a jail, how paths are resolved is decided by what a worker may do.
            resolver="auto" if is_jailed else self.resolver,
            worker=self.worker,
        )
        self._products.append(made)
        return made

    def service(self, **more: Any) -> Service:
        return self.product(**more).service

    def files(self) -> dict[str, bytes]:
        """Return every file below the vault, the trash too."""
        return {
            str(place.relative_to(self.vault)): place.read_bytes()
            for place in sorted(self.vault.rglob("*"))
            if place.is_file() and not place.is_symlink()
        }

    def tree(self) -> dict[str, object]:
        """Return everything below `top` but the state: text of files, targets of links, kinds of the rest."""
        everything = Tree(self.top).snapshot()
        return {
            path: what for path, what in everything.items() if not path.split(os.sep)[0].endswith("state")
        }

    def temporaries(self) -> list[str]:
        """Return the temporaries of writes that are not in the trash."""
        return [
            path
            for path in self.tree()
            if os.path.basename(path).startswith(OWN_PREFIX) and f"{os.sep}.trash{os.sep}" not in path
        ]

    def audit(self, state: str = "state") -> list[dict[str, Any]]:
        """Return the lines of the audit log."""
        path = self.top / state / "private" / "audit.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def audited(self) -> list[tuple[str, str, str | None, str]]:
        """Return who did what, where, with which outcome."""
        return [(line["principal"], line["tool"], line["path"], line["outcome"]) for line in self.audit()]

    def close(self) -> None:
        for product in self._products:
            product.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The place of all jailed households."""
    made = Home(Path(os.path.realpath(tmp_path_factory.mktemp("jailed"))), "Notes")
    yield made
    made.close()


@pytest.fixture(params=["openat2", "walk", "jailed", "contained"])
def household(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Household]:
    """Set up a vault of which ALICE may do everything."""
    if request.param in ("jailed", "contained"):
        yield request.getfixturevalue(request.param)
    else:
        yield from _lived_in(inline_household(request.param, tmp_path))


@pytest.fixture(params=["openat2", "walk"])
def inline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Household]:
    """Set up one that is served in the product's own process, for tests that watch the steps of a change."""
    yield from _lived_in(inline_household(request.param, tmp_path))


@pytest.fixture
def jailed(home: Home) -> Iterator[Household]:
    """Set up one that is served by jailed workers, which outlive it."""
    require_jail()
    home.tidy()
    yield from _lived_in(Household(home.top, "auto", is_jailed=True, worker=home.workers))


@pytest.fixture
def contained(home: Home) -> Iterator[Household]:
    """Set up one that is served by jailed workers without namespaces."""
    require_jail()
    home.tidy()

    def start(spec: JailSpec, *, require: Level) -> Worker:
        return home.workers(replace(spec, want=Level.CONTAINED), require=require)

    yield from _lived_in(
        Household(home.top, "auto", is_jailed=True, worker=start, most=Level.CONTAINED),
    )


def _lived_in(made: Household) -> Iterator[Household]:
    made.grant(ALICE, *Right)
    yield made
    made.close()


def inline_household(resolver: wiring.ResolverChoice, top: Path) -> Household:
    """Set up an empty vault that is served in the test's own process."""
    if resolver == "openat2":
        require("openat2", available=has_openat2())
    made = Household(top, resolver)
    made.vault.mkdir()
    return made


def ask(service: Service, call: Call, uri: str, title: str) -> Asked:
    """Run the first round and return the form."""
    asked = service.delete(call, uri, title, arguments={"workspaceUri": uri, "title": title})
    assert isinstance(asked, Asked), asked
    return asked


def answer(
    service: Service, call: Call, uri: str, title: str, asked: Asked, reply: Any, **changed: Any
) -> Asked | Deletion:
    """Run the second round with *reply* as the answer."""
    arguments = changed.pop("arguments", {"workspaceUri": uri, "title": title})
    return service.delete(
        call, uri, title, arguments=arguments, state=asked.state, answers={"delete_choice": reply}, **changed
    )


def accept(path: str) -> dict[str, Any]:
    """Return the answer that confirms the deletion of *path*."""
    return {"action": "accept", "content": {"note_id": path, "confirm": True}}


def decline() -> dict[str, Any]:
    """Return the answer that says no."""
    return {"action": "decline"}
