"""Who can be asked, and how the question looks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fsnotes.server.elicitation import ask
from fsnotes.server.refusals import RpcRefusal

SCHEMA = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}
QUESTION = SimpleNamespace(form=SimpleNamespace(message="Which?", schema=SCHEMA), state="sealed")


@pytest.mark.parametrize(
    "capabilities",
    [
        {"elicitation": {}},
        {"elicitation": {"form": {}}},
        {"elicitation": {"form": {}, "url": {}}},
        {"elicitation": {"form": {"more": 1}}, "sampling": {}},
    ],
)
def test_a_client_that_shows_forms_is_asked_in_form_mode(capabilities: dict[str, Any]) -> None:
    assert ask(QUESTION, capabilities) == {
        "resultType": "input_required",
        "inputRequests": {
            "delete_choice": {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": "Which?", "requestedSchema": SCHEMA},
            }
        },
        "requestState": "sealed",
    }


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"elicitation": None},
        {"elicitation": {"url": {}}},
        {"elicitation": {"form": None}},
        {"elicitation": {"form": True}},
        {"elicitation": {"form": None, "url": {}}},
        {"elicitation": {"other": {}}},
        {"elicitation": []},
        {"elicitation": True},
        {"Elicitation": {}},
        {"sampling": {}},
    ],
)
def test_a_client_that_shows_none_is_refused_with_what_it_lacks(capabilities: dict[str, Any]) -> None:
    with pytest.raises(RpcRefusal) as caught:
        ask(QUESTION, capabilities)
    refusal = caught.value
    assert (refusal.code, refusal.message) == (-32021, "This call needs form elicitation")
    assert refusal.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
