"""Files of the host that the parent process reads: its configuration, its audit log, the table of mounts."""

from __future__ import annotations

import contextlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fsnotes import quarantine
from fsnotes.access import Principal
from fsnotes.audit import lines
from fsnotes.audit.entries import FIELDS, Entry, Wanted, parse
from fsnotes.audit.reading import History
from fsnotes.config import Choices, Settings, Source, load
from fsnotes.errors import ConfigurationError
from fsnotes.notes import journal
from fsnotes.state import StateFolder
from sandbox import mounts as table
from sandbox.names import RelPath
from tests.fuzz.scratch import scratch
from tests.fuzz.supply import Supply

MOST_SAID = 2_000
"""No refusal of a configuration needs more characters."""


@cache
def _home() -> Path:
    home = scratch("home")
    (home / "Notes").mkdir()
    (home / "audit").mkdir(mode=0o700)
    return home


def config(data: bytes) -> None:
    """A configuration is taken with values that are in their bounds, or refused in one line that can be shown."""
    home = str(_home())
    source = Source(f"{home}/config.toml", data)
    try:
        settings = load(Choices(source=source), principal=Principal("local:a"), environ={}, home=home)
    except ConfigurationError as error:
        said = str(error)
        said.encode()
        assert said.isprintable(), said
        assert len(said) <= MOST_SAID or said.startswith("folder ")  # a path is shown whole
        return
    _check_settings(settings)


def _check_settings(settings: Settings) -> None:
    assert settings.jail_mode in ("off", "best-effort", "require")
    assert settings.jail_level in ("contained", "full")
    for seconds in (settings.call_deadline_seconds, settings.confirm_ttl_seconds):
        assert 0 < seconds <= 3600
    assert 0 <= settings.decline_memory_seconds <= 86_400
    assert 4096 <= settings.max_message_bytes <= 64 << 20
    assert 0 < settings.http.port < 65_536
    names = {workspace.name for workspace in settings.workspaces}
    assert len(names) == len(settings.workspaces)
    for rule in settings.rules:
        assert rule.workspace in names
        assert rule.principal
    for workspace in settings.workspaces:
        assert os.path.isdir(workspace.path)
        assert 0 < workspace.policy.max_file_bytes <= 16 << 20


def audit(data: bytes) -> None:
    """A log is read from either side as the same lines, however its blocks are cut."""
    supply = Supply(data)
    block, longest, asked = 1 + supply.below(40), 60 + supply.below(400), 1 + supply.below(4)
    log = supply.rest()
    path = _home() / "audit" / "audit.jsonl"
    path.unlink(missing_ok=True)
    path.write_bytes(log)
    path.chmod(0o600)
    with (
        patch.object(lines, "BLOCK_BYTES", block),
        patch.object(lines, "MAX_LINE", longest),
        contextlib.closing(History(str(path))) as history,
    ):
        found = list(history.entries(Wanted()))
        assert history.last(Wanted(), asked) == found[-asked:]
    whole = log[: log.rfind(b"\n") + 1].split(b"\n")[:-1]
    expected = [entry for line in whole if len(line) < longest and (entry := parse(line)) is not None]
    assert [entry for _, entry in found] == expected
    for offset, entry in found:
        assert offset is not None
        assert log[offset:].startswith(entry.text.encode()) or log[offset:].lstrip(b" ").startswith(
            entry.text.encode()
        )
        _check_entry(entry)


def _check_entry(entry: Entry) -> None:
    assert "\n" not in entry.text
    for name in FIELDS:
        assert isinstance(entry[name], str)
    assert Wanted(since=entry["time"], principal=entry["principal"]).has(entry)
    assert not Wanted(principal=entry["principal"] + "x").has(entry)


def mounts(data: bytes) -> None:
    """A table is read as the kernel's manual says, whole or not at all, and what is around a folder is told."""
    supply = Supply(data)
    folder = "/" + "/".join(supply.some(("a", "b", "ab", "é", " "), most=3))
    content = supply.rest()
    try:
        read = table.parse(content)
    except table.MountsUnknownError:
        return
    assert len(read) == content.count(b"\n")
    for line, mount in zip(content.split(b"\n"), read, strict=False):
        number, parent, device, root, point, options = line.split(b" ")[:6]
        assert (mount.number, mount.parent, mount.device) == (int(number), int(parent), device)
        assert b" - " in line
        assert mount.options == options
        for escaped, plain in ((root, mount.root), (point, mount.point)):
            assert plain == escaped.decode("unicode_escape").encode("latin-1")
    for mount in table.around(read, folder):
        inside = (mount.point.rstrip(b"/") + b"/").startswith(os.fsencode(folder).rstrip(b"/") + b"/")
        above = (os.fsencode(folder).rstrip(b"/") + b"/").startswith(mount.point.rstrip(b"/") + b"/")
        assert inside or above


_ETAG = "e" * 32
_PARTS = ("version", "source", "target", "inode", "happened", "notes", "a/b.md", "a.md", "../a", _ETAG, "x")


def journals(data: bytes) -> None:
    """The journal of a move is what we write, or none; what is read can be written again."""
    supply = Supply(data)
    shape: Any = {
        "version": 1, "source": "a.md", "target": "b/a.md", "inode": 7, "happened": supply.flag(),
        "notes": [["c.md", _ETAG, _ETAG, [[0, 1, "x"], [2, 2, ""]]]],
    }  # fmt: skip
    if supply.flag():
        shape["notes"][0][supply.below(4)] = supply.json(_PARTS)
    else:
        shape[supply.pick(_PARTS)] = supply.json(_PARTS)
    for written in (data, json.dumps(shape).encode()):
        try:
            entry = journal._decode(written)
        except ValueError:
            continue
        assert journal._decode(journal._encode(entry)) == entry
        for path in (entry.source, entry.target, *(each.path for each in entry.rewritings)):
            assert RelPath.parse(str(path)) == path


@cache
def _state() -> StateFolder:
    return StateFolder(str(_home() / "state"))


def quarantines(data: bytes) -> None:
    """A mark of a quarantine says whose it is, or is damaged and stands all the same."""
    supply = Supply(data)
    shape: Any = {"workspace": "n", "path": "/n", "since": 1.5, "why": "because"}
    shape[supply.pick((*shape, "more"))] = supply.json(("n", "/n", "\ud800", "x" * 5_000))
    for written in (data, json.dumps(shape).encode()):
        mark = quarantine._parse(written)
        assert str(mark)
        if mark.path is None:
            assert mark == quarantine.Mark(quarantine.DAMAGED)
        else:
            assert _state().identify(mark.path)
            assert quarantine._parse(quarantine._encode(mark)) == mark
