"""Decides which configuration a command has, and what a path of the command line or the environment means.

Opens nothing but the configuration file: which workspace a command is for is decided in `session`.
"""

from __future__ import annotations

import argparse
import os
import pwd

from fsnotes.calls import local_principal
from fsnotes.cli.console import shown
from fsnotes.config import Choices, Settings, Source, WorkspaceSettings, load, read_source
from fsnotes.errors import ConfigurationError
from fsnotes.folders import Seen
from sandbox.errors import InvalidUri
from sandbox.uris import FileUri


def source_for(options: argparse.Namespace) -> Source:
    """Read the configuration file for this user and this environment."""
    home = home_folder()
    return read_source(_at_home(options.config, home), environ=os.environ, home=home)


def settings_for(
    options: argparse.Namespace,
    folders: tuple[str, ...] = (),
    *,
    source: Source | None = None,
    seen: Seen | None = None,
) -> Settings:
    """Load the configuration for this user and this environment.

    From its *source* if that has been read, and with the folders that another process has *seen*.
    """
    home = home_folder()
    settings = load(
        Choices(
            config=_at_home(options.config, home),
            source=source,
            seen=seen,
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
            folders=tuple(expanded(folder, home) for folder in folders or options.folders),
        ),
        principal=local_principal(),
        environ=os.environ,
        home=home,
    )
    for workspace in settings.workspaces:
        _check_uri(workspace)
    return settings


def _check_uri(workspace: WorkspaceSettings) -> None:
    """Refuse a folder that no call could name: not everybody who reads a path tells a backslash from a separator."""
    try:
        FileUri.from_path(workspace.path)
    except InvalidUri as error:
        raise ConfigurationError(
            f"folder {shown(workspace.path)}: no URI can name it ({error.reason}): rename it"
        ) from error


def absolute(path: str) -> str:
    """Return *path*, of the command line or the environment, as one that means the same in every folder."""
    written = expanded(path, home_folder())
    spelled = os.path.abspath(written)
    # `x/../y` is not `y` where x is a link.
    real = os.path.realpath(written)
    return spelled if os.path.realpath(spelled) == real else real


def home_folder() -> str:
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
    return path if path is None else expanded(path, home)


def expanded(path: str, home: str) -> str:
    """Expand a leading `~/`: clients start servers without a shell, and no shell expands `--state-dir=~/x`."""
    return home + path[1:] if path == "~" or path.startswith("~/") else path
