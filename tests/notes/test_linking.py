"""Finding links in bounded stretches: from a note, to a note, to nothing and to several files, once each."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsnotes.errors import AmbiguousNote, NotCounted, NoteNotFound, NotText, PathRefused
from fsnotes.notes import begun, linking, stretches
from fsnotes.notes.bounds import MAX_SHOWN, MAX_TARGETS
from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.commands import FindLinks, LinkFound, LinksFound
from fsnotes.notes.handlers import handle
from fsnotes.notes.link_walk import LEAST_LINKS
from fsnotes.notes.markdown.note_links import links_of
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace
from sandbox.names import ROOT
from sandbox.root import Root
from tests.examples import examples
from tests.notes.conftest import Vault
from tests.notes.vaults import vault as vaults

Run = Callable[[FindLinks], LinksFound]


def chained(
    run: Run, path: str, direction: str, *, limit: int = 100
) -> tuple[list[LinkFound], dict[str, int]]:
    """Return what all stretches together find and leave out."""
    found: list[LinkFound] = []
    skipped: dict[str, int] = {}
    after: str | None = None
    within: int | None = None
    for _ in range(1000):
        part = run(FindLinks(path, direction, after, within, limit))
        assert len(part.links) <= limit
        found += part.links
        for item in part.skipped:
            skipped[item.reason] = skipped.get(item.reason, 0) + item.count
        after, within = part.resume, part.within
        if after is None:
            return found, skipped
    raise AssertionError("the stretches do not end")


def links(vault: Vault, path: str, direction: str = "out", **scope: Any) -> list[LinkFound]:
    return chained(lambda command: vault.run(command, **scope), path, direction)[0]


def told(found: list[LinkFound]) -> list[tuple[str, int, str, tuple[str, ...]]]:
    return [(link.source, link.line, link.written, link.targets) for link in found]


def test_the_links_of_a_note_come_in_order_with_what_they_lead_to(vault: Vault) -> None:
    vault.write(
        "a.md",
        b'---\nup: "[[top]]"\n---\n# A\n\n[[b|B]] and ![[pic.png]] `[[code]]`\n'
        b'[web](https://example.org) [x](sub/c%20d.md "t")\n'
        b"[[none]] [[#A]] [ref][r] <https://example.org>\n\n[r]: <sub/c d.md>\n\n"
        b"```\n[[fenced]]\n```\n%%[[comment]]%%\n",
    )
    vault.build("top.md: x", "b.md: x", "sub/c d.md: x", "sub/pic.png: x")
    assert told(links(vault, "a")) == [
        ("a.md", 2, "[[top]]", ("top.md",)),
        ("a.md", 6, "[[b|B]]", ("b.md",)),
        ("a.md", 6, "![[pic.png]]", ("sub/pic.png",)),
        ("a.md", 7, '[x](sub/c%20d.md "t")', ("sub/c d.md",)),
        ("a.md", 8, "[[none]]", ()),
        ("a.md", 8, "[[#A]]", ("a.md",)),
        ("a.md", 10, "[r]: <sub/c d.md>", ("sub/c d.md",)),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_lines_are_counted_whatever_ends_them(vault: Vault, end: str, mark: str) -> None:
    text = mark + end.join(["---", "up: '[[b]]'", "---", "", "[[b]]", "> [x](", "> b.md)", "caf\u00e9 [[b]]"])
    vault.write("a.md", text.encode())
    vault.build("b.md: x")
    assert [(link.line, link.written) for link in links(vault, "a")] == [
        (2, "[[b]]"),
        (5, "[[b]]"),
        (6, "[x]( > b.md)"),
        (8, "[[b]]"),
    ]
    assert [link.line for link in links(vault, "b", "in")] == [2, 5, 6, 8]


def test_the_links_to_a_note_are_those_of_others(vault: Vault) -> None:
    vault.write("sub/b.md", b"# B\n\n[[b]] [[#B]] [[sub/b]]\n")
    vault.write("a.md", b"[[b]] [[c]] [x](sub/b.md) [[B#B]] `[[b]]`\n")
    vault.write("sub/c.md", b"[up](b.md) [[./b|x]] [[../sub/b]] [y](<b.md>)\n[z](%62.md)\n")
    vault.write("d.md", b"---\nrelated: ['[[B]]']\n---\nbb b\n")
    assert told(links(vault, "sub/b", "in")) == [
        ("a.md", 1, "[[b]]", ("sub/b.md",)),
        ("a.md", 1, "[x](sub/b.md)", ("sub/b.md",)),
        ("a.md", 1, "[[B#B]]", ("sub/b.md",)),
        ("d.md", 2, "[[B]]", ("sub/b.md",)),
        ("sub/c.md", 1, "[up](b.md)", ("sub/b.md",)),
        ("sub/c.md", 1, "[[./b|x]]", ("sub/b.md",)),
        ("sub/c.md", 1, "[[../sub/b]]", ("sub/b.md",)),
        ("sub/c.md", 1, "[y](<b.md>)", ("sub/b.md",)),
        ("sub/c.md", 2, "[z](%62.md)", ("sub/b.md",)),
    ]
    assert links(vault, "a", "in") == []


def test_links_to_a_note_are_found_in_either_unicode_form(vault: Vault) -> None:
    vault.write("cafe\u0301.md", b"x")
    vault.write("a.md", "[[caf\u00e9]] [[CAFE\u0301]] [x](caf%C3%A9.md) [y](cafe%CC%81.md)".encode())
    for asked in ("caf\u00e9", "cafe\u0301.md"):
        assert [link.targets for link in links(vault, asked, "in")] == [("cafe\u0301.md",)] * 4


def test_broken_links_lead_nowhere_and_attachments_that_are_there_are_not_broken(vault: Vault) -> None:
    vault.build(
        "a.md: [[b]] [[none]] ![[pic.png]] ![[gone.png]] [x](https://none) [y](sub/none.md) [z](mailto:a@b)",
        "b.md: [[#nothing]] [[a#nothing]]",
        "sub/c.md: [[none too]] [up](../a.md) [out](../../a.md) [p](pic.png)",
        "sub/pic.png: x",
    )
    everything = [
        ("a.md", 1, "[[none]]", ()),
        ("a.md", 1, "![[gone.png]]", ()),
        ("a.md", 1, "[y](sub/none.md)", ()),
        ("sub/c.md", 1, "[[none too]]", ()),
        ("sub/c.md", 1, "[out](../../a.md)", ()),
    ]
    assert told(links(vault, "", "broken")) == everything
    assert told(links(vault, "sub", "broken")) == everything[3:]
    assert told(links(vault, "sub/", "broken")) == everything[3:]
    assert told(links(vault, "a", "broken")) == everything[:3]
    assert told(links(vault, "a.md", "broken")) == everything[:3]
    assert links(vault, "b.md", "broken") == []


def test_ambiguous_links_name_first_what_obsidian_opens(vault: Vault) -> None:
    vault.build(
        "x/twin.md: x",
        "y/twin.md: x",
        "y/z/twin.md: x",
        "plan.md: x",
        "y/plan.md: x",
        "a.md: [[twin]] [[x/twin]] [[plan]]",
        "y/b.md: [t](../none.md) [[twin]] [t](twin.md)",
    )
    assert told(links(vault, "", "ambiguous")) == [
        ("a.md", 1, "[[twin]]", ("x/twin.md", "y/twin.md", "y/z/twin.md")),
        ("y/b.md", 1, "[[twin]]", ("y/twin.md", "y/z/twin.md", "x/twin.md")),
    ]
    assert [link.source for link in links(vault, "y/z/twin", "in")] == ["a.md", "y/b.md"]
    assert [link.source for link in links(vault, "y", "ambiguous")] == ["y/b.md"]


def test_of_many_files_a_few_are_named(vault: Vault) -> None:
    vault.build(*(f"f{number:02}/n.md: x" for number in range(MAX_TARGETS + 5)), "a.md: [[n]]")
    (link,) = links(vault, "a")
    assert (link.targets, link.more) == (tuple(f"f{number:02}/n.md" for number in range(MAX_TARGETS)), 5)
    (link,) = links(vault, "f14/n", "in")
    assert (link.targets[-1], len(link.targets), link.more) == ("f14/n.md", MAX_TARGETS, 5)


def test_whether_a_heading_or_a_block_is_there_is_told(vault: Vault) -> None:
    vault.write("b.md", b"# One\n\ntext ^id\n")
    vault.write("bad.md", b"# One \xff")
    vault.build("pic.png: x", "x/t.md: # One", "y/t.md: # One")
    vault.write(
        "a.md",
        b"# Own\n[[b#One]] [[b#Two]] [[b#^id]] [x](b.md#one) [x](b.md#two) [[#Own]] [[#None]] [[b]]"
        b" [[bad#One]] ![[pic.png#x]] [[t#One]] [[none#One]] [[b#]]\n",
    )
    assert [(link.written, link.fragment, link.reached) for link in links(vault, "a")] == [
        ("[[b#One]]", "One", True),
        ("[[b#Two]]", "Two", False),
        ("[[b#^id]]", "^id", True),
        ("[x](b.md#one)", "one", True),
        ("[x](b.md#two)", "two", False),
        ("[[#Own]]", "Own", True),
        ("[[#None]]", "None", False),
        ("[[b]]", None, None),
        ("[[bad#One]]", "One", None),
        ("![[pic.png#x]]", "x", None),
        ("[[t#One]]", "One", None),
        ("[[none#One]]", "One", None),
        ("[[b#]]", "", None),
    ]
    assert [link.reached for link in links(vault, "b", "in")] == [True, False, True, True, False, None, None]


def test_a_long_link_is_shown_with_its_beginning_and_its_end(vault: Vault) -> None:
    vault.write("a.md", f"[[b|{'x' * 1000}]] [{'y' * 1000}](b.md) [[b#{'z' * 1000}]]".encode())
    vault.build("b.md: x")
    first, second, third = links(vault, "a")
    assert {len(link.written) for link in (first, second, third)} == {MAX_SHOWN}
    assert first.written.startswith("[[b|x")
    assert second.written.endswith("yy](b.md)")
    assert third.fragment is not None
    assert len(third.fragment) == MAX_SHOWN


def test_what_is_not_text_is_counted_and_stops_nothing(vault: Vault) -> None:
    vault.write("a.md", b"[[none]]")
    vault.write("b.md", b"[[none]] \xff")
    vault.write("c.md", b"[[none]]" + b"x" * 1_048_576)
    vault.write("d.md", b"\xff")
    vault.write("e.md", b"[[a]] [[none]]")
    vault.build("f => a.md")
    run: Run = lambda command: vault.run(command)  # noqa: E731
    for direction, path, sources in (("broken", "", ["a.md", "e.md"]), ("in", "a", ["e.md"])):
        for limit in (1, 100):
            found, skipped = chained(run, path, direction, limit=limit)
            assert [link.source for link in found] == sources
            assert skipped == {"not_text": 2, "too_large": 1, "link": 1}
    for direction in ("out", "broken", "ambiguous"):
        with pytest.raises(NotText):
            vault.run(FindLinks("b.md", direction))
    assert links(vault, "b", "in") == []


def test_a_note_that_is_not_there_or_not_served_is_refused(vault: Vault) -> None:
    vault.disk.build("secret.md: [[x]]")
    vault.build("a.md: x", "l.md => a.md", ".h/x.md: x", "sub/x.md: x")
    for direction in ("out", "in", "broken", "ambiguous"):
        for path in ("none", "none.md", "sub/none"):
            with pytest.raises(NoteNotFound):
                vault.run(FindLinks(path, direction))
        for path in ("../secret.md", "l.md", ".h/x.md", ".h"):
            with pytest.raises(PathRefused):
                vault.run(FindLinks(path, direction))
    for direction in ("broken", "ambiguous"):
        with pytest.raises(NoteNotFound):
            vault.run(FindLinks("none/", direction))


def test_a_name_means_the_folder_if_there_is_one_and_the_note_with_its_suffix(vault: Vault) -> None:
    vault.build("a.md: [[none]]", "a/b.md: [[none]]", "c.md: [[none]]")
    assert [link.source for link in links(vault, "a", "broken")] == ["a/b.md"]
    assert [link.source for link in links(vault, "a.md", "broken")] == ["a.md"]
    assert [link.source for link in links(vault, "c", "broken")] == ["c.md"]
    assert [link.source for link in links(vault, "a")] == ["a.md"]


def test_links_are_those_of_the_scope_and_lead_to_what_is_in_it(vault: Vault) -> None:
    vault.build(
        "top.md: [[bob/a]]",
        "bob/a.md: [[top]] [[x]] [up](../top.md) [[in/b]] [[archived]]",
        "bob/in/b.md: [[a]] [[x]]",
        "bob/x.md: x",
        "other/x.md: [[bob/a]]",
        "bob/old/archived.md: [[a]]",
    )
    scope = {"folders": ("bob",), "ignore": ("bob/old/**",)}
    assert told(links(vault, "bob/a", **scope)) == [
        ("bob/a.md", 1, "[[top]]", ()),
        ("bob/a.md", 1, "[[x]]", ("bob/x.md",)),
        ("bob/a.md", 1, "[up](../top.md)", ()),
        ("bob/a.md", 1, "[[in/b]]", ("bob/in/b.md",)),
        ("bob/a.md", 1, "[[archived]]", ()),
    ]
    assert [link.source for link in links(vault, "bob/a", "in", **scope)] == ["bob/in/b.md"]
    assert [link.written for link in links(vault, "", "broken", **scope)] == [
        "[[top]]",
        "[up](../top.md)",
        "[[archived]]",
    ]
    assert links(vault, "", "ambiguous", **scope) == []
    assert len(links(vault, "", "ambiguous")) == 2
    for direction, path in (
        ("in", "top"),
        ("in", "other/x"),
        ("out", "top"),
        ("broken", "other"),
        ("broken", "top"),
    ):
        with pytest.raises(PathRefused):
            vault.run(FindLinks(path, direction), **scope)
    with pytest.raises(NoteNotFound):
        vault.run(FindLinks("bob/old", "broken"), **scope)


# -- stretches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_stretches_of_any_size_find_the_same_links(vault: Vault, limit: int) -> None:
    for number in range(7):
        vault.write(f"f{number % 3}/{number}.md", b"[[b]] [web](https://x) [[none]]\n" * number)
    vault.write("b.md", b"[[b]]\n[[f1/4]]\n")
    run: Run = lambda command: vault.run(command)  # noqa: E731
    for path, direction in (("b", "in"), ("", "broken"), ("f0/6", "out"), ("", "ambiguous")):
        whole, _ = chained(run, path, direction, limit=1000)
        found, _ = chained(run, path, direction, limit=limit)
        assert found == whole
        places = [(tuple(link.source.split("/")), link.number) for link in whole]
        assert places == sorted(set(places))
    assert len(chained(run, "b", "in")[0]) == 21


def part(vault: Vault, command: FindLinks, **more: Any) -> LinksFound:
    scope = Scope((ROOT,))
    while True:
        try:
            return linking.find(vault.workspace, scope, command, **more)
        except NotCounted:
            continue


def test_a_call_reads_a_bounded_number_of_bytes(vault: Vault) -> None:
    for name in ("a", "b", "c", "d"):
        vault.write(f"{name}.md", b"[[none]]\n" + b"x" * (stretches.READ_BYTES // 2))
    found = part(vault, FindLinks("", "broken"), clock=lambda: 0.0)
    assert ([link.source for link in found.links], found.resume, found.within) == (
        ["a.md", "b.md"],
        "b.md",
        None,
    )


def test_a_call_ends_within_a_note_once_it_has_taken_long_and_yet_gets_on(vault: Vault) -> None:
    vault.write("a.md", b"[[none]]\n" * (LEAST_LINKS + 50))
    vault.build("b.md: [[none]]")
    ticks = itertools.count(0, 100)
    command = FindLinks("", "broken", limit=10_000)
    first = part(vault, command, clock=lambda: float(next(ticks)))
    assert (len(first.links), first.resume, first.within) == (LEAST_LINKS, "a.md", LEAST_LINKS)
    second = part(vault, FindLinks("", "broken", first.resume, first.within, 10_000), clock=lambda: 0.0)
    assert [(link.source, link.number) for link in second.links] == [
        *(("a.md", LEAST_LINKS + number) for number in range(50)),
        ("b.md", 0),
    ]
    assert (second.resume, second.within) == (None, None)


def test_a_chain_of_calls_scans_a_note_once(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many links it has, and in every direction; but anew where somebody has saved it in between."""
    scans: list[int] = []
    monkeypatch.setattr(begun, "links_of", lambda text: scans.append(len(text)) or links_of(text))
    vault.write("a.md", b"[[none]] [[b]]\n" * (2 * LEAST_LINKS))
    vault.build("b.md: x")
    for direction, path, count in (("broken", "", 2), ("out", "a", 4), ("in", "b", 2)):
        scans.clear()
        found = chained(vault.run, path, direction, limit=900)[0]
        assert (len(found), len([each for each in scans if each > 1])) == (count * LEAST_LINKS, 1)
    scans.clear()
    first = vault.run(FindLinks("a", limit=10))
    vault.write("a.md", b"[[b]]\n" * 20)
    second = vault.run(FindLinks("a", "out", first.resume, first.within, 100))
    assert [link.written for link in second.links] == ["[[b]]"] * 10
    assert len(scans) == 2


