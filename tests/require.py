"""Skip a test by the name of what is missing, or fail where that must not be missing.

`FSNOTES_REQUIRE=openat2,mounts` (as CI sets it) turns a skip for one of these names into a failure, so that
a test which silently never ran is noticed.
"""

from __future__ import annotations

import os

import pytest

VARIABLE = "FSNOTES_REQUIRE"


def require(feature: str, *, available: bool, why: str = "") -> None:
    """Go on when *feature* is available; else skip, or fail if the environment requires it."""
    if available:
        return
    wanted = {name.strip() for name in os.environ.get(VARIABLE, "").split(",")}
    message = f"needs {feature}" + (f": {why}" if why else "")
    if feature in wanted:
        pytest.fail(f"{message} ({VARIABLE} names it)")
    pytest.skip(message)


def has_openat2() -> bool:
    """Whether openat2 works here, tried on the root of the file system."""
    from sandbox.policy import Policy
    from sandbox.resolve import choose_resolver  # late: so that this module loads without the package

    fd = os.open("/", os.O_PATH | os.O_DIRECTORY)
    try:
        return choose_resolver(fd, Policy()).name == "openat2"
    finally:
        os.close(fd)
