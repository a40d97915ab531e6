"""Decides which workspace a command is for, and opens the same service that the server uses."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager

from fsnotes import wiring
from fsnotes.calls import Call
from fsnotes.cli.console import Console, shown
from fsnotes.cli.logs import start_logging
from fsnotes.cli.settings import expanded, home_folder, settings_for
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.errors import ConfigurationError
from fsnotes.service import Service
from sandbox.records import record, replace


@record
class Session:
    """A person at a terminal, working in one workspace."""

    product: wiring.Product
    service: Service
    call: Call
    uri: str
    workspace: WorkspaceSettings
    settings: Settings


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
    folder = expanded(wanted, home_folder())
    if not os.path.isdir(folder):
        raise ConfigurationError(
            f"-w {shown(wanted)}: neither a configured workspace nor a folder; name one that is there"
        )
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
