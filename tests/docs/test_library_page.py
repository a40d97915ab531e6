"""`docs/library.md` is a session: each example is run, in order, and gives what is shown."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest

from tests.docs.pages import page
from tests.sandbox.jail.conftest import need

PAGE = page("docs/library.md")
_FILE = re.compile(r"# (\w+\.py)\n")


def test_every_example_gives_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that begin with the name of a file are that file."""
    need("contained")
    (tmp_path / "Notes").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    for fence in PAGE.fences("python"):
        named = _FILE.match(fence.text)
        assert named is not None, fence.line
        (tmp_path / named[1]).write_text(fence.text, encoding="utf-8")
    examples: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    for fence in PAGE.fences("pycon"):
        # Each block sees what those before it have made.
        test = doctest.DocTestParser().get_doctest(fence.text, examples, PAGE.name, PAGE.name, fence.line - 1)
        test.globs = examples
        runner.run(test, out=said.append, clear_globs=False)
    sys.modules.pop("counting", None)
    if runner.failures:
        pytest.fail("".join(said))
    assert runner.tries > 60


def test_examples_have_no_prompt_that_is_not_run() -> None:
    prompts = sum(fence.text.count(">>> ") for fence in PAGE.fences("pycon"))
    assert prompts == PAGE.text.count("\n>>> ")
