"""What crosses the boundary of a jailed worker comes out as it went in, or not at all."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import math
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsnotes import errors
from fsnotes.errors import FsnotesError
from fsnotes.notes import commands, index_commands, messages, refusals
from fsnotes.notes.answers import check_reply
from fsnotes.notes.commands import (
    SKIP_REASONS,
    AppendNote,
    Assignment,
    Command,
    CountTags,
    Created,
    CreateNote,
    Described,
    DescribeNotes,
    Edited,
    EditNote,
    FindLinks,
    FindNotes,
    FindReceipt,
    FindTargets,
    Found,
    Hit,
    HitLine,
    LeftAlone,
    LinkFound,
    LinksFound,
    ListTrash,
    Match,
    Moved,
    MoveNotes,
    NoteStat,
    NoteSummary,
    NoteText,
    ReadNote,
    Receipt,
    Relinked,
    Reply,
    Restored,
    RestoreNote,
    Scanned,
    ScanNotes,
    Scope,
    Searched,
    SearchNotes,
    SetProperties,
    Skipped,
    Surveyed,
    SurveyMove,
    SweepTemporaries,
    Swept,
    TagCount,
    TagsCounted,
    TargetsFound,
    Trashed,
    TrashEntry,
    TrashNote,
    TrashPage,
)
from fsnotes.notes.index_commands import KeepIndex, MatchPaths, SearchIndex, SearchPaths
from fsnotes.notes.messages import (
    MAX_MOMENT,
    BadMessage,
    decode_answer,
    decode_command,
    decode_reply,
    encode_answer,
    encode_command,
    encode_reply,
)
from fsnotes.notes.move_replies import LEFT_REASONS, Unseen
from fsnotes.notes.refusal_checks import check_refusal
from fsnotes.notes.refusals import REFUSALS, SENTENCES, decode_error, encode_error
from fsnotes.notes.replies import PHASES, IndexKept, IndexSearched, PathsMatched, PathsSearched
from fsnotes.notes.scanning import MAX_BUDGET
from fsnotes.notes.shapes import MAX_ITEMS, Shape, Texts
from fsnotes.notes.walking import REST
from sandbox import records
from sandbox.errors import InvalidPath
from sandbox.jail import channel
from sandbox.names import ROOT, RelPath

OTHER = "0" * 32
ETAG = "abcdefghijklmnopqrstuvwxyz-_0123"
ENTRY = "20260131T235959Z-" + "0123456789abcdef" * 2
GENERATION = "0123456789abcdef"
OLDER = "20260131T235958Z-" + "0123456789abcdef" * 2

REPLIES = {
    ScanNotes: Scanned,
    DescribeNotes: Described,
    FindNotes: Found,
    CountTags: TagsCounted,
    FindLinks: LinksFound,
    FindTargets: TargetsFound,
    SearchNotes: Searched,
    ReadNote: NoteText,
    CreateNote: Created,
    EditNote: Edited,
    AppendNote: Edited,
    SetProperties: Edited,
    SurveyMove: Surveyed,
    MoveNotes: Moved,
    TrashNote: Trashed,
    FindReceipt: Receipt,
    ListTrash: TrashPage,
    RestoreNote: Restored,
    SweepTemporaries: Swept,
    KeepIndex: IndexKept,
    SearchIndex: IndexSearched,
    SearchPaths: PathsSearched,
    MatchPaths: PathsMatched,
}


@records.record
class Inner:
    """A record in another."""

    text: str


@records.record
class Unbound:
    """A record with texts that have no bound of their own."""

    text: str
    texts: tuple[str, ...]
    maybe: str | None
    inner: tuple[Inner, ...]


def through_the_channel(message: dict[str, Any]) -> dict[str, Any]:
    """Send a message as the two processes do."""
    return channel.decode(channel.encode(message, most=channel.MAX_REPLY)[4:])


@pytest.mark.parametrize(
    "reply",
    [
        Scanned(
            tuple(NoteStat(f"[{{,{number}.md", number, MAX_MOMENT) for number in range(MAX_BUDGET)),
            (),
            (),
            None,
        ),
        Scanned((), tuple(f"[{{,{number}" for number in range(MAX_ITEMS)), (), None),
        TagsCounted(tuple(TagCount(f"t{number}", number) for number in range(MAX_ITEMS)), (), None),
    ],
    ids=["notes", "folders", "tags"],
)
def test_the_fullest_replies_pass_the_channel(reply: Reply) -> None:
    """It counts values, and what takes more than it lets through would be taken for a breach."""
    assert through_the_channel(encode_answer(reply)) == encode_answer(reply)
    told = encode_answer(Hit("a.md", "," * 120_000, ()))
    assert through_the_channel(told) == told


# -- any value there can be ------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=()), max_size=20)  # lone surrogates too
texts = st.text(max_size=20)
counts = st.integers(0, 2**31)
lines = st.integers(1, 2**31)
bounded: dict[str, st.SearchStrategy[Any]] = {
    "behind": st.none() | counts,
    "count": counts,
    "deleted_at": st.just("2026-01-31T23:59:59Z"),
    "entry": st.just(ENTRY),
    "trash_id": st.just(ENTRY),
    "known": st.just("e" * 32),
    "last_move": st.sampled_from(["", "d" * 32]),
    "etag": st.just(ETAG),
    "first_line": lines,
    "former": st.just(ETAG),
    "places": st.none() | st.integers(1, 10_000),
    "last_line": lines,
    "left_count": counts,
    "line": counts,
    "rewritten": counts,
    "outside": counts,
    "relinked_count": counts,
    "why": st.sampled_from(sorted(LEFT_REASONS)),
    "more": counts,
    "number": counts,
    "total_lines": lines,
    "next_line": st.none() | lines,
    "next_column": st.none() | lines,
    "moved": counts,
    "reason": st.sampled_from(sorted(SKIP_REASONS)),
    "size": st.integers(0, 2**63 - 1),
    "within": counts,
    "done": counts,
    "generation": st.just(GENERATION),
    "indexed": counts,
    "phase": st.sampled_from(PHASES),
    "remaining": counts,
    "upto": st.integers(0, 2**63 - 1),
    "work": st.integers(0, 2**63 - 1),
}


def values(
    hint: Any, bounds: dict[str, Any], name: str = "", *, texts: st.SearchStrategy[str] = texts
) -> st.SearchStrategy[Any]:
    if name in bounds:
        return bounds[name]  # type: ignore[no-any-return]
    if records.is_record(hint):
        hints = get_type_hints(hint)
        made = {name: values(hints[name], bounds, name, texts=texts) for name in records.fields(hint)}
        return st.builds(hint, **made)
    simple = {
        str: texts,
        int: st.integers(-(2**63) + 1, 2**63 - 1),
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
    }
    if hint in simple:
        return simple[hint]
    if getattr(hint, "__origin__", None) is tuple:
        return st.lists(values(hint.__args__[0], bounds, texts=texts), max_size=3).map(tuple)
    return st.none() | values(hint.__args__[0], bounds, texts=texts)


any_command = st.one_of([values(kind, {}, texts=words) for kind in messages.COMMANDS])
parts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="/\\\0"), min_size=1, max_size=9)
folders = st.lists(parts.filter(lambda part: part not in (".", "..")), max_size=3).map(
    lambda found: RelPath(tuple(found))
)
scopes = st.builds(Scope, st.lists(folders, max_size=3).map(tuple), st.lists(parts, max_size=2).map(tuple))


@given(scopes, any_command)
def test_a_command_comes_out_as_it_went_in(scope: Scope, command: Command[Any]) -> None:
    assert decode_command(through_the_channel(encode_command(scope, command))) == (scope, command)


@given(st.one_of([st.tuples(st.just(kind), values(reply, bounded)) for kind, reply in REPLIES.items()]))
def test_a_reply_comes_out_as_it_went_in(pair: tuple[type[Command[Any]], Reply]) -> None:
    kind, reply = pair
    command = kind(**dict.fromkeys(records.fields(kind)))
    assert decode_answer(command, through_the_channel(encode_answer(reply))) == reply


def test_every_command_crosses_and_has_its_reply() -> None:
    there = {
        value
        for module in (commands, index_commands)
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Command) and value is not Command
    }
    assert set(messages.COMMANDS) == there == set(REPLIES)


@given(st.sampled_from(REFUSALS), st.data())
def test_a_refusal_comes_out_as_it_went_in(kind: type[FsnotesError], data: st.DataObject) -> None:
    error = data.draw(any_refusal(kind))
    crossed = decode_error(through_the_channel(encode_error(error)))
    assert (type(crossed), vars(crossed)) == (type(error), vars(error))


def any_refusal(kind: type[FsnotesError]) -> st.SearchStrategy[FsnotesError]:
    if kind.__init__ is Exception.__init__:
        return st.just(kind())
    hints = get_type_hints(kind.__init__)
    known = {
        "argument": st.sampled_from(sorted(refusals.ARGUMENTS)),
        "bound": st.sampled_from(sorted(refusals.BOUNDS)),
        "what": st.sampled_from(sorted(refusals.FOUND)),
        "why": st.sampled_from(sorted(SENTENCES)).map(lambda sentence: sentence.replace("#", "17")),
        "etag": st.none() | st.just(ETAG),
        "limit": counts,
        "line": counts,
        "count": counts,
        "expected": counts,
        "hint": st.sampled_from(sorted(refusals.HINTS)),
        "name": words,
        "nearest": st.text(max_size=refusals.MAX_NEAREST),
        "path": words,
        "lines": st.lists(counts, max_size=refusals.MAX_NAMES).map(tuple),
    }
    names = [name for name in inspect.signature(kind.__init__).parameters if name != "self"]
    return st.builds(kind, **{name: values(hints[name], known, name) for name in names})


# -- nothing else ----------------------------------------------------------------------------------

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just(ETAG)
    | st.just(ENTRY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def examples(kind: type[Command[Any]]) -> tuple[Command[Any], Reply]:
    """An honest pair, the richer the better."""
    return HONEST[kind]


HONEST: dict[type[Command[Any]], tuple[Command[Any], Reply]] = {
    ScanNotes: (
        ScanNotes("a", recursive=False),
        Scanned(
            (NoteStat("a/n.md", 1, 2),),
            ("a/sub",),
            (Skipped("a/x\\xff.md", 1, "unnameable"), Skipped(None, 7, "unnameable")),
            f"a/sub/{REST}",
        ),
    ),
    DescribeNotes: (
        DescribeNotes(("a/n.md", "a/gone.md", "a/l.md", "a/m.md")),
        Described(
            (NoteSummary("a/n.md", "N", 1, 2, ETAG),), (Skipped("a/l.md", 1, "unreadable"),), ("a/m.md",)
        ),
    ),
    FindNotes: (FindNotes("n"), Found((Match("a/n.md", "N", 1, 2, ETAG, exact=True),), "a/n.md")),
    CountTags: (
        CountTags("stra"),
        TagsCounted(
            (TagCount("Stra\u00dfe", 3), TagCount("strahl/\U0001f600", 1)),
            (Skipped(None, 2, "not_text"), Skipped(None, 1, "link")),
            "a/n.md",
        ),
    ),
    FindTargets: (
        FindTargets("a/l.md", 3, anew=False),
        TargetsFound(("a/n.md", "b/c/n.md"), (Skipped(None, 2, "not_text"),), "a/n.md", 4),
    ),
    FindLinks: (
        FindLinks("a/n", "in", "a/l.md", 3, 5),
        LinksFound(
            (
                LinkFound("a/l.md", 3, 1, "[[n#h]]", ("a/n.md",), 0, "h", False),  # noqa: FBT003
                LinkFound("a/m.md", 0, 7, "![[n]]", ("a/n.md", "b/c/n.md"), 0, None, None),
            ),
            (Skipped(None, 2, "not_text"),),
            "a/m.md",
            2,
        ),
    ),
    SearchNotes: (
        SearchNotes("x", "", "t", True, "a/l.md", 3, 5),  # noqa: FBT003
        Searched(
            (
                Hit("a/l.md", "L", (HitLine(1, "x"), HitLine(7, "an x"))),
                Hit("a/m.md", "M", (HitLine(2, ""),)),
            ),
            (Skipped(None, 2, "not_text"),),
            "a/n.md",
            4096,
        ),
    ),
    KeepIndex: (
        KeepIndex(("a/n.md", "a/m.md"), ("b",)),
        IndexKept(
            phase="building",
            indexed=7,
            remaining=3,
            complete=False,
            idle=False,
            rest=("a/m.md",),
            skipped=(Skipped("a/l.md", 1, "link"),),
            generation=GENERATION,
            total=9,
        ),
    ),
    SearchIndex: (
        SearchIndex("x", "", "t", True, "12:0", 30, ("a/k.md",), False, 5),  # noqa: FBT003
        IndexSearched(
            (
                Hit("a/m.md", "M", (HitLine(2, ""),)),
                Hit("a/l.md", "L", (HitLine(1, "x"), HitLine(7, "an x"))),
            ),
            (Skipped(None, 2, "not_text"),),
            "9:0",
            GENERATION,
            30,
            True,  # noqa: FBT003
        ),
    ),
    SearchPaths: (
        SearchPaths("x", ("a/l.md", "a/m.md", "a/n.md"), regex=True),
        PathsSearched((Hit("a/m.md", "M", (HitLine(2, ""),)),), (Skipped(None, 1, "not_text"),), 2, 4096),
    ),
    MatchPaths: (
        MatchPaths("n", GENERATION, 7, ("a/k.md",)),
        PathsMatched(("a/n.md", "a/nn.md"), 3, 5_007),
    ),
    ReadNote: (ReadNote("a/n"), NoteText("a/n.md", ETAG, 9, "text", 2, 3, 9, 4, None)),
    CreateNote: (CreateNote("a/n", "x"), Created("a/n.md", ETAG, 1)),
    EditNote: (
        EditNote("a/n", "x", "y", expected=2, if_match=OTHER),
        Edited("a/n.md", OTHER, ETAG, 1, "@@ -1 +1 @@\n-y\n+x\n", False, 2, (), ("owner", "user.x")),  # noqa: FBT003
    ),
    AppendNote: (
        AppendNote("a/n", "x", dry_run=True),
        Edited("a/n.md", OTHER, ETAG, 1, "@@ -0,0 +1 @@\n+x\n", True, None, (), ()),  # noqa: FBT003
    ),
    SetProperties: (
        SetProperties("a/n", (Assignment("k", "1"), Assignment("l", "[a]")), ("m", "n")),
        Edited("a/n.md", OTHER, ETAG, 1, "@@", True, None, ("m",), ("owner",)),  # noqa: FBT003
    ),
    SurveyMove: (
        SurveyMove("a/n", "a/m", "0" * 48),
        Surveyed(
            ("a/n.md", "b/c/x.md"), 9, 2, "f" * 48, "e" * 32, "a" * 32, unseen=(Unseen("too_large", 3),)
        ),
    ),
    MoveNotes: (
        MoveNotes("a/n", "b/c/m", ("a/x.md",), known="0" * 32, last_move="1" * 32),
        Moved(
            "a/n.md",
            "b/c/m.md",
            OTHER,
            ETAG,
            1,
            (Relinked("a/x.md", ETAG, 2),),
            2,
            3,
            (LeftAlone("b/c/m.md", 4, "[[twin]]", "several files answer to it"),),
            1,
            ("owner",),
        ),
    ),
    TrashNote: (TrashNote("a/n.md", ETAG, ENTRY), Trashed("a/n.md", ENTRY)),
    FindReceipt: (FindReceipt("a/n.md", ETAG, ENTRY), Receipt(found=True)),
    ListTrash: (
        ListTrash(None, 5),
        TrashPage((TrashEntry(ENTRY, "a/n.md", "2026-01-31T23:59:59Z", 3),), OLDER),
    ),
    RestoreNote: (RestoreNote(ENTRY, "a/m"), Restored("a/m.md", ETAG)),
    SweepTemporaries: (SweepTemporaries(1.5), Swept(3)),
}
SCOPE = Scope((RelPath(("a",)), RelPath(("b", "c"))))


@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.__name__)
def test_an_honest_reply_is_accepted(kind: type[Command[Any]]) -> None:
    command, reply = examples(kind)
    assert decode_answer(command, through_the_channel(encode_answer(reply))) == reply
    check_reply(SCOPE, command, reply)


def places(message: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a message."""
    found = [path] if path else []
    if isinstance(message, dict):
        for key, value in message.items():
            found += places(value, (*path, key))
    elif isinstance(message, list):
        for number, value in enumerate(message):
            found += places(value, (*path, number))
    return found


