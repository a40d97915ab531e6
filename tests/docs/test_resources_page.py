"""`docs/resources.md` names every prompt with its arguments, and no other."""

from __future__ import annotations

import re

from fsnotes.server.prompts import PROMPTS
from tests.docs.pages import page

PAGE = page("docs/resources.md")


def test_every_prompt_has_its_row_with_its_arguments() -> None:
    rows = {
        name.strip("`"): re.findall(r"`(\w+)`(\??)", arguments)
        for name, arguments, _ in PAGE.table("prompt", "arguments", "what it has the model do")
    }
    assert rows == {
        prompt.name: [(each.name, "" if each.required else "?") for each in prompt.arguments]
        for prompt in PROMPTS
    }


def test_prompts_that_change_something_are_said_to_be_left_out() -> None:
    (sentence,) = re.findall(r"With\s+`--read-only`, (.*?) are not\s+there", " ".join(PAGE.prose.split()))
    assert re.findall(r"`(\w+)`", sentence) == [prompt.name for prompt in PROMPTS if prompt.changes]
