"""Who may import whom: the table of the house, and the walk over every module that holds it.

Rooms are listed from the lowest to the highest; a room may use what its row names and nothing else. An entry
is a room, or one module of a room. A change of the table is a decision: it gets a commit and a record of its
own.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Room:
    """What the modules of one room may import beside the standard library and their own room."""

    below: tuple[str, ...] = ()  # of our own: rooms, or single modules of rooms
    packages: tuple[str, ...] = ()  # of others
    may_wait: bool = False  # async code


SLOW = ("dataclasses", "inspect", "logging", "random", "subprocess", "traceback")
"""What a worker does without: each costs its start milliseconds."""

EVERYWHERE = ("sandbox.records",)
"""What every room may use besides: how a value is made, which loads nothing else."""

ERRORS, LEXICAL = "fsnotes.errors", ("sandbox.errors", "sandbox.names", "sandbox.uris")

ROOMS: dict[str, Room] = {
    "sandbox": Room(packages=("psutil", "pathvalidate")),
    "fsnotes": Room(),
    "fsnotes.version": Room(("fsnotes",)),
    "fsnotes.errors": Room(),
    "fsnotes.vocabulary": Room(),
    "fsnotes.pages": Room((ERRORS,)),
    "fsnotes.notes.markdown": Room(("sandbox.records",)),
    "fsnotes.notes": Room(
        (ERRORS, "fsnotes.notes.markdown", "fsnotes.vocabulary", "sandbox"), ("ruamel.yaml", "re2")
    ),
    "fsnotes.access": Room((ERRORS, *LEXICAL)),
    "fsnotes.confirm": Room((ERRORS,), ("cryptography",)),
    "fsnotes.addresses": Room((ERRORS,)),
    "fsnotes.scopes": Room(),
    "fsnotes.identity": Room(
        ("fsnotes.access", "fsnotes.addresses", "fsnotes.confirm.private", ERRORS, "fsnotes.scopes"),
        ("jwt", "cryptography"),
    ),
    "fsnotes.runners": Room(("fsnotes.access", ERRORS, "fsnotes.notes", "sandbox")),
    "fsnotes.starting": Room((ERRORS,)),
    "fsnotes.workers": Room((ERRORS, "fsnotes.notes", "fsnotes.runners", "fsnotes.starting", "sandbox")),
    "fsnotes.jailed": Room(
        ("fsnotes.access", ERRORS, "fsnotes.notes", "fsnotes.runners", "fsnotes.workers", "sandbox")
    ),
    "fsnotes.deferred": Room(
        (
            "fsnotes.access",
            ERRORS,
            "fsnotes.notes",
            "fsnotes.runners",
            "fsnotes.starting",
            "fsnotes.workers",
        )
    ),
    "fsnotes.calls": Room(("fsnotes.access", ERRORS)),
    "fsnotes.tables": Room((ERRORS,)),
    "fsnotes.http_settings": Room(("fsnotes.addresses", ERRORS, "fsnotes.scopes", "fsnotes.tables")),
    "fsnotes.admission": Room(("fsnotes.access", ERRORS, "fsnotes.http_settings", "fsnotes.identity")),
    "fsnotes.folders": Room((ERRORS, "sandbox.names")),
    "fsnotes.config": Room(
        (
            "fsnotes.access",
            ERRORS,
            "fsnotes.folders",
            "fsnotes.http_settings",
            "fsnotes.tables",
            *LEXICAL,
            "sandbox.policy",
        )
    ),
    "fsnotes.policies": Room(("fsnotes.config",)),
    "fsnotes.state": Room((ERRORS, "fsnotes.notes.opening", *LEXICAL, "sandbox.place", "sandbox.releasing")),
    "fsnotes.custody": Room(("fsnotes.notes", "fsnotes.state", "sandbox")),
    "fsnotes.audit": Room(
        (ERRORS, "sandbox.errors", "sandbox.own_files", "sandbox.releasing", "sandbox.renaming")
    ),
    "fsnotes.quarantine": Room(("fsnotes.audit", "fsnotes.confirm", ERRORS, "fsnotes.state", *LEXICAL)),
    "fsnotes.outcomes": Room(("fsnotes.confirm", ERRORS, "fsnotes.notes", "fsnotes.pages")),
    "fsnotes.freshness": Room(("fsnotes.notes",)),
    "fsnotes.upkeep": Room((ERRORS, "fsnotes.freshness", "fsnotes.notes", "sandbox")),
    "fsnotes.indexing": Room(("fsnotes.config", "fsnotes.notes", "fsnotes.upkeep", "sandbox")),
    "fsnotes.hits": Room((ERRORS, "fsnotes.freshness", "fsnotes.notes", "fsnotes.outcomes")),
    "fsnotes.moves": Room(("fsnotes.access", ERRORS, "fsnotes.notes", "fsnotes.runners")),
    "fsnotes.failures": Room((ERRORS, *LEXICAL)),
    "fsnotes.listings": Room(
        (
            "fsnotes.access",
            ERRORS,
            "fsnotes.notes",
            "fsnotes.outcomes",
            "fsnotes.pages",
            "fsnotes.runners",
            "fsnotes.vocabulary",
            *LEXICAL,
        )
    ),
    "fsnotes.link_pages": Room(
        (
            "fsnotes.access",
            ERRORS,
            "fsnotes.listings",
            "fsnotes.notes",
            "fsnotes.outcomes",
            "fsnotes.pages",
            "fsnotes.runners",
        )
    ),
    "fsnotes.orphans": Room(
        ("fsnotes.access", ERRORS, "fsnotes.notes", "fsnotes.outcomes", "fsnotes.runners")
    ),
    "fsnotes.search_places": Room((ERRORS, "fsnotes.pages")),
    "fsnotes.search_pages": Room(
        (
            "fsnotes.access",
            ERRORS,
            "fsnotes.freshness",
            "fsnotes.hits",
            "fsnotes.listings",
            "fsnotes.notes",
            "fsnotes.outcomes",
            "fsnotes.pages",
            "fsnotes.runners",
            "fsnotes.search_places",
            *LEXICAL,
        )
    ),
    "fsnotes.tag_pages": Room(
        (
            "fsnotes.access",
            ERRORS,
            "fsnotes.listings",
            "fsnotes.notes",
            "fsnotes.outcomes",
            "fsnotes.pages",
            "fsnotes.runners",
        )
    ),
    "fsnotes.resources": Room(
        (
            "fsnotes.access",
            ERRORS,
            "fsnotes.listings",
            "fsnotes.notes",
            "fsnotes.outcomes",
            "fsnotes.pages",
            "fsnotes.runners",
            *LEXICAL,
        )
    ),
    "fsnotes.changes": Room((ERRORS, "fsnotes.notes", "sandbox")),
    "fsnotes.subscriptions": Room(
        ("fsnotes.access", "fsnotes.changes", ERRORS, "fsnotes.notes", "fsnotes.resources", *LEXICAL)
    ),
    "fsnotes.completions": Room(
        (
            "fsnotes.access",
            ERRORS,
            "fsnotes.freshness",
            "fsnotes.listings",
            "fsnotes.notes",
            "fsnotes.runners",
        )
    ),
    "fsnotes.overviews": Room(
        (
            "fsnotes.access",
            "fsnotes.calls",
            ERRORS,
            "fsnotes.freshness",
            "fsnotes.notes",
            "fsnotes.outcomes",
            "fsnotes.runners",
            *LEXICAL,
        )
    ),
    "fsnotes.candidates": Room(
        ("fsnotes.access", "fsnotes.confirm", ERRORS, "fsnotes.notes", "fsnotes.runners", *LEXICAL)
    ),
    "fsnotes.sight": Room(("fsnotes.access", ERRORS, "fsnotes.notes", *LEXICAL)),
    "fsnotes.story": Room(("fsnotes.access", "fsnotes.audit", "fsnotes.calls", ERRORS, "fsnotes.runners")),
    "fsnotes.library": Room(
        (
            "fsnotes.access",
            "fsnotes.audit",
            "fsnotes.calls",
            "fsnotes.changes",
            "fsnotes.completions",
            ERRORS,
            "fsnotes.freshness",
            "fsnotes.pages",
            "fsnotes.resources",
            "fsnotes.runners",
            "fsnotes.story",
            "fsnotes.subscriptions",
        )
    ),
    "fsnotes.deletions": Room(
        (
            "fsnotes.access",
            "fsnotes.calls",
            "fsnotes.candidates",
            "fsnotes.confirm",
            ERRORS,
            "fsnotes.notes",
            "fsnotes.outcomes",
            "fsnotes.runners",
            "fsnotes.story",
        )
    ),
    "fsnotes.service": Room(
        (
            "fsnotes.access",
            "fsnotes.audit",
            "fsnotes.calls",
            "fsnotes.candidates",
            "fsnotes.changes",
            "fsnotes.confirm",
            "fsnotes.deletions",
            ERRORS,
            "fsnotes.freshness",
            "fsnotes.hits",
            "fsnotes.library",
            "fsnotes.link_pages",
            "fsnotes.listings",
            "fsnotes.moves",
            "fsnotes.notes",
            "fsnotes.orphans",
            "fsnotes.outcomes",
            "fsnotes.overviews",
            "fsnotes.pages",
            "fsnotes.runners",
            "fsnotes.search_pages",
            "fsnotes.sight",
            "fsnotes.story",
            "fsnotes.tag_pages",
            *LEXICAL,
        )
    ),
    "fsnotes.jailing": Room(
        (
            "fsnotes.config",
            "fsnotes.custody",
            "fsnotes.deferred",
            ERRORS,
            "fsnotes.jailed",
            "fsnotes.notes",
            "fsnotes.runners",
            "fsnotes.state",
            "fsnotes.workers",
            "sandbox",
        )
    ),
    "fsnotes.wiring": Room(
        (
            "fsnotes.access",
            "fsnotes.admission",
            "fsnotes.audit",
            "fsnotes.calls",
            "fsnotes.changes",
            "fsnotes.config",
            "fsnotes.confirm",
            ERRORS,
            "fsnotes.folders",
            "fsnotes.freshness",
            "fsnotes.http_settings",
            "fsnotes.identity",
            "fsnotes.indexing",
            "fsnotes.jailing",
            "fsnotes.notes",
            "fsnotes.policies",
            "fsnotes.quarantine",
            "fsnotes.runners",
            "fsnotes.service",
            "fsnotes.state",
            "fsnotes.upkeep",
            "fsnotes.workers",
            "sandbox",
        )
    ),
    "fsnotes.findings": Room(
        ("fsnotes.config", "fsnotes.custody", "fsnotes.policies", "fsnotes.quarantine", "sandbox")
    ),
    "fsnotes.diagnosis": Room(
        (
            "fsnotes.access",
            "fsnotes.config",
            ERRORS,
            "fsnotes.findings",
            "fsnotes.jailing",
            "fsnotes.notes",
            "fsnotes.quarantine",
            "fsnotes.state",
            "fsnotes.wiring",
            "fsnotes.workers",
            "sandbox",
        )
    ),
    "fsnotes.server": Room(
        (
            "fsnotes",
            "fsnotes.access",
            "fsnotes.addresses",
            "fsnotes.calls",
            "fsnotes.completions",
            "fsnotes.config",
            ERRORS,
            "fsnotes.failures",
            "fsnotes.folders",
            "fsnotes.hits",
            "fsnotes.http_settings",
            "fsnotes.identity",
            "fsnotes.link_pages",
            "fsnotes.listings",
            "fsnotes.notes.completing",
            "fsnotes.outcomes",
            "fsnotes.search_pages",
            "fsnotes.service",
            "fsnotes.subscriptions",
            "fsnotes.version",
            "fsnotes.wiring",
            *LEXICAL,
        ),
        ("mcp", "mcp_types", "anyio", "jsonschema", "pydantic", "uvicorn", "h11", "opentelemetry"),
        may_wait=True,
    ),
    "fsnotes.cli": Room(
        (
            "fsnotes",
            "fsnotes.access",
            "fsnotes.audit",
            "fsnotes.calls",
            "fsnotes.config",
            "fsnotes.confirm",
            "fsnotes.diagnosis",
            ERRORS,
            "fsnotes.failures",
            "fsnotes.findings",
            "fsnotes.folders",
            "fsnotes.freshness",
            "fsnotes.hits",
            "fsnotes.identity.token_file",
            "fsnotes.outcomes",
            "fsnotes.quarantine",
            "fsnotes.server",
            "fsnotes.service",
            "fsnotes.state",
            "fsnotes.version",
            "fsnotes.vocabulary",
            "fsnotes.wiring",
            *LEXICAL,
        ),
        ("rich",),
    ),
    "fsnotes.__main__": Room(("fsnotes.cli",)),
}

# Imports inside functions. (importing module or room, what it imports): why it may.
LAZY: dict[tuple[str, str], str] = {
    (
        "fsnotes.admission",
        "fsnotes.identity.jwts",
    ): "PyJWT, 0.15 s, which only a server that takes JWTs needs",
    ("fsnotes.tables", "tomllib"): "only who has a configuration file needs it",
    ("fsnotes.http_settings", "ipaddress"): "only who serves HTTP names a host",
    ("fsnotes.http_settings", "fsnotes.addresses"): "only who takes JWTs names URLs",
    ("fsnotes.completions", "urllib.parse"): "only a client completes URIs",
    ("fsnotes.wiring", "fsnotes.admission"): "only who serves HTTP tells callers apart",
    ("sandbox.jail.process", "psutil"): "loaded while the first worker starts, and not before it",
    ("sandbox.jail.watching", "psutil"): "the same",
    ("sandbox.names", "pathvalidate"): "30 ms, and only making something needs it",
    ("sandbox.root", "sandbox.watcher"): "workers watch nothing, and what they load costs their start",
    ("fsnotes.notes.frontmatter", "ruamel.yaml"): "most notes have no frontmatter that must be parsed",
    (
        "fsnotes.notes.searching",
        "fsnotes.notes.patterns",
    ): "RE2, which only a search by a regular expression needs",
    ("fsnotes.notes.sieves", "fsnotes.notes.index"): "SQLite, which only a search in an index needs",
    ("fsnotes.notes.workspace", "fsnotes.notes.index.reader"): "SQLite, which no change needs",
    ("fsnotes.notes.handlers", "fsnotes.notes.asking"): "SQLite, which no change needs",
    ("fsnotes.notes.handlers", "fsnotes.notes.known_paths"): "SQLite, which no change needs",
    (
        "fsnotes.notes.asking",
        "fsnotes.notes.combed",
    ): "RE2, which only a search by a regular expression needs",
    ("fsnotes.runners", "fsnotes.notes.handlers"): "what parses notes: 40 ms, and in a jail only workers do",
    ("fsnotes.runners", "fsnotes.notes.workspace"): "the same",
    ("fsnotes.runners", "fsnotes.notes.indexer"): "SQLite, and only a server keeps an index",
    ("fsnotes.wiring", "fsnotes.jailing"): "a third of a start, and without a jail nothing of it is needed",
    ("fsnotes.confirm.sealing", "cryptography"): "only a confirmation needs it, and reading must start fast",
    ("fsnotes.confirm.ledger", "fsnotes.confirm.database"): "only a confirmation needs SQLite: 5 ms",
    ("fsnotes.cli.doctor", "fsnotes.diagnosis"): "no other command starts or attacks workers by itself",
    ("fsnotes.cli.completion", "fsnotes.cli"): "the grammar names the command that reads it",
    ("fsnotes.cli.showing", "fsnotes.cli.tables"): "rich: 60 ms, and only a terminal needs it",
    ("fsnotes.cli.server", "fsnotes.cli.demo"): "no other command needs what the demo loads",
    (
        "fsnotes.server.loading",
        "fsnotes.server.kernel",
    ): "discover and tools/list are answered before the SDK is loaded",
    ("fsnotes.server.tracing", "opentelemetry"): "only a server that is to be traced needs it",
    ("fsnotes.cli", "fsnotes.server"): "only `serve` may load the protocol: half a second and 60 MB",
}

# Names that only some modules may take from the module that has them.
NAMES: dict[tuple[str, str], frozenset[str]] = {
    ("fsnotes.runners", "fsnotes.access"): frozenset({"Grant"}),
    ("fsnotes.jailed", "fsnotes.access"): frozenset({"Grant"}),
    ("fsnotes.server", "fsnotes.access"): frozenset({"Principal"}),
    ("fsnotes.server", "fsnotes.link_pages"): frozenset({"DIRECTIONS"}),
    ("fsnotes.server", "fsnotes.listings"): frozenset({"MAX_LIMIT", "SORTS"}),
    ("fsnotes.server", "fsnotes.search_pages"): frozenset({"DEFAULT_LIMIT"}),
    ("fsnotes.cli", "fsnotes.access"): frozenset({"Principal"}),
    ("fsnotes.cli", "fsnotes.audit"): frozenset(
        {"AuditLog", "Entry", "Follower", "History", "Rotation", "Wanted", "stamp"}
    ),
    ("fsnotes.cli", "fsnotes.confirm"): frozenset({"Form", "KeyRing"}),
}

# Standard library modules that only some may use, and those some may not.
ONLY: dict[str, tuple[str, ...]] = {
    "ctypes": ("sandbox._linux",),
    "asyncio": ("fsnotes.server",),
    "sqlite3": ("fsnotes.notes", "fsnotes.confirm"),
    "socket": ("sandbox.jail", "fsnotes.identity.fetching", "fsnotes.server"),
    "http": ("fsnotes.identity.fetching", "fsnotes.server"),
    "subprocess": ("sandbox.jail", "fsnotes.cli"),
    "multiprocessing": (),
    "pickle": (),
    "marshal": (),
    "shelve": (),
}


# Whether a jail is on is known to who makes the runners, and to nobody else.
_RUNNERS: dict[str, frozenset[str]] = {
    "InlineRunner": frozenset({"fsnotes.jailing", "fsnotes.runners", "fsnotes.wiring"}),
    "JailedRunner": frozenset({"fsnotes.jailed", "fsnotes.jailing"}),
}


def room_of(module: str) -> str | None:
    """The room of a module of ours; None for other packages', and for a module that no row names."""
    parts = module.split(".")
    if parts[0] == "sandbox":
        return "sandbox"
    for size in range(len(parts), 0, -1):
        name = ".".join(parts[:size])
        if name in ROOMS and (name != "fsnotes" or size == len(parts)):
            return name
    return None


