"""A vault as a dict: whatever is done to it, through the service or by an editor beside it, both agree.

Each machine drives the real service on a real folder and the model beside it. Titles, paths and forms are
computed from the model, so what the service offers and answers is compared with an independent account.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import ruamel.yaml
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fsnotes.access import Right
from fsnotes.errors import (
    AmbiguousHeading,
    AnchorCount,
    AnchorNotFound,
    InvalidArgument,
    InvalidState,
    InvalidYaml,
    NoteChanged,
    NoteExists,
    NoteNotFound,
    NotText,
    TooManyMatches,
)
from fsnotes.notes.etags import etag
from fsnotes.outcomes import Asked, Deletion
from fsnotes.service import Service
from sandbox.names import OWN_PREFIX
from tests.examples import examples
from tests.notes.blocks import load
from tests.require import has_openat2, require
from tests.service.conftest import ALICE, Household, accept, decline

SETTINGS = settings(
    max_examples=examples(10, long=20),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
AT_LENGTH = settings(SETTINGS, max_examples=examples(60, long=120))

NAMES = ("a", "b", "Größe", "with space", "x.y")
FOLDERS = ("", "one/", "one/two/", "Ärger/")
PATHS = st.builds(lambda folder, name: f"{folder}{name}.md", st.sampled_from(FOLDERS), st.sampled_from(NAMES))
TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            "# a\n",
            "# Shared title\r\nbody",
            "---\ntitle: Shared title\n---\n",
            "# B\n\n# A\n",
            "\ufeff---\r\nstatus: 'new' # mine\r\nid: 01234\r\n---\r\n# A\r\none\r\n\r\n# B\r\ntwo",
            "---\n# why\ntags: [a, b]\n\ndue: 2026-01-31\n---\nbody\n",
            "---\ntitle: [\n---\n# A\n",
        ]
    ),
    st.text(st.characters(codec="utf-8"), max_size=60),
)
RARELY = st.sampled_from([False, False, False, True])
KEYS = ("status", "tags", "due", "title", "Status", "id")
VALUES = ("done", "[a, b]", "'it''s'", "01234", "", "- x\n- y", "2026-02-01", "two: words")
TITLES = st.one_of(
    st.sampled_from([*NAMES, "shared", "Shared title", "SHARED TITLE", "größe", "one/a", "no such"]), PATHS
)


@dataclass
class Pending:
    """A form that a person has before them, and what they saw."""

    title: str
    asked: Asked
    seen: dict[str, str]
    issued: float
    spent: bool = False


@dataclass
class Trashed:
    path: str
    data: bytes


@dataclass
class Model:
    notes: dict[str, bytes] = field(default_factory=dict)
    trash: dict[str, Trashed] = field(default_factory=dict)
    declined: dict[str, float] = field(default_factory=dict)


def is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True)
class Block:
    """The frontmatter of a note as a parser without our care reads it: None where that is no mapping."""

    lines: list[str]
    values: dict[Any, Any] | None
    body: bytes


def frontmatter(data: bytes) -> Block:
    """Take a note apart, line by line: what is above the body, and what it says."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    lines = text.splitlines(keepends=True)
    bare = [line.rstrip(b" \t\r\n") if not line.startswith((b" ", b"\t")) else line for line in lines]
    ends = [number for number, line in enumerate(bare[1:], start=1) if line in (b"---", b"...")]
    if not ends or bare[0] != b"---" or not lines[0].endswith((b"\n", b"\r")):
        return Block([], {}, text)
    block = [line.decode() for line in lines[1 : ends[0]]]
    try:
        read = load("".join(block))
    except ruamel.yaml.error.YAMLError:
        read = "broken"
    values = {} if read is None else read
    return Block(block, values if isinstance(values, dict) else None, b"".join(lines[ends[0] + 1 :]))


def names(values: dict[Any, Any]) -> list[str]:
    return [str(key) for key in values]


def folded(text: str) -> str:
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return " ".join(text.split())


