"""Makes vaults of notes that look like notes: prose, headings, lists, links, some frontmatter. Always the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

WORDS: Final = tuple(
    (  # noqa: SIM905 - a text is easier to read than a list of quoted words
        "the of and garden meeting report draft monday idea project water seed plan budget alice river letter "
        "review server note folder photo music paper quiet number window kitchen travel summer winter"
    ).split()
)
FOLDER_SIZE: Final = 100
NOTE_BYTES: Final = 4096


def note(number: int, size: int = NOTE_BYTES) -> str:
    """Return the text of note *number*, exactly *size* bytes."""
    chance = random.Random(number)  # noqa: S311 - reproducible text, no secret
    lines = [f"# Note {number}", ""]
    if number % 5 == 0:
        lines = ["---", f"title: Note {number}", "tags: [garden, plan]", "---", *lines]
    while sum(map(len, lines)) + len(lines) < size:
        kind = chance.random()
        words = " ".join(chance.choice(WORDS) for _ in range(chance.randint(6, 30)))
        if kind < 0.1:
            lines += ["", f"## {words[:40]}", ""]
        elif kind < 0.3:
            lines.append(f"- {words} [[Note {chance.randint(0, 999)}]]")
        else:
            lines.append(words)
    return ("\n".join(lines)[: size - 1]) + "\n"


def make_vault(folder: Path, notes: int) -> None:
    """Fill *folder* with *notes* notes of 4 KB, a hundred in each folder."""
    for number in range(notes):
        place = folder / f"folder-{number // FOLDER_SIZE:03d}"
        if number % FOLDER_SIZE == 0:
            place.mkdir(parents=True)
        (place / f"note-{number:05d}.md").write_bytes(note(number).encode())
