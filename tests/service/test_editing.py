"""Editing through the service: what is told, what is logged, and that nobody's text is ever lost."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest

from fsnotes.access import Right
from fsnotes.errors import (
    AmbiguousHeading,
    AnchorNotFound,
    Busy,
    FsnotesError,
    NotAllowed,
    NoteChanged,
    NoteNotFound,
    NoteTooLarge,
    NotText,
    Unavailable,
)
from fsnotes.failures import describe
from fsnotes.notes.etags import etag
from fsnotes.outcomes import NoteEdited
from fsnotes.service import Service
from sandbox.root import Root
from sandbox.steps import Step
from tests.disk import Interruption
from tests.service import actors
from tests.service.conftest import ALICE, BOB, Household

NOTE = "Projects/Plan.md"
TEXT = b"# Plan\r\n- call the plumber\r\n"

Operation = Callable[..., NoteEdited]


def edit(service: Service, uri: str, path: str = NOTE, **more: Any) -> NoteEdited:
    given = {"new_text": "electrician", "old_text": "plumber"} | more
    return service.edit(given.pop("call", ALICE), uri, path, **given)


def append(service: Service, uri: str, path: str = NOTE, **more: Any) -> NoteEdited:
    given = {"text": "- buy milk"} | more
    return service.append(given.pop("call", ALICE), uri, path, **given)


def properties(service: Service, uri: str, path: str = NOTE, **more: Any) -> NoteEdited:
    given = {"assign": [("status", "done")]} | more
    return service.properties(given.pop("call", ALICE), uri, path, **given)


WITH_STATUS = b"---\r\nstatus: done\r\n---\r\n" + TEXT
EDITED = TEXT.replace(b"plumber", b"electrician")
APPENDED = TEXT + b"- buy milk\r\n"

each_change = pytest.mark.parametrize(
    ("change", "made", "tool", "outcome"),
    [
        (edit, EDITED, "notes_edit", "edited"),
        (append, APPENDED, "notes_append", "appended"),
        (properties, WITH_STATUS, "notes_properties", "properties_set"),
    ],
    ids=["edit", "append", "properties"],
)


# -- what is told ----------------------------------------------------------------------------------


def test_an_edit_and_an_addition_are_told_whole(household: Household) -> None:
    household.write(NOTE, TEXT)
    service, uri = household.service(), household.uri
    assert edit(service, uri, "Projects/Plan").document() == {
        "outcome": "changed",
        "path": NOTE,
        "etag": etag(EDITED),
        "size": len(EDITED),
        "matches": 1,
        "diff": "@@ -1,2 +1,2 @@\n # Plan\r\n-- call the plumber\r\n+- call the electrician\r\n",
    }
    assert household.files() == {NOTE: EDITED}
    both = EDITED + b"- buy milk\r\n"
    assert append(service, uri, heading="Plan", if_match=etag(EDITED)).document() == {
        "outcome": "changed",
        "path": NOTE,
        "etag": etag(both),
        "size": len(both),
        "diff": "@@ -1,2 +1,3 @@\n # Plan\r\n - call the electrician\r\n+- buy milk\r\n",
    }
    assert household.files() == {NOTE: both}
    assert service.read(ALICE, uri, NOTE).header()["etag"] == etag(both)


def test_what_is_cut_or_could_not_be_kept_is_told(household: Household) -> None:
    place = household.write(NOTE, "x\n" * 9_000)
    place.chmod(0o4644)
    document = edit(household.service(), household.uri, old_text="x", new_text="y", expected_matches=9_000)
    shape = document.document()
    assert (shape["diffComplete"], shape["notKept"], shape["matches"]) == (
        False,
        ["special mode bits"],
        9_000,
    )
    assert len(json.dumps(shape, ensure_ascii=False)) < 40_000
    assert place.read_bytes() == b"y\n" * 9_000


@pytest.mark.kind("sync")
@each_change
def test_a_dry_run_tells_what_the_change_tells_and_leaves_nothing_behind(
    household: Household, change: Operation, made: bytes, tool: str, outcome: str
) -> None:
    household.write(NOTE, TEXT)
    service, uri = household.service(), household.uri
    planned = change(service, uri, dry_run=True).document()
    assert (planned["outcome"], planned["etag"]) == ("would_change", etag(made))
    assert household.files() == {NOTE: TEXT}
    assert household.audit() == []
    assert change(service, uri).document() == planned | {"outcome": "changed"}
    assert household.files() == {NOTE: made}
    assert household.audited() == [("local:alice", tool, NOTE, outcome)]


def test_what_has_the_text_already_is_unchanged_and_says_so(household: Household) -> None:
    place = household.write(NOTE, TEXT)
    before = place.stat()
    service, uri = household.service(), household.uri
    for dry_run in (False, True):
        assert edit(service, uri, new_text="plumber", dry_run=dry_run).document() == {
            "outcome": "unchanged",
            "path": NOTE,
            "etag": etag(TEXT),
            "size": len(TEXT),
            "matches": 1,
            "diff": "",
        }
    after = place.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert household.audited() == [("local:alice", "notes_edit", NOTE, "unchanged")]


def test_mode_owner_and_attributes_survive(household: Household) -> None:
    place = household.write(NOTE, TEXT)
    place.chmod(0o640)
    if os.geteuid() == 0 and not household.is_jailed:
        os.chown(place, 4321, 1234)
    with contextlib.suppress(OSError):  # not every file system has them
        os.setxattr(place, "user.colour", b"red")
    attributes = {name: os.getxattr(place, name) for name in os.listxattr(place)}
    before = place.stat()
    service, uri = household.service(), household.uri
    assert "notKept" not in edit(service, uri).document()
    assert place.stat().st_ino != before.st_ino
    assert "notKept" not in append(service, uri).document()
    after = place.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert {name: os.getxattr(place, name) for name in os.listxattr(place)} == attributes


# -- what is refused, and logged -------------------------------------------------------------------


@each_change
def test_each_change_has_one_line_with_both_etags(
    household: Household, change: Operation, made: bytes, tool: str, outcome: str
) -> None:
    household.write(NOTE, TEXT)
    change(household.service(), household.uri, "Projects/Plan")
    (line,) = household.audit()
    assert line == {
        "time": line["time"],
        "principal": "local:alice",
        "tool": tool,
        "workspace": "Notes",
        "path": NOTE,
        "outcome": outcome,
        "etagBefore": etag(TEXT),
        "etagAfter": etag(made),
        "jail": household.level,
        "requestId": "1",
        "traceId": None,
    }


Refusal = tuple[type[FsnotesError], dict[str, Any], str]
REFUSED: dict[str, Refusal] = {
    "no such note": (NoteNotFound, {"path": "nowhere"}, "note_not_found"),
    "no such heading": (NoteNotFound, {"heading": "Nowhere"}, "note_not_found"),
    "stale": (NoteChanged, {"if_match": "0" * 32}, "note_changed"),
    "outside": (NotAllowed, {"path": "../secret"}, "not_allowed"),
    "hidden": (NotAllowed, {"path": ".git/x"}, "not_allowed"),
    "no text": (NotText, {"path": "binary"}, "not_text"),
    "too large": (NoteTooLarge, {"text": "x" * 2_000_000}, "note_too_large"),
    "without a right": (NotAllowed, {"call": BOB}, "not_allowed"),
}


CASES = [
    pytest.param(change, tool, made, what, id=f"{tool} {what}")
    for change, made, tool in (
        (edit, EDITED, "notes_edit"),
        (append, APPENDED, "notes_append"),
        (properties, WITH_STATUS, "notes_properties"),
    )
    for what in REFUSED
    # Properties have no heading, and a text of their own that can be too large.
    if change is not properties or what not in ("no such heading", "too large")
]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(("change", "tool", "made", "what"), CASES)
def test_what_is_refused_changes_nothing_and_has_one_line(
    household: Household, change: Operation, tool: str, made: bytes, what: str, dry_run: bool
) -> None:
    kind, given, logged = REFUSED[what]
    given = dict(given)
    if change is edit and "text" in given:
        given["new_text"] = given.pop("text")
    household.write(NOTE, TEXT)
    household.write("binary.md", b"# Plan\nplumber\xff")
    household.write(".git/x.md", TEXT)
    (household.top / "secret.md").write_bytes(TEXT)
    household.grant(BOB, Right.READ, Right.DELETE)
    before = household.tree()
    service, uri = household.service(), household.uri
    with pytest.raises(kind):
        change(service, uri, dry_run=dry_run, **given)
    assert household.tree() == before
    assert [(line["tool"], line["outcome"]) for line in household.audit()] == [(tool, logged)]
    assert change(service, uri).document()["etag"] == etag(made)
    (household.top / "secret.md").unlink()


@pytest.mark.kind("overwrite")
@each_change
def test_a_stale_etag_is_a_conflict_that_tells_the_current_one(
    household: Household, change: Operation, made: bytes, tool: str, outcome: str
) -> None:
    household.write(NOTE, TEXT)
    with pytest.raises(NoteChanged) as caught:
        change(household.service(), household.uri, if_match=etag(made))
    failure = describe(caught.value)
    assert (failure.slug, failure.exit_code) == ("conflict", 5)
    assert f"its etag is {etag(TEXT)};" in failure.line
    assert household.files() == {NOTE: TEXT}


@each_change
def test_without_room_for_its_line_nothing_is_changed(
    household: Household, change: Operation, made: bytes, tool: str, outcome: str
) -> None:
    household.write(NOTE, TEXT)
    service, uri = household.service(), household.uri
    (household.top / "state/private/audit.jsonl").mkdir(parents=True)
    with pytest.raises(Unavailable):
        change(service, uri)
    assert household.files() == {NOTE: TEXT}
    assert change(service, uri, dry_run=True).document()["etag"] == etag(made)


# -- who may write and not read --------------------------------------------------------------------

PRIVATE = "# Secret plan\nthe password is swordfish\n# A\n## Twin\nx\n# B\n## Twin\nx\n"


@pytest.fixture
def writer(household: Household) -> Household:
    """Let BOB write everything and read one folder."""
    household.grant(BOB, Right.WRITE)
    household.grant(BOB, Right.READ, folder="Shared")
    for path in ("n.md", "Shared/n.md"):
        household.write(path, PRIVATE)
    return household


def test_a_change_shows_no_text_to_who_may_not_read(writer: Household) -> None:
    service, uri = writer.service(), writer.uri
    for dry_run in (True, False):
        for outcome in (
            edit(service, uri, "n", call=BOB, old_text="x\n# B", new_text="y\n# B", dry_run=dry_run),
            edit(service, uri, "n", call=BOB, old_text=None, heading="B/Twin", new_text="z", dry_run=dry_run),
            append(service, uri, "n", call=BOB, dry_run=dry_run),
            properties(service, uri, "n", call=BOB, remove=["no"], dry_run=dry_run),
        ):
            told = {"outcome", "path", "etag", "size", "matches", "absent"}
            assert outcome.document().keys() <= told
    assert "swordfish" in edit(service, uri, "Shared/n", call=BOB, old_text="Secret").document()["diff"]
    assert "swordfish" in edit(service, uri, "n", old_text="Secret").document()["diff"]


REVEALING = [
    (AnchorNotFound, {"old_text": "the password is sword fish"}, ["swordfish"]),
    (NoteNotFound, {"heading": "plan"}, ["Secret"]),
    (AmbiguousHeading, {"heading": "Twin"}, ["A/", "B/"]),
]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(("kind", "given", "words"), REVEALING)
def test_a_refusal_shows_no_text_to_who_may_not_read(
    writer: Household, kind: type[FsnotesError], given: dict[str, Any], words: list[str], dry_run: bool
) -> None:
    service, uri = writer.service(), writer.uri
    for call, path, sees in ((BOB, "n", False), (BOB, "Shared/n", True), (ALICE, "n", True)):
        with pytest.raises(kind) as caught:
            edit(service, uri, path, call=call, dry_run=dry_run, **given)
        line = describe(caught.value).line
        assert [word for word in words if word in line] == (words if sees else []), line
        assert caught.value.__suppress_context__ or sees
    assert writer.files() == {"n.md": PRIVATE.encode(), "Shared/n.md": PRIVATE.encode()}


def test_who_may_not_read_is_told_all_that_an_edit_needs(writer: Household) -> None:
    service, uri = writer.service(), writer.uri
    with pytest.raises(AnchorNotFound) as elsewhere:
        edit(service, uri, "n", call=BOB, old_text="swordfish", heading="A")
    assert (elsewhere.value.hint, elsewhere.value.line) == ("elsewhere", 2)
    assert elsewhere.value.nearest == ""
    with pytest.raises(AnchorNotFound) as missing:
        edit(service, uri, "n", call=BOB, old_text="no such text")
    assert describe(missing.value).line == (
        'not_found: oldText is not in "n.md"; its lines are not shown to you, since you may not read it; nothing was'
        " changed, take the text exactly as it is read"
    )
    with pytest.raises(NoteNotFound) as unknown:
        append(service, uri, "other", call=BOB)
    assert unknown.value.what == "note"


def test_a_note_beside_the_folder_that_may_be_read_is_not_shown(writer: Household) -> None:
    writer.write("Shared.md", PRIVATE)
    outcome = edit(writer.service(), writer.uri, "Shared", call=BOB, old_text="swordfish")
    assert outcome.reply.path == "Shared.md"
    assert "diff" not in outcome.document()


# -- others who save the same note -----------------------------------------------------------------

BEFORE_THE_EXCHANGE = (
    Step.REPLACE_TEMPORARY,
    Step.REPLACE_WRITTEN,
    Step.REPLACE_LIKENED,
    Step.REPLACE_SYNCED,
    Step.REPLACE_LOOKED,
)
THEIRS = b"# Plan\r\n- call the plumber\r\n- saved by an editor\r\n"


def saving(household: Household, data: bytes, *, in_place: bool) -> Callable[[], object]:
    place = household.vault / NOTE

    def save() -> None:
        if in_place:
            place.write_bytes(data)
        else:
            aside = place.with_suffix(".editor")
            aside.write_bytes(data)
            aside.replace(place)

    return save


@pytest.mark.kind("overwrite")
@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("step", BEFORE_THE_EXCHANGE)
@each_change
def test_what_others_save_meanwhile_is_kept_and_the_change_is_made_to_it(
    inline: Household, change: Operation, made: bytes, tool: str, outcome: str, step: StrEnum, in_place: bool
) -> None:
    inline.write(NOTE, TEXT)
    interruption = Interruption(step, saving(inline, THEIRS, in_place=in_place))
    done = change(inline.service(observe=interruption), inline.uri)
    both = (
        made.replace(b"\r\n- buy", b"\r\n- saved by an editor\r\n- buy")
        if change is append
        else (made + b"- saved by an editor\r\n")
    )
    assert interruption.happened
    assert inline.files() == {NOTE: both}
    assert (done.reply.former, done.reply.etag) == (etag(THEIRS), etag(both))
    (line,) = inline.audit()
    assert (line["etagBefore"], line["etagAfter"], line["outcome"]) == (etag(THEIRS), etag(both), outcome)


@pytest.mark.parametrize("step", BEFORE_THE_EXCHANGE)
@each_change
def test_with_an_etag_what_others_save_meanwhile_is_a_conflict(
    inline: Household, change: Operation, made: bytes, tool: str, outcome: str, step: StrEnum
) -> None:
    inline.write(NOTE, TEXT)
    service = inline.service(observe=Interruption(step, saving(inline, THEIRS, in_place=False)))
    with pytest.raises(NoteChanged) as caught:
        change(service, inline.uri, if_match=etag(TEXT))
    assert caught.value.etag == etag(THEIRS)
    assert inline.files() == {NOTE: THEIRS}
    assert inline.audited() == [("local:alice", tool, NOTE, "note_changed")]
    assert change(service, inline.uri, if_match=etag(THEIRS)).outcome == "changed"


@each_change
def test_the_same_bytes_saved_again_meanwhile_are_no_conflict(
    inline: Household, change: Operation, made: bytes, tool: str, outcome: str
) -> None:
    inline.write(NOTE, TEXT)
    service = inline.service(observe=Interruption(Step.REPLACE_SYNCED, saving(inline, TEXT, in_place=False)))
    assert change(service, inline.uri, if_match=etag(TEXT)).reply.former == etag(TEXT)
    assert inline.files() == {NOTE: made}


@each_change
def test_a_note_that_others_remove_meanwhile_is_not_made_again(
    inline: Household, change: Operation, made: bytes, tool: str, outcome: str
) -> None:
    inline.write(NOTE, TEXT)
    removed = Interruption(Step.REPLACE_SYNCED, (inline.vault / NOTE).unlink)
    with pytest.raises(NoteNotFound):
        change(inline.service(observe=removed), inline.uri)
    assert inline.files() == {}


def test_a_text_that_is_gone_from_what_others_saved_is_not_found_there(inline: Household) -> None:
    inline.write(NOTE, TEXT)
    emptied = Interruption(Step.REPLACE_SYNCED, saving(inline, b"# Plan\n", in_place=False))
    with pytest.raises(AnchorNotFound):
        edit(inline.service(observe=emptied), inline.uri)
    assert inline.files() == {NOTE: b"# Plan\n"}


@each_change
def test_who_saves_again_and_again_is_given_way_to_in_the_end(
    inline: Household, change: Operation, made: bytes, tool: str, outcome: str
) -> None:
    inline.write(NOTE, TEXT)
    saved: list[bytes] = []

    def save(step: StrEnum) -> None:
        if step is Step.REPLACE_LOOKED:
            saved.append(THEIRS + b"%d\r\n" % len(saved))
            saving(inline, saved[-1], in_place=False)()

    with pytest.raises(NoteChanged) as caught:
        change(inline.product(observe=save).service, inline.uri)
    assert len(saved) == 3
    assert caught.value.etag == etag(saved[-1])
    assert inline.files() == {NOTE: saved[-1]}


# -- several who add -------------------------------------------------------------------------------

EACH = 500


def add_lines(household: Household, each: int) -> None:
    household.write("log.md", "")
    with actors.Racers(household, 2) as racers:
        said = racers.race([actors.append_lines(ALICE, "log", name, each) for name in ("one", "two")])
    assert said == [each, each]
    lines = (household.vault / "log.md").read_bytes().decode().split("\n")
    assert lines.pop() == ""
    assert len(lines) == 2 * each
    for name in ("one", "two"):
        assert [line for line in lines if line.startswith(name)] == [f"{name} {n}" for n in range(each)]
    assert household.temporaries() == []


def test_two_processes_that_add_to_one_note_lose_no_line_and_add_none(household: Household) -> None:
    add_lines(household, 60)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_processes_that_add_500_lines_each_make_a_thousand(household: Household) -> None:
    add_lines(household, EACH)


def test_a_locked_workspace_is_busy_and_nothing_is_changed(inline: Household) -> None:
    inline.write(NOTE, TEXT)
    service = inline.service()
    with Root.open(inline.vault) as other, other.lock(timeout=1), pytest.raises(Busy):
        edit(service, inline.uri)
    assert inline.files() == {NOTE: TEXT}
    assert inline.audited() == [("local:alice", "notes_edit", NOTE, "busy")]
