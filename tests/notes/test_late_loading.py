"""What reads and changes properties loads nothing late: a locked-down worker can open no module any more."""

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


def test_nothing_is_loaded_once_a_worker_is_locked_down() -> None:
    packages = str(Path(ruamel.yaml.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, str(ROOT), packages],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout.split(), done.stderr) == (["done"], "")
