"""An index on a disk that is full; run in a mount namespace of its own (`test_kills.py`)."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from fsnotes.errors import Unavailable
from tests.mounts import mount
from tests.notes.index.shelves import Shelf


def main() -> None:
    """Fill a disk of 1 MB with an index, then make room."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "index").mkdir()
        mount("-t", "tmpfs", "-o", "size=1m", "none", str(place / "index"))
        with Shelf(place) as shelf:
            for number in range(40):
                shelf.write(f"{number}.md", f"word w{number} {'text ' * 30}")
            shelf.settle()
            for number in range(40, 400):
                shelf.write(f"{number}.md", f"word {' '.join(f'w{number}x{each}' for each in range(500))}")
            with pytest.raises(Unavailable, match="the disk is full"):
                shelf.look_again()
            assert len(shelf.finds("word")) == 40
            with pytest.raises(Unavailable, match="the disk is full"):
                shelf.settle()
            for number in range(41, 400):
                shelf.remove(f"{number}.md")
            progress = shelf.settle()
            assert progress.indexed == 41
            assert len(shelf.finds("word")) == 41
            assert shelf.finds("w40x7") == ["40.md"]
        subprocess.run(["umount", str(place / "index")], check=True)


if __name__ == "__main__":
    main()
