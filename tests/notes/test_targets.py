"""To which notes links lead, found in bounded stretches: each note that another one links to, and no other."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from fsnotes.errors import NotCounted
from fsnotes.notes import begun, targets
from fsnotes.notes.commands import FindLinks, FindTargets, Skipped, TargetsFound, by_reason
from fsnotes.notes.link_walk import LEAST_LINKS
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT
from tests.notes.conftest import Vault


def found(vault: Vault, **scope: Any) -> tuple[set[str], tuple[Skipped, ...]]:
    """Return what all stretches together find and leave out."""
    told: set[str] = set()
    skipped: tuple[Skipped, ...] = ()
    after: str | None = None
    within: int | None = None
    for turn in range(1000):
        part = vault.run(FindTargets(after, within, turn == 0), **scope)
        told |= set(part.targets)
        skipped = by_reason((*skipped, *part.skipped))
        after, within = part.resume, part.within
        if after is None:
            return told, skipped
    raise AssertionError("the stretches do not end")


def test_every_kind_of_link_leads_to_a_note_and_no_note_to_itself(vault: Vault) -> None:
    vault.build(
        'a.md: ---\nup: "[[one]]"\n---\n[x](two.md) ![[three#h]] [r]\n\n[r]: <four.md>\n',
        "b.md: `[[five]]` [[pic.png]] [[gone]]",
        "one.md: ", "two.md: ", "three.md: ", "four.md: ", "five.md: ", "pic.png: ",
        "self.md: [[self]] [[#h]]", "x/twin.md: [[twin]]", "y/twin.md: ", "six.markdown: [[SELF]]",
    )  # fmt: skip
    vault.write("bad.md", b"[[five]] \xff")
    assert found(vault) == (
        {"one.md", "two.md", "three.md", "four.md", "self.md", "y/twin.md"},
        (Skipped(None, 1, "not_text"),),
    )


def test_it_agrees_with_the_links_to_each_note(vault: Vault) -> None:
    vault.build(
        "a.md: [[b]] [[sub/c]] [[twin]]", "b.md: [a](a.md) [[b]]", "sub/c.md: [[../d]] [x](d.md)", "d.md: [[d]]",
        "sub/d.md: [[twin]]", "x/twin.md: ", "y/twin.md: [[e|f]]", "e f.md: ",
    )  # fmt: skip
    notes = ["a.md", "b.md", "sub/c.md", "d.md", "sub/d.md", "x/twin.md", "y/twin.md", "e f.md"]
    linked = {note for note in notes if vault.run(FindLinks(note, "in")).links}
    assert found(vault)[0] == linked


def test_links_beyond_the_grant_and_to_beyond_count_for_nothing(vault: Vault) -> None:
    vault.build("g/a.md: [[b]] [[out]]", "g/b.md: ", "g/c.md: ", "out.md: [[g/c]]", "g/Archive/old.md: [[c]]")
    assert found(vault, folders=("g",), ignore=("g/Archive/**",))[0] == {"g/b.md"}
    assert found(vault)[0] == {"g/b.md", "g/c.md", "out.md"}


def test_a_call_ends_within_a_note_once_it_has_taken_long_and_scans_it_once(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[int] = []
    links_of = begun.links_of
    monkeypatch.setattr(begun, "links_of", lambda text: scans.append(len(text)) or links_of(text))
    vault.write("a.md", b"[[b]]\n" * LEAST_LINKS + b"[[c]]\n")
    vault.build("b.md: ", "c.md: [[d]]", "d.md: ")
    ticks = itertools.count(0, 100)
    first = part(vault, FindTargets(), clock=lambda: float(next(ticks)))
    assert (first.targets, first.resume, first.within) == (("b.md",), "a.md", LEAST_LINKS)
    second = part(vault, FindTargets(first.resume, first.within), clock=lambda: 0.0)
    assert (second.targets, second.resume, second.within) == (("c.md", "d.md"), None, None)
    assert len(scans) == 2


def test_of_a_link_that_very_many_files_answer_to_the_shortest_count(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "MOST_CANDIDATES", 3)
    vault.build("n.md: [[twin]] [[twin]]", *(f"{'x' * number}/twin.md: " for number in range(1, 6)))
    assert found(vault)[0] == {"x/twin.md", "xx/twin.md", "xxx/twin.md"}


def part(vault: Vault, command: FindTargets, **more: Any) -> TargetsFound:
    while True:
        try:
            return targets.find_targets(vault.workspace, Scope((ROOT,)), command, **more)
        except NotCounted:
            continue
