"""Which existing file a path means, when Unicode lets one name be spelled in several ways.

A path is found under the spelling it has on the disk; comparison is by NFC, never by case. Making
new names is not decided here.
"""

from __future__ import annotations

import unicodedata

from sandbox.errors import Ambiguous, Missing
from sandbox.names import ROOT, RelPath
from sandbox.root import Root


def find(root: Root, path: RelPath) -> RelPath:
    """Return the existing spelling of *path*.

    A component of ASCII letters that exists as it is costs no listing. Raises Missing, Ambiguous (with the
    full paths of all equal spellings), and what listing a folder raises.
    """
    found = ROOT
    for position, part in enumerate(path.parts):
        if part.isascii() and root.kind(found.child(part)) is not None:
            found = found.child(part)
            continue
        found = _among_siblings(root, found, part, rest=path.parts[position + 1 :], asked=path)
    return found


def _among_siblings(
    root: Root, folder: RelPath, part: str, *, rest: tuple[str, ...], asked: RelPath
) -> RelPath:
    wanted = unicodedata.normalize("NFC", part)
    names = [
        entry.name
        for entry in root.list(folder, with_identity=False).entries
        if unicodedata.normalize("NFC", entry.name) == wanted
    ]
    if not names:
        raise Missing(str(asked))
    if len(names) > 1:
        spellings = tuple("/".join((*folder.parts, name, *rest)) for name in names)
        raise Ambiguous(str(asked), names=spellings)
    return folder.child(names[0])