def within(module: str, place: str) -> bool:
    return module == place or module.startswith(place + ".")


@cache
def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name."""
    found = {}
    for package in ("sandbox", "fsnotes"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@dataclass(frozen=True)
class Import:
    target: str
    names: tuple[str, ...]
    line: int
    lazy: bool


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    """Every import of a module of the product, read once for all tests."""
    found = modules()
    return tuple(imports(ast.parse(found[module].read_text(encoding="utf-8")), frozenset(found)))


def imports(tree: ast.Module, known: frozenset[str]) -> list[Import]:
    """Every import of a module, however deep; `from package import module` counts as the module."""
    found: list[Import] = []

    def walk(node: ast.AST, *, lazy: bool) -> None:
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                found.extend(Import(alias.name, (), child.lineno, inside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                module = "." * child.level + (child.module or "")
                plain = []
                for alias in child.names:
                    if f"{module}.{alias.name}" in known:
                        found.append(Import(f"{module}.{alias.name}", (), child.lineno, inside))
                    else:
                        plain.append(alias.name)
                if plain:
                    found.append(Import(module, tuple(plain), child.lineno, inside))
            walk(child, lazy=inside)

    walk(tree, lazy=False)
    return found


def faults(module: str, source: str, known: frozenset[str] = frozenset()) -> list[str]:
    """What a module imports though the table does not allow it, one line each."""
    room = room_of(module)
    if room is None:
        return [f"{module} belongs to no room of the table"]
    tree = ast.parse(source)
    found = []
    for item in imports(tree, known):
        found += [f"{module}:{item.line} {fault}" for fault in _judge(module, ROOMS[room], item)]
    if not ROOMS[room].may_wait:
        found += [
            f"{module}:{node.lineno} async code"
            for node in ast.walk(tree)
            if isinstance(node, ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Await)
        ]
    for runner, knowing in _RUNNERS.items():
        if module not in knowing:
            found += [
                f"{module} names {runner}"
                for node in ast.walk(tree)
                if runner
                in (
                    getattr(node, "id", ""),
                    getattr(node, "attr", ""),
                    getattr(node, "name", ""),
                )  # alias, attribute
            ]
    return found


def _judge(module: str, room: Room, item: Import) -> list[str]:
    target, found = item.target, []
    if target.startswith("."):
        return [f"relative import {target}"]
    if "*" in item.names:
        found.append(f"star import of {target}")
    if item.lazy and not any(within(module, who) and within(target, what) for who, what in LAZY):
        found.append(f"lazy import of {target}")
    top = target.split(".")[0]
    if top in {"sandbox", "fsnotes"}:
        if room_of(target) is None:
            found.append(f"{target} belongs to no room of the table")
        elif room_of(target) != room_of(module) and not any(
            target == entry if entry == "fsnotes" else within(target, entry)
            for entry in (*EVERYWHERE, *room.below)
        ):
            found.append(f"imports {target}")
        for (who, what), names in NAMES.items():
            if within(module, who) and within(target, what) and not names.issuperset(item.names or ("*",)):
                found.append(f"takes {', '.join(item.names) or 'all'} from {target}")
    elif top in sys.stdlib_module_names:
        if top in ONLY and not any(within(module, place) for place in ONLY[top]):
            found.append(f"imports {top}")
    elif not any(within(target, package) for package in room.packages):
        found.append(f"imports {target}")
    return found


def test_every_module_imports_only_what_the_table_allows() -> None:
    found = modules()
    known = frozenset(found)
    assert found.keys() >= {"sandbox.errors", "fsnotes.errors"}
    broken = [
        fault
        for module, path in found.items()
        for fault in faults(module, path.read_text(encoding="utf-8"), known)
    ]
    assert broken == []


def test_table_points_down_only() -> None:
    """Each row names only rows above it in the table, so no cycle is possible between rooms."""
    seen: list[str] = []
    for name, room in ROOMS.items():
        assert [entry for entry in room.below if room_of(entry) not in seen] == []
        seen.append(name)


def test_siblings_do_not_know_each_other() -> None:
    rows = {name: set(ROOMS[name].below) for name in ("fsnotes.access", "fsnotes.confirm", "fsnotes.runners")}
    assert rows["fsnotes.access"] == {ERRORS, *LEXICAL}
    assert rows["fsnotes.confirm"] == {ERRORS}
    assert rows["fsnotes.runners"] == {"fsnotes.access", ERRORS, "fsnotes.notes", "sandbox"}


def test_only_the_server_may_load_the_protocol_or_wait() -> None:
    assert [name for name, room in ROOMS.items() if room.may_wait] == ["fsnotes.server"]
    foreign = {"mcp", "mcp_types", "anyio", "pydantic", "jsonschema", "uvicorn", "h11", "opentelemetry"}
    assert [name for name, room in ROOMS.items() if foreign & set(room.packages)] == ["fsnotes.server"]


@pytest.mark.parametrize("entry", LAZY, ids=" imports ".join)
def test_every_lazy_import_that_is_allowed_exists(entry: tuple[str, str]) -> None:
    who, what = entry
    found = modules()
    absent = _absent(who, found)
    if absent:
        pytest.skip(f"{absent} is not there yet")
    lazy = {
        item.target for module in found if within(module, who) for item in imports_of(module) if item.lazy
    }
    assert [target for target in lazy if within(target, what)] != []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("sandbox.root", "import fsnotes"),
        ("sandbox.root", "from fsnotes.errors import Busy"),
        ("sandbox.root", "import cryptography"),
        ("sandbox.root", "import ctypes"),
        ("sandbox.root", "from ctypes import util"),
        ("sandbox.root", "from sandbox.names import *"),
        ("sandbox.root", "from . import names"),
        ("sandbox.root", "def f():\n    import psutil"),
        ("sandbox.root", "async def f(): ..."),
        ("fsnotes.errors", "from fsnotes import calls"),
        ("fsnotes.errors", "import sandbox.names"),
        ("fsnotes.notes.handlers", "from fsnotes.access import Grant"),
        ("fsnotes.notes.handlers", "from fsnotes import access"),
        ("fsnotes.notes.handlers", "import mcp.types"),
        ("fsnotes.notes.handlers", "import socket"),
        ("fsnotes.notes.handlers", "import ruamel.base"),
        (
            "fsnotes.notes.handlers",
            "if True:\n    try:\n        import anyio\n    except ImportError:\n        pass",
        ),
        ("fsnotes.access.grants", "from fsnotes.confirm import Form"),
        ("fsnotes.access.grants", "from sandbox.root import Root"),
        ("fsnotes.confirm.flow", "from fsnotes.access import Grant"),
        ("fsnotes.confirm.flow", "from sandbox.names import display"),
        ("fsnotes.confirm.flow", "from sandbox import record"),
        ("fsnotes.confirm.flow", "import fsnotes.notes.commands"),
        ("fsnotes.runners", "from fsnotes.access import Access"),
        ("fsnotes.runners", "import fsnotes.access"),
        ("fsnotes.runners", "from fsnotes.confirm import Form"),
        ("fsnotes.service", "from fsnotes.runners import InlineRunner"),
        ("fsnotes.service", "import fsnotes.runners\nfsnotes.runners.InlineRunner()"),
        ("fsnotes.runners", "from fsnotes.jailed import JailedRunner"),
        ("fsnotes.service", "from fsnotes.jailed import JailedRunner"),
        ("fsnotes.service", "from fsnotes.workers import begin"),
        ("fsnotes.workers", "from fsnotes.access import Grant"),
        ("fsnotes.workers", "class JailedRunner: ..."),
        ("fsnotes.wiring", "from fsnotes.jailed import JailedRunner"),
        ("fsnotes.wiring", "from fsnotes.jailing import JailedRunner"),
        ("fsnotes.service", "def f(): from fsnotes.jailing import Jailing"),
        ("fsnotes.jailed", "from fsnotes.access import Access"),
        ("fsnotes.jailed", "from fsnotes.confirm import Form"),
        ("fsnotes.service", "from fsnotes.wiring import build"),
        ("fsnotes.service", "import anyio"),
        ("fsnotes.service", "import asyncio"),
        ("fsnotes.wiring", "from fsnotes.server import stdio"),
        ("fsnotes.server.kernel", "from fsnotes.cli import main"),
        ("fsnotes.server.kernel", "from fsnotes.notes.handlers import handle"),
        ("fsnotes.server.kernel", "from fsnotes.access import Access"),
        ("fsnotes.server.kernel", "import pickle"),
        ("fsnotes.cli.serve", "import mcp"),
        ("fsnotes.cli.serve", "def f():\n    from fsnotes import wiring"),
        ("fsnotes.misc", "import os"),
        ("fsnotes.errors", "import fsnotes.misc"),
    ],
)
def test_checker_sees_what_is_forbidden(module: str, source: str) -> None:
    known = frozenset(
        {"fsnotes.calls", "fsnotes.access", "fsnotes.wiring", "fsnotes.server.stdio", "sandbox.names"}
    )
    assert faults(module, source, known) != []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("sandbox.root", "import os, psutil\nfrom sandbox import _linux\nfrom sandbox.names import RelPath"),
        ("sandbox._linux", "import ctypes"),
        ("sandbox.names", "def f():\n    from pathvalidate import FileNameValidator"),
        (
            "fsnotes.notes.handlers",
            "from fsnotes import errors\nimport sqlite3\nfrom sandbox.root import Root",
        ),
        ("fsnotes.notes.frontmatter", "def f():\n    from ruamel.yaml import YAML"),
        (
            "fsnotes.confirm.ledger",
            "import sqlite3\nfrom fsnotes.errors import Busy\nimport cryptography.hazmat",
        ),
        ("fsnotes.runners", "from fsnotes.access import Grant\nclass InlineRunner: ..."),
        (
            "fsnotes.wiring",
            "from fsnotes.runners import InlineRunner\ndef f(): from fsnotes.jailing import Jailing",
        ),
        (
            "fsnotes.jailing",
            "from fsnotes.runners import InlineRunner\nfrom fsnotes.jailed import JailedRunner",
        ),
        ("fsnotes.jailed", "from fsnotes.access import Grant\nfrom sandbox.jail.supervisor import Jail"),
        (
            "fsnotes.server.stdio",
            "import asyncio, anyio\nfrom mcp.types import Tool\nasync def f(): await f()",
        ),
        ("fsnotes.cli.serve", "def f():\n    from fsnotes.server import serve_stdio"),
        ("fsnotes.__main__", "from fsnotes.cli import main"),
        ("fsnotes.confirm.flow", "from sandbox.records import record"),
    ],
)
def test_checker_lets_the_nearest_allowed_import_pass(module: str, source: str) -> None:
    assert faults(module, source, frozenset({"fsnotes.errors", "sandbox._linux"})) == []


@pytest.mark.parametrize(
    ("module", "kept_out"),
    [
        ("sandbox", ("fsnotes", "mcp", "pydantic", "anyio", "asyncio", "cryptography", "ruamel")),
        (
            "fsnotes.notes.handlers",
            ("mcp", "mcp_types", "pydantic", "anyio", "asyncio", "cryptography", "socket"),
        ),
        (
            "fsnotes.notes.writer",
            ("mcp", "mcp_types", "pydantic", "anyio", "asyncio", "cryptography", "psutil", "sqlite3", *SLOW),
        ),
        ("fsnotes.notes.index.keeping", ("mcp", "pydantic", "anyio", "asyncio", "psutil", "re2", *SLOW)),
        ("fsnotes.notes.index.answering", ("mcp", "pydantic", "anyio", "asyncio", "psutil", "re2", *SLOW)),
        ("fsnotes.notes.index.combing", ("mcp", "pydantic", "anyio", "asyncio", "psutil", *SLOW)),
        ("sandbox.jail.entry", ("fsnotes", "psutil", "pathvalidate", *SLOW)),
        (
            "fsnotes.confirm",
            ("mcp", "pydantic", "anyio", *LEXICAL, "sandbox.root", "fsnotes.notes", "fsnotes.access"),
        ),
        ("fsnotes.identity.tokens", ("jwt", "mcp", "cryptography", "http", "ssl", "socket", "fsnotes.notes")),
        ("fsnotes.service", ("mcp", "mcp_types", "pydantic", "anyio", "asyncio")),
        ("fsnotes.server", ("mcp", "mcp_types", "pydantic", "anyio", "opentelemetry", "uvicorn")),
        ("fsnotes.cli", ("jwt", "mcp", "mcp_types", "pydantic", "anyio", "asyncio", "fsnotes.server")),
    ],
)
def test_loading_a_room_does_not_load_what_is_kept_out_of_it(module: str, kept_out: tuple[str, ...]) -> None:
    """The walk above sees what is written; this sees what happens, through every package in between."""
    absent = _absent(module, modules())
    if absent:
        pytest.skip(f"{absent} is not there yet")
    code = (
        f"import sys, {module}\n"
        f"kept_out = {kept_out!r}\n"
        "print(*sorted(name for name in sys.modules for place in kept_out"
        " if name == place or name.startswith(place + '.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [], "")


def _absent(module: str, found: dict[str, Path]) -> str | None:
    """The first module of ours that loading *module* would need and that does not exist."""
    waiting, seen = [module], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in found:
            return name
        waiting += [
            item.target
            for item in imports_of(name)
            if item.target.split(".")[0] in {"sandbox", "fsnotes"} and not item.lazy
        ]
    return None
