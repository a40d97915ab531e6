"""The model sees what it is there to see: each fault is made once by hand, beside its like that is none."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from fsnotes.errors import FsnotesError
from tests.service.model.acting import Acting
from tests.service.model.servers import Answer, Ask
from tests.service.model.world import ALICE, BOB, CANARY, OF_PAPERS


@pytest.fixture
def acting() -> Iterator[Acting]:
    """A world with two notes, of which BOB may see one."""
    made = Acting("walk", apart=False)
    try:
        for path in ("shared/a.md", "private/b.md"):
            made.outsider.save(path, made.text().encode())
        made.look_again()
        yield made
    finally:
        made.look_again()
        made.around = made.world.around()
        made.close()


def test_change_that_nobody_told_of_is_seen(acting: Acting) -> None:
    acting.expect_nothing()
    acting.outsider.save("shared/a.md", b"another text")
    with pytest.raises(AssertionError):
        acting.expect_nothing()


def test_note_that_is_acknowledged_and_gone_is_seen(acting: Acting) -> None:
    acting.kept = acting.tale.all_marks()
    acting.expect_nothing()
    acting.outsider.remove("private/b.md")
    with pytest.raises(AssertionError):
        acting.expect(acting.world.look().essence())


@pytest.mark.parametrize("how", ["written", "touched", "opened to all", "added"])
def test_change_outside_is_seen(acting: Acting, how: str) -> None:
    acting.check_around()
    place = acting.world.top / "outside/secret.md"
    if how == "written":
        place.write_bytes(b"x")
    elif how == "touched":
        os.utime(place, (1, 1))
    elif how == "opened to all":
        place.chmod(0o666)
    else:
        place.with_name("more.md").touch()
    with pytest.raises(AssertionError):
        acting.check_around()


def test_text_that_its_receiver_may_not_see_is_seen(acting: Acting) -> None:
    shared, private = ("\n".join(acting.tale.marks([path])) for path in ("shared/a.md", "private/b.md"))
    uri, papers = acting.world.uri, acting.world.papers
    for who, where, said in (
        (ALICE, uri, private),
        (BOB, uri, shared),
        (BOB, papers, OF_PAPERS),
        (ALICE, uri, "nothing of note"),
    ):
        acting.judge(Ask(who, "notes_read", {"workspaceUri": where}), Answer(said, {}))
    for who, where, said in (
        (BOB, uri, private),
        (BOB, uri, "private/b.md"),
        (BOB, uri, OF_PAPERS),
        (ALICE, papers, OF_PAPERS),
        (ALICE, uri, CANARY),
        (ALICE, uri, str(acting.world.top)),
    ):
        with pytest.raises(AssertionError):
            acting.judge(Ask(who, "notes_read", {"workspaceUri": where}), Answer(said, {}))


def test_temporary_that_no_sweep_takes_is_seen(acting: Acting, monkeypatch: pytest.MonkeyPatch) -> None:
    acting.outsider.save("shared/.~fsn-0123", b"left by a kill")
    acting.sweep()
    acting.outsider.save("shared/.~fsn-4567", b"left by another")
    with monkeypatch.context() as patched:
        patched.setattr("fsnotes.wiring.Product.sweep", lambda _: 0)
        with pytest.raises(AssertionError):
            acting.sweep()


def test_descriptor_that_is_left_open_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.service.model.acting.LEFT_SECONDS", 0.3)
    made = Acting("walk", apart=False)
    left = os.open(os.devnull, os.O_RDONLY)
    with pytest.raises(AssertionError):
        made.close()
    os.close(left)


def test_refusal_is_an_answer_and_a_crash_is_none(acting: Acting, monkeypatch: pytest.MonkeyPatch) -> None:
    assert acting.ask(0, ALICE, "notes_read", path="no such").slug == "not_found"

    def crash(*_: object, **__: object) -> None:
        raise FsnotesError

    monkeypatch.setattr("fsnotes.service.Service.read", crash)
    with pytest.raises(AssertionError):
        acting.ask(0, ALICE, "notes_read", path="shared/a.md")