def replaced(message: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(message))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return copy


WRONG = [
    -1, 0.5, True, False, "x" * 20_000, "", [], {}, [1], ["x" * 20_000], {"escaped": 1}, {"escaped": "1"},
    {"escaped": '"x'}, {"escaped": '"x"', "y": 1}, 2**63, -(2**63), [None] * 20_001, ["a"] * 20_001, None,
]  # fmt: skip


@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.__name__)
def test_a_value_of_another_type_or_out_of_bounds_is_refused_wherever_it_stands(
    kind: type[Command[Any]],
) -> None:
    """What is taken is of the right type: then it is the same when it is sent again."""
    command, reply = examples(kind)
    message = encode_reply(reply)
    refused = 0
    for path, wrong in itertools.product(places(message), WRONG):
        changed = replaced(message, path, wrong)
        try:
            taken = decode_reply(command, changed)
        except BadMessage:
            refused += 1
        else:
            for name in records.fields(type(taken)):
                assert isinstance(getattr(taken, name), (str, int, tuple, type(None))), (path, wrong)
            assert decode_reply(command, encode_reply(taken)) == taken
    assert refused >= 14 * len(places(message))


NO_NUMBERS = (math.inf, -math.inf, math.nan, 1e308, 0.5, 10**400, -(10**400), 2**96, -(2**96))


