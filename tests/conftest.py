"""What holds for all tests: how many examples properties are given, and what the collector of garbage leaves alone."""

from __future__ import annotations

import gc

from hypothesis import settings

from tests.examples import LONG

settings.register_profile(LONG)


def pytest_collection_finish() -> None:
    """Take the tests themselves, of which there are some millions of objects, for what they are: there to the end."""
    gc.freeze()
