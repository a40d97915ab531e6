"""Folders of several users that root serves, for the tests of what their workers get of the state."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fsnotes import wiring
from fsnotes.access import Principal, Right, Rule
from fsnotes.calls import Call
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.state import StateFolder
from fsnotes.workers import Worker, WorkerMaker
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.names import ROOT
from sandbox.records import replace
from tests.require import require
from tests.workers import jail_level, require_jail

Layout = Literal["full", "contained"]

ALICE, BOB = 1000, 1001
ME = Call(Principal("local:root"), request_id="1")
SOURCES = str(Path(__file__).resolve().parents[2])
SHUT, PASSABLE, SHARED = 0o700, 0o711, 0o1777
"""Modes of folders: for their owner alone, to be passed by all, and for all to make things in, as /tmp is."""

NOTES = {"a.md": "a\n", "c.md": "[[a]]\n", "log.md": "log\n"}
SECRET = b"a secret of root's\n"


@dataclass
class Estate:
    """Vaults of users at `top`, root's state at `top/state`, and products on them."""

    top: Path
    owners: dict[str, int] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.top / "state"

    @property
    def secret(self) -> Path:
        return self.top / "secret"

    def vault(self, name: str = "Notes", owner: int = ALICE) -> Path:
        """Make a vault with a few notes that link to each other."""
        place = self.top / name
        place.mkdir()
        for path, text in NOTES.items():
            (place / path).write_text(text)
            os.chown(place / path, owner, owner)
        os.chown(place, owner, owner)
        self.owners[name] = owner
        return place

    def give(self, name: str, owner: int) -> None:
        """Make another user the owner of a vault with all in it."""
        for place in (self.top / name, *(self.top / name).rglob("*")):
            os.lchown(place, owner, owner)

    def uri(self, name: str = "Notes") -> str:
        return (self.top / name).as_uri()

    def part(self, name: str = "Notes") -> Path:
        """Where the part of the state is that is for a vault."""
        return self.state / "ws" / StateFolder.identify(str(self.top / name))

    def product(
        self,
        *names: str,
        layout: Layout = "contained",
        jail: str = "require",
        state: str = "state",
        worker: WorkerMaker | None = None,
    ) -> wiring.Product:
        """Build a product on the vaults of these names, or on all."""
        if jail != "off":
            require_layout(layout)
        names = names or tuple(self.owners)
        settings = Settings(
            state_dir=str(self.top / state),
            workspaces=tuple(
                WorkspaceSettings(name, str(self.top / name), str(self.top / name)) for name in names
            ),
            rules=tuple(Rule(ME.principal.name, name, ROOT, frozenset(Right)) for name in names),
            jail_mode=jail,
        )
        return wiring.build(settings, environ={}, worker=worker or maker(layout))

    @contextmanager
    def serving(self, *names: str, **how: Any) -> Iterator[wiring.Product]:
        """Serve for the block."""
        with closing(self.product(*names, **how)) as product:
            yield product

    def owner_and_mode(self, place: Path) -> tuple[int, int]:
        status = os.lstat(place)
        return status.st_uid, stat.S_IMODE(status.st_mode)

    def text(self, path: str, name: str = "Notes") -> str:
        return (self.top / name / path).read_text()


@contextmanager
def estate() -> Iterator[Estate]:
    """Make a folder that everybody can reach, which those of pytest are not; skip unless this is root."""
    require("root", available=os.geteuid() == 0, why="folders of several users")
    with tempfile.TemporaryDirectory(prefix="fsnotes-parts-", dir="/tmp") as folder:
        os.chmod(folder, PASSABLE)
        made = Estate(Path(os.path.realpath(folder)))
        made.secret.write_bytes(SECRET)
        os.chmod(made.secret, 0o600)
        yield made
        assert made.secret.read_bytes() == SECRET
        assert os.lstat(made.secret)[stat.ST_UID] == 0


def require_layout(layout: Layout) -> None:
    """Skip, or fail if that is required, where no worker has that layout."""
    require_jail()
    if layout == "full":
        level, why = jail_level()
        require("userns", available=level is Level.FULL, why=why)


def maker(
    layout: Layout,
    *,
    change: Callable[[JailSpec], JailSpec] = lambda spec: spec,
    before: Callable[[JailSpec], None] = lambda _: None,
) -> WorkerMaker:
    """Return what makes real workers of a *layout*; *before* each, and with another spec, if that is wanted."""

    def make(spec: JailSpec, *, require: Level) -> Worker:
        before(spec)
        if layout == "contained":
            spec = replace(spec, want=Level.CONTAINED)
        return Jail(change(spec), require=require)

    return make


def handled_by(spec: JailSpec, handler: str, options: Mapping[str, Any]) -> JailSpec:
    """Return *spec* with a handler of the tests."""
    return replace(
        spec,
        handler=handler,
        options={**spec.options, **options},
        import_paths=(*spec.import_paths, SOURCES),
    )


def as_user(user: int, *command: str) -> bool:
    """Say whether a program of *user*, without any jail, ends well."""
    done = subprocess.run(
        command, user=user, group=user, extra_groups=[], capture_output=True, cwd="/", check=False
    )
    return done.returncode == 0