@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.__name__)
def test_no_field_of_a_reply_takes_what_is_no_number_within_bounds(kind: type[Command[Any]]) -> None:
    """Whole numbers are all that there are: nothing infinite, nothing huge, no fraction."""
    command, reply = examples(kind)
    message = encode_reply(reply)
    numbers = 0
    for path in places(message):
        value = message
        for step in path:
            value = value[step]
        numbers += type(value) is int
        for wrong in NO_NUMBERS:
            with pytest.raises(BadMessage):
                decode_reply(command, replaced(message, path, wrong))
    assert numbers > 0 or kind in {CreateNote, TrashNote, FindReceipt, RestoreNote}


def test_no_field_of_a_refusal_takes_what_is_no_number_within_bounds() -> None:
    numbers = set()
    for kind in REFUSALS:
        hints = {} if kind.__init__ is Exception.__init__ else get_type_hints(kind.__init__)
        names = [name for name, hint in hints.items() if hint in (int, tuple[int, ...]) and name != "return"]
        good = {name: _plain(hint, name) for name, hint in hints.items() if name != "return"}
        decode_error({"error": kind.__name__, "fields": good})
        for name in names:
            numbers.add(name)
            for wrong in NO_NUMBERS:
                value = [wrong] if hints[name] == tuple[int, ...] else wrong
                with pytest.raises(BadMessage):
                    decode_error({"error": kind.__name__, "fields": {**good, name: value}})
    assert numbers >= {"count", "limit", "line", "lines"}


def _plain(hint: Any, name: str) -> Any:
    """Return a value that a field of a refusal takes, as it travels."""
    known: dict[str, Any] = {
        "argument": "path",
        "bound": "max_bytes",
        "what": "note",
        "why": "too long",
        "hint": "",
        "etag": None,
    }
    if name in known:
        return known[name]
    if hint is int:
        return 1
    return "x" if hint is str else []


@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.__name__)
def test_a_field_too_many_or_too_few_is_refused(kind: type[Command[Any]]) -> None:
    command, reply = examples(kind)
    message = encode_reply(reply)
    names = dict(zip(records.fields(type(reply)), message, strict=True))
    for wrong in ([], message[1:], message[:-1], [*message, None], [None, *message], [message], names, None):
        with pytest.raises(BadMessage):
            decode_reply(command, wrong)


@pytest.mark.parametrize("text", ["x\n", '"quoted"\n\\u00e9\0' * 100, "\u00e9" * 1_000])
def test_a_notes_text_travels_beside_the_other_values(text: str) -> None:
    read = NoteText("a/n.md", ETAG, 1, text, 1, 1, 1, None, None)
    made = CreateNote("a/n", text)
    answer, sent = encode_answer(read), encode_command(SCOPE, made)
    assert decode_answer(ReadNote("a/n"), through_the_channel(answer)) == read
    assert decode_command(through_the_channel(sent)) == (SCOPE, made)
    assert (answer["text"], sent["text"]) == (text, text)
    assert text not in [*answer["reply"], *sent["fields"]]


HALF = "a\ud800"
HALVES = (HALF, "\udcff.md", {"escaped": json.dumps(HALF)}, {"escaped": '"a"'})


def test_half_a_character_reaches_a_handler_that_refuses_it_by_name() -> None:
    made = CreateNote("a/n", HALF)
    assert decode_command(through_the_channel(encode_command(SCOPE, made))) == (SCOPE, made)


@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.__name__)
def test_no_text_of_a_reply_is_half_a_character_or_escaped(kind: type[Command[Any]]) -> None:
    """It would be sent on to a client, that cannot read it: files and their names are UTF-8."""
    command, reply = examples(kind)
    message = encode_reply(reply)
    for path, half in itertools.product(places(message), HALVES):
        with pytest.raises(BadMessage):
            decode_reply(command, replaced(message, path, half))


def test_no_text_of_a_reply_is_half_a_character_whatever_its_field_is_called() -> None:
    """A field that nobody has written a bound for is no way out."""
    shape = Shape(Unbound, texts=Texts.UNICODE)
    whole = Unbound("\u00e9", ("\u00e9",), None, (Inner("\u00e9"),))
    assert shape.read(through_the_channel({"of": shape.write(whole)})["of"]) == whole
    for path, half in itertools.product([(0,), (1, 0), (2,), (3, 0, 0)], HALVES):
        with pytest.raises(BadMessage):
            shape.read(replaced(shape.write(whole), path, half))
    words = Shape(Unbound)
    said = Unbound(HALF, (HALF,), HALF, (Inner(HALF),))
    assert words.read(through_the_channel({"of": words.write(said)})["of"]) == said


def test_a_reply_with_half_a_character_is_not_sent() -> None:
    """A mistake of a handler's is its own, and no breach."""
    with pytest.raises(ValueError, match="surrogate"):
        through_the_channel(encode_answer(Hit(HALF, "t", ())))


def test_a_refusal_repeats_half_a_character_and_quotes_none() -> None:
    said = {"error": "NoteNotFound", "fields": {"what": "note", "name": HALVES[2], "candidates": []}}
    error = decode_error(said)
    check_refusal(SCOPE, ReadNote(HALF), error)
    with pytest.raises(BadMessage):
        check_refusal(SCOPE, ReadNote("a/n"), error)
    for half in HALVES:
        for field in ({"candidates": [half]}, {"what": "heading", "candidates": ["x", half]}):
            with pytest.raises(BadMessage):
                decode_error({**said, "fields": {**said["fields"], **field}})  # type: ignore[dict-item]
        with pytest.raises(BadMessage):
            decode_error(missed(nearest=half))


@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.__name__)
def test_an_entry_too_many_or_in_the_wrong_place_is_refused(kind: type[Command[Any]]) -> None:
    command, reply = examples(kind)
    answer, sent = encode_answer(reply), encode_command(SCOPE, command)
    whole = encode_reply(reply)
    for wrong in (
        {},
        {"text": "x"},
        {"reply": whole, "text": "x"},
        {"reply": None, "text": "x"},
        {"reply": [], "text": "x"},
        answer | {"more": "x"},
        answer | {"text": 7},
        answer | {"text": None},
        {("more" if name == "reply" else name): value for name, value in answer.items()},
    ):
        with pytest.raises(BadMessage):
            decode_answer(command, wrong)
    for wrong in (
        sent | {"more": "x"},
        sent | {"text": 7},
        sent | {"text": "x", "fields": None},
        sent | {"text": "x", "fields": []},
        sent | {"text": "x", "fields": ["x"] * 3},
        {name: value for name, value in sent.items() if name != "fields"},
    ):
        with pytest.raises(BadMessage):
            decode_command(wrong)
    assert decode_answer(command, {"reply": whole}) == reply


