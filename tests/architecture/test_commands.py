"""What the commands of a person must not load: each would make them wait before anything is done.

The commands run for real, in a process of their own, which then says what it has loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers import require_jail

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
from fsnotes.cli import main
code = main(sys.argv[1:])
print("loaded", *sorted(sys.modules))
sys.exit(code)
"""

PROTOCOL = ("mcp", "mcp_types", "pydantic", "anyio", "asyncio", "uvicorn", "h11", "fsnotes.server")
COMPILED = ("dataclasses", "inspect", "ast")
"""What makes classes by compiling text, and what it brings along."""

OTHERS = ("rich", "sqlite3", "cryptography", "jwt", "re2", "ruamel.yaml", "pathvalidate", "opentelemetry")
"""What only some notes, some changes, or a terminal need."""

UNASKED = ("tomllib", "pathlib", "ipaddress", "fsnotes.identity", "fsnotes.addresses", "fsnotes.admission")
"""What only a configuration file, or who serves HTTP, needs."""

NOTHING = (
    *("logging", "ctypes", "psutil", "subprocess", "socket", "threading", "hashlib"),
    *(
        "sandbox.root",
        "fsnotes.notes",
        "fsnotes.config",
        "fsnotes.service",
        "fsnotes.wiring",
        "fsnotes.confirm",
    ),
)
"""What nobody needs who opens no workspace."""

PARSING = (
    "fsnotes.notes.handlers",
    "fsnotes.notes.workspace",
    "fsnotes.notes.frontmatter",
    "fsnotes.notes.markdown.walk",
)
"""What parses notes: in a jail, workers do."""

SUPERVISING = ("psutil", "subprocess", "socket", "sandbox.jail", "fsnotes.workers", "fsnotes.jailed")
"""What starts and watches workers."""


def loaded_by(home: Path, *words: str) -> set[str]:
    """Run a command, which must succeed, and return the modules that it has loaded."""
    (home / "Notes").mkdir(exist_ok=True)
    (home / "Notes" / "a.md").write_text("---\ntitle: An A\n---\n# A\n\nsee [[b]] #tag\n")
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=home, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *_, last = done.stdout.splitlines()
    word, *modules = last.split(" ")
    assert word == "loaded"
    return set(modules)


def among(kept_out: tuple[str, ...], loaded: set[str]) -> list[str]:
    """Those of *loaded* that are kept out, or within a package that is."""
    return sorted(name for name in loaded for each in kept_out if name == each or name.startswith(f"{each}."))


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("list", "--help")])
def test_what_only_tells_something_loads_no_more_than_the_grammar(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    loaded = loaded_by(tmp_path, *words)
    assert among((*PROTOCOL, *COMPILED, *OTHERS, *UNASKED, *NOTHING), loaded) == []
    assert "fsnotes.cli.arguments" in loaded


@pytest.mark.parametrize("words", [("list",), ("read", "a"), ("trash",)])
def test_a_command_that_looks_loads_nothing_that_it_does_not_need(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    loaded = loaded_by(tmp_path, *words, "-w", "Notes", "--jail", "off")
    assert among((*PROTOCOL, *COMPILED, *OTHERS, *UNASKED, *SUPERVISING), loaded) == []
    assert "fsnotes.notes.handlers" in loaded


@pytest.mark.parametrize("words", [("list",), ("read", "a")])
def test_with_a_jail_it_loads_nothing_that_parses_notes(tmp_path: Path, words: tuple[str, ...]) -> None:
    require_jail()
    loaded = loaded_by(tmp_path, *words, "-w", "Notes")
    assert among((*PROTOCOL, *COMPILED, *OTHERS, *UNASKED, *PARSING), loaded) == []
    assert "sandbox.jail.supervisor" in loaded


def test_what_is_needed_is_loaded(tmp_path: Path) -> None:
    """The nearest commands that do need some of it: a file to be read, a name to be judged."""
    file = tmp_path / "fsnotes.toml"
    file.write_text('[http]\nhost = "127.0.0.1"\n')
    words = ("create", "b", "--content", "x", "-w", "Notes", "--jail", "off", "--config", str(file))
    assert {"tomllib", "ipaddress", "pathvalidate"} <= loaded_by(tmp_path, *words)
