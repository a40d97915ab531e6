"""Which files links may lead to for who may see some folders: those in them, as if there were no others.

So a link that leads out of a grant looks like one that leads nowhere, and a name that is unique in the grant is unique.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Final

from fsnotes.notes.atlas import Atlas
from fsnotes.notes.catalogue import Catalogue, folder_of
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT, RelPath

MAX_VIEWS: Final = 16
"""How many sets of folders a view is kept of."""


class Views:
    """The views of one workspace. Thread-safe."""

    def __init__(self, atlas: Atlas) -> None:
        self._atlas = atlas
        self._mutex = threading.Lock()
        self._whole: Catalogue | None = None
        self._views: dict[tuple[RelPath, ...], Catalogue] = {}

    def of(self, scope: Scope, *, anew: bool) -> Catalogue:
        """Return the files that *scope* covers, as `Atlas.catalogue` does. Raises NotCounted.

        Unless *anew*, what was known last is taken as it is: for the further calls of one answer.
        """
        whole = self._whole
        if anew or whole is None:
            whole = self._atlas.catalogue(scope)
        with self._mutex:
            if whole is not self._whole:
                self._follow(whole)
                self._whole = whole
            if scope.covers(ROOT):
                return whole
            view = self._views.pop(scope.folders, None)
            if view is None:
                view = Catalogue(_covered(scope, whole))
            # The one that was asked for last stands last.
            self._views[scope.folders] = view
            if len(self._views) > MAX_VIEWS:
                del self._views[next(iter(self._views))]
            return view

    def _follow(self, whole: Catalogue) -> None:
        """Change the views as what there is has changed to *whole*."""
        if not self._views:
            return
        before, after = frozenset(self._whole or ()), frozenset(whole)
        gone, come = before - after, after - before
        for folders, view in self._views.items():
            scope = Scope(folders)
            self._views[folders] = view.changed([*_covered(scope, gone)], [*_covered(scope, come)])


def _covered(scope: Scope, ids: Iterable[str]) -> Iterator[str]:
    known: dict[str, bool] = {}
    for each in ids:
        folder = folder_of(each)
        covered = known.get(folder)
        if covered is None:
            covered = known[folder] = scope.covers_position(tuple(folder.split("/")) if folder else ())
        if covered:
            yield each