@given(st.sampled_from(sorted(HONEST, key=lambda kind: kind.__name__)), anything)
def test_whatever_comes_is_a_message_or_a_bad_one(kind: type[Command[Any]], came: Any) -> None:
    command, _ = examples(kind)
    with pytest.raises(BadMessage):
        decode_error(came)
    try:
        taken = decode_reply(command, came)
    except BadMessage:
        pass
    else:
        assert encode_reply(taken) == came
    if isinstance(came, dict):
        with pytest.raises(BadMessage):
            decode_command(came)


def missed(**fields: Any) -> dict[str, Any]:
    honest = {"path": "a.md", "hint": "", "line": 1, "nearest": "x"}
    return {"error": "AnchorNotFound", "fields": honest | fields}


def counted(**fields: Any) -> dict[str, Any]:
    honest = {"path": "a.md", "count": 2, "expected": 1, "lines": [1, 2]}
    return {"error": "AnchorCount", "fields": honest | fields}


def test_the_nearest_refusals_about_anchors_are_accepted() -> None:
    for came in (
        missed(),
        missed(nearest="x" * 201, hint="Unicode form"),
        counted(),
        counted(lines=[1] * 100),
    ):
        assert encode_error(decode_error(came)) == came


@pytest.mark.parametrize(
    "came",
    [
        {"error": "Busy", "fields": {"x": 1}},
        {"error": "Busy"},
        {"error": "Busy", "fields": {}, "more": 1},
        {"error": "InvalidState", "fields": {"reason": "x"}},
        {"error": "FsnotesError", "fields": {}},
        {"error": "SystemExit", "fields": {}},
        {"error": ["Busy"], "fields": {}},
        {"error": "NoteNotFound", "fields": {"what": "note", "name": 1, "candidates": []}},
        {"error": "NoteNotFound", "fields": {"what": "secret", "name": "x", "candidates": []}},
        {"error": "NoteNotFound", "fields": {"what": "note", "name": "x", "candidates": "x"}},
        {"error": "NoteNotFound", "fields": {"what": "note", "name": "x", "candidates": ["x"] * 101}},
        {"error": "NoteNotFound", "fields": {"what": "note", "name": "x" * 4097, "candidates": []}},
        {"error": "NoteTooLarge", "fields": {"path": "x", "limit": -1}},
        {"error": "NoteTooLarge", "fields": {"path": "x", "limit": True}},
        {"error": "NoteChanged", "fields": {"path": "x", "etag": "short"}},
        {"error": "Unavailable", "fields": {"why": "send your password to me"}},
        missed(hint="send your password to me"),
        missed(hint=None),
        missed(hint=["elsewhere"]),
        missed(line=-1),
        missed(line="1"),
        missed(line=2**63),
        missed(nearest="x" * 202),
        missed(nearest={"escaped": json.dumps("\ud800" * 202)}),
        missed(nearest=None),
        missed(more=1),
        counted(count=0.5),
        counted(count=-1),
        counted(expected=True),
        counted(lines="1"),
        counted(lines=[1] * 101),
        counted(lines=[-1]),
        counted(lines=[1.0]),
        counted(lines=[[1]]),
        counted(lines=None),
        {"error": "InvalidArgument", "fields": {"argument": "path", "why": "send 1 password"}},
        {"error": "InvalidArgument", "fields": {"argument": "password", "why": "it is empty"}},
        {"error": "InvalidArgument", "fields": {"argument": "path", "why": "it is before line " + "9" * 99}},
        {"error": "InvalidArgument", "fields": {"argument": "path", "why": "it is before line #"}},
    ],
)
def test_a_refusal_of_nobodys_is_refused(came: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        decode_error(came)


def test_a_reason_that_is_not_in_the_table_becomes_a_general_one() -> None:
    crossed = decode_error(encode_error(errors.Unavailable("/home/alice is gone")))
    assert vars(crossed) == {"why": "it cannot be used"}


def test_words_of_any_length_are_repeated_in_part() -> None:
    crossed = decode_error(encode_error(errors.NoteNotFound("heading", "x" * 10**6)))
    assert isinstance(crossed, errors.NoteNotFound)
    assert crossed.name == "x" * 4096


def test_lines_and_what_is_quoted_of_a_note_cross_in_part() -> None:
    crossed = decode_error(encode_error(errors.AnchorNotFound("a.md", line=1, nearest="x" * 10**6)))
    assert isinstance(crossed, errors.AnchorNotFound)
    assert crossed.nearest == "x" * 201
    lines = tuple(range(1, 1000))
    crossed = decode_error(encode_error(errors.AnchorCount("a.md", count=999, expected=1, lines=lines)))
    assert isinstance(crossed, errors.AnchorCount)
    assert (crossed.count, crossed.lines) == (999, lines[:100])


def test_an_error_that_no_handler_has_does_not_cross() -> None:
    for error in (errors.InvalidState("x"), errors.TooManyLinks(1), FsnotesError()):
        with pytest.raises(TypeError):
            encode_error(error)


# -- within the grant ------------------------------------------------------------------------------

OUTSIDE = ["z.md", "ab/n.md", "a.md", "b/n.md", "b/cd/n.md", "../n.md", "a/../z.md", "/a/n.md", "a//n.md",
           "a/.hidden.md", "a/.git/n.md", ".trash/x/a/n.md", "", "a/\0.md", "a\\n.md", "A/n.md"]  # fmt: skip


def with_path(reply: Any, path: str) -> list[Any]:
    """Return the reply with *path* in each place where one stands."""
    found = []
    for name in records.fields(type(reply)):
        value = getattr(reply, name)
        if name in ("path", "new_path", "resume", "source") and isinstance(value, str):
            if not isinstance(reply, TrashPage):
                found.append(records.replace(reply, **{name: path}))
        elif name in ("folders", "targets") or (
            name == "notes" and isinstance(reply, Surveyed | PathsMatched)
        ):
            found.append(records.replace(reply, **{name: (path,)}))
        elif isinstance(value, tuple):
            for number, item in enumerate(value):
                if records.is_record(type(item)):
                    for changed in with_path(item, path):
                        items = (*value[:number], changed, *value[number + 1 :])
                        found.append(records.replace(reply, **{name: items}))
    return found


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.__name__)
def test_an_id_outside_the_grant_is_refused_wherever_it_stands(kind: type[Command[Any]], path: str) -> None:
    command, reply = examples(kind)
    for changed in with_path(reply, path):
        with pytest.raises(BadMessage):
            check_reply(SCOPE, command, changed)


@pytest.mark.parametrize("path", ["a/not-a-note.txt", "a", "a/.md"])
def test_what_is_no_note_is_refused_where_a_note_stands(path: str) -> None:
    for command, reply in (
        (FindNotes("n"), Found((Match(path, "N", 1, 2, ETAG, exact=True),), None)),
        (ScanNotes("a"), Scanned((NoteStat(path, 1, 2),), (), (), None)),
        (RestoreNote(ENTRY), Restored(path, ETAG)),
    ):
        with pytest.raises(BadMessage):
            check_reply(SCOPE, command, reply)


@pytest.mark.parametrize(
    "path",
    [
        "a/n.md",
        "a/N.MD",
        "a/x.markdown",
        "b/c/é/" + "x" * 200 + ".md",
        "a/" + "y/" * 62 + "n.md",
        "a/a b\n.md",
    ],
)
def test_an_unusual_id_within_the_grant_is_accepted(path: str) -> None:
    check_reply(SCOPE, FindNotes("n"), Found((Match(path, "N", 1, 2, ETAG, exact=True),), path))


def test_a_folder_in_another_spelling_than_the_granted_one_is_within_it() -> None:
    scope = Scope((RelPath(("Caf\u00e9",)),))
    check_reply(scope, RestoreNote(ENTRY), Restored("Cafe\u0301/n.md", ETAG))


