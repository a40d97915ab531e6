"""The rules of the model for changes: what they come to is known by the account of the disk, or by a dry run before."""

from __future__ import annotations

from typing import Any

from hypothesis.stateful import rule

from fsnotes.notes.etags import etag
from tests.service.model.course import EXTRAS, PATHS, SECTIONS, SERVERS, SOME, WAYS, WHO, Course, is_text, one
from tests.service.model.world import Essence, marks


class Changing(Course):
    """Creates, changes and moves."""

    @rule(server=SERVERS, who=WHO, path=PATHS, extras=EXTRAS)
    def create(self, server: int, who: str, path: str, extras: list[str]) -> None:
        content = self.acting.text(*extras)
        answer = self.ask(server, who, "notes_create", path=path, content=content)
        if answer.slug is not None:
            assert not (self.acting.allowed(who, path) and self.acting.is_free(path)), answer
            self.acting.expect_nothing()
            return
        assert self.acting.allowed(who, path)
        assert self.acting.is_free(path)
        self.saw("created")
        assert answer.document == {
            "path": path,
            "etag": etag(content.encode()),
            "size": len(content.encode()),
        }
        self.acting.expect(self.with_note(path, content))
        self.acting.kept |= marks(content)

    def with_note(self, path: str, content: str) -> Essence:
        essence = self.tale.essence()
        essence.places[path] = etag(content.encode())
        return essence

    def change_of(self, way: str, path: str, some: int) -> tuple[str, dict[str, Any], set[str]]:
        """Return a change of a note: the tool, its arguments, and the marks that are replaced by it."""
        held = sorted(marks(self.tale.notes.get(path, b"").decode("utf-8", "replace")))
        mark = self.acting.mark()
        if way == "edit" and held:
            old = one(held, some)
            return "notes_edit", {"path": path, "oldText": old, "newText": f"{mark} common"}, {old}
        if way == "properties":
            return "notes_properties", {"path": path, "set": [{"key": "what", "value": mark}]}, set(held)
        return "notes_append", {"path": path, "text": f"{mark} common"}, set()

    @rule(server=SERVERS, who=WHO, some=SOME, way=WAYS)
    def change(self, server: int, who: str, some: int, way: str) -> None:
        path = self.place(some)
        tool, arguments, replaced = self.change_of(way, path, some)
        told = self.ask(1 - server, who, tool, dryRun=True, **arguments)
        self.acting.expect_nothing()
        answer = self.ask(server, who, tool, **arguments)
        assert answer.slug == told.slug, (told, answer)
        held = self.acting.visible(who).get(path)
        if answer.slug is not None:
            assert held is None or not is_text(held) or tool != "notes_append", answer
            self.acting.expect_nothing()
            return
        self.saw(tool)
        assert held is not None
        assert (answer.document["path"], answer.document["etag"]) == (path, told.document["etag"])
        essence = self.tale.essence()
        essence.places[path] = answer.document["etag"]
        # A property may take the place of one that an earlier call has set.
        self.acting.expect(essence, but=replaced)
        self.acting.kept |= marks(str(arguments)) - replaced

    @rule(server=SERVERS, who=WHO, some=SOME, other=PATHS)
    def move(self, server: int, who: str, some: int, other: str) -> None:
        self.move_to(server, who, self.place(some), other)

    @rule(server=SERVERS, who=WHO, path=SECTIONS, other=SECTIONS)
    def move_folder(self, server: int, who: str, path: str, other: str) -> None:
        self.move_to(server, who, path, other)

    def move_to(self, server: int, who: str, path: str, other: str) -> None:
        told = self.ask(1 - server, who, "notes_move", path=path, newPath=other, dryRun=True)
        self.acting.expect_nothing()
        answer = self.ask(server, who, "notes_move", path=path, newPath=other)
        assert answer.slug == told.slug, (told, answer)
        if answer.slug is not None:
            self.saw(f"move refused: {answer.slug}")
            plain = path in self.acting.visible(who) and other.endswith(".md")
            assert not (plain and self.acting.allowed(who, other) and self.acting.is_free(other)), answer
            self.acting.expect_nothing()
            return
        self.saw("moved")
        assert {**told.document, "outcome": "moved"} == answer.document
        assert self.acting.allowed(who, path)
        assert self.acting.allowed(who, other)
        self.acting.expect(self.moved(answer.document))

    def moved(self, document: dict[str, Any]) -> Essence:
        """Return what there is after a move, as its answer has it."""
        source, target = document["path"], document["newPath"]
        essence = self.tale.essence()
        for path in list(essence.places):
            if path == source or path.startswith(source + "/"):
                assert target + path[len(source) :] not in essence.places
                essence.places[target + path[len(source) :]] = essence.places.pop(path)
        if "etag" in document:
            essence.places[target] = document["etag"]
        for note in document["updated"]:
            assert note["path"] in essence.places
            essence.places[note["path"]] = note["etag"]
        return essence
