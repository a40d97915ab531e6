"""What the documents consist of, for the tests of them: fenced blocks, headings with their anchors, links, tables."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`[^`\n]+`")
_HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
_ROW = re.compile(r"^\|(.*)\|$", re.MULTILINE)
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language, its text, and the line of the page in which the text begins."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Page:
    """One document."""

    path: Path

    @property
    def name(self) -> str:
        """Its path in the repository."""
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """All of it but the fenced blocks."""
        return _FENCE.sub("", self.text)

    def fences(self, *languages: str) -> list[Fence]:
        """Return the fenced blocks of these languages, in order."""
        text = self.text
        return [
            Fence(found[1], found[2], text.count("\n", 0, found.start()) + 2)
            for found in _FENCE.finditer(text)
            if found[1] in languages
        ]

    def links(self) -> list[str]:
        """Return what the page links to but for other hosts: `path`, `path#anchor` or `#anchor`."""
        targets = _LINK.findall(_CODE.sub("`code`", self.prose))
        return [target for target in targets if "://" not in target and not target.startswith("mailto:")]

    def anchors(self) -> set[str]:
        """Return the anchors of its headings, as GitHub makes them."""
        found: set[str] = set()
        for title in _HEADING.findall(self.prose):
            base = anchor(title)
            number = 0
            while (name := f"{base}-{number}" if number else base) in found:
                number += 1
            found.add(name)
        return found

    def table(self, *columns: str) -> list[tuple[str, ...]]:
        """Return the rows of the only table with these columns."""
        (rows,) = [rows for head, rows in self._tables() if head == columns]
        return rows

    def _tables(self) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
        for block in re.findall(r"(?:^\|.*\|\n)+", self.prose + "\n", re.MULTILINE):
            head, _, *rows = [tuple(_cells(row)) for row in _ROW.findall(block)]
            yield head, rows


def _cells(row: str) -> Iterator[str]:
    for cell in _CELL.split(row):
        yield cell.strip().replace("\\|", "|")


def anchor(title: str) -> str:
    """Return the anchor of a heading: small letters, digits, `-` and `_`, and `-` for a space; all else is left out."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower()
    kept = (each for each in text if each in " -_" or unicodedata.category(each)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


def page(name: str) -> Page:
    """Return the document at this path in the repository."""
    return Page(ROOT / name)
