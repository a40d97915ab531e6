"""The rules of the model for whoever only looks: each answer is known beforehand, by the account of the disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from fsnotes.notes.etags import etag
from tests.service.model.course import SERVERS, SOME, WHO, Course, is_text, one
from tests.service.model.world import ALICE, BOB


class Looking(Course):
    """Reads, lists, searches, and compares."""

    @rule(server=SERVERS, who=WHO, some=SOME)
    def read(self, server: int, who: str, some: int) -> None:
        path = self.place(some)
        answer = self.ask(server, who, "notes_read", path=path)
        data = self.acting.visible(who).get(path)
        if data is None or not is_text(data):
            assert answer.slug is not None
        else:
            assert (answer.text.encode(), answer.document["etag"]) == (data, etag(data))

    @rule(server=SERVERS, who=WHO, few=st.booleans())
    def list_all(self, server: int, who: str, few: bool) -> None:
        self.list_and_compare(server, who, limit=2 if few else 200)

    def list_and_compare(self, server: int, who: str, *, limit: int = 200) -> None:
        listed = self.acting.pages(server, who, "notes_list", "notes", recursive=True, limit=limit)
        visible = self.acting.visible(who)
        if listed is None:
            assert who == BOB
            assert not visible  # its folder is not there, or something else is
            return
        assert [(note["path"], note["etag"]) for note in listed] == [
            (path, etag(data)) for path, data in sorted(visible.items(), key=lambda each: each[0].split("/"))
        ]

    @rule(server=SERVERS, who=WHO, some=SOME)
    def search(self, server: int, who: str, some: int) -> None:
        self.search_and_compare(server, who, one(["common", *sorted(self.tale.all_marks())], some))

    def search_and_compare(self, server: int, who: str, word: str) -> None:
        found = self.acting.pages(server, who, "notes_search", "hits", query=word, limit=200)
        texts = {path: each for path, each in self.acting.visible(who).items() if is_text(each)}
        wanted = sorted(path for path, each in texts.items() if word in each.decode().split())
        assert sorted(hit["path"] for hit in found or ()) == wanted

    @rule(server=SERVERS, who=WHO)
    def look_around(self, server: int, who: str) -> None:
        shown = self.ask(server, who, "notes_workspaces").document["workspaces"]
        names = {(each["name"], each["folder"]) for each in shown}
        assert names == ({("Notes", "")} if who == ALICE else {("Notes", "shared"), ("Papers", "")})
        uri = self.acting.world.papers
        other = self.ask(server, who, "notes_read", workspaceUri=uri, path="paper.md")
        is_plain = (self.acting.world.top / "Papers/paper.md").stat().st_nlink == 1
        assert (other.slug is None) == (who == BOB and is_plain), other
        for tool, arguments in (
            ("notes_create", {"path": "new.md", "content": "x"}),
            ("notes_delete", {"title": "paper"}),
            ("notes_move", {"path": "paper.md", "newPath": "moved.md"}),
        ):
            assert self.ask(server, who, tool, workspaceUri=uri, **arguments).slug == "not_allowed"
        twin = self.acting.world.uri + "-twin"
        assert self.ask(server, who, "notes_list", workspaceUri=twin).slug == "not_allowed"

    @rule(server=SERVERS, who=WHO)
    def look_into_the_trash(self, server: int, who: str) -> None:
        entries = self.acting.pages(server, who, "notes_trash", "entries", limit=2)
        assert {each["trashId"]: each["path"] for each in entries or ()} == {
            entry: path for entry, (path, _) in self.tale.deleted.items() if self.acting.allowed(who, path)
        }

    @rule()
    def agree(self) -> None:
        """Once the index is up to date, servers, scan and account say the same."""
        if self.agreed is self.tale:
            return
        self.acting.recover()
        for who in (ALICE, BOB):
            overviews: list[Any] = []
            for server in (0, 1, 2):
                with self.with_the_scan():
                    self.list_and_compare(server, who)
                    for word in ("common", *sorted(self.tale.all_marks())[-2:]):
                        self.search_and_compare(server, who, word)
                    tags = self.acting.pages(server, who, "notes_tags", "tags", limit=3)
                    broken = self.acting.pages(
                        server, who, "notes_links", "links", path="", direction="broken"
                    )
                    overviews.append((tags, broken))
            assert overviews[0] == overviews[1] == overviews[2]
        self.agreed = self.tale

    @contextlib.contextmanager
    def with_the_scan(self) -> Iterator[None]:
        """Have the scan be the third server."""
        self.acting.servers.append(self.acting.scan)
        try:
            yield
        finally:
            self.acting.servers.pop()