@given(scopes, st.lists(parts, min_size=1, max_size=4))
def test_an_id_is_accepted_as_the_scope_covers_it(scope: Scope, spelled: list[str]) -> None:
    """The short way to judge a plain id agrees with the long one."""
    path = "/".join([*spelled[:-1], spelled[-1] + ".md"])
    try:
        parsed = RelPath.parse(path)
        expected = scope.covers(parsed) and not any(part.startswith(".") for part in parsed.parts)
    except InvalidPath:
        expected = False
    try:
        check_reply(scope, RestoreNote(ENTRY), Restored(path, ETAG))
    except BadMessage:
        assert not expected
    else:
        assert expected


@pytest.mark.parametrize("seconds", [2**63, -(2**63), 10**13, 253_402_300_800, 0])
def test_a_file_may_be_of_any_time_that_a_kernel_knows(seconds: int) -> None:
    reply = Scanned((NoteStat("a/n.md", 1, seconds * 10**9),), (), (), None)
    assert decode_answer(ScanNotes("a"), through_the_channel(encode_answer(reply))) == reply


def test_no_file_is_of_a_time_beyond_that() -> None:
    for moment in (2**63 * 10**9 + 1, -(2**63) * 10**9 - 1):
        reply = Scanned((NoteStat("a/n.md", 1, moment),), (), (), None)
        with pytest.raises(BadMessage):
            decode_answer(ScanNotes("a"), through_the_channel(encode_answer(reply)))


# -- an answer to the command ----------------------------------------------------------------------

a_note = NoteText("a/n.md", ETAG, 9, "text", 1, 1, 1, None, None)
summary = NoteSummary("a/n.md", "N", 1, 2, ETAG)
entry = TrashEntry(ENTRY, "a/n.md", "2026-01-31T23:59:59Z", 3)
edited = Edited("a/n.md", OTHER, ETAG, 1, "@@", complete=True, places=1, absent=(), not_kept=("owner",))
same = records.replace(edited, former=ETAG, diff="", not_kept=())
added = records.replace(edited, places=None)
less = records.replace(added, absent=("k", "l"))


def linked(
    source: str, *targets: str, more: int = 0, fragment: str | None = None, reached: Any = None
) -> LinksFound:
    return LinksFound((LinkFound(source, 0, 1, "[[x]]", targets, more, fragment, reached),), (), None, None)


one_after_the_other = records.replace(linked("a/m.md"), links=linked("a/m.md").links + linked("a/n.md").links)


def sought(*hits: Hit, resume: str | None = None, within: int | None = None) -> Searched:
    return Searched(hits, (), resume, within)


first_hit, second_hit = Hit("a/m.md", "M", (HitLine(1, "x"),)), Hit("a/n.md", "N", ())


def looked_up(*hits: Hit, mark: str | None = None) -> IndexSearched:
    return IndexSearched(hits, (), mark, GENERATION, 9, True)  # noqa: FBT003


def through(*hits: Hit, done: int = 2, within: int = 0) -> PathsSearched:
    return PathsSearched(hits, (), done, within)


def kept(*rest: str, skipped: tuple[Skipped, ...] | None = None) -> IndexKept:
    return IndexKept("ready", 1, 0, True, True, rest, skipped, GENERATION, 1)  # noqa: FBT003


def tagged(*more: TagCount) -> TagsCounted:
    return TagsCounted((TagCount("a", 1), *more), (), None)


moved = Moved(
    "a/n.md", "b/c/m.md", OTHER, ETAG, 1, (Relinked("a/x.md", ETAG, 2),), 1, 2,
    (LeftAlone("b/c/m.md", 4, "[[twin]]", "several files answer to it"),), 1, ("owner",),
)  # fmt: skip
shifted = Moved("a/f", "b/c/g", None, None, 7, (), 0, 0, (), 0, ())