class VaultMachine(RuleBasedStateMachine):
    """One vault with one principal, and an editor that asks nobody."""

    resolver: Any = "walk"

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="fsnotes-model-"))
        self.household = Household(self.top, self.resolver)
        self.household.vault.mkdir()
        self.household.grant(ALICE, *Right)
        self.service: Service = self.household.service()
        self.uri = self.household.uri
        self.model = Model()
        self.pending: list[Pending] = []

    def teardown(self) -> None:
        self.household.close()
        shutil.rmtree(self.top)

    # -- what the model says -----------------------------------------------------------------------

    def titles(self) -> dict[str, str]:
        """Return each note's title, as a listing shows it: what a title is has tests of its own."""
        listed = self.listed()
        return {note["path"]: note["title"] for note in listed["notes"]}

    def listed(self) -> dict[str, Any]:
        return self.service.list(ALICE, self.uri, recursive=True, limit=200).document()

    def candidates(self, title: str) -> list[str]:
        wanted, titles = folded(title), self.titles()
        exact = [
            path
            for path in titles
            if wanted in (folded(titles[path]), folded(path), folded(path.removesuffix(".md")))
        ]
        found = exact or [path for path in titles if wanted in folded(titles[path])]
        return sorted(found, key=lambda path: path.split("/"))

    @initialize(notes=st.dictionaries(PATHS, TEXTS, min_size=1, max_size=3))
    def begin(self, notes: dict[str, str]) -> None:
        for path, text in notes.items():
            self.save(path=path, data=text.encode())

    # -- through the service -----------------------------------------------------------------------

    @rule(path=PATHS, text=TEXTS, suffixed=st.booleans())
    def create(self, path: str, text: str, suffixed: bool) -> None:
        asked = path if suffixed else path.removesuffix(".md")
        try:
            made = self.service.create(ALICE, self.uri, asked, text)
        except NoteExists:
            assert path in self.model.notes
            return
        assert path not in self.model.notes
        self.model.notes[path] = text.encode()
        assert made.document() == {"path": path, "etag": etag(text.encode()), "size": len(text.encode())}

    @precondition(lambda self: self.model.notes)
    @rule(data=st.data(), new=TEXTS, stale=RARELY, dry_run=RARELY, every=st.booleans())
    def edit(self, data: st.DataObject, new: str, stale: bool, dry_run: bool, every: bool) -> None:
        """Replace a piece of the note, or a text that may not be there: as the bytes say, or not at all."""
        path = data.draw(st.sampled_from(sorted(self.model.notes)))
        note = self.model.notes[path]
        text = note.decode() if is_text(note) else ""
        start = data.draw(st.integers(0, len(text)))
        # Line ends and the mark have rules of their own; these texts have none.
        old, new = (
            "".join(character for character in piece if character not in "\r\n\ufeff")
            for piece in (text[start : start + data.draw(st.integers(1, 8))], new)
        )
        old = old or "x"
        match = etag(b"another text" if stale else note)
        expected = max(1, note.count(old.encode())) if every else 1
        try:
            edited = self.service.edit(
                ALICE,
                self.uri,
                path,
                new,
                old_text=old,
                if_match=match,
                dry_run=dry_run,
                expected_matches=expected,
            )
        except NoteChanged:
            assert stale
            return
        except NotText:
            assert not stale
            assert not is_text(note)
            return
        except (AnchorCount, AnchorNotFound):
            assert not stale
            assert note.count(old.encode()) != expected
            return
        assert not stale
        event("an edit")
        made = note.replace(old.encode(), new.encode())
        assert (edited.reply.former, edited.reply.etag) == (etag(note), etag(made))
        if not dry_run:
            self.model.notes[path] = made

    @classmethod
    def headings(cls, note: bytes, heading: str) -> int:
        """Count the headings of that text; there are no others that begin a line with `# `."""
        lines = [line[1:] for line in cls.lf(note).decode().split("\n") if line.startswith("# ")]
        return sum(folded(line) == folded(heading) for line in lines)

    @staticmethod
    def lf(data: bytes) -> bytes:
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    @precondition(lambda self: self.model.notes)
    @rule(data=st.data(), text=st.sampled_from(["x", "two words", "line\n"]), dry_run=RARELY)
    def append(self, data: st.DataObject, text: str, dry_run: bool) -> None:
        path = data.draw(st.sampled_from(sorted(self.model.notes)))
        note = self.model.notes[path]
        try:
            added = self.service.append(ALICE, self.uri, path, text, dry_run=dry_run)
        except NotText:
            assert not is_text(note)
            return
        event("an addition")
        assert added.outcome == ("would_change" if dry_run else "changed")
        made = (self.household.vault / path).read_bytes()
        assert added.reply.etag != added.reply.former == etag(note)
        if dry_run:
            assert made == note
            return
        assert made.startswith(note)
        assert self.lf(made[len(note) :]).strip(b"\n") == text.strip().encode()
        assert self.lf(made).endswith(b"\n")
        assert added.reply.etag == etag(made)
        self.model.notes[path] = made

    @precondition(lambda self: self.model.notes)
    @rule(
        data=st.data(),
        heading=st.sampled_from(["A", "B", "shared  title"]),
        at_start=st.booleans(),
        stale=RARELY,
    )
    def append_to_a_section(self, data: st.DataObject, heading: str, at_start: bool, stale: bool) -> None:
        path = data.draw(st.sampled_from(sorted(self.model.notes)))
        note = self.model.notes[path]
        position, match = "start" if at_start else "end", etag(b"another" if stale else note)
        try:
            added = self.service.append(
                ALICE, self.uri, path, "new", heading=heading, position=position, if_match=match
            )
        except NoteChanged:
            assert stale
            return
        except NotText:
            assert not is_text(note)
            return
        except NoteNotFound:
            assert self.headings(note, heading) == 0
            return
        except AmbiguousHeading:
            assert self.headings(note, heading) > 1
            return
        assert not stale
        event("an addition to a section")
        made = (self.household.vault / path).read_bytes()
        assert added.reply.etag == etag(made)
        come, gone = Counter(made) - Counter(note), Counter(note) - Counter(made)
        assert (gone, set(come) - {*b"\r\n"}) == (Counter(), {*b"new"})
        assert len(self.lf(made)) - len(self.lf(note)) in (4, 5)
        same = len(os.path.commonprefix([note, made]))  # noqa: RUF071 - of bytes, not of paths
        assert made.endswith(note[same:])
        self.model.notes[path] = made

    @precondition(lambda self: self.model.notes)
    @rule(
        data=st.data(),
        given=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2),
        gone=st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
        stale=RARELY,
        dry_run=RARELY,
    )
    def properties(
        self, data: st.DataObject, given: dict[str, str], gone: list[str], stale: bool, dry_run: bool
    ) -> None:
        path = data.draw(st.sampled_from(sorted(self.model.notes)))
        note = self.model.notes[path]
        match = etag(b"another text" if stale else note)
        gone = [key for key in gone if key not in given]
        before = frontmatter(note) if is_text(note) else None
        try:
            edited = self.service.properties(
                ALICE,
                self.uri,
                path,
                assign=list(given.items()),
                remove=gone,
                if_match=match,
                dry_run=dry_run,
            )
        except NoteChanged:
            assert stale
            return
        except NotText:
            assert before is None
            return
        except InvalidYaml:
            assert before is not None
            assert before.values is None
            return
        except InvalidArgument:
            there = [] if before is None or before.values is None else names(before.values)
            left = [key for key in there if key not in gone]
            asked = [*given, *(key for key in gone if key not in there)]
            alike = [key for key in asked if key not in there and folded(key) in map(folded, left)]
            twins = len(set(map(folded, given))) < len(given)
            assert not (given or gone) or alike or twins or "two: words" in given.values()
            return
        assert not stale
        assert before is not None
        assert before.values is not None
        event("properties")
        made = (self.household.vault / path).read_bytes()
        assert (edited.reply.former, dry_run) == (etag(note), dry_run)
        assert set(edited.reply.absent) == {key for key in gone if key not in names(before.values)}
        if dry_run:
            assert made == note
            return
        after = frontmatter(made)
        kept = {key: value for key, value in before.values.items() if str(key) not in gone}
        assert after.values == kept | {key: load(value) for key, value in given.items()}
        assert (after.body, made[:3] == b"\xef\xbb\xbf") == (before.body, note[:3] == b"\xef\xbb\xbf")
        others = [line for line in before.lines if re.match(r"(?:#|\w+:)", line)]
        others = [line for line in others if line.partition(":")[0] not in {*given, *gone}]
        assert [line for line in after.lines if line in others] == others or not after.values
        assert edited.reply.etag == etag(made)
        self.model.notes[path] = made
        new = [key for key in given if key not in names(before.values)]
        if len(new) == len(given) > 0 and not gone and before.values:
            # Taking away what came gives back the bytes that were.
            back = self.service.properties(ALICE, self.uri, path, remove=new)
            assert back.reply.etag == etag(note)
            self.model.notes[path] = note

    @rule(path=PATHS)
    def read(self, path: str) -> None:
        try:
            read = self.service.read(ALICE, self.uri, path)
        except NoteNotFound:
            assert path not in self.model.notes
            return
        except NotText:
            assert not is_text(self.model.notes[path])
            return
        assert (read.text.encode(), read.header()["etag"]) == (
            self.model.notes[path],
            etag(self.model.notes[path]),
        )

    @rule(
        folder=st.sampled_from(FOLDERS),
        limit=st.integers(1, 3),
        sort=st.sampled_from(["path", "size", "modified"]),
    )
    def turn_pages(self, folder: str, limit: int, sort: str) -> None:
        seen: list[str] = []
        cursor = None
        while True:
            try:
                page = self.service.list(
                    ALICE, self.uri, folder=folder, recursive=True, limit=limit, sort=sort, cursor=cursor
                )
            except NoteNotFound:
                assert not (self.household.vault / folder).is_dir()
                return
            assert len(page.notes) <= limit
            seen += [note.path for note in page.notes]
            if (cursor := page.cursor) is None:
                break
        assert sorted(seen) == sorted(path for path in self.model.notes if path.startswith(folder))

    @rule(title=TITLES)
    def ask(self, title: str) -> None:
        self.ask_for(title)

    @precondition(lambda self: self.model.notes)
    @rule(data=st.data())
    def ask_about_a_note(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.model.notes)))
        self.ask_for(
            data.draw(st.sampled_from([path, path.removesuffix(".md"), self.titles()[path] or path]))
        )

    def ask_for(self, title: str) -> None:
        expected = self.candidates(title)
        remembered = self.model.declined.get(folded(title), 0.0) > self.household.clock.now
        try:
            asked = self.service.delete(
                ALICE, self.uri, title, arguments={"workspaceUri": self.uri, "title": title}
            )
        except NoteNotFound:
            assert expected == []
            assert not remembered
            return
        except TooManyMatches:
            assert len(expected) > 25
            return
        if remembered:
            event("declined from memory")
            assert asked == Deletion("declined")
            return
        assert isinstance(asked, Asked)
        assert list(asked.form.note_ids) == expected
        seen = {candidate.path: candidate.etag for candidate in asked.form.candidates}
        assert seen == {path: etag(self.model.notes[path]) for path in expected}
        self.pending.append(Pending(title, asked, seen, self.household.clock.now))

    def reply(self, form: Pending, answer: Any) -> Any:
        return self.service.delete(
            ALICE,
            self.uri,
            form.title,
            arguments={"workspaceUri": self.uri, "title": form.title},
            state=form.asked.state,
            answers={"delete_choice": answer},
        )

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def confirm(self, data: st.DataObject) -> None:
        form = data.draw(st.sampled_from(self.pending[-3:]))
        self.confirm_one(form, data.draw(st.sampled_from(sorted(form.seen))))

    @precondition(lambda self: self.model.notes)
    @rule(data=st.data())
    def delete_at_once(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.model.notes)))
        before = len(self.pending)
        self.ask_for(path)
        if len(self.pending) > before and path in self.pending[-1].seen:
            self.confirm_one(self.pending[-1], path)

    def confirm_one(self, form: Pending, path: str) -> None:
        try:
            deletion = self.reply(form, accept(path))
        except InvalidState:
            assert form.spent
            return
        except NoteChanged:
            event("a conflict")
            assert not form.spent
            assert etag(self.model.notes.get(path, b"\0gone")) != form.seen[path]
            return
        assert not form.spent
        assert isinstance(deletion, Deletion)
        assert (deletion.outcome, deletion.path) == ("deleted", path)
        self.service.answered(deletion)
        form.spent = True
        event("a confirmed deletion")
        taken = self.model.notes.pop(path)
        assert etag(taken) == form.seen[path]
        self.model.trash[str(deletion.trash_id)] = Trashed(path, taken)

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), confirmed=st.booleans())
    def say_no(self, data: st.DataObject, confirmed: bool) -> None:
        form = data.draw(st.sampled_from(self.pending))
        no: dict[str, Any] = decline()
        if not confirmed:
            no = {"action": "accept", "content": {"note_id": min(form.seen), "confirm": False}}
        try:
            said = self.reply(form, no)
        except InvalidState:
            assert form.spent
            return
        assert not form.spent
        assert said == Deletion("declined")
        form.spent = True
        self.model.declined[folded(form.title)] = self.household.clock.now + 60

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        form = data.draw(st.sampled_from(self.pending))
        try:
            assert self.reply(form, {"action": "cancel"}) == Deletion("cancelled")
        except InvalidState:
            assert form.spent
        else:
            assert not form.spent

    @precondition(lambda self: self.model.trash)
    @rule(data=st.data(), elsewhere=st.none() | PATHS)
    def restore(self, data: st.DataObject, elsewhere: str | None) -> None:
        entry = data.draw(st.sampled_from(list(self.model.trash)))  # as they were deleted: names are random
        held = self.model.trash[entry]
        place = elsewhere or held.path
        try:
            back = self.service.restore(ALICE, self.uri, entry, new_path=elsewhere)
        except NoteExists:
            assert place in self.model.notes
            return
        assert place not in self.model.notes
        assert back.document() == {"path": place, "etag": etag(held.data)}
        event("a restore")
        del self.model.trash[entry]
        self.model.notes[place] = held.data

    @rule(seconds=st.sampled_from([1, 59, 61, 301]))
    def wait(self, seconds: int) -> None:
        self.household.clock.now += seconds
        for form in self.pending:
            # What is past its time is as useless as what is spent.
            form.spent |= self.household.clock.now >= form.issued + 300

    @rule()
    def restart(self) -> None:
        """Everything that is not in a file is forgotten."""
        self.household.close()
        self.service = self.household.service()

    # -- an editor beside it -----------------------------------------------------------------------

    @rule(path=PATHS, data=st.one_of(TEXTS.map(str.encode), st.binary(max_size=30)))
    def save(self, path: str, data: bytes) -> None:
        self.household.write(path, data)
        self.model.notes[path] = data

    @precondition(lambda self: self.model.notes)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.model.notes)))
        (self.household.vault / path).unlink()
        del self.model.notes[path]

    @precondition(lambda self: self.model.notes)
    @rule(data=st.data(), path=PATHS)
    def rename(self, data: st.DataObject, path: str) -> None:
        source = data.draw(st.sampled_from(sorted(self.model.notes)))
        target = self.household.vault / path
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.household.vault / source).rename(target)
        self.model.notes[path] = self.model.notes.pop(source)

    @precondition(lambda self: self.model.trash)
    @rule(data=st.data())
    def empty_an_entry(self, data: st.DataObject) -> None:
        """A person clears something out of the trash for good."""
        entry = data.draw(st.sampled_from(list(self.model.trash)))  # as they were deleted: names are random
        shutil.rmtree(self.household.vault / ".trash" / entry)
        del self.model.trash[entry]

    # -- what always holds -------------------------------------------------------------------------

    @invariant()
    def the_files_are_the_model(self) -> None:
        files = self.household.files()
        assert not [path for path in files if Path(path).name.startswith(OWN_PREFIX)]
        trashed = {f".trash/{entry}/{held.path}": held.data for entry, held in self.model.trash.items()}
        assert files == self.model.notes | trashed

    @invariant()
    def what_is_listed_is_the_model(self) -> None:
        listed = self.listed()
        assert {note["path"]: (note["etag"], note["size"]) for note in listed["notes"]} == {
            path: (etag(data), len(data)) for path, data in self.model.notes.items()
        }
        assert (listed["skipped"], "nextCursor" in listed) == ([], False)

    @invariant()
    def the_trash_is_the_model(self) -> None:
        entries = self.service.trash(ALICE, self.uri, limit=200).document()["entries"]
        assert {entry["trashId"]: (entry["path"], entry["size"]) for entry in entries} == {
            entry: (held.path, len(held.data)) for entry, held in self.model.trash.items()
        }
        assert [entry["trashId"] for entry in entries] == sorted(self.model.trash, reverse=True)


class OnTheWalk(VaultMachine):
    resolver = "walk"


class OnOpenat2(VaultMachine):
    resolver = "openat2"

    def __init__(self) -> None:
        require("openat2", available=has_openat2())
        super().__init__()


TestOnTheWalk = OnTheWalk.TestCase
TestOnTheWalk.settings = SETTINGS
TestOnOpenat2 = OnOpenat2.TestCase
TestOnOpenat2.settings = SETTINGS


@pytest.mark.slow
@pytest.mark.parametrize("machine", [OnTheWalk, OnOpenat2])
def test_the_model_holds_at_length(machine: type[VaultMachine]) -> None:
    run_state_machine_as_test(machine, settings=AT_LENGTH)
