"""`docs/library.md` is a session, and so are the examples of `docs/containment.md`: each gives what is shown."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.docs.interpreter import run_examples
from tests.docs.pages import DOCUMENTS, Page, page
from tests.sandbox.jail.conftest import need

LIBRARY = page("docs/library.md")
CONTAINMENT = page("docs/containment.md")
_FILE = re.compile(r"# (\w+)\.py\n")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an empty folder of notes."""
    (tmp_path / "Notes").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_every_example_of_the_libraries_gives_what_is_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks that begin with the name of a file are that file."""
    need("contained")
    monkeypatch.syspath_prepend(str(home))
    files = [(_FILE.match(fence.text), fence.text) for fence in LIBRARY.fences("python")]
    for named, text in files:
        assert named is not None, text
        (home / f"{named[1]}.py").write_text(text, encoding="utf-8")
    try:
        assert run_examples(LIBRARY) > 60
    finally:
        for named, _ in files:
            sys.modules.pop(named[1] if named else "", None)


def test_every_example_of_containment_gives_what_is_shown(home: Path) -> None:
    (home / "Notes/inbox").mkdir()
    (home / "Notes/inbox/today.md").write_text("# Today\n")
    (home / "Notes/link-to-etc").symlink_to("/etc")
    assert run_examples(CONTAINMENT) > 8


def test_no_other_page_shows_python() -> None:
    """One that does is to be run here."""
    showing = {document.name for document in map(Page, DOCUMENTS) if document.fences("python", "pycon")}
    assert showing == {LIBRARY.name, CONTAINMENT.name}


def test_an_example_that_gives_something_else_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n```pycon\n>>> 1 + 1\n3\n\n```\n")
    (tmp_path / "b.md").write_text("# B\n\n```pycon\n>>> a = 1\n\n```\n\n```pycon\n>>> a + 1\n2\n\n```\n")
    with pytest.raises(pytest.fail.Exception, match="Expected"):
        run_examples(_outside(tmp_path / "a.md"))
    assert run_examples(_outside(tmp_path / "b.md")) == 2


def _outside(path: Path) -> Page:
    class Outside(Page):
        @property
        def name(self) -> str:
            return self.path.name

    return Outside(path)
