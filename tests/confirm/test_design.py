"""The one page about confirmation has its ten headings, and every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "confirmation.md").read_text(encoding="utf-8")
HEADINGS = [
    "Scope contract",
    "Boundary checks",
    "Trigger condition",
    "Discovery and capability gate",
    "MRTR result",
    "Interaction design",
    "Retry contract",
    "Branch handling",
    "State protection",
    "Final revalidation",
    "Hard rejects",
]


def test_the_page_has_the_ten_headings_and_the_hard_rejects_in_their_order() -> None:
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE) == HEADINGS


def test_each_section_names_tests_that_exist() -> None:
    missing = []
    for section in PAGE.split("\n## ")[1:]:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", section)
        assert named, section.splitlines()[0]
        # In the table of the hard rejects, tests stand without the file, which its head names.
        named += [(named[0][0], name) for name in re.findall(r"`(test_\w+)`", section)]
        for file, name in named:
            path = ROOT / file
            if not path.is_file() or (name and f"def {name}(" not in path.read_text(encoding="utf-8")):
                missing.append(f"{file}::{name}")
    assert missing == []
