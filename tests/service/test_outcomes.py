"""The JSON shapes: whatever a file's clock says, a listing can be sent."""

from __future__ import annotations

import pytest

from fsnotes.outcomes import timestamp


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_796_083_200, "2026-12-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (2**60, "9999-12-31T23:59:59Z"),
        (-(2**60), "1000-01-01T00:00:00Z"),
    ],
)
def test_a_time_outside_the_calendar_is_shown_as_its_nearest_end(seconds: int, shown: str) -> None:
    assert timestamp(seconds * 1_000_000_000) == shown
