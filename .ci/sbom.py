"""`python .ci/sbom.py > docs/packaging/sbom.cdx.json`: what fsnotes is made of, as CycloneDX 1.6 has it.

Versions are those of the lock beside this file, what needs what is told by the packages that are installed; so it is to
be run where the lock is installed. The same lock and the same packages give the same bytes: there is no time in it, and
its serial number is made of its contents.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PRODUCT, OPTIONAL = "fsnotes", ("otel",)
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\;]+)", re.MULTILINE)
_SEEDS = uuid.UUID("6a3f5a52-2f0e-5d9b-8f43-0e1c1f0b7d61")


def locked() -> dict[str, str]:
    """Return the version of each package in the lock."""
    text = (ROOT / ".ci/requirements.txt").read_text(encoding="utf-8")
    return {canonicalize_name(name): version for name, version in _PINNED.findall(text)}


def needs(name: str, extras: frozenset[str]) -> dict[str, frozenset[str]]:
    """Return what an installed package needs here, each with the extras that it is asked for with."""
    found: dict[str, frozenset[str]] = {}
    for text in importlib.metadata.requires(name) or ():
        asked = Requirement(text)
        wanted = asked.marker is None or any(asked.marker.evaluate({"extra": each}) for each in ("", *extras))
        if wanted:
            other = canonicalize_name(asked.name)
            found[other] = found.get(other, frozenset()) | asked.extras
    return found


def closure(extras: frozenset[str]) -> dict[str, set[str]]:
    """Return what the product needs, with these extras of its own, and what each of that needs."""
    edges: dict[str, set[str]] = {}
    waiting, seen = [(PRODUCT, extras)], set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        found = needs(name, wanted)
        found.pop(PRODUCT, None)  # an extra of its own
        edges.setdefault(name, set()).update(found)
        waiting += found.items()
    return edges


def purl(name: str, version: str) -> str:
    """Return the name by which a package is known everywhere."""
    return f"pkg:pypi/{name}@{version}"


def document() -> dict[str, Any]:
    """Return the whole, in an order that depends on nothing else."""
    versions = locked() | {PRODUCT: importlib.metadata.version(PRODUCT)}
    required, edges = closure(frozenset()), closure(frozenset(OPTIONAL))
    refs = {name: purl(name, versions[name]) for name in edges}
    components = [
        {
            "type": "library",
            "bom-ref": refs[name],
            "name": name,
            "version": versions[name],
            "scope": "required" if name in required else "optional",
            "purl": refs[name],
        }
        for name in sorted(edges)
        if name != PRODUCT
    ]
    made: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": refs[PRODUCT],
                "name": PRODUCT,
                "version": versions[PRODUCT],
                "licenses": [{"license": {"id": "MIT"}}],
                "purl": refs[PRODUCT],
            }
        },
        "components": components,
        "dependencies": [
            {"ref": refs[name], "dependsOn": sorted(refs[other] for other in edges[name])}
            for name in sorted(edges)
        ],
    }
    serial = uuid.uuid5(_SEEDS, json.dumps(made, sort_keys=True))
    return {"bomFormat": made.pop("bomFormat"), "specVersion": made.pop("specVersion")} | {
        "serialNumber": f"urn:uuid:{serial}",
        **made,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(document(), indent=1) + "\n")
