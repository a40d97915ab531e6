"""The model: all rules, what an outsider does, kills and restarts, in any order; and what always holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import psutil
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from tests.service.model.acting import Form
from tests.service.model.apart import Apart, GoneError, kill_workers, later
from tests.service.model.changing import Changing
from tests.service.model.course import EXTRAS, PATHS, PLACES, SECTIONS, SERVERS, SOME
from tests.service.model.deleting import Deleting
from tests.service.model.looking import Looking
from tests.service.model.outsider import TARGETS, TWINS
from tests.service.model.servers import Answer, Ask, killed_in
from tests.service.model.world import ALICE, Essence, marks

MOST_RESTARTED: Final = 2
"""Servers started again in one run where they have workers, which takes a second."""

MOST_KILLED: Final = 3
"""Workers killed in one run: the pauses after more would take longer than all the rest."""


class WorldMachine(Looking, Changing, Deleting):
    """Two principals, two servers, an outsider, and whoever kills."""

    @initialize(paths=st.lists(PATHS, min_size=2, max_size=6, unique=True), extras=EXTRAS)
    def begin(self, paths: list[str], extras: list[str]) -> None:
        for path in paths:
            self.acting.outsider.save(path, self.acting.text(*extras).encode())
        self.acting.look_again()

    def teardown(self) -> None:
        try:
            if self.acting.number:
                self.agree()
                self.acting.sweep()
        finally:
            self.acting.close()

    # -- the outsider ------------------------------------------------------------------------------

    @rule(path=PATHS, extras=EXTRAS, raw=st.sampled_from((b"", b"", b"\xff\xfe")))
    def save(self, path: str, extras: list[str], raw: bytes) -> None:
        self.acting.outsider.save(path, self.acting.text(*extras).encode() + raw)
        self.acting.look_again()

    @rule(some=SOME, folder=st.sampled_from((*("",) * 5, "shared/deep", "private")))
    def remove(self, some: int, folder: str) -> None:
        self.acting.outsider.remove(folder or self.place(some))
        self.acting.look_again()

    @rule(some=SOME, folder=st.none() | SECTIONS, other=PLACES)
    def rename(self, some: int, folder: str | None, other: str) -> None:
        self.acting.outsider.rename(folder or self.place(some), other)
        self.acting.look_again()

    @rule(path=PLACES, to=st.sampled_from(TARGETS), how=st.sampled_from(("link", "folder")))
    def link(self, path: str, to: str, how: str) -> None:
        if how == "folder":
            self.acting.outsider.replace_folder(path, to)
        else:
            self.acting.outsider.link(path, to)
        self.acting.look_again()

    @rule(path=PATHS, other=st.sampled_from(TWINS), pipe=st.sampled_from((False, False, True)))
    def put_something_odd(self, path: str, other: str, pipe: bool) -> None:
        if pipe:
            self.acting.outsider.pipe(path)
        else:
            self.acting.outsider.twin(path, other)
        self.acting.look_again()

    @rule(server=SERVERS, some=SOME, to=st.sampled_from(("../outside", "../outside/.trash", "shared")))
    def delete_into_a_link(self, server: int, some: int, to: str) -> None:
        """Where the trash is a link, nothing is deleted into it, and what was confirmed can be once it is gone."""
        if ".trash" in self.tale.things:
            return
        path = self.place(some)
        form = self.form_of(server, ALICE, path)
        self.acting.outsider.link(".trash", to)
        self.acting.look_again()
        if form is not None and path in form.seen:
            ask = self.confirmation(form, path, who=ALICE)
            answer = self.ask(server, ALICE, "notes_delete", title=path, state=ask.state, answers=ask.answers)
            assert answer.slug == "unavailable", answer
            self.acting.expect_nothing()
        self.acting.outsider.remove(".trash")
        self.acting.look_again()
        if form is not None and path in form.seen:
            self.confirm_one(server, form, path, who=ALICE)

    # -- kills and restarts ------------------------------------------------------------------------

    @rule(server=SERVERS)
    def restart(self, server: int) -> None:
        if self.restarted < MOST_RESTARTED or not self.has_workers:
            self.saw("restarted")
            self.restarted += 1
            self.acting.restart(server)

    @rule(
        server=SERVERS,
        what=st.sampled_from(("create", "append", "edit", "properties", "move", "move", "delete", "restore")),
        some=SOME,
        other=PATHS,
        moment=st.integers(1, 18),
    )
    def kill(self, server: int, what: str, some: int, other: str, moment: int) -> None:
        """Kill whoever does it, in the middle: it is done or not, and everybody agrees on which."""
        path = other if what == "create" else self.place(some)
        planned = self.plan(server, what, path, other, some) if self.killed < MOST_KILLED else None
        if planned is None:
            return
        ask, done, replaced, form = planned
        before = self.tale.essence()
        self.acting.is_shaken = True
        answer = self.killed_while(server, ask, moment)
        self.acting.recover()
        happened = self.acting.expect(before, done, but=replaced) == 1
        self.saw(f"killed in {ask.tool}, {'done' if happened else 'not done'}")
        if answer is not None:
            self.acting.judge(ask, answer)
            assert happened or answer.slug is not None, answer
            assert not happened or answer.slug in (None, "unavailable", "busy"), answer
        if happened and ask.tool not in ("notes_move", "notes_delete", "notes_restore"):
            self.acting.kept |= marks(str(ask.arguments)) - replaced
        if form is not None:
            self.retry(form, path, happened=happened, after=done)

    def plan(
        self, server: int, what: str, path: str, other: str, some: int
    ) -> tuple[Ask, Essence, set[str], Form | None] | None:
        """Return what is to be asked, and what there is when it is done; None where it would be refused."""
        uri = self.acting.world.uri
        if what == "create":
            if not self.acting.is_free(path):
                return None
            content = self.acting.text()
            arguments: dict[str, Any] = {"path": path, "content": content}
            return self.planned("notes_create", arguments, self.with_note(path, content))
        if what in ("append", "edit", "properties"):
            tool, arguments, replaced = self.change_of(what, path, some)
            told = self.ask(server, ALICE, tool, dryRun=True, **arguments)
            if told.slug is not None:
                return None
            essence = self.tale.essence()
            essence.places[path] = told.document["etag"]
            return self.planned(tool, arguments, essence, replaced)
        if what == "move":
            arguments = {"path": path, "newPath": other}
            told = self.ask(server, ALICE, "notes_move", dryRun=True, **arguments)
            return (
                None
                if told.slug is not None
                else self.planned("notes_move", arguments, self.moved(told.document))
            )
        if what == "restore":
            for entry, (former, _) in sorted(self.tale.deleted.items()):
                if self.acting.is_free(former):
                    return self.planned("notes_restore", {"trashId": entry}, self.restored(entry, former))
            return None
        form = self.form_of(server, ALICE, path)
        if form is None or path not in form.seen:
            return None
        ask = self.confirmation(form, path, who=ALICE)
        assert ask.arguments["workspaceUri"] == uri
        return ask, self.deleted(path), set(), form

    def planned(
        self,
        tool: str,
        arguments: dict[str, Any],
        done: Essence,
        replaced: set[str] = frozenset(),  # type: ignore[assignment]
    ) -> tuple[Ask, Essence, set[str], None]:
        return Ask(ALICE, tool, {"workspaceUri": self.acting.world.uri, **arguments}), done, replaced, None

    def killed_while(self, server: int, ask: Ask, moment: int) -> Answer | None:
        """Do it, and kill who does it: a process of its own after a step, else the worker or the server in a moment."""
        acting, one = self.acting, self.acting.servers[server]
        if not acting.apart and self.kind in ("openat2", "walk"):
            return killed_in(acting.world, self.kind, acting.now(), ask, moment)
        self.killed += 1
        seconds = 0.0005 * moment
        if not isinstance(one, Apart):
            killer = later(seconds, lambda: kill_workers(one.workers()))
            try:
                return one.call(ask)
            finally:
                killer.join()
        if moment % 2 and self.kind in ("full", "contained"):
            return self.asked_while(one, ask, seconds, lambda: kill_workers(one.workers()))
        answer = self.asked_while(one, ask, seconds, one.kill)
        acting.replace_killed(server)
        return answer

    @staticmethod
    def asked_while(one: Apart, ask: Ask, seconds: float, kill: Callable[[], object]) -> Answer | None:
        with one.asking(ask) as answer:
            killer = later(seconds, kill)
            try:
                return answer()
            except GoneError:
                return None
            finally:
                killer.join()

    def retry(self, form: Form, path: str, *, happened: bool, after: Essence) -> None:
        """Confirm once more, twice: the first is told that the note is deleted, unless somebody was told; no other."""
        ask = self.confirmation(form, path, who=form.principal)
        for number, server in enumerate((0, 1, 0)):
            answer = self.ask(
                server, form.principal, "notes_delete", title=form.title, state=ask.state, answers=ask.answers
            )
            if answer.code == -32602:
                assert happened or number > 0, answer
            else:
                assert number == 0, answer
                assert answer.document["outcome"] == "deleted", answer
                form.entries.add(answer.document["trashId"])
            self.acting.expect(after)
        form.spent = True
        assert len(form.entries) <= 1

    @rule(server=SERVERS)
    def kill_at_rest(self, server: int) -> None:
        if self.killed >= MOST_KILLED:
            return
        one = self.acting.servers[server]
        workers: list[psutil.Process] = one.workers()
        if isinstance(one, Apart):
            self.saw("servers killed at rest")
            self.acting.is_shaken = True
            self.killed += 1
            one.kill()
            self.acting.replace_killed(server)
        elif workers:
            self.saw("workers killed at rest")
            self.acting.is_shaken = True
            self.killed += 1
            kill_workers(workers)
        self.acting.recover()

    @rule()
    def sweep(self) -> None:
        self.acting.sweep()

    # -- what always holds -------------------------------------------------------------------------

    @invariant()
    def nothing_outside_has_changed(self) -> None:
        self.acting.check_around()

    @invariant()
    def nothing_changes_by_itself(self) -> None:
        self.saw("steps")
        self.acting.expect_nothing()

    @invariant()
    def what_was_acknowledged_is_there(self) -> None:
        assert self.acting.kept <= self.tale.all_marks()