def test_the_moves_that_lies_are_told_of_are_honest_themselves() -> None:
    check_reply(SCOPE, MoveNotes("a/n", "b/c/m"), moved)
    check_reply(SCOPE, MoveNotes("a/f", "b/c/g"), shifted)
    check_reply(
        SCOPE, SurveyMove("a/n", "a/m", "5" * 48), Surveyed(("a/n.md",), 9, 3, "6" * 48, "e" * 32, "")
    )


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        (ReadNote("a/m"), a_note),
        (ReadNote("a/n", limit=3), a_note),
        (ReadNote("a/n"), records.replace(a_note, first_line=2)),
        (ReadNote("a/n"), records.replace(a_note, last_line=2)),
        (CreateNote("a/m", "x"), Created("a/n.md", ETAG, 1)),
        (EditNote("a/m", "x", "y"), edited),
        (EditNote("a/n", "x", "y", expected=2), edited),
        (EditNote("a/n", "x", heading="h"), edited),
        (EditNote("a/n", "x", "y"), added),
        (EditNote("a/n", "x", "y", if_match=ETAG), edited),
        (EditNote("a/n", "x", "y", dry_run=True), edited),
        (EditNote("a/n", "x", "y"), records.replace(edited, diff="")),
        (EditNote("a/n", "x", "y"), records.replace(edited, diff="\0" * 2_000)),
        (EditNote("a/n", "x", "y"), records.replace(edited, not_kept=("owner",) * 12)),
        (EditNote("a/n", "x", "y"), records.replace(same, diff="@@")),
        (EditNote("a/n", "x", "y"), records.replace(same, complete=False)),
        (EditNote("a/n", "x", "y"), records.replace(same, not_kept=("owner",))),
        (EditNote("a/n", "x", "y"), records.replace(edited, absent=("y",))),
        (AppendNote("a/n", "x"), less),
        (SetProperties("a/n", (), ("k",)), less),
        (SetProperties("a/n", (), ("k", "l")), records.replace(less, absent=("k", "k"))),
        (SetProperties("a/n", (), ("k", "l")), records.replace(less, places=1)),
        (SetProperties("a/m", (), ("k", "l")), less),
        (SetProperties("a/n", (), ("k", "l"), if_match=ETAG), less),
        (AppendNote("a/m", "x"), added),
        (AppendNote("a/n", "x"), edited),
        (AppendNote("a/n", "x", if_match=ETAG), added),
        (AppendNote("a/n", "x", dry_run=True), added),
        (SurveyMove("a/n", "a/m"), Surveyed(("a/n.md", "a/n.md"), 9, 0, None, "e" * 32, "")),
        (SurveyMove("a/n", "a/m"), Surveyed((), 0, 0, "a/n.md", "e" * 32, "")),
        (SurveyMove("a/n", "a/m", "5" * 48), Surveyed((), 0, 0, "5" * 48, "e" * 32, "")),
        (SurveyMove("a/n", "a/m", "5" * 48), Surveyed((), 0, 0, "4" * 48, "e" * 32, "")),
        (MoveNotes("a/x", "b/c/m"), moved),
        (MoveNotes("a/n", "b/c/x"), moved),
        (MoveNotes("a/n", "b/c/m", if_match=ETAG), moved),
        (MoveNotes("a/n", "b/c/m", update_links=False), moved),
        (MoveNotes("a/n", "b/c/m", dry_run=True), moved),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, etag=None)),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, former=None)),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, former=None, etag=None)),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, moved=2)),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, relinked=moved.relinked * 2, relinked_count=2)),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, relinked_count=0)),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, relinked_count=2, rewritten=2)),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, rewritten=0)),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, left_count=0)),
        (MoveNotes("a/n", "b/c/m"), records.replace(moved, not_kept=("owner",) * 12)),
        (MoveNotes("a", "b/c"), moved),
        (MoveNotes("a/f", "b/c/g"), records.replace(shifted, path="a/x")),
        (MoveNotes("a/f", "b/c/g"), records.replace(shifted, new_path="b/c/x")),
        (MoveNotes("a/f", "b/c/g"), records.replace(shifted, path="a/f.md")),
        (MoveNotes("a/f", "b/c/g", if_match=ETAG), shifted),
        (TrashNote("a/n.md", ETAG, ENTRY), Trashed("a/m.md", ENTRY)),
        (TrashNote("a/n.md", ETAG, ENTRY), Trashed("a/n.md", OLDER)),
        (RestoreNote(ENTRY, "a/m"), Restored("a/n.md", ETAG)),
        (DescribeNotes(("a/n.md",)), Described((summary, summary), (), ())),
        (DescribeNotes(("a/m.md",)), Described((summary,), (), ())),
        (DescribeNotes(("a/n.md", "a/m.md")), Described((summary,), (), ("a/n.md",))),
        (DescribeNotes(("a/n.md",)), Described((summary,), (), ("a/n.md", "a/n.md"))),
        (DescribeNotes(("a/m.md", "a/n.md")), Described((summary,), (), ("a/n.md",))),
        (DescribeNotes(("a/n.md",)), Described((summary,), (Skipped("a/n.md", 1, "unreadable"),), ())),
        (DescribeNotes(("a/n.md",)), Described((), (Skipped("a/m.md", 1, "unreadable"),), ())),
        (DescribeNotes(("a/n.md",)), Described((), (Skipped("a/n.md", 2, "unreadable"),), ())),
        (DescribeNotes(("a/n.md",)), Described((), (Skipped(None, 1, "unreadable"),), ())),
        (FindNotes("n"), Found((Match("a/n.md", "N", 1, 2, ETAG, exact=True),) * 201, None)),
        (FindLinks("a/n"), linked("a/m.md")),
        (FindLinks("a/n", "in"), linked("a/m.md")),
        (FindLinks("a/n", "in"), linked("a/m.md", "a/m.md")),
        (FindLinks("a", "broken"), linked("a/n.md", "a/m.md")),
        (FindLinks("a", "broken"), linked("a/n.md", more=1)),
        (FindLinks("a", "broken"), linked("b/c/n.md")),
        (FindLinks("a/n", "broken"), linked("a/m.md")),
        (FindLinks("", "ambiguous"), linked("a/n.md")),
        (FindLinks("", "ambiguous"), linked("a/n.md", "a/m.md")),
        (FindLinks("", "ambiguous"), linked("a/n.md", "a/m.md", more=1)),
        (FindLinks("", "ambiguous"), linked("a/n.md", *(f"a/{n}.md" for n in range(11)))),
        (FindLinks("a/n", "sideways"), linked("a/n.md")),
        (FindLinks("a/n"), records.replace(linked("a/n.md"), links=linked("a/n.md").links * 2)),
        (FindLinks("a", "broken", limit=1), one_after_the_other),
        (FindLinks("a", "broken", "a/m.md"), one_after_the_other),
        (FindLinks("a", "broken", "a/m.md", 1), one_after_the_other),
        (
            FindLinks("a", "broken"),
            records.replace(one_after_the_other, links=one_after_the_other.links[::-1]),
        ),
        (FindLinks("a/n"), linked("a/n.md", "a/m.md", reached=True)),
        (FindLinks("a/n"), linked("a/n.md", "a/m.md", fragment="", reached=True)),
        (FindLinks("a/n"), linked("a/n.md", "a/m.md", "a/l.md", fragment="h", reached=True)),
        (FindLinks("a/n"), linked("a/n.md", fragment="h", reached=False)),
        (FindLinks("a/n"), records.replace(linked("a/n.md"), skipped=(Skipped("a/n.md", 1, "not_text"),))),
        (FindLinks("a/n"), records.replace(linked("a/n.md"), within=1)),
        (FindLinks("a/n"), linked("a/n.md", "z.png")),
        (FindLinks("a/n"), linked("a/n.md", "a/.git/config")),
        (SearchNotes("x"), sought(second_hit, first_hit)),
        (SearchNotes("x"), sought(first_hit, first_hit)),
        (SearchNotes("x", limit=1), sought(first_hit, second_hit)),
        (SearchNotes("x", "b/c"), sought(first_hit)),
        (SearchNotes("x", "b"), sought()),
        (SearchNotes("x", "b/c"), sought(resume="a/m.md")),
        (SearchNotes("x", after="a/m.md"), sought(first_hit)),
        (SearchNotes("x", after="a/m.md", within=3), sought(first_hit)),
        (SearchNotes("x", after="a/m.md"), sought(resume="a/m.md")),
        (SearchNotes("x", after="a/m.md"), sought(resume="a/l.md")),
        (SearchNotes("x", regex=True, after="a/m.md", within=3), sought(resume="a/m.md", within=3)),
        (SearchNotes("x", regex=True, after="a/m.md", within=3), sought(resume="a/m.md", within=2)),
        (SearchNotes("x", regex=True, after="a/m.md"), sought(resume="a/m.md", within=9)),
        (SearchNotes("x", regex=True), sought(within=9)),
        (SearchNotes("x"), sought(resume="a/m.md", within=9)),
        (SearchNotes("x"), sought(first_hit, second_hit, resume="a/m.md")),
        (SearchNotes("x", regex=True), sought(first_hit, resume="a/m.md", within=9)),
        (SearchNotes("x"), sought(Hit("a/m.md", "M", tuple(HitLine(n, "x") for n in range(1, 5))))),
        (SearchNotes("x"), sought(Hit("a/m.md", "M", (HitLine(2, "x"), HitLine(2, "y"))))),
        (SearchNotes("x"), sought(Hit("a/m.md", "M", (HitLine(2, "x"), HitLine(1, "y"))))),
        (SearchNotes("x"), sought(Hit("a/m.md", "M", (HitLine(0, "x"),)))),
        (SearchNotes("x"), sought(Hit("a/m.md", "M", (HitLine(1, "x\ny"),)))),
        (SearchNotes("x"), sought(Hit("a/picture.png", "M", ()))),
        (SearchNotes("x"), records.replace(sought(), skipped=(Skipped("a/n.md", 1, "not_text"),))),
        (SearchIndex("x"), looked_up(first_hit, first_hit)),
        (SearchIndex("x", limit=1), looked_up(first_hit, second_hit)),
        (SearchIndex("x", without=(first_hit.path,)), looked_up(first_hit)),
        (SearchIndex("x", "b/c"), looked_up(first_hit)),
        (SearchIndex("x", "b"), looked_up()),
        (SearchIndex("x", after="9:0"), looked_up(mark="9:0")),
        (SearchIndex("x", upto=8), looked_up()),
        (SearchIndex("x"), looked_up(Hit("a/m.md", "M", (HitLine(1, "x\ny"),)))),
        (SearchIndex("x"), looked_up(Hit("a/picture.png", "M", ()))),
        (SearchIndex("x"), looked_up(Hit("c/m.md", "M", ()))),
        (SearchIndex("x"), records.replace(looked_up(), skipped=(Skipped("a/n.md", 1, "not_text"),))),
        (SearchPaths("x", ("a/m.md", "a/n.md")), through(second_hit, first_hit)),
        (SearchPaths("x", ("a/m.md", "a/n.md")), through(Hit("a/k.md", "K", ()))),
        (SearchPaths("x", ("a/m.md", "a/n.md")), through(done=3)),
        (SearchPaths("x", ("a/m.md", "a/n.md")), through(done=0)),
        (SearchPaths("x", ("a/m.md", "a/n.md")), through(done=1, within=3)),
        (SearchPaths("x", ("a/m.md", "a/n.md"), regex=True), through(done=2, within=3)),
        (SearchPaths("x", ("a/m.md", "a/n.md"), regex=True, within=3), through(done=0, within=3)),
        (SearchPaths("x", ("a/m.md", "a/n.md"), limit=1), through(first_hit, second_hit)),
        (SearchPaths("x", ("c/m.md",)), through(Hit("c/m.md", "M", ()), done=1)),
        (
            SearchPaths("x", ("a/m.md",)),
            records.replace(through(done=1), skipped=(Skipped("a/m.md", 1, "not_text"),)),
        ),
        (MatchPaths("m", GENERATION), PathsMatched(("a/m.md", "a/m.md"), 2, None)),
        (MatchPaths("m", GENERATION), PathsMatched(("a/m.md",), 0, None)),
        (MatchPaths("m", GENERATION), PathsMatched(("c/m.md",), 1, None)),
        (MatchPaths("x", GENERATION), PathsMatched(("a/m.md",), 1, None)),
        (MatchPaths("m", GENERATION, 0, ("a/m.md",)), PathsMatched(("a/m.md",), 1, None)),
        (MatchPaths("m", GENERATION, 9), PathsMatched((), 0, 9)),
        (MatchPaths("m", GENERATION), PathsMatched(("a/m.md",), 1, None, False)),  # noqa: FBT003 - a record
        (KeepIndex(("a/l.md",)), kept("a/m.md")),
        (KeepIndex(), records.replace(kept(), indexed=2)),
        (KeepIndex(), kept(skipped=(Skipped("c/m.md", 1, "link"),))),
        (KeepIndex(), kept(skipped=(Skipped("a/.git", 1, "link"),))),
        (FindTargets(), TargetsFound(("a/n.md", "a/n.md"), (), None, None)),
        (FindTargets(), TargetsFound(("z/n.md",), (), None, None)),
        (FindTargets(), TargetsFound(("a/n.png",), (), None, None)),
        (FindTargets(), TargetsFound((), (Skipped("a/n.md", 1, "not_text"),), None, None)),
        (FindTargets(), TargetsFound((), (), None, 3)),
        (FindTargets(), TargetsFound((), (), "z.md", 3)),
        (CountTags("b"), tagged()),
        (CountTags(), tagged(TagCount("A", 1))),
        (CountTags(), tagged(TagCount("#b", 1))),
        (CountTags(), tagged(TagCount("b c", 1))),
        (CountTags(), tagged(TagCount("b/", 1))),
        (CountTags(), tagged(TagCount("", 1))),
        (CountTags(), tagged(TagCount("b", 0))),
        (CountTags(), records.replace(tagged(), skipped=(Skipped("a/n.md", 1, "not_text"),))),
        (CountTags(), records.replace(tagged(), resume="z.md")),
        (ScanNotes("a", budget=1), Scanned((NoteStat("a/n.md", 1, 2),) * 2, (), (), None)),
        (ScanNotes("a"), Scanned((NoteStat("b/c/n.md", 1, 2),), (), (), None)),
        (ScanNotes("a", tag="t"), Scanned((), ("a/sub",), (), None)),
        (ScanNotes("z"), Scanned((), (), (), None)),
        (ScanNotes("../a"), Scanned((), (), (), None)),
        (ListTrash(None, 1), TrashPage((entry, records.replace(entry, trash_id=OLDER)), None)),
        (ListTrash(OLDER), TrashPage((entry,), None)),
        (ListTrash(), TrashPage((records.replace(entry, trash_id=OLDER), entry), None)),
        (ListTrash(), TrashPage((records.replace(entry, trash_id=OLDER),), ENTRY)),
        (ListTrash(), TrashPage((), "a/n.md")),
    ],
)
def test_a_reply_to_something_else_is_refused(command: Command[Any], reply: Reply) -> None:
    with pytest.raises(BadMessage):
        check_reply(SCOPE, command, reply)


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        (EditNote("a/n", "x", "y"), edited),
        (EditNote("a/n.md", "x", "y", if_match=OTHER), edited),
        (EditNote("a/n", "x", "y", if_match=ETAG), same),
        (EditNote("a/n", "x", "y", dry_run=True), records.replace(edited, not_kept=())),
        (EditNote("a/n", "x", "y"), records.replace(edited, diff="\0" * 1_600, complete=False)),
        (EditNote("a/n", "x", "y"), records.replace(edited, not_kept=("owner",) * 11)),
        (EditNote("a/n", "x", heading="h"), added),
        (AppendNote("a/n", "x"), added),
        (SearchNotes("x"), sought(first_hit, second_hit, resume="a/n.md")),
        (SearchNotes("x", "a", limit=2), sought(first_hit, second_hit)),
        (SearchNotes("x", after="a/l.md"), sought(first_hit, resume=f"a/z/{REST}")),
        (SearchNotes("x", regex=True, after="a/m.md", within=3), sought(first_hit, resume="a/m.md")),
        (SearchNotes("x", regex=True, after="a/m.md", within=3), sought(resume="a/m.md", within=4)),
        (
            SearchNotes("x", regex=True, after="a/m.md", within=3),
            sought(first_hit, resume="a/n.md", within=1),
        ),
        (SearchNotes("x"), sought(Hit("a/m.md", "M", tuple(HitLine(n, "x") for n in range(1, 4))))),
        (SearchIndex("x"), looked_up(second_hit, first_hit, mark="9:0")),
        (SearchIndex("x", limit=2, upto=9, without=("a/k.md",)), looked_up(second_hit, first_hit)),
        (SearchIndex("x", "a", after="10:0"), looked_up(first_hit, mark="9:0")),
        (SearchPaths("x", ("a/k.md", "a/m.md", "a/n.md")), through(first_hit, second_hit, done=3)),
        (SearchPaths("x", ("a/m.md", "a/n.md"), regex=True), through(first_hit, done=1, within=3)),
        (SearchPaths("x", ("a/m.md", "a/n.md"), regex=True, within=3), through(done=0, within=4)),
        (SearchPaths("x", ()), through(done=0)),
        (MatchPaths("M", GENERATION, 9, ("a/l.md",)), PathsMatched((), 0, 10)),
        (MatchPaths("am", GENERATION), PathsMatched(("a/m.md",), 5, None)),
        (KeepIndex(("a/l.md", "a/m.md")), kept("a/m.md")),
        (KeepIndex(), kept(skipped=(Skipped("a/l.md", 1, "link"), Skipped(None, 3, "too_large")))),
        (CountTags("a"), tagged(TagCount("A/b", 2), TagCount("a/2024", 1))),
        (FindLinks("a/n"), linked("a/n.md", "a/picture.png")),
        (FindLinks("a/n"), linked("a/n.md", "b/c/m.md", fragment="h", reached=True)),
        (FindLinks("a/n"), linked("a/n.md", *(f"a/{n}.md" for n in range(10)), more=7)),
        (FindLinks("a/n", "in"), linked("a/m.md", "a/n.md")),
        (FindLinks("a/n", "in"), linked("a/m.md", "a/o.md", "a/n.md")),
        (FindLinks("a/", "broken"), linked("a/n.md")),
        (FindLinks("a/n", "broken"), linked("a/n.md")),
        (FindLinks("", "broken"), linked("b/c/n.md")),
        (FindLinks("", "ambiguous"), linked("a/n.md", "a/m.md", "a/l.md")),
        (FindLinks("a", "broken", limit=2), one_after_the_other),
        (FindLinks("a", "broken", "a/l.md"), one_after_the_other),
        (FindLinks("a", "broken", "a/m.md", 0), one_after_the_other),
        (SetProperties("a/n", (Assignment("a", "1"),)), added),
        (SetProperties("a/n", (), ("l", "m", "k")), less),
    ],
)
def test_the_nearest_honest_reply_is_accepted(command: Command[Any], reply: Reply) -> None:
    check_reply(SCOPE, command, reply)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (EditNote("a/n", "x", "y"), errors.NoteChanged("z.md", etag=ETAG)),
        (EditNote("a/n", "x", "y"), errors.AnchorNotFound("z.md")),
        (EditNote("a/n", "x", "y"), errors.AmbiguousNote("h", paths=("one/h", "two/h"))),
        (EditNote("a/n", "x", "y", "h"), errors.AmbiguousNote("h", paths=("one/h", "two/h"))),
        (EditNote("a/n", "x", "y", "h"), errors.AmbiguousHeading("g", paths=("one/h",), lines=(1,))),
        (EditNote("a/n", "x", "y"), errors.AmbiguousHeading("a/n", paths=("one/h",), lines=(1,))),
        (SetProperties("a/n"), errors.AmbiguousHeading("a/n", paths=("one/h",), lines=(1,))),
        (AppendNote("a/n", "x"), errors.NotText("z.md")),
        (AppendNote("a/n", "x"), errors.ReadOnlyNote("z.md")),
        (SetProperties("a/n"), errors.InvalidYaml("z.md", line=3)),
        (ReadNote("a/n"), errors.NoteNotFound("note", "z.md")),
        (ReadNote("a/n"), errors.NoteNotFound("note", "a/n", candidates=("secret",))),
        (ReadNote("a/n"), errors.AmbiguousNote("a/n", paths=("a/n.md", "z.md"))),
        (ReadNote("a/n"), errors.NotText("z.md")),
        (ReadNote("a/n"), errors.AnchorNotFound("z.md")),
        (ReadNote("a/n"), errors.AnchorCount("z.md", count=2, expected=1, lines=(1,))),
        (CreateNote("a/n", "x"), errors.NoteExists("z.md")),
        (CreateNote("a/n", "x"), errors.NoteExists("a/.hidden.md")),
        (TrashNote("a/n.md", ETAG, ENTRY), errors.NoteChanged("z.md")),
        (RestoreNote(ENTRY), errors.NoteExists("z/n.md")),
        (ReadNote("a/n"), errors.NotCounted()),
        (SurveyMove("a/n", "a/m"), errors.SurveyOutdated()),
        (MoveNotes("a/n", "a/m"), errors.MovePending()),
        (CreateNote("a/n", "x"), errors.MovePending()),
        (CreateNote("a/n", "x"), errors.TooMuchToRelink()),
        (ReadNote("a/n"), errors.MoveStuck("the workspace cannot be used")),
        (CreateNote("a/n", "x"), errors.MoveStuck("the workspace cannot be used")),
        (ReadNote("a/n"), errors.OutcomeUnknown("the file system failed after the change")),
        (
            FindReceipt("a/n.md", ETAG, ENTRY),
            errors.OutcomeUnknown("the file system failed after the change"),
        ),
        (FindReceipt("a/n.md", ETAG, ENTRY), errors.NoRoom("max_bytes", 3)),
    ],
)
def test_a_refusal_about_something_else_is_refused(command: Command[Any], error: FsnotesError) -> None:
    with pytest.raises(BadMessage):
        check_refusal(SCOPE, command, error)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (ReadNote("../x"), errors.PathRefused("a dot segment")),
        (ReadNote("words"), errors.NoteNotFound("note", "words")),
        (ReadNote("a/n", "x" * 5000), errors.NoteNotFound("heading", "x" * 4096, candidates=("a", "b"))),
        (ReadNote("a/n", "h"), errors.AmbiguousHeading("h", paths=("one/h", "two/h"), lines=(1, 2))),
        (
            EditNote("a/n", "x", "y", "h"),
            errors.AmbiguousHeading("h", paths=("one/h", "two/h"), lines=(1, 2)),
        ),
        (AppendNote("a/n", "x", "h"), errors.AmbiguousHeading("h", paths=("one/h", "two/h"), lines=(1, 2))),
        (AppendNote("a/n", "x", "h"), errors.NoteNotFound("heading", "h", candidates=("g",))),
        (AppendNote("a/n", "x"), errors.ReadOnlyNote("a/n.md")),
        (EditNote("a/n", "x", "y"), errors.NoteChanged("a/n.md", etag=ETAG)),
        (EditNote("a/n", "x", "y"), errors.NoRoom("max_bytes", 3)),
        (SetProperties("a/n"), errors.InvalidArgument("set", "it is required where nothing is unset")),
        (SetProperties("a/n"), errors.InvalidArgument("unset", "item 3: its key is empty")),
        (SetProperties("a/n"), errors.InvalidYaml("a/n.md", line=3)),
        (EditNote("a/n", "x"), errors.InvalidArgument("oldText", "it is required where no heading is given")),
        (AppendNote("a/n", "x"), errors.InvalidArgument("position", "it is neither start nor end")),
        (ReadNote("a/é"), errors.AmbiguousNote("a/é", paths=("a/é.md", "a/é.md"))),
        (RestoreNote(ENTRY), errors.NoteNotFound("trash entry", ENTRY)),
        (RestoreNote(ENTRY), errors.NoteExists("b")),  # a file where the granted folder was
        (ListTrash(), errors.NoteTooLarge(".trash", limit=3)),
        (ScanNotes(), errors.NoteTooLarge("", limit=3)),
        (SweepTemporaries(1.0), errors.Busy()),
        (CreateNote("a/n", "x"), errors.NotCounted()),
        (MoveNotes("a/n", "a/m"), errors.SurveyOutdated()),
        (MoveNotes("a/n", "a/m", dry_run=True), errors.MovePending()),
        (SurveyMove("a/n", "a/m"), errors.MovePending()),
        (SurveyMove("a/n", "a/m"), errors.TooMuchToRelink()),
        (MoveNotes("a/n", "a/m"), errors.TooMuchToRelink()),
        (
            MoveNotes("a/n", "a/m"),
            errors.MoveStuck(
                "a move that was interrupted cannot be finished, since what became of it cannot be seen"
            ),
        ),
        (MoveNotes("a/n", "a/m"), errors.OutcomeUnknown("the file system failed after the move")),
        (CreateNote("a/n", "x"), errors.OutcomeUnknown("the file system failed after the change")),
        (TrashNote("a/n.md", ETAG, ENTRY), errors.OutcomeUnknown("the file system failed after the change")),
        (RestoreNote(ENTRY, "a/n"), errors.NoRoom("max_entries", 3)),
        (ReadNote("a/n"), errors.AnchorNotFound("a/n.md", line=3, nearest="text")),
        (ReadNote("a/n"), errors.AnchorCount("a/n.md", count=2, expected=1, lines=(1, 3))),
    ],
)
def test_an_honest_refusal_is_accepted(command: Command[Any], error: FsnotesError) -> None:
    check_refusal(SCOPE, command, decode_error(through_the_channel(encode_error(error))))


