"""Decides what can be the name of an OAuth scope. Which are asked for is left to the configuration."""

from __future__ import annotations

import re
from typing import Final

MOST_SCOPES: Final = 32

_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")


def is_scope(name: str) -> bool:
    """Say whether *name* is one scope (RFC 6749, section 3.3), of 200 characters at most."""
    return _SCOPE.fullmatch(name) is not None
