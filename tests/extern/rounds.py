"""Turns of a call that asks more than once, for the tools of the conformance suite: the state between them is ours.

It is sealed, bound to caller, tool and arguments, in time, and spent with the last turn, by the product's own code.
What is asked is not: the product asks one question, and these tools ask whatever the suite wants.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Final

from fsnotes.calls import Call
from fsnotes.confirm import Binding, KeyRing, Ledger, digest_arguments, digest_call
from fsnotes.confirm.sealing import seal, unseal
from fsnotes.confirm.state import NONCE_BYTES, Claims, Offered, digest_id, verify
from fsnotes.errors import InvalidAnswer

SECONDS: Final = 60


class Rounds:
    """What is kept between turns: keys and a ledger, and nothing of any call."""

    def __init__(self, folder: Path) -> None:
        self._ring = KeyRing.open(folder / "keys")
        self._ledger = Ledger.open(folder / "ledger.sqlite")

    def _binding(self, call: Call, tool: str) -> Binding:
        return Binding(
            call.principal.name,
            "tools/call",
            tool,
            digest_arguments({}),
            digest_call(call.principal.name, tool),
        )

    def seal(self, call: Call, tool: str, step: str) -> str:
        """Return the state of a call that waits for the answer to *step*."""
        now = int(time.time())
        binding = self._binding(call, tool)
        claims = Claims(
            ledger=self._ledger.admit(expires_at=now + SECONDS, now=now),
            principal=binding.principal,
            method=binding.method,
            tool=binding.tool,
            arguments=binding.arguments,
            candidates=(Offered(digest_id(step), "step"),),
            issued_at=now,
            expires_at=now + SECONDS,
            nonce=os.urandom(NONCE_BYTES),
        )
        return seal(self._ring, claims.encode())

    def is_at(self, call: Call, tool: str, state: Any, step: str) -> bool:
        """Say whether *state* waits for the answer to *step*. Raises InvalidState for none of ours."""
        return self._opened(call, tool, state).etag_of(step) is not None

    def spend(self, call: Call, tool: str, state: Any) -> None:
        """Use *state* up. Raises InvalidState where it has been."""
        claims = self._opened(call, tool, state)
        choice = digest_id("done")
        with self._ledger.claim(
            claims.entry, ledger=claims.ledger, choice=choice, expires_at=claims.expires_at, now=time.time()
        ):
            pass
        self._ledger.settle(claims.entry)

    def _opened(self, call: Call, tool: str, state: Any) -> Claims:
        claims = Claims.decode(unseal(self._ring, state))
        verify(claims, self._binding(call, tool), ledger_id=self._ledger.id, now=time.time())
        return claims


def content_of(answer: Any, field: str) -> Any:
    """Return what a person has written into *field* of a form. Raises InvalidAnswer."""
    content = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(content, dict) or answer.get("action") != "accept" or field not in content:
        raise InvalidAnswer("not an answer to the form")
    return content[field]
