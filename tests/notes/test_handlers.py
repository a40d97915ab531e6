"""The entry to the room: refusals of one family only, and calls that are bounded."""

from __future__ import annotations

import errno
import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

from fsnotes.errors import (
    Abandoned,
    AmbiguousNote,
    Busy,
    FsnotesError,
    InvalidArgument,
    NoteChanged,
    NoteExists,
    NoteNotFound,
    NoteTooLarge,
    OutcomeUnknown,
    PathRefused,
    Unavailable,
)
from fsnotes.notes import commands
from fsnotes.notes.commands import Command, DescribeNotes, FindNotes, ReadNote, ScanNotes
from fsnotes.notes.handlers import handle
from fsnotes.notes.scope import Scope
from fsnotes.notes.translating import translate
from sandbox import errors as found
from sandbox import records
from sandbox.names import ROOT
from sandbox.root import Root
from tests.notes.conftest import Vault

_EXPECTED: dict[type[found.SandboxError], type[FsnotesError]] = {
    found.InvalidUri: InvalidArgument,
    found.InvalidPath: InvalidArgument,
    found.Traversal: PathRefused,
    found.UnacceptableName: InvalidArgument,
    found.PathError: Unavailable,
    found.Missing: NoteNotFound,
    found.NotAFolder: NoteNotFound,
    found.Exists: NoteExists,
    found.Escape: PathRefused,
    found.LinkRefused: PathRefused,
    found.MountRefused: PathRefused,
    found.ObjectRefused: PathRefused,
    found.NotRegular: PathRefused,
    found.HardLinkRefused: PathRefused,
    found.TooLarge: NoteTooLarge,
    found.Ambiguous: AmbiguousNote,
    found.IdentityChanged: NoteChanged,
    found.Displaced: OutcomeUnknown,
    found.RootUnusable: Unavailable,
    found.TrashUnusable: Unavailable,
    found.LockTimeout: Busy,
    found.Abandoned: Abandoned,
    found.StorageFailed: Unavailable,
    found.Unsettled: OutcomeUnknown,
    found.SandboxError: Unavailable,
}


def _families() -> Iterator[type[found.SandboxError]]:
    # What befalls a worker, or the watcher beside the workers, is none of the refusals that handlers meet.
    of_workers = (
        found.WorkerFailed,
        found.HandlerFailed,
        found.LockdownFailed,
        found.InvalidReport,
        found.WatchUnavailable,
    )
    for _, value in inspect.getmembers(found, inspect.isclass):
        if issubclass(value, found.SandboxError) and not issubclass(value, of_workers):
            yield value


def _made(kind: type[found.SandboxError]) -> found.SandboxError:
    match kind:
        case found.TooLarge:
            return found.TooLarge("a.md", limit=3)
        case found.Ambiguous:
            return found.Ambiguous("a.md", names=("a.md", "b.md"))
        case found.StorageFailed | found.Unsettled:
            return kind(errno.ENOSPC, "'a.md'")
        case found.UnacceptableName:
            return found.UnacceptableName("a", "why")
        case _:
            return kind("a.md")


@pytest.mark.parametrize("kind", sorted(_families(), key=lambda kind: kind.__name__))
def test_every_refusal_of_the_sandbox_has_its_translation(kind: type[found.SandboxError]) -> None:
    translated = translate(_made(kind), argument="newPath", what="folder")
    assert type(translated) is _EXPECTED[kind]
    if isinstance(translated, InvalidArgument):
        assert translated.argument == "newPath"
    if isinstance(translated, NoteNotFound):
        assert (translated.what, translated.name) == ("folder", "a.md")


def _commands() -> list[type[Command[Any]]]:
    return [
        value
        for _, value in inspect.getmembers(commands, inspect.isclass)
        if issubclass(value, Command) and value is not Command
    ]


def test_commands_are_plain_data_that_json_can_carry() -> None:
    for kind in _commands():
        fields = {name: kind.__annotations__[name] for name in records.fields(kind)}
        # Of an assignment, the names of its two texts say enough.
        pairs = {"tuple[Assignment, ...]"}
        allowed = {"str", "str | None", "int", "int | None", "bool", "float", "tuple[str, ...]"}
        assert set(fields.values()) <= allowed | pairs, kind
        assert list(records.fields(commands.Assignment)) == ["key", "value"]
        fields = {name: type_ for name, type_ in fields.items() if type_ not in pairs}
        samples = {"str": "a", "int": 1, "bool": True, "float": 1.0, "tuple[str, ...]": ("a",)}
        command = kind(**{name: samples.get(type_.removesuffix(" | None")) for name, type_ in fields.items()})
        sent = json.loads(json.dumps({name: getattr(command, name) for name in fields}))
        assert (
            kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in sent.items()})
            == command
        )


def test_only_commands_that_change_something_say_so() -> None:
    assert {kind.__name__ for kind in _commands() if kind.changes} == {
        "CreateNote", "EditNote", "AppendNote", "SetProperties", "MoveNotes", "TrashNote", "RestoreNote",
        "SweepTemporaries",
    }  # fmt: skip


def test_an_unknown_command_is_refused(vault: Vault) -> None:
    class Unknown(Command[commands.Swept]):
        pass

    with pytest.raises(TypeError):
        vault.run(Unknown())


def test_a_root_that_was_closed_is_unavailable(vault: Vault) -> None:
    vault.workspace.root.close()
    for command in (
        ReadNote("a"),
        ScanNotes(),
        FindNotes("a"),
        commands.CreateNote("a", "x"),
        commands.EditNote("a", "x", "y"),
        commands.AppendNote("a", "x"),
        commands.SurveyMove("a", "b"),
        commands.MoveNotes("a", "b"),
        commands.ListTrash(),
    ):
        with pytest.raises(Unavailable):
            handle(vault.workspace, Scope((ROOT,)), command)


def test_no_call_examines_more_than_its_budget(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.build(*(f"{folder:02}/{note:02}.md: # t\n" for folder in range(20) for note in range(20)))
    looks: list[str] = []
    for name in ("stat", "kind", "read"):
        method = getattr(Root, name)

        def count(root: Root, path: Any, *, method: Any = method, name: str = name) -> Any:
            looks.append(name)
            return method(root, path)

        monkeypatch.setattr(Root, name, count)

    def looks_of(command: Command[Any]) -> int:
        looks.clear()
        vault.run(command)
        return len(looks)

    for budget in (1, 10, 100):
        # One look more at the folder that is listed, and one at each end of the stretch.
        assert looks_of(ScanNotes(recursive=True, budget=budget)) <= budget + 2
        assert looks_of(ScanNotes(recursive=True, budget=budget, after="03/07.md")) <= budget + 3
    assert looks_of(FindNotes("t")) <= 2 * 200 + 3
    assert looks_of(DescribeNotes(tuple(f"00/{note:02}.md" for note in range(20)) * 10)) <= 64
    assert looks_of(ReadNote("00/00.md")) == 1
