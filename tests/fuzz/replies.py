"""What a worker that somebody took over could send: frames, replies and refusals."""

from __future__ import annotations

import json
from typing import Any

from fsnotes.errors import FsnotesError
from fsnotes.notes import messages
from fsnotes.notes.answers import check_reply
from fsnotes.notes.commands import (
    AppendNote,
    Command,
    CountTags,
    CreateNote,
    DescribeNotes,
    EditNote,
    FindLinks,
    FindNotes,
    FindTargets,
    ListTrash,
    MoveNotes,
    ReadNote,
    RestoreNote,
    ScanNotes,
    SearchNotes,
    SetProperties,
    SurveyMove,
    SweepTemporaries,
    TrashNote,
)
from fsnotes.notes.index_commands import KeepIndex, MatchPaths, SearchIndex, SearchPaths
from fsnotes.notes.messages import decode_answer, encode_answer
from fsnotes.notes.refusal_checks import check_refusal
from fsnotes.notes.refusals import REFUSALS, decode_error, encode_error
from fsnotes.notes.scope import Scope
from fsnotes.notes.shapes import MAX_NUMBER, BadMessage
from sandbox.jail.channel import MAX_DEPTH, MAX_VALUES, BadFrame, encode
from sandbox.jail.channel import decode as decode_frame
from sandbox.jail.replies import Raised, read_reply
from sandbox.names import RelPath
from sandbox.records import fields, is_record
from tests.fuzz.supply import Supply

_ETAG, _ENTRY = "e" * 32, "20260101T000000Z-" + "0" * 32
_SCOPE = Scope((RelPath(("a",)), RelPath(("b", "é"))))
_COMMANDS: tuple[Command[Any], ...] = (
    ScanNotes(), ScanNotes("a/c", recursive=True), DescribeNotes(("a/x.md", "a/y.md")), FindNotes("x"),
    CountTags("t"), FindLinks("a/x.md"), FindLinks("", "broken"), FindTargets(), SearchNotes("x"), ReadNote("a/x"),
    CreateNote("a/x.md", "text"), EditNote("a/x.md", "new", "old"), AppendNote("a/x.md", "text"),
    SetProperties("a/x.md", remove=("k",)), SurveyMove("a/x.md", "a/z.md"), MoveNotes("a/x.md", "a/z.md",
    ("a/y.md",)), MoveNotes("a/c", "a/d", ("a/y.md",)), TrashNote("a/x.md", _ETAG, _ENTRY), ListTrash(),
    RestoreNote(_ENTRY), SweepTemporaries(0.0), KeepIndex(("a/x.md",)), SearchIndex("x"), SearchPaths("x", ("a/x.md",)),
    MatchPaths("x", "0" * 16),
)  # fmt: skip
_TEXTS = (
    "a/x.md", "a/y.md", "a/z.md", "a/c", "a/c/x.md", "b/é/x.md", "b/e\u0301/x.md", "x.md", "ab/x.md", "b/x.md",
    "a/../x.md", "/a/x.md", "a//x.md", "a\\x.md", "a/.x.md", ".trash/x.md", "a/x", "a", "", ".", "a/\0.md",
    "A/x.md", "a/x.md/", "b/é", "a/\n.md", "t", "t/u", "k", "broken", "link", "too_large", _ETAG, _ENTRY, "0" * 16,
    "2026-01-01T00:00:00Z", "building", "several files answer to it", "a/d", "a/\U0010ffff", "--- a\n",
)  # fmt: skip
_NUMBERS = (0, 1, 2, -1, 3, 100, 2**31, 2**63, MAX_NUMBER)


def _value(supply: Supply, hint: str, depth: int) -> Any:
    """Make a value of the type that a *hint* names; now and then of another one."""
    if supply.below(16) == 15:
        return supply.json(_TEXTS, depth=1)
    if hint.endswith("| None"):
        if supply.flag():
            return None
        hint = hint.removesuffix("| None").strip()
    if hint.startswith("tuple["):
        inner = hint[len("tuple[") :].partition(",")[0]
        return [_value(supply, inner, depth + 1) for _ in range(supply.below(4))]
    match hint:
        case "str":
            return supply.pick(_TEXTS)
        case "int" | "float":
            return supply.pick(_NUMBERS) if supply.below(4) == 3 else supply.below(3)
        case "bool":
            return supply.flag()
        case _:
            kind = _RECORDS[hint]
            return [_value(supply, kind.__annotations__[name], depth + 1) for name in fields(kind)]