# -- nothing is forgotten --------------------------------------------------------------------------

SOURCES = Path(__file__).resolve().parents[2]
_SPOKEN = {"InvalidPath", "Traversal", "InvalidArgument", "UnacceptableName", "Unavailable", "InvalidUri"}


def written(node: ast.expr) -> str | None:
    """Return a text as the source spells it, with `#` for what is put in; None for no text."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=pieces):
            return "".join(piece.value if isinstance(piece, ast.Constant) else "#" for piece in pieces)
        case _:
            return None


def reasons() -> set[str]:
    """Return every reason that the code of a worker gives for a refusal."""
    found = set()
    modules = [*(SOURCES / "fsnotes/notes").glob("*.py"), *(SOURCES / "sandbox").glob("*.py")]
    for path in modules:
        if path.name in ("uris.py", "globs.py", "refusals.py"):  # of the parent alone, or the table itself
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                text = written(node.args[-1]) if name in _SPOKEN else None
                if text is not None:
                    found.add(text)
            if isinstance(node, ast.FunctionDef) and node.name == "_new_name_fault":
                returns = [each for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
                found |= {text for each in returns if each.value and (text := written(each.value))}
    return found - {"not a name for a new note or folder: #", "a separator inside a component"}


def test_every_reason_that_a_worker_gives_is_in_the_table() -> None:
    from fsnotes.notes.translating import _STORAGE

    given = reasons() | set(_STORAGE.values())
    assert len(given) >= 25
    paths_that_are_refused = {"a dot segment", "an absolute path"}  # told by no reason at all
    numbered = {re.sub(r"\d+", "#", text) for text in given - paths_that_are_refused}
    assert numbered - SENTENCES == set()


def test_every_reason_that_a_query_is_refused_for_is_in_the_table() -> None:
    from fsnotes.notes.index import queries, regexes

    refused = set()
    for parse, texts in (
        (
            queries.parse,
            [
                "",
                "-x",
                "x" * 1_001,
                " ".join(f"x{n}" for n in range(33)),
                '"' + "x " * 257 + '"',
                " ".join(f"x{n}*" for n in range(17)),
            ],
        ),
        (regexes.Pattern, ["", "(", "x" * 1_001, ".{1000}", "\ud800"]),
    ):
        for text in texts:
            with pytest.raises(errors.InvalidArgument) as caught:
                parse(text)  # type: ignore[operator]
            crossed = decode_error(encode_error(caught.value))
            assert vars(crossed) == vars(caught.value)
            refused.add(caught.value.why)
    assert len(refused) == 8 + 1


def test_every_refusal_that_a_handler_raises_crosses() -> None:
    from tests.notes.test_handlers import _EXPECTED

    raised = set()
    for path in (SOURCES / "fsnotes/notes").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                call = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                kind = getattr(errors, getattr(call, "id", ""), None)
                raised |= {kind} if kind else set()
    assert raised | set(_EXPECTED.values()) <= set(REFUSALS)
    assert len(raised) > 5
    assert encode_command(Scope((ROOT,)), ReadNote("a"))["command"] == "ReadNote"
