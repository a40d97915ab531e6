"""Why an edit of properties is refused: every sentence that says so, with `#` for a number.

They are a closed set, so that what a worker says can be checked by who asked it (`refusals.py`).
"""

from __future__ import annotations

from typing import Final

TOO_MANY: Final = "more than # keys at once"
TOO_LONG: Final = "the block would be longer than # bytes"
IN_BRACES: Final = (
    "the block is in braces and takes values on one line only; write lists and mappings in brackets"
)
REFERRED_TO: Final = "another property refers to a value that would go"
NOT_AS_ASKED: Final = "the block would not read back as asked for; edit its text instead"

KEY_EMPTY: Final = "its key is empty"
KEY_LONG: Final = "its key is longer than # characters"
KEY_UNPRINTABLE: Final = "its key has a control character, a line break or a lone surrogate"
KEY_IS_MERGE: Final = "its key is the merge key of YAML, which names no property"
KEY_SPACED: Final = "its key begins or ends with a space, and the block has no such key"
KEY_TWICE: Final = "its key was named before"
KEY_ALIKE: Final = "the block has its key in another case or Unicode form"
KEYS_ALIKE: Final = "its key was named before in another case or Unicode form"
KEY_SEVERAL: Final = "several keys of the block are spelled like its key"

VALUE_NOT_ONE: Final = "its value is not one YAML value, or larger than what a block may hold"
VALUE_NOT_PLAIN: Final = "its value has an anchor, an alias, a tag or a document marker"
VALUE_HAS_COMMENT: Final = "its value has a comment; quote a text that has a number sign in it"
VALUE_LOOKS_LIKE_TEXT: Final = (
    "its value is a mapping on one line; quote it if it is a text, or put it into braces"
)
VALUE_NOT_TEXT: Final = "its value has a lone surrogate, which is no character"

ITEM: Final = "item #: "
"""What stands before a reason that has to do with one item of `set` or `unset`, counted from 1."""

OF_ITEMS: Final = frozenset(
    {
        KEY_EMPTY,
        KEY_LONG,
        KEY_UNPRINTABLE,
        KEY_IS_MERGE,
        KEY_SPACED,
        KEY_TWICE,
        KEY_ALIKE,
        KEYS_ALIKE,
        KEY_SEVERAL,
        VALUE_NOT_ONE,
        VALUE_NOT_PLAIN,
        VALUE_HAS_COMMENT,
        VALUE_LOOKS_LIKE_TEXT,
        VALUE_NOT_TEXT,
    }
)

REASONS: Final = frozenset(
    {TOO_MANY, TOO_LONG, IN_BRACES, REFERRED_TO, NOT_AS_ASKED, *(ITEM + reason for reason in OF_ITEMS)}
)


def numbered(reason: str, number: int) -> str:
    """Return *reason* with *number* in the place of its `#`."""
    return reason.replace("#", str(number))
