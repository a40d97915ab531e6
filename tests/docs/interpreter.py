"""Runs what a page shows of Python's prompt: its `pycon` blocks are one session, in order."""

from __future__ import annotations

import doctest

import pytest

from tests.docs.pages import Page


def run_examples(page: Page) -> int:
    """Run all examples of *page*, each block with what those before it have made; return how many there are.

    Fails with a report of each that does not give what is shown, in which `...` stands for anything.
    """
    made: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    for fence in page.fences("pycon"):
        test = doctest.DocTestParser().get_doctest(fence.text, made, page.name, page.name, fence.line - 1)
        test.globs = made
        runner.run(test, out=said.append, clear_globs=False)
    if runner.failures:
        pytest.fail("".join(said))
    return runner.tries
