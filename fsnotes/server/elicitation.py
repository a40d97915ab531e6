"""The only maker of a result that asks a person something, and the check that the client can show it.

The question itself, and what an answer means, are decided in `fsnotes.confirm`. Form mode only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsnotes.server.refusals import RpcRefusal

if TYPE_CHECKING:
    from fsnotes.server.results import Result
    from fsnotes.server.tool import Question

DELETE_CHOICE: Final = "delete_choice"
"""The key of the one question that is asked, and of its answer."""

MISSING_CAPABILITY: Final = -32021
_FORM_REQUIRED: Final[dict[str, Any]] = {"requiredCapabilities": {"elicitation": {"form": {}}}}


def ask(asked: Question, capabilities: dict[str, Any]) -> Result:
    """Return the form for a client with these *capabilities*, those of this very request.

    Raises RpcRefusal (-32021) when they declare no form elicitation: nothing is sent that cannot be shown.
    """
    if not supports_forms(capabilities):
        raise RpcRefusal(MISSING_CAPABILITY, "This call needs form elicitation", _FORM_REQUIRED)
    params = {"message": asked.form.message, "mode": "form", "requestedSchema": asked.form.schema}
    return {
        "inputRequests": {DELETE_CHOICE: {"method": "elicitation/create", "params": params}},
        "requestState": asked.state,
        "resultType": "input_required",
    }


def supports_forms(capabilities: dict[str, Any]) -> bool:
    """Say whether raw client capabilities declare forms: `elicitation` is `{}`, or has an object `form`."""
    elicitation = capabilities.get("elicitation")
    if not isinstance(elicitation, dict):
        return False
    return not elicitation or isinstance(elicitation.get("form"), dict)
