"""Mounts beneath a root, and file systems that are full or read-only: each case in a namespace of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.mounts import run_in_mount_namespace
from tests.sandbox.mounted import CASES


@pytest.mark.parametrize("case", CASES)
def test_case_holds_in_a_mount_namespace(
    tmp_path: Path, resolver: Literal["openat2", "walk"], case: str
) -> None:
    run_in_mount_namespace("tests.sandbox.mounted", case, str(tmp_path), resolver)
