"""Which file a link leads to, by Obsidian's rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsnotes.notes.catalogue import BROKEN, Catalogue, Manner, Resolution, Style, in_order
from fsnotes.notes.markdown.note_links import links_of
from fsnotes.notes.model import stem
from tests.examples import examples
from tests.notes.vaults import ids, moves_of

WIKI, MARKDOWN = Style.WIKI, Style.MARKDOWN
NFC, NFD = "caf\u00e9", "cafe\u0301"

VAULT = Catalogue(
    [
        "top.md",
        "plan.md",
        "a/plan.md",
        "a/b/deep.md",
        "a/only.md",
        "x/twin.md",
        "y/twin.md",
        "y/z/twin.md",
        "x/Case.md",
        "y/case.md",
        "x/v1.2 notes.md",
        "x/pic.png",
        "x/pic.png.md",
        "x/old.markdown",
        f"x/{NFD}.md",
        "x/\u00dcber.md",
        "x/LOUD.MD",
        "Makefile",
    ]
)


def found(target: str, style: Style = WIKI, source: str = "a/source.md") -> tuple[str, ...]:
    return VAULT.find(target, source, style).ids


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("only", "a/only.md"),
        ("only.md", "a/only.md"),
        ("a/only", "a/only.md"),
        ("deep", "a/b/deep.md"),
        ("b/deep", "a/b/deep.md"),
        ("a/b/deep.md", "a/b/deep.md"),
        ("/a/only", "a/only.md"),
        ("/top", "top.md"),
        ("plan", "plan.md"),  # the one at the top is spelled in full
        ("a/plan", "a/plan.md"),
        ("./plan", "a/plan.md"),
        ("./b/deep", "a/b/deep.md"),
        ("../top", "top.md"),
        ("../x/pic.png", "x/pic.png"),
        ("./../top", "top.md"),
        ("ONLY", "a/only.md"),
        ("A/Only", "a/only.md"),
        ("Case", "x/Case.md"),
        ("case", "y/case.md"),
        ("v1.2 notes", "x/v1.2 notes.md"),
        ("v1.2 notes.md", "x/v1.2 notes.md"),
        ("pic.png", "x/pic.png"),
        ("pic.png.md", "x/pic.png.md"),
        ("old", "x/old.markdown"),
        ("old.markdown", "x/old.markdown"),
        (NFC, f"x/{NFD}.md"),
        (NFD, f"x/{NFD}.md"),
        ("CAFE\u0301", f"x/{NFD}.md"),
        ("u\u0308ber", "x/\u00dcber.md"),
        ("loud", "x/LOUD.MD"),
        ("LOUD.md", "x/LOUD.MD"),
        ("Makefile", "Makefile"),
    ],
)
def test_a_wikilink_leads_to_one_file(target: str, expected: str) -> None:
    assert found(target) == (expected,)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("only.md", "a/only.md"),
        ("b/deep.md", "a/b/deep.md"),
        ("plan.md", "a/plan.md"),  # that of its own folder, as everybody reads it
        ("/plan.md", "plan.md"),
        ("../plan.md", "plan.md"),
        ("top.md", "top.md"),
        ("x/pic.png", "x/pic.png"),
        ("b/../only.md", "a/only.md"),
        ("./only", "a/only.md"),
        ("/a/b/../only.md", "a/only.md"),
        ("deep.md", "a/b/deep.md"),
        ("pic.png", "x/pic.png"),
    ],
)
def test_a_markdown_link_leads_to_one_file(target: str, expected: str) -> None:
    assert found(target, MARKDOWN) == (expected,)


@pytest.mark.parametrize("style", Style)
@pytest.mark.parametrize(
    "target",
    ["none", "on", "nly", "a/none", "z/only", "/only", "./top", "../only", "only/", "a//only", "/", ".", "..",
     "../..", "../../top", "../../../a/only", "a\\only", "/../top", "only.markdown", "pic", "", "y/../../../x/twin"],
)  # fmt: skip
def test_this_leads_nowhere(target: str, style: Style) -> None:
    assert VAULT.find(target, "a/source.md", style) == BROKEN


@pytest.mark.parametrize("style", Style)
@pytest.mark.parametrize("target", [".", "..", "./", "b/..", "b/.", "../b/.", "/b/..", "/."])
def test_a_path_that_ends_in_a_dot_segment_is_a_folder_and_no_note_of_its_name(
    target: str, style: Style
) -> None:
    notes = Catalogue(["a.md", "a/b.md", "a/b/s.md", "b.md"])
    assert notes.find(target, "a/b/s.md", style) == BROKEN
    assert notes.find("../b", "a/b/s.md", style).ids == ("a/b.md",)


@pytest.mark.parametrize("target", ["b/../only", "./b/../only", "../a/./only"])
def test_only_a_markdown_link_has_dot_segments_behind_other_ones(target: str) -> None:
    assert found(target) == ()
    assert found(target, MARKDOWN) == ("a/only.md",)


def test_several_files_of_one_name_are_ambiguous_and_come_as_obsidian_would_open_them() -> None:
    twins = found("twin")
    assert twins == ("x/twin.md", "y/twin.md", "y/z/twin.md")
    assert in_order(twins, "s.md") == ["x/twin.md", "y/twin.md", "y/z/twin.md"]
    assert in_order(twins, "y/s.md") == ["y/twin.md", "y/z/twin.md", "x/twin.md"]
    assert in_order(twins, "y/z/s.md") == ["y/z/twin.md", "x/twin.md", "y/twin.md"]
    assert found("y/twin") == ("y/twin.md",)
    assert found("z/twin") == ("y/z/twin.md",)


def test_neither_spelling_is_meant_where_case_alone_tells_files_apart() -> None:
    assert set(found("CASE")) == {"x/Case.md", "y/case.md"}


def test_what_was_asked_before_makes_no_difference() -> None:
    twins = Catalogue(["a.md", "A.md"])
    asked = ["a", "A.md", "A", "a.md", "a.MD"]
    assert [twins.find(each, "s.md", WIKI).ids for each in asked] == [
        Catalogue(["a.md", "A.md"]).find(each, "s.md", WIKI).ids for each in asked
    ]


def test_unicode_twins_are_told_apart_by_their_spelling() -> None:
    twins = Catalogue([f"a/{NFC}.md", f"a/{NFD}.md"])
    assert twins.find(NFC, "s.md", WIKI).ids == (f"a/{NFC}.md",)
    assert twins.find(NFD, "s.md", WIKI).ids == (f"a/{NFD}.md",)
    assert len(twins.find("CAF\u00c9", "s.md", WIKI).ids) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[#h]]", ("a/s.md",)),
        ("[[#^b]]", ("a/s.md",)),
        ("[x](#h)", ("a/s.md",)),
        ("[[only#h]]", ("a/only.md",)),
        ("[[only#^b|c]]", ("a/only.md",)),
        ("![[pic.png|100]]", ("x/pic.png",)),
        ("[x](v1.2%20notes.md)", ("x/v1.2 notes.md",)),
        ("[x](<v1.2 notes.md#h>)", ("x/v1.2 notes.md",)),
        ("[x](v1.2%2520notes.md)", ()),
        ("[x](%2e%2e/top.md)", ("top.md",)),
        ("[x](..%2ftop.md)", ("top.md",)),
        ("[x](http:only.md)", ()),
        ("[x](https://a/only.md)", ()),
        ("[x](//a/only.md)", ()),
        ("<mailto:only@b.c>", ()),
        ("[[v1.2%20notes]]", ()),
    ],
)
def test_a_link_is_resolved_as_it_is_meant(text: str, expected: tuple[str, ...]) -> None:
    (link,) = links_of(text)
    assert VAULT.resolve(link, "a/s.md").ids == expected


def test_an_alias_in_frontmatter_is_no_target() -> None:
    """Obsidian offers it while one types, and writes the note's name."""
    assert found("other name") == ()


