"""Whether a worker sees what is mounted in its folders as it is, or as it was when the worker began.

A worker with namespaces has a tree of its own, which follows nothing that is mounted or unmounted on the host. What is
mounted later would stay unseen, and what it covers be changed instead; what is unmounted would be served on, and kept
in use. So such a worker is replaced as soon as anything about these mounts changes. A worker without namespaces sees
the host's mounts.

Where the table of mounts cannot be read, changes go unnoticed, and that is said.
"""

from __future__ import annotations

import logging
from typing import Final

from sandbox.jail.employed import Employed
from sandbox.jail.endings import Ended, Ending
from sandbox.jail.report import Level, Report
from sandbox.jail.spec import JailSpec
from sandbox.mounts import Mount, MountWatch

MOVED_ON: Final = Ended(Ending.RECYCLED, "what is mounted in its folders has changed")
CHANGED_MEANWHILE: Final = Ended(Ending.RECYCLED, "what is mounted in its folders has changed while it began")

logger = logging.getLogger(__name__)


class Surroundings:
    """The mounts around the folders of one spec. All but `open` and `close` is for any thread."""

    def __init__(self, spec: JailSpec) -> None:
        self._folders = (spec.workspace,) if spec.index is None else (spec.workspace, spec.index)
        self._may_matter = spec.want is Level.FULL
        self._watch: MountWatch | None = None
        self._is_said = False

    def open(self) -> None:
        """Begin to look."""
        if self._may_matter:
            self._watch = MountWatch(*self._folders)

    def close(self) -> None:
        """Look no more."""
        if self._watch is not None:
            self._watch.close()

    @property
    def bell(self) -> int | None:
        """A descriptor that has POLLPRI once something was mounted or unmounted on the host; None for no such."""
        return None if self._watch is None else self._watch.bell

    def look(self) -> frozenset[Mount] | None:
        """Return the mounts as they are, to be compared with by `enclose`; None where they are not known."""
        return None if self._watch is None else self._watch.look()

    def enclose(self, worker: Employed, report: Report, before: frozenset[Mount] | None) -> bool:
        """Note what *worker* sees, which began after *before* was looked at; return whether that is still so."""
        if not report.has("namespaces"):
            return True
        worker.mounts = before
        worker.is_unwatched = before is None
        if before is None and not self._is_said:
            self._is_said = True
            why = None if self._watch is None else self._watch.why
            logger.warning(
                "what is mounted or unmounted in the folders of a worker will not be noticed: %s", why
            )
        return not self.have_changed(worker)

    def have_changed(self, worker: Employed) -> bool:
        """Say whether *worker* sees other mounts than there are."""
        if worker.is_unwatched:
            return self.look() is not None  # by now they are known
        return worker.mounts is not None and self.look() != worker.mounts
