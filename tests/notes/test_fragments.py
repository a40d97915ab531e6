"""Whether the heading or block that a link names is there."""

from __future__ import annotations

import pytest

from fsnotes.notes.catalogue import Style
from fsnotes.notes.fragments import Landmarks

WIKI, MARKDOWN = Style.WIKI, Style.MARKDOWN
NOTE = """---
title: "# Not a heading"
---
# Plan

text ^first-block

## Caf\u00e9: *now*, 2024?

### Open

## C# & more

### Open

- item
  ^Second

```
# Code
^no
```

> # Quoted

Under
=====

## Twice
## Twice
## Twice
"""


@pytest.mark.parametrize("note", [NOTE, NOTE.replace("\n", "\r\n"), "\ufeff" + NOTE.replace("\n", "\r")])
@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("Plan", True),
        ("plan ", True),
        ("PLAN", True),
        ("Pla", False),
        ("cafe\u0301 now 2024", True),
        ("Caf\u00e9: *now*, 2024?", True),
        ("C# & more", True),
        ("C more", True),
        ("Open", True),
        ("Plan#Open", True),
        ("Plan#C more#Open", True),
        ("Under#Open", False),
        ("Open#Plan", False),
        ("Under", True),
        ("Code", False),
        ("Not a heading", False),
        ("Quoted", False),
        ("^first-block", True),
        ("^FIRST-block", True),
        ("^Second", True),
        ("^no", False),
        ("^none", False),
        ("^", False),
        ("#", False),
        ("!", False),
    ],
)
def test_a_fragment_is_compared_as_obsidian_does(note: str, fragment: str, expected: bool) -> None:
    assert Landmarks(note).has(fragment, WIKI) is expected


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("caf\u00e9-now-2024", True),
        ("c--more", True),
        ("twice", True),
        ("twice-1", True),
        ("twice-2", True),
        ("twice-3", False),
        ("quoted", True),
        ("code", False),
        ("Plan", True),
        ("^second", True),
    ],
)
def test_a_markdown_link_may_have_an_anchor(fragment: str, expected: bool) -> None:
    assert Landmarks(NOTE).has(fragment, MARKDOWN) is expected


def test_a_wikilink_has_no_anchor() -> None:
    assert not Landmarks(NOTE).has("twice-1", WIKI)
    assert not Landmarks("").has("a", MARKDOWN)
