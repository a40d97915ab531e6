"""Pages lead to each other: all can be reached from the README, and no link or anchor leads to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCUMENTS, ROOT, Page, anchor

PAGES = [Page(path) for path in DOCUMENTS]
each_page = pytest.mark.parametrize("document", PAGES, ids=lambda document: document.name)


def targets(document: Page) -> list[tuple[Path, str]]:
    """Return the files that a page links to, each with the anchor in it, which may be empty."""
    found = []
    for link in document.links():
        path, _, place = link.partition("#")
        found.append(((document.path.parent / path).resolve() if path else document.path, place))
    return found


def test_every_page_is_reached_from_the_readme() -> None:
    waiting, reached = [ROOT / "README.md"], set()
    while waiting:
        path = waiting.pop()
        if path in reached or path.suffix != ".md":
            continue
        reached.add(path)
        waiting += [target for target, _ in targets(Page(path))]
    assert {document.name for document in PAGES} == {Page(path).name for path in reached}


@each_page
def test_every_link_and_anchor_leads_to_something(document: Page) -> None:
    broken = [
        f"{path.name}#{place}"
        for path, place in targets(document)
        if not path.exists() or (place and place not in Page(path).anchors())
    ]
    assert broken == []


@each_page
def test_every_page_begins_with_its_title_and_has_no_other(document: Page) -> None:
    """A title is the one heading of the first level."""
    lines = document.prose.splitlines()
    assert lines[0].startswith("# ")
    assert [line for line in lines[1:] if line.startswith("# ")] == []


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Where is it decided?", "where-is-it-decided"),
        ("What is a word", "what-is-a-word"),
        ("notes_workspaces", "notes_workspaces"),
        (
            "### Claude Code: `fsnotes snippet claude-code`".lstrip("# "),
            "claude-code-fsnotes-snippet-claude-code",
        ),
        ("0.1.0 (unreleased)", "010-unreleased"),
        ("A [link](x.md), and more", "a-link-and-more"),
        ("Ü & é", "ü--é"),
    ],
)
def test_anchors_are_those_of_the_renderer(title: str, expected: str) -> None:
    """By the rules of github.com: small letters, punctuation left out, a hyphen for each space."""
    assert anchor(title) == expected


def test_a_broken_link_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# B\n\n## Here\n")
    (tmp_path / "a.md").write_text(
        "# A\n\n[1](b.md#here) [2](b.md#there) [3](c.md) `[4](d.md)`\n\n```\n[5](e.md)\n```\n"
    )
    found = Page(tmp_path / "a.md")
    assert found.links() == ["b.md#here", "b.md#there", "c.md"]
    assert [path.name for path, place in targets(found) if not path.exists()] == ["c.md"]
    assert Page(tmp_path / "b.md").anchors() == {"b", "here"}
