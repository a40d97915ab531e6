"""What `tests/extern` brings from npm is pinned by version and hash, names no registry, and is what a page says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXTERN = ROOT / "tests/extern"
PINNED: dict[str, Any] = json.loads((EXTERN / "package.json").read_text(encoding="utf-8"))
LOCK: dict[str, Any] = json.loads((EXTERN / "package-lock.json").read_text(encoding="utf-8"))
EXACT = re.compile(r"\d+\.\d+\.\d+(?:-[0-9a-z.]+)?")


def test_each_version_is_exact_and_the_same_in_the_lock() -> None:
    named = {**PINNED["dependencies"], **PINNED["optionalDependencies"]}
    assert all(EXACT.fullmatch(version) for version in named.values())
    locked = LOCK["packages"][""]
    assert locked["dependencies"] == PINNED["dependencies"]
    assert locked["optionalDependencies"] == PINNED["optionalDependencies"]
    assert {name: LOCK["packages"][f"node_modules/{name}"]["version"] for name in named} == named


def test_each_package_has_a_hash_and_none_an_address() -> None:
    packages = {path: package for path, package in LOCK["packages"].items() if path}
    assert len(packages) > 100
    for path, package in packages.items():
        assert package["integrity"].startswith("sha512-"), path
        assert "resolved" not in package, path
    for file in EXTERN.iterdir():
        if file.suffix == ".json":
            assert "://" not in file.read_text(encoding="utf-8"), file.name


def test_the_page_names_each_client_with_its_version() -> None:
    page = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| .*`(@modelcontextprotocol/[a-z]+)` \| (\S+) \|", page, re.MULTILINE))
    assert rows == PINNED["dependencies"]


def test_what_is_left_out_of_the_conformance_suite_has_a_reason_each() -> None:
    document = tomllib.loads((EXTERN / "left_out.toml").read_text(encoding="utf-8"))
    groups = [group for groups in document.values() for group in groups]
    assert all(group.keys() == {"reason", "entries"} for group in groups)
    assert all(len(group["reason"].split()) > 5 and group["entries"] for group in groups)