def test_links_of_a_note_with_too_many_are_not_kept_and_a_call_judges_as_long_as_it_scanned(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begun, "MOST_KEPT", 10)
    scans: list[int] = []
    monkeypatch.setattr(begun, "links_of", lambda text: scans.append(len(text)) or links_of(text))
    vault.write("a.md", b"[[none]]\n" * (LEAST_LINKS + 50))
    now = [0.0]

    def clock() -> float:
        now[0] += 40.0
        return now[0]

    # Scanning takes 40 s by this clock: so it judges until the 40 s behind it are over.
    first = part(vault, FindLinks("", "broken", limit=10_000), clock=clock)
    assert (first.within, now[0]) == (LEAST_LINKS, 160.0)
    second = part(vault, FindLinks("", "broken", first.resume, first.within, 10_000), clock=lambda: 0.0)
    assert (len(second.links), len(scans)) == (50, 2)


def test_a_call_looks_into_one_target_however_long_that_takes(vault: Vault) -> None:
    vault.build("a.md: [[b#x]] [[c#x]] [[b#y]]", "b.md: # x", "c.md: # x")
    ticks = itertools.count(0, 100)
    first = part(vault, FindLinks("a"), clock=lambda: float(next(ticks)))
    assert ([link.reached for link in first.links], first.resume, first.within) == ([True], "a.md", 1)


