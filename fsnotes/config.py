"""Decides what a configuration file and the command line mean; everything unknown is an error.

The result is data: nothing is opened here but the file itself. Whether a folder can be served is found out
in `wiring.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fsnotes.access import Principal, Right, Rule
from fsnotes.errors import ConfigurationError
from fsnotes.folders import Folders, Seen, from_home
from fsnotes.http_settings import HttpSettings, read_http
from fsnotes.tables import Table, one_of, parse_toml, positive, shown
from sandbox.errors import InvalidPath
from sandbox.names import ROOT, RelPath, display
from sandbox.policy import MOST_ENTRIES, HardLinks, Links, Mounts, Policy, Quota
from sandbox.records import record, replace

_MEGABYTE: Final = 1_048_576
_PEBIBYTE: Final = 1 << 50
MAX_CONFIG_BYTES: Final = _MEGABYTE


@record
class WorkspaceSettings:
    """One folder to serve: its canonical path, the spelling it was configured by, its policies and its quota.

    *identity* is device and inode of the one that other processes serve, None where whichever is there is meant.
    """

    name: str
    path: str
    spelling: str
    policy: Policy = Policy()
    ignore: tuple[str, ...] = ()
    quota: Quota = Quota()
    identity: tuple[int, int] | None = None


@record
class Origin:
    """What only this command was told, by its flags and its environment: another must be told again to mean the same.

    *folders* are the canonical paths of those named on the command line; the other paths are absolute.
    """

    config: str | None = None
    state_dir: str | None = None
    folders: frozenset[str] = frozenset()


@record
class Settings:
    """Everything that the command line and the configuration file decide. *legacy* None: as the transport has it.

    *seen* is what another process is to be told that serves the same.
    """

    state_dir: str
    workspaces: tuple[WorkspaceSettings, ...] = ()
    rules: tuple[Rule, ...] = ()
    read_only: bool = False
    jail_mode: str = "best-effort"
    jail_level: str = "contained"
    call_deadline_seconds: float = 20.0
    confirm_ttl_seconds: float = 300.0
    decline_memory_seconds: float = 60.0
    max_message_bytes: int = 8 * _MEGABYTE
    audit_max_bytes: int = 64 * _MEGABYTE
    audit_keep: int | None = None
    log_level: str = "warning"
    log_format: str = "text"
    legacy: bool | None = None
    http: HttpSettings = HttpSettings()
    origin: Origin = Origin()
    seen: Seen = Seen()


@record
class Source:
    """A configuration file as it was when it was read; no *path* where there is none."""

    path: str | None
    data: bytes = b""


@record
class Choices:
    """What the command line says; None where it says nothing.

    With a *source*, no file is looked for, and no folder where another process has *seen* them.
    """

    config: str | None = None
    source: Source | None = None
    seen: Seen | None = None
    state_dir: str | None = None
    jail: str | None = None
    jail_level: str | None = None
    read_only: bool = False
    legacy: str | None = None
    log_level: str | None = None
    log_format: str | None = None
    host: str | None = None
    port: int | None = None
    path: str | None = None
    workers: int | None = None
    folders: tuple[str, ...] = ()


def load(choices: Choices, *, principal: Principal, environ: Mapping[str, str], home: str) -> Settings:
    """Combine the configuration file (if any) with the command line's *choices*.

    Folders named on the command line are granted in full to *principal*. Raises ConfigurationError with a
    sentence that names the key and its table.
    """
    told = choices.config or from_home(environ.get("FSNOTES_CONFIG"), home) or None
    source = choices.source or read_source(choices.config, environ=environ, home=home)
    path = source.path
    folders = Folders(choices.seen)
    file = None
    if path is not None:
        file = _File(_document(source), folders, home=home, base=os.path.dirname(os.path.abspath(path)))
    stated = choices.state_dir or from_home(environ.get("FSNOTES_STATE_DIR"), home) or None
    state = stated or (file.state_dir if file else None)
    state = os.path.abspath(state) if state else os.path.join(home, ".local", "state", "fsnotes")
    settings = Settings(state_dir=folders.state_dir(state))
    if file is not None:
        settings = file.apply(settings)
    settings = _add_folders(settings, choices.folders, folders, principal=principal)
    settings = replace(
        settings,
        origin=Origin(
            config=os.path.abspath(told) if told else None,
            state_dir=settings.state_dir if stated else None,
            folders=frozenset(map(folders.path, choices.folders)),
        ),
        seen=folders.seen(settings.state_dir),
    )
    if choices.jail is not None:
        settings = replace(settings, jail_mode=one_of(choices.jail, _JAIL_MODES, "--jail"))
    if choices.jail_level is not None:
        settings = replace(settings, jail_level=one_of(choices.jail_level, _JAIL_LEVELS, "--jail-level"))
    if choices.log_level is not None:
        settings = replace(settings, log_level=one_of(choices.log_level, _LOG_LEVELS, "--log-level"))
    if choices.log_format is not None:
        settings = replace(settings, log_format=one_of(choices.log_format, _LOG_FORMATS, "--log-format"))
    settings = replace(
        settings,
        http=settings.http.bound_to(
            host=choices.host, port=choices.port, path=choices.path, workers=choices.workers
        ),
    )
    if choices.legacy is not None:
        settings = replace(settings, legacy=one_of(choices.legacy, ("on", "off"), "--legacy") == "on")
    if choices.read_only:
        rules = tuple(replace(rule, allow=rule.allow & {Right.READ}) for rule in settings.rules)
        settings = replace(settings, read_only=True, rules=rules)
    _check_apart(settings)
    return settings


_JAIL_MODES: Final = ("off", "best-effort", "require")
_JAIL_LEVELS: Final = ("contained", "full")
_LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_LOG_FORMATS: Final = ("text", "json")


def read_source(config: str | None, *, environ: Mapping[str, str], home: str) -> Source:
    """Read the configuration file: *config* of the command line, else the environment's, else the usual one.

    Raises ConfigurationError where the one that is named cannot be read.
    """
    path = config or from_home(environ.get("FSNOTES_CONFIG"), home) or None
    default = os.path.join(home, ".config", "fsnotes", "config.toml")
    if path is None and os.path.exists(default):
        path = default
    if path is None:
        return Source(None)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"configuration {display(path)}: {error.strerror}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise ConfigurationError(f"configuration {display(path)}: larger than {MAX_CONFIG_BYTES} bytes")
    return Source(path, data)


def _document(source: Source) -> dict[str, Any]:
    return parse_toml(source.data, f"configuration {display(source.path or '')}")


class _File:
    """A configuration file, checked whole before any of it is used."""

    def __init__(self, document: dict[str, Any], folders: Folders, *, home: str, base: str) -> None:
        self._folders = folders
        self._home = home
        self._base = base
        known = {"server", "jail", "confirm", "workspace", "grant", "http", "audit"}
        for key in document:
            if key not in known:
                raise ConfigurationError(f"the configuration has no table {shown(key)}")
        self._server = Table(document.get("server", {}), "server")
        self._jail = Table(document.get("jail", {}), "jail")
        self._confirm = Table(document.get("confirm", {}), "confirm")
        self._audit = Table(document.get("audit", {}), "audit")
        self._http = Table(document.get("http", {}), "http")
        self._workspaces = self._tables(document, "workspace")
        self._grants = self._tables(document, "grant")
        stated = self._server.take("state_dir", str, check=bool)
        self.state_dir: str | None = self._absolute(stated) if stated else None

    @staticmethod
    def _tables(document: dict[str, Any], name: str) -> list[Table]:
        value = document.get(name, [])
        if not isinstance(value, list):
            raise ConfigurationError(f"{name} must be written as [[{name}]]")
        return [Table(item, name) for item in value]

    def _absolute(self, path: str) -> str:
        return os.path.join(self._base, from_home(path, self._home) or path)

    def apply(self, settings: Settings) -> Settings:
        server, jail, confirm = self._server, self._jail, self._confirm
        log_level = one_of(
            server.take("log_level", str, settings.log_level), _LOG_LEVELS, "[server] log_level"
        )
        settings = replace(
            settings,
            log_level=log_level,
            legacy=server.take("legacy", bool, settings.legacy),
            max_message_bytes=server.take(
                "max_message_bytes",
                int,
                settings.max_message_bytes,
                check=lambda n: 4096 <= n <= 64 * _MEGABYTE,
            ),
            jail_mode=one_of(jail.take("mode", str, settings.jail_mode), _JAIL_MODES, "[jail] mode"),
            jail_level=one_of(jail.take("level", str, settings.jail_level), _JAIL_LEVELS, "[jail] level"),
            call_deadline_seconds=float(
                jail.take(
                    "call_deadline_seconds", float, settings.call_deadline_seconds, check=positive(3600)
                )
            ),
            confirm_ttl_seconds=float(
                confirm.take("ttl_seconds", float, settings.confirm_ttl_seconds, check=positive(3600))
            ),
            decline_memory_seconds=float(
                confirm.take(
                    "decline_memory_seconds",
                    float,
                    settings.decline_memory_seconds,
                    check=lambda n: 0 <= n <= 86_400,
                )
            ),
        )
        audit = self._audit
        settings = replace(
            settings,
            audit_max_bytes=audit.take(
                "max_bytes", int, settings.audit_max_bytes, check=lambda n: 65_536 <= n <= _PEBIBYTE
            ),
            audit_keep=audit.take("keep", int, check=positive(1_000_000)),
        )
        for table in (server, jail, confirm, audit):
            table.end()
        settings = replace(settings, http=read_http(self._http))
        workspaces = tuple(self._workspace(table) for table in self._workspaces)
        names = [workspace.name for workspace in workspaces]
        for name in names:
            if names.count(name) > 1:
                raise ConfigurationError(f"[[workspace]] name {shown(name)} is used twice")
        rules = tuple(self._rule(table, names) for table in self._grants)
        _check_links(workspaces, rules)
        return replace(settings, workspaces=workspaces, rules=rules)

    def _workspace(self, table: Table) -> WorkspaceSettings:
        name = table.need("name", str)
        if not name or not name.isprintable() or len(name) > 100:
            raise ConfigurationError("[[workspace]] name: a short printable name is expected")
        policy = Policy(
            links=Links.WITHIN if _choice(table, "symlinks", "refuse", "within") else Links.REFUSE,
            hard_links=HardLinks.ALLOW
            if _choice(table, "hardlinks", "refuse", "allow")
            else HardLinks.REFUSE,
            mounts=Mounts.ALLOW if _choice(table, "mounts", "refuse", "allow") else Mounts.REFUSE,
            max_file_bytes=table.take("max_note_bytes", int, _MEGABYTE, check=positive(16 * _MEGABYTE)),
        )
        quota = Quota(
            max_bytes=table.take("max_bytes", int, check=positive(_PEBIBYTE)),
            max_entries=table.take("max_entries", int, check=positive(MOST_ENTRIES)),
            min_free_bytes=table.take("min_free_bytes", int, check=lambda n: 0 <= n <= _PEBIBYTE),
        )
        spelling = self._absolute(table.need("path", str))
        ignore = table.strings("ignore") or ()
        table.end()
        path, identity = self._folders.path(spelling), self._folders.identity(spelling)
        return WorkspaceSettings(name, path, os.path.normpath(spelling), policy, ignore, quota, identity)

    def _rule(self, table: Table, names: list[str]) -> Rule:
        principal = table.need("principal", str)
        workspace = table.need("workspace", str)
        if workspace not in names:
            raise ConfigurationError(f"[[grant]] workspace: there is no workspace {shown(workspace)}")
        if not principal or not principal.isprintable():
            raise ConfigurationError("[[grant]] principal: a printable name is expected")
        try:
            folder = RelPath.parse_folder(table.take("folder", str, ""))
        except InvalidPath as error:
            raise ConfigurationError(f"[[grant]] folder: {error.reason}") from error
        rights = table.strings("allow")
        if rights is None:
            raise ConfigurationError("[[grant]] allow is missing")
        allow = frozenset(
            Right(one_of(right, [r.value for r in Right], "[[grant]] allow")) for right in rights
        )
        table.end()
        return Rule(principal, workspace, folder, allow)


def _choice(table: Table, key: str, off: str, on: str) -> bool:
    return one_of(table.take(key, str, off), (off, on), f"[[workspace]] {key}") == on


def _check_links(workspaces: Iterable[WorkspaceSettings], rules: Iterable[Rule]) -> None:
    """Refuse to follow links where a grant covers one folder: they could lead to another one."""
    following = {workspace.name for workspace in workspaces if workspace.policy.links is Links.WITHIN}
    for rule in rules:
        if rule.folder != ROOT and rule.workspace in following:
            raise ConfigurationError(
                f'[[workspace]] {rule.workspace!r}: symlinks = "within" and a grant of one folder exclude each other'
            )


def _add_folders(
    settings: Settings, spellings: Iterable[str], folders: Folders, *, principal: Principal
) -> Settings:
    workspaces, rules = list(settings.workspaces), list(settings.rules)
    for folder in spellings:
        path = folders.path(folder)
        known = next((workspace for workspace in workspaces if workspace.path == path), None)
        if known is None:
            known = WorkspaceSettings(
                _free_name(os.path.basename(path) or "root", {workspace.name for workspace in workspaces}),
                path,
                os.path.abspath(folder),
                identity=folders.identity(folder),
            )
            workspaces.append(known)
        rules.append(Rule(principal.name, known.name, ROOT, frozenset(Right)))
    return replace(settings, workspaces=tuple(workspaces), rules=tuple(rules))


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = display(wanted)[:100], 2
    while name in taken:
        name, number = f"{display(wanted)[:90]}-{number}", number + 1
    return name


def _check_apart(settings: Settings) -> None:
    """Refuse workspaces that contain each other or the state folder.

    Two names for one file would have two locks, and state in a synced folder comes back as conflict copies.
    """
    for workspace in settings.workspaces:
        for other in settings.workspaces:
            if other is not workspace and _is_within(other.path, workspace.path):
                raise ConfigurationError(
                    f"workspace {other.name!r} lies in workspace {workspace.name!r}: configure the outer one"
                    " and grant the inner folder"
                )
        state = os.path.realpath(settings.state_dir)
        if _is_within(state, workspace.path):
            raise ConfigurationError(
                f"the state folder lies in workspace {workspace.name!r}: choose another one with --state-dir"
            )
        if _is_within(workspace.path, state):
            raise ConfigurationError(
                f"workspace {workspace.name!r} lies in the state folder: choose another one with --state-dir"
            )


def _is_within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")
