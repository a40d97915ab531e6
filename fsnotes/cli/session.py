"""Decides which workspace a command is for, and opens the same service that the server uses."""

from __future__ import annotations

import argparse
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from fsnotes import wiring
from fsnotes.calls import Call, local_principal
from fsnotes.cli.console import Console, shown
from fsnotes.cli.logs import start_logging
from fsnotes.config import Choices, Settings, Source, WorkspaceSettings, load, read_source
from fsnotes.errors import ConfigurationError
from fsnotes.service import Service


@dataclass(frozen=True, slots=True)
class Session:
    """A person at a terminal, working in one workspace."""

    product: wiring.Product
    service: Service
    call: Call
    uri: str
    workspace: WorkspaceSettings
    settings: Settings


def source_for(options: argparse.Namespace) -> Source:
    """Read the configuration file for this user and this environment."""
    home = _home()
    return read_source(_at_home(options.config, home), environ=os.environ, home=home)


def settings_for(
    options: argparse.Namespace, folders: tuple[str, ...] = (), *, source: Source | None = None
) -> Settings:
    """Load the configuration for this user and this environment, from its *source* if that has been read."""
    home = _home()
    return load(
        Choices(
            config=_at_home(options.config, home),
            source=source,
            state_dir=_at_home(options.state_dir, home),
            jail=options.jail,
            jail_level=options.jail_level,
            read_only=options.read_only,
            legacy=options.legacy,
            log_level=options.log_level,
            log_format=options.log_format,
            host=options.host,
            port=options.port,
            path=options.endpoint,
            workers=options.workers,
            folders=tuple(_expanded(folder, home) for folder in folders or options.folders),
        ),
        principal=local_principal(),
        environ=os.environ,
        home=home,
    )


@contextmanager
def session(options: argparse.Namespace, console: Console) -> Iterator[Session]:
    """Open the service for the one workspace that the command is for."""
    settings, workspace = _choose(options)
    start_logging(settings.log_level, settings.log_format)
    product = wiring.build(replace(settings, workspaces=(workspace,)))
    try:
        for notice in product.notices:
            console.complain(notice)
        yield Session(
            product, product.service, Call(product.principal), product.workspaces[0].uri, workspace, settings
        )
    finally:
        product.close()


def _home() -> str:
    """Return the user's home folder. An environment without HOME, or with a useless one, is not an error."""
    home = os.environ.get("HOME", "")
    if not os.path.isabs(home):
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    if not os.path.isabs(home):
        # Else configuration and state would be looked for wherever we happen to be started.
        raise ConfigurationError("there is no home folder: set HOME to one")
    return home


def _at_home(path: str | None, home: str) -> str | None:
    return path if path is None else _expanded(path, home)


def _expanded(path: str, home: str) -> str:
    """Expand a leading `~/`: clients start servers without a shell, and no shell expands `--state-dir=~/x`."""
    return home + path[1:] if path == "~" or path.startswith("~/") else path


def _choose(options: argparse.Namespace) -> tuple[Settings, WorkspaceSettings]:
    settings = settings_for(options)
    if options.workspace is not None:
        return _named(options, settings, options.workspace)
    if len(settings.workspaces) == 1:
        return settings, settings.workspaces[0]
    here = _current_folder()
    for workspace in settings.workspaces:
        if _is_within(here, workspace.path):
            return settings, workspace
    if not settings.workspaces:
        raise ConfigurationError("no workspace: name a folder with -w DIR, or configure one")
    names = ", ".join(workspace.name for workspace in settings.workspaces)
    raise ConfigurationError(f"which workspace? -w takes one of {names}, or a folder")


def _named(
    options: argparse.Namespace, settings: Settings, wanted: str
) -> tuple[Settings, WorkspaceSettings]:
    """Return the workspace of this name, else the folder of this path, which is then granted in full."""
    for workspace in settings.workspaces:
        if workspace.name == wanted:
            return settings, workspace
    folder = _expanded(wanted, _home())
    if not os.path.isdir(folder):
        raise ConfigurationError(f"-w {shown(wanted)}: neither a configured workspace nor a folder")
    path = os.path.realpath(folder)
    for workspace in settings.workspaces:
        if path != workspace.path and _is_within(path, workspace.path):
            raise ConfigurationError(
                f"-w {shown(wanted)}: a folder of workspace {workspace.name!r}; use -w {workspace.name} and"
                " paths that begin there"
            )
    settings = settings_for(options, (folder,))
    return settings, next(workspace for workspace in settings.workspaces if workspace.path == path)


def _current_folder() -> str:
    try:
        return os.path.realpath(os.curdir)
    except OSError:  # it was removed
        return ""


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