def test_a_call_that_ends_before_the_first_link_of_a_note_goes_on_with_it(vault: Vault) -> None:
    vault.build("a.md: [[c#x]]", "b.md: [[c#x]]", "c.md: # x")
    ticks = itertools.count(0, 100)
    first = part(vault, FindLinks("c", "in"), clock=lambda: float(next(ticks)))
    assert ([link.source for link in first.links], first.resume, first.within) == (["a.md"], "b.md", 0)
    second = part(vault, FindLinks("c", "in", first.resume, first.within), clock=lambda: 0.0)
    assert ([link.source for link in second.links], second.resume) == (["b.md"], None)


def test_a_call_goes_on_behind_a_note_that_is_gone(vault: Vault) -> None:
    vault.build("a.md: [[none]]", "c.md: [[none]]")
    vault.write("bad.md", b"\xff")
    for after in ("b.md", "bad.md", "../x.md", ".h.md", "b.png"):
        found = vault.run(FindLinks("", "broken", after, 3))
        assert {link.source for link in found.links} <= {"a.md", "c.md"}
        assert [link.source for link in found.links][-1] == "c.md"


def test_the_files_are_looked_at_anew_unless_it_is_the_same_answer(vault: Vault) -> None:
    vault.build("a.md: [[b]]")
    assert links(vault, "a")[0].targets == ()
    vault.build("b.md: x")
    assert links(vault, "a")[0].targets == ("b.md",)
    os.unlink(vault.disk.path("root/b.md"))
    assert part(vault, FindLinks("a", anew=False)).links[0].targets in ((), ("b.md",))
    assert links(vault, "a")[0].targets == ()


