"""`docs/tools.md` is what its generator makes of the descriptors and of a server's answers."""

from __future__ import annotations

from fsnotes.server.tools import TOOLS
from tests.docs import tools_page
from tests.docs.pages import page
from tests.docs.tool_examples import EXAMPLES, FIELDS, MEANINGS, REFUSALS

PAGE = page("docs/tools.md")


def test_the_page_is_what_is_generated() -> None:
    """If this fails: `python -m tests.docs.tools_page > docs/tools.md`, and look at the change."""
    assert tools_page.page() == PAGE.text


def test_every_tool_has_its_section_and_no_other_has() -> None:
    names = [tool.name for tool in TOOLS]
    assert [line[3:] for line in PAGE.prose.splitlines() if line.startswith("## ")] == names
    assert list(EXAMPLES) == list(REFUSALS) == names


def test_nothing_is_explained_that_is_not_there() -> None:
    fields = {
        f"{tool.name} {name}"
        for tool in TOOLS
        if tool.output_schema
        for name, _ in tools_page.fields(tool.output_schema)
    }
    last = {name.split(" ")[1].split(".")[-1] for name in fields}
    assert {name for name in FIELDS if " " in name} <= fields
    assert {name for name in FIELDS if " " not in name} <= last
    arguments = {name for tool in TOOLS for name in tool.input_schema["properties"]}
    assert MEANINGS.keys() <= arguments
