"""An editor that asks nobody: what it does to `Notes` behind the servers' backs, and never to anything outside."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

TARGETS: Final = (
    "../outside/secret.md",
    "../../outside/secret.md",
    "../outside",
    "../../outside",
    "../outside/shared",
    "../Papers/paper.md",
    "../Papers",
    "../Notes-twin",
    "../Notes",
    "/etc/hostname",
    "a.md",
    "shared",
    ".",
    "nowhere.md",
)
"""What links are made to: files and folders outside, the other workspace, the twin, notes, nothing."""

TWINS: Final = ("outside/secret.md", "Papers/paper.md", "Notes/a.md", "Notes/shared/a.md")
"""What hard links are made to, from the top."""


class Outsider:
    """Works in the folder *notes*; what cannot be done is left, and False says so."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes

    def save(self, path: str, data: bytes) -> bool:
        """Save a note as editors do, by renaming over it: so nothing is written through a link."""
        place = self._place(path)
        if place is None or place.is_dir():
            return False
        aside = place.with_name(place.name + "~")
        aside.write_bytes(data)
        os.replace(aside, place)
        return True

    def remove(self, path: str) -> bool:
        """Remove a file or a link, or a folder with all in it."""
        place = self._notes / path
        if not os.path.lexists(place) or not self._is_real(place.parent):
            return False
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()
        return True

    def rename(self, path: str, other: str) -> bool:
        """Give a file, a link or a folder another name, over what stands there if need be."""
        source, target = self._notes / path, self._place(other)
        if target is None or not os.path.lexists(source) or not self._is_real(source.parent):
            return False
        try:
            os.rename(source, target)
        except OSError:
            return False
        return True

    def link(self, path: str, target: str) -> bool:
        """Put a symbolic link there, in place of whatever is no folder."""
        place = self._free(path)
        if place is None:
            return False
        place.symlink_to(target)
        return True

    def twin(self, path: str, other: str) -> bool:
        """Give a file a second name there: *other* is from the folder above."""
        source = self._notes.parent / other
        if source.is_symlink() or not source.is_file() or not self._is_real(source.parent):
            return False
        place = self._free(path)
        if place is None or not source.exists():
            return False
        os.link(source, place)
        return True

    def pipe(self, path: str) -> bool:
        """Put a FIFO there."""
        place = self._free(path)
        if place is None:
            return False
        os.mkfifo(place)
        return True

    def replace_folder(self, path: str, target: str) -> bool:
        """Move a folder aside and leave a link in its place."""
        place = self._notes / path
        aside = place.with_name(place.name + "-aside")
        if not self._is_real(place) or os.path.lexists(aside):
            return False
        place.rename(aside)
        place.symlink_to(target)
        return True

    def _free(self, path: str) -> Path | None:
        place = self._place(path)
        if place is None or (place.is_dir() and not place.is_symlink()):
            return None
        place.unlink(missing_ok=True)
        return place

    def _place(self, path: str) -> Path | None:
        """Return the place, its folders made; None where one of them is none, or a link."""
        place = self._notes / path
        folder = self._notes
        for part in Path(path).parts[:-1]:
            folder = folder / part
            if not os.path.lexists(folder):
                folder.mkdir()
            if not self._is_real(folder):
                return None
        return place

    def _is_real(self, folder: Path) -> bool:
        while folder not in (self._notes, self._notes.parent):
            if folder.is_symlink() or not folder.is_dir():
                return False
            folder = folder.parent
        return True