# -- any vault -------------------------------------------------------------------------------------


@settings(
    max_examples=examples(60, long=150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(vaults(), st.integers(1, 4))
def test_the_links_to_all_notes_are_the_links_of_all_notes_turned_round(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[dict[str, str], Any], limit: int
) -> None:
    texts, _ = made
    top = tmp_path_factory.mktemp("linked")
    for path, text in texts.items():
        place = Path(top, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    workspace = Workspace(Root.open(str(top)))
    try:

        def run(command: FindLinks) -> LinksFound:
            while True:
                try:
                    return handle(workspace, Scope((ROOT,)), command)
                except NotCounted:
                    continue

        notes = [path for path in texts if not path.endswith(".png")]
        files = Catalogue(texts)
        out: dict[str, list[LinkFound]] = {}
        for path in notes:
            try:
                out[path] = chained(run, path, "out", limit=limit)[0]
            except AmbiguousNote:  # two notes that differ in the Unicode form of a name
                return
        for source, found in out.items():
            expected = [
                (number, files.resolve(link, source).ids)
                for number, link in enumerate(links_of(texts[source]))
                if link.path is not None and not link.external
            ]
            assert [(link.number, set(link.targets)) for link in found] == [
                (number, set(ids)) for number, ids in expected
            ]
        for target in notes:
            turned = {
                (link.source, link.number)
                for source, found in out.items()
                for link in found
                if target in link.targets and source != target
            }
            found, _ = chained(run, target, "in", limit=limit)
            assert {(link.source, link.number) for link in found} == turned
        for direction, wanted in (("broken", lambda size: size == 0), ("ambiguous", lambda size: size > 1)):
            found, _ = chained(run, "", direction, limit=limit)
            every = [link for source in sorted(out, key=lambda path: path.split("/")) for link in out[source]]
            assert [(link.source, link.number) for link in found] == [
                (link.source, link.number) for link in every if wanted(len(link.targets))
            ]
    finally:
        workspace.close()
