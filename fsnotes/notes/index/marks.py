"""The words by which the index knows what is no text: tags, properties and folders, each one token.

They stand in a column of their own, so that one expression of FTS5 asks for words and for these alike. No folded text
has such a token: what is not a letter or digit of it becomes a character of a plane for private use.

A folder's token is a hash, since paths nest deep. Two folders may have the same one: whoever is let through by it
still looks at the path.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from fsnotes.notes.globs import composed

_PRIVATE: Final = 0xF0000
_TAG, _KEY, _VALUE, _FOLDER = (chr(_PRIVATE + 0x100 + kind) for kind in range(4))
SEPARATOR: Final = chr(_PRIVATE + 0x200)
"""A token that nobody asks for, between texts that no phrase may span."""
_ENCODED: Final = {
    **dict.fromkeys((*range(_PRIVATE, _PRIVATE + 768), *range(55296, 57344)), 65533),
    **{
        code: _PRIVATE + code
        for code in range(128)
        if chr(code) not in "abcdefghijklmnopqrstuvwxyz0123456789"
    },
}
_DIGEST_BYTES: Final = 10


def of_tag(key: str) -> str:
    """Return the token of the tag with this key."""
    return _TAG + key.translate(_ENCODED)


def of_property(key: str, value: str | None) -> str:
    """Return the token of the property with this key, whatever its value (None) or with this one."""
    if value is None:
        return _KEY + key.translate(_ENCODED)
    return f"{_VALUE}{key.translate(_ENCODED)}{_VALUE}{value.translate(_ENCODED)}"


def of_folder(path: str) -> str:
    """Return the token of all that lies in the folder *path*, in whatever Unicode form it is spelled."""
    spelled = "/".join(composed(tuple(path.split("/"))))
    return (
        _FOLDER + hashlib.blake2b(spelled.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()
    )


@lru_cache(maxsize=4096)
def above(folder: str) -> str:
    """Return the tokens of *folder* and of the folders above it, but not of the top, parted by spaces."""
    if not folder:
        return ""
    upper = above(folder.rpartition("/")[0]) if folder.count("/") < 200 else ""
    return f"{upper} {of_folder(folder)}".lstrip()