def _records() -> dict[str, type[Any]]:
    from fsnotes.notes import move_replies, trash_replies
    from fsnotes.notes import replies as kinds

    modules = (kinds, move_replies, trash_replies)
    return {name: each for module in modules for name, each in vars(module).items() if is_record(each)}


_RECORDS = _records()


def replies(data: bytes) -> None:
    """A reply that is taken answers its command, is what it can be, and names nothing beyond the grant."""
    supply = Supply(data)
    command = supply.pick(_COMMANDS)
    kind = messages._REPLIES[type(command)]
    answer: Any = {"reply": _value(supply, kind.__name__, 0)}
    if supply.below(8) == 7:
        answer["text"] = supply.pick(_TEXTS)
    try:
        body = encode({"id": 7, "ok": answer}, most=1 << 20)[4:]
        said = read_reply(body, number=7)
        assert isinstance(said, dict)
        reply = decode_answer(command, said)
        check_reply(_SCOPE, command, reply)
    except (BadFrame, BadMessage, ValueError):
        return
    assert type(reply) is kind
    # The words of the command itself are the caller's own.
    own = {value for name in fields(type(command)) for value in _flat(getattr(command, name))}
    for name, text in _paths(reply):
        if name == "rest" or (name == "resume" and isinstance(command, SurveyMove | ListTrash)):
            continue
        assert _is_granted(text) or (text in own and _is_granted(text)), (name, text)
    again = decode_answer(command, json.loads(json.dumps(encode_answer(reply))))
    assert again == reply


def _flat(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [each for item in value for each in _flat(item)] if isinstance(value, tuple) else []


_NAMED = frozenset({"path", "new_path", "notes", "folders", "source", "targets", "rest", "resume"})


def _paths(value: Any) -> list[tuple[str, str]]:
    """Return the texts of a reply that are paths, each with the name of its field."""
    found: list[tuple[str, str]] = []
    for name in fields(type(value)):
        held = getattr(value, name)
        for each in held if isinstance(held, tuple) else (held,):
            if is_record(type(each)):
                found += _paths(each)
            elif isinstance(each, str) and name in _NAMED:
                found.append((name, each))
    return found


def _is_granted(text: str) -> bool:
    """Say in the plainest way whether a path lies in what is granted, and is neither hidden nor leads elsewhere."""
    parts = text.replace("e\u0301", "é").split("/")
    return (parts[0] == "a" or parts[:2] == ["b", "é"]) and not any(
        part.startswith(".") or part == "" or "\\" in part or "\0" in part for part in parts
    )


def refusals(data: bytes) -> None:
    """A refusal that is taken is one that a handler has, in words of ours, about what was asked or is granted."""
    supply = Supply(data)
    command, kind = supply.pick(_COMMANDS), supply.pick(REFUSALS)
    made: dict[str, Any] = {}
    for name in kind.__init__.__annotations__ if kind.__init__ is not Exception.__init__ else ():
        if name != "return":
            hint = kind.__init__.__annotations__[name]
            made[name] = _value(supply, hint if isinstance(hint, str) else hint.__name__, 0)
    if supply.below(8) == 7:
        made[supply.pick(("why", "path", "name"))] = supply.text(12)
    message = {"error": kind.__name__, "fields": made}
    try:
        refusal = decode_error(json.loads(json.dumps(message)))
        check_refusal(_SCOPE, command, refusal)
    except BadMessage:
        return
    assert isinstance(refusal, FsnotesError)
    assert type(refusal) is kind
    assert encode_error(refusal)["error"] == kind.__name__
    own = {value for name in fields(type(command)) for value in _flat(getattr(command, name))}
    told = [getattr(refusal, "path", None), *getattr(refusal, "paths", ())]
    if kind.__name__ == "AmbiguousHeading":
        return  # the note's own words, and shown as such
    for text in told:
        assert (
            text is None
            or text in own
            or text in (".trash", "", "/", "b", "b/")
            or _is_granted(text.rstrip("/"))
        ), text


def channels(data: bytes) -> None:
    """The body of a frame is one object with bounds, or none; what is read can be written again."""
    try:
        message = decode_frame(data)
    except BadFrame:
        return
    assert _depth(message) <= MAX_DEPTH + 1
    assert data.partition(b"\0")[0].count(b":") <= MAX_VALUES * 2
    assert decode_frame(encode(message, most=1 << 22)[4:]) == message
    try:
        said = read_reply(data, number=7)
    except BadFrame:
        return
    assert message["id"] == 7
    assert not isinstance(said, Raised) or message.keys() == {"id", "error"}


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0
