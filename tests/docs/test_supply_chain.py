"""What fsnotes is made of and with: the lock pins all of it by hash, and the bill of materials says the same."""

from __future__ import annotations

import json
import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LOCK = (ROOT / ".ci/requirements.txt").read_text(encoding="utf-8")
SBOM: dict[str, Any] = json.loads((ROOT / "docs/packaging/sbom.cdx.json").read_text(encoding="utf-8"))

PIN = re.compile(r"([a-z0-9][a-z0-9-]*)==([0-9][0-9a-z.]*)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")
EXTRAS = {name: asked for name, asked in PROJECT["optional-dependencies"].items() if name != "fuzz"}
"""But for what is installed by hand to fuzz, and by nobody else."""


def pins() -> dict[str, str]:
    """Return the version of each package in the lock; all of its text must be pins and comments."""
    found: dict[str, str] = {}
    rest = re.sub(r"^ *#.*\n", "", LOCK, flags=re.MULTILINE)
    while rest:
        match = PIN.match(rest)
        assert match is not None, f"neither a pin with its hashes nor a comment: {rest[:80]!r}"
        assert match[1] not in found
        found[match[1]] = match[2]
        rest = rest[match.end() :]
    return found


def named(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(each).name) for each in requirements} - {"fsnotes"}


def test_everything_in_the_lock_is_pinned_by_hash_and_comes_from_no_place_that_is_named() -> None:
    assert len(pins()) > len(PROJECT["dependencies"])


@pytest.mark.parametrize(
    "text", [*PROJECT["dependencies"], *chain(*EXTRAS.values()), *PYPROJECT["build-system"]["requires"]]
)
def test_what_the_project_asks_for_is_in_the_lock_in_a_version_that_it_takes(text: str) -> None:
    asked = Requirement(text)
    if canonicalize_name(asked.name) != "fsnotes":
        assert asked.specifier.contains(pins()[canonicalize_name(asked.name)])


def test_the_bill_of_materials_has_the_shape_of_its_format() -> None:
    """CycloneDX 1.6: what is required, and nothing that we do not mean."""
    assert SBOM.keys() == {
        "bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies",
    }  # fmt: skip
    assert (SBOM["bomFormat"], SBOM["specVersion"], SBOM["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", SBOM["serialNumber"])
    refs = [each["bom-ref"] for each in SBOM["components"]]
    assert len(refs) == len(set(refs))
    for each in SBOM["components"]:
        assert each.keys() == {"type", "bom-ref", "name", "version", "scope", "purl"}
        assert (each["type"], each["bom-ref"]) == ("library", each["purl"])


def test_the_bill_of_materials_is_of_this_version_and_of_what_is_locked() -> None:
    product = SBOM["metadata"]["component"]
    assert (product["name"], product["version"]) == (PROJECT["name"], PROJECT["version"])
    locked = pins()
    for each in SBOM["components"]:
        assert each["version"] == locked[each["name"]], each["name"]
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"


def test_the_bill_of_materials_has_what_the_product_needs_and_nothing_else() -> None:
    names = {each["bom-ref"]: each["name"] for each in SBOM["components"]}
    edges = {each["ref"]: each["dependsOn"] for each in SBOM["dependencies"]}
    top = SBOM["metadata"]["component"]["bom-ref"]
    assert edges.keys() == {top, *names}
    assert {names[ref] for ref in edges[top]} == named(PROJECT["dependencies"] + EXTRAS["otel"])
    assert _beneath(edges, edges[top]) == set(names)
    required = [ref for ref in edges[top] if names[ref] in named(PROJECT["dependencies"])]
    assert {each["bom-ref"] for each in SBOM["components"] if each["scope"] == "required"} == _beneath(
        edges, required
    )
    assert {each["scope"] for each in SBOM["components"]} == {"required", "optional"}
    # What only tests and builds is none of the product.
    assert not {"pytest", "hypothesis", "hatchling", "mypy", "ruff"} & set(names.values())


def _beneath(edges: dict[str, list[str]], tops: list[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(tops)
    while waiting:
        ref = waiting.pop()
        if ref not in found:
            found.add(ref)
            waiting += edges[ref]
    return found
