"""The rules of the model for deletions and restores: a confirmation acts once at the most, for its own person."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from fsnotes.notes.etags import etag
from tests.service.conftest import accept, decline
from tests.service.model.acting import Form
from tests.service.model.course import PATHS, SERVERS, SOME, WHO, Course, one
from tests.service.model.servers import Answer, Ask
from tests.service.model.world import Essence

TTL_SECONDS = 300


class Deleting(Course):
    """Asks, confirms, declines and restores."""

    @rule(server=SERVERS, who=WHO, some=SOME, title=st.sampled_from(("Note 1", "note", "nothing", "", "")))
    def ask_to_delete(self, server: int, who: str, some: int, title: str) -> None:
        self.form_of(server, who, title or self.place(some))

    def form_of(self, server: int, who: str, title: str) -> Form | None:
        answer = self.ask(server, who, "notes_delete", title=title)
        self.acting.expect_nothing()
        visible = self.acting.visible(who)
        if answer.state is None:
            if answer.slug is None:
                assert answer.document == {"outcome": "declined"}
                assert who in self.acting.declined
            else:
                assert title not in visible
            return None
        assert answer.result is not None
        form = answer.result["inputRequests"]["delete_choice"]["params"]["requestedSchema"]
        offered = form["properties"]["note_id"]["enum"]
        assert set(offered) <= set(visible)
        assert title not in visible or title in offered
        seen = {path: etag(visible[path]) for path in offered}
        made = Form(who, title, answer.state, seen, self.acting.now())
        self.acting.forms.append(made)
        return made

    @rule(server=SERVERS, some=SOME, other=SOME, who=st.none() | WHO)
    def confirm(self, server: int, some: int, other: int, who: str | None) -> None:
        if self.acting.forms:
            form = one(self.acting.forms[-3:], some)
            self.confirm_one(server, form, one(sorted(form.seen), other), who=who or form.principal)

    @rule(server=SERVERS, who=WHO, some=SOME)
    def delete_at_once(self, server: int, who: str, some: int) -> None:
        path = self.place(some)
        form = self.form_of(1 - server, who, path)
        if form is not None and path in form.seen:
            self.confirm_one(server, form, path, who=who)

    def confirmation(self, form: Form, path: str, *, who: str) -> Ask:
        arguments = {"workspaceUri": self.acting.world.uri, "title": form.title}
        return Ask(who, "notes_delete", arguments, form.state, {"delete_choice": accept(path)})

    def confirm_one(self, server: int, form: Form, path: str, *, who: str) -> None:
        ask = self.confirmation(form, path, who=who)
        answer = self.ask(server, who, "notes_delete", title=form.title, state=ask.state, answers=ask.answers)
        is_late = not self.acting.now() < form.issued + TTL_SECONDS
        if who != form.principal or form.spent or is_late:
            assert answer.code == -32602, answer
            self.acting.expect_nothing()
            return
        held = self.acting.visible(who).get(path)
        if held is None or etag(held) != form.seen[path]:
            self.saw("a conflict")
            assert answer.slug in ("conflict", "not_allowed", "not_found"), answer
            self.acting.expect_nothing()
            return
        assert answer.slug is None, answer
        assert (answer.document["outcome"], answer.document["path"]) == ("deleted", path)
        self.saw("deleted")
        self.acting.expect(self.deleted(path))
        self.spend(form, answer)

    def spend(self, form: Form, answer: Answer) -> None:
        form.spent = True
        form.entries.add(answer.document["trashId"])
        assert len(form.entries) == 1
        assert self.tale.deleted[answer.document["trashId"]][0] == answer.document["path"]

    def deleted(self, path: str) -> Essence:
        essence = self.tale.essence()
        essence.trash[path, essence.places.pop(path)] += 1
        return essence

    @rule(server=SERVERS, some=SOME, says=st.sampled_from(("decline", "cancel", "not confirmed")))
    def say_no(self, server: int, some: int, says: str) -> None:
        if not self.acting.forms:
            return
        form = one(self.acting.forms[-3:], some)
        reply: dict[str, Any] = {"decline": decline(), "cancel": {"action": "cancel"}}.get(says) or {
            "action": "accept",
            "content": {"note_id": min(form.seen), "confirm": False},
        }
        answer = self.ask(
            server,
            form.principal,
            "notes_delete",
            title=form.title,
            state=form.state,
            answers={"delete_choice": reply},
        )
        self.acting.expect_nothing()
        if form.spent or not self.acting.now() < form.issued + TTL_SECONDS:
            assert answer.code == -32602, answer
            return
        assert answer.document == {"outcome": "cancelled" if says == "cancel" else "declined"}
        if says != "cancel":
            form.spent = True
            self.acting.declined.add(form.principal)

    @rule(server=SERVERS, who=WHO, some=SOME, other=st.none() | PATHS)
    def restore(self, server: int, who: str, some: int, other: str | None) -> None:
        if not self.tale.deleted:
            return
        entry = one(sorted(self.tale.deleted), some)
        path, held = self.tale.deleted[entry]
        place = other or path
        more = {} if other is None else {"newPath": other}
        answer = self.ask(server, who, "notes_restore", trashId=entry, **more)
        may = self.acting.allowed(who, path) and self.acting.allowed(who, place)
        if answer.slug is not None:
            assert not (may and self.acting.is_free(place)), answer
            self.acting.expect_nothing()
            return
        assert may
        assert answer.document == {"path": place, "etag": etag(held)}
        self.saw("restored")
        self.acting.expect(self.restored(entry, place))

    def restored(self, entry: str, place: str) -> Essence:
        path, held = self.tale.deleted[entry]
        essence = self.tale.essence()
        essence.trash[path, etag(held)] -= 1
        essence.trash += type(essence.trash)()  # leaves out what is there no more
        essence.places[place] = etag(held)
        return essence

    @rule(seconds=st.sampled_from((2, 61, TTL_SECONDS + 1)))
    def wait(self, seconds: int) -> None:
        self.acting.clock.now += seconds

    @invariant()
    def no_confirmation_acts_twice(self) -> None:
        assert all(len(form.entries) <= 1 for form in self.acting.forms)