def test_a_resolution_says_how_the_path_was_written() -> None:
    find = VAULT.find
    assert find("only", "s.md", WIKI) == Resolution(("a/only.md",), Manner.END, exact=True)
    assert find("a/only.md", "s.md", WIKI) == Resolution(
        ("a/only.md",), Manner.WHOLE, exact=True, suffixed=True
    )
    assert find("Only", "a/s.md", MARKDOWN) == Resolution(("a/only.md",), Manner.FOLDER)
    assert find("./only", "a/s.md", MARKDOWN).manner is Manner.DOTTED
    assert find("/a/only", "a/s.md", MARKDOWN).manner is Manner.ROOTED
    assert find("case", "s.md", WIKI).twins


@settings(max_examples=examples(100, long=300), deadline=None)
@given(ids(), st.data())
def test_a_catalogue_that_was_changed_answers_as_one_that_was_made_so(
    paths: list[str], data: st.DataObject
) -> None:
    moves = data.draw(moves_of(paths))
    made = Catalogue(moves.get(path, path) for path in paths)
    before = Catalogue(paths)
    after = before.moved(moves)
    stepwise = Catalogue([*paths, "other.md"])
    targets = [*paths, *moves.values(), *(path.rpartition("/")[2] for path in (*paths, *moves.values()))]
    targets += [stem(target) for target in targets]
    for target in targets:
        stepwise.find(target, "a/b.md", WIKI)
    stepwise.remove("other.md")
    for old in moves:
        stepwise.remove(old)
    for new in moves.values():
        stepwise.add(new)
    for target in targets:
        for style in Style:
            # One that was asked nothing before, since answers are remembered.
            wanted = Catalogue(moves.get(path, path) for path in paths).find(target, "a/b.md", style)
            assert made.find(target, "a/b.md", style) == wanted
            assert after.find(target, "a/b.md", style) == wanted
            assert stepwise.find(target, "a/b.md", style) == wanted
            assert before.find(target, "a/b.md", style) == Catalogue(paths).find(target, "a/b.md", style)
    for path in paths:
        assert path in before
        assert made.find(f"/{path}", "s.md", WIKI).ids in ((), (moves.get(path, path),)) or path in moves


def test_adding_what_is_there_and_removing_what_is_not_changes_nothing() -> None:
    catalogue = Catalogue(["a.md"])
    catalogue.add("a.md")
    catalogue.remove("b.md")
    assert catalogue.find("a", "s.md", WIKI).ids == ("a.md",)
    catalogue.remove("a.md")
    assert catalogue.find("a", "s.md", WIKI) == BROKEN
