"""What handles properties and searches loads nothing late: a locked-down worker can open no module any more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ruamel.yaml

ROOT = Path(__file__).resolve().parents[2]

_PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:]
import fsnotes.notes.worker
from fsnotes.errors import FsnotesError
from fsnotes.notes.properties import Assignment, edit
from fsnotes.notes.property_reading import read_properties

class Tells:
    def find_spec(self, name, path=None, target=None):
        print(name)

sys.meta_path.insert(0, Tells())
BLOCKS = [
    "a: 1", "a: [", "a: 2024-13-45", "a: !!binary aGk=", "a: 2001-12-14t21:59:43.10-05:00", "a: !!set {a}",
    "a: !!omap [a: 1]", "a: !!pairs [a: 1]", "a: &x 1\\nb: *x", "a: .inf\\nb: 0x1F\\nc: 0o7", "a: 1\\na: 2", "a: \\x01",
    "? [a]\\n: b", "<<: {a: 1}", "%YAML 1.1", "a: !!python/object:x y", 'a: "\\\\ud800"', "a: >\\n x", "a: !!int x",
    "a: !!timestamp x", "a: *b", "- a", "a: " + "9" * 5000, "{a: 1}", "b: c\\n# d",
]
for block in BLOCKS:
    data = f"---\\n{block}\\n---\\n".encode()
    for work in (
        lambda: read_properties(data).tags(),
        lambda: edit(data, assign=[Assignment("a", "- x\\n- y"), Assignment("\\u00fc 1", "2024-01-01")], remove=["b"]),
        lambda: edit(data, assign=[Assignment("a", block)]),
    ):
        try:
            work()
        except FsnotesError as error:
            str(error)
print("done")
"""


_SEARCHES = r"""
import sys
sys.path[:0] = sys.argv[1:]
from fsnotes.notes.opening import RUN, WorkerOptions
from fsnotes.notes.reader import build
from fsnotes.notes.commands import SearchNotes
from fsnotes.notes.messages import encode_command
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT
from sandbox.policy import Policy

answer = build({**WorkerOptions(Policy()).to_json(), "index": None, "abandoned": lambda: False})

class Tells:
    def find_spec(self, name, path=None, target=None):
        print(name)

sys.meta_path.insert(0, Tells())
QUERIES = [
    ("word", False), ("W\u00f6rd* -none OR \"a phrase\" title:x path:x.md", False), ("tag:x prop:k=v", False),
    ("c++ don't \u65e5\u672c \U0001f389", False), ("", False), ("-x", False), ("x" * 2000, False),
    ("w.*d", True), ("(?i)[^\\d]+\\pL", True), ("(", True), (".{1000}", True), ("\ud800", True),
]
for query, regex in QUERIES:
    for tag in (None, "x"):
        command = SearchNotes(query, tag=tag, regex=regex)
        answer(RUN, encode_command(Scope((ROOT,)), command))
print("done")
"""


def ran(program: str, folder: Path) -> tuple[list[str], str]:
    packages = str(Path(ruamel.yaml.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(ROOT), packages],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=folder,
    )
    return done.stdout.split(), done.stderr


def test_nothing_is_loaded_once_a_worker_is_locked_down(tmp_path: Path) -> None:
    assert ran(_PROGRAM, tmp_path) == (["done"], "")


def test_a_search_loads_nothing_once_a_worker_is_locked_down(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "---\nk: [v]\ntags: x\n---\n# Word\n\nword c++ don\u2019t \u65e5\u672c \U0001f389\n"
    )
    (tmp_path / "bad.md").write_bytes(b"word \xff")
    (tmp_path / "broken.md").write_text("---\nk: [\n---\nword #x\n")
    assert ran(_SEARCHES, tmp_path) == (["done"], "")
