"""Which names a property can have, and how a new key is written.

A key is addressed by what its scalar says, quoted or not, whatever type YAML gives it: "1" names the property that is
written `1: x` as well as `"1": x`. A new key is text; it is quoted where YAML, or an older reader that takes `yes`
for true, would not see one.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

from fsnotes.notes.bounds import MAX_KEY
from fsnotes.notes.property_reasons import (
    KEY_EMPTY,
    KEY_IS_MERGE,
    KEY_LONG,
    KEY_SPACED,
    KEY_UNPRINTABLE,
    numbered,
)

MERGE: Final = "<<"
"""The key with which YAML merges one mapping into another; it names no property."""

_PLAIN: Final = re.compile(r"[^\W\d][\w./-]*+(?: [\w./-]++|(?!))*+")
_SPECIAL: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_UNPRINTABLE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


def fault(key: str) -> str | None:
    """Return why no property can have *key* as its name, None if one can."""
    if not key:
        return KEY_EMPTY
    if len(key) > MAX_KEY:
        return numbered(KEY_LONG, MAX_KEY)
    if any(unicodedata.category(character) in _UNPRINTABLE for character in key):
        return KEY_UNPRINTABLE
    return KEY_IS_MERGE if key == MERGE else None


def likeness(key: str) -> str:
    """Return what keys have in common that some programs take for one: those that differ in case or Unicode form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", key).casefold())


def fault_of_new(key: str) -> str | None:
    """Return why *key*, which the block does not have, is not added to it, None if it is."""
    return KEY_SPACED if key != key.strip() else None


def written(key: str, *, always_quoted: bool = False) -> str:
    """Return *key* as it stands in a block."""
    if not always_quoted and _PLAIN.fullmatch(key) and key.lower() not in _SPECIAL:
        return key
    return json.dumps(key, ensure_ascii=False)
