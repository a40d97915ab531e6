"""How many examples a property is given that takes long: few by default, many with `--hypothesis-profile=long`."""

from __future__ import annotations

from hypothesis import settings

USUAL = "usual"
LONG = "long"


def examples(few: int, *, long: int) -> int:
    """Return how many examples there are to be; for `max_examples`, at the import of a test."""
    return long if settings.get_current_profile_name() == LONG else few
