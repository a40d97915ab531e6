"""Decides how two calls become one confirmed deletion: a form goes out, its answer comes back with the state.

No memory joins the two calls but the sealed state, so any process that shares keys and ledger can take the
second. A confirmation is consent and never a right: authorizing again, and finding out whether the note is
still the one that was shown, is for the caller, inside `claim`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, assert_never

from fsnotes.confirm.forms import Candidate, Choice, Form, Refusal, build_form, parse_answer
from fsnotes.confirm.keys import KeyRing
from fsnotes.confirm.ledger import Ledger, Standing
from fsnotes.confirm.sealing import seal, unseal
from fsnotes.confirm.state import (
    MAX_TTL,
    NONCE_BYTES,
    Binding,
    Claims,
    Offered,
    check_window,
    digest_id,
    entry_time,
    verify,
)
from fsnotes.errors import ConfigurationError, InvalidAnswer, InvalidState, NoteNotFound
from sandbox.records import record

ANSWER_KEY: Final = "delete_choice"
"""The key of the one question, and of its answer."""

MAX_DECLINE_MEMORY: Final = 86_400


@record
class Asked:
    """A person must answer *form*; *state* comes back with the answer."""

    form: Form
    state: str


@record
class Confirmed:
    """A person chose this note and confirmed. Nothing is spent yet: that is what `claim` does."""

    path: str
    etag: str
    entry: str
    issued_at: int
    expires_at: int
    ledger: str


@record
class Declined:
    """A person said no, just now or a moment ago."""


@record
class Cancelled:
    """The form was closed without an answer; its state stays usable until it expires."""


@record
class AskAgain:
    """The state is good and came without an answer: a fresh form is due."""


class Confirmations:
    """Asks, and understands what comes back. Thread-safe."""

    def __init__(
        self,
        ring: KeyRing,
        ledger: Ledger,
        *,
        ttl: float,
        decline_memory: float,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """Raises ConfigurationError when a form would live longer than MAX_TTL, or not at all."""
        if not 0 < ttl <= MAX_TTL:
            raise ConfigurationError(f"a form may live for at most {MAX_TTL} seconds")
        if not 0 <= decline_memory <= MAX_DECLINE_MEMORY:
            raise ConfigurationError(f"a decline may be remembered for at most {MAX_DECLINE_MEMORY} seconds")
        self._ring = ring
        self._ledger = ledger
        self._ttl = math.ceil(ttl)
        self._decline_memory = decline_memory
        self._random = random

    def recently_declined(self, binding: Binding, *, now: float) -> bool:
        """Say whether the same call was declined so recently that nobody is asked again."""
        return self._ledger.declined(binding.same_call, now=now)

    def ask(
        self, binding: Binding, candidates: Sequence[Candidate], *, workspace: str, now: float
    ) -> Asked | Declined:
        """Return the form that offers *candidates*, and the state that must come back with its answer.

        Declined when the same call was declined a moment ago. Raises what `build_form` raises.
        """
        if self.recently_declined(binding, now=now):
            return Declined()
        form = build_form(workspace, candidates)
        # Whole seconds, as in the entry's name: issue time and entry never disagree.
        issued_at = math.floor(now)
        expires_at = issued_at + self._ttl
        try:
            claims = Claims(
                ledger=self._ledger.admit(expires_at=expires_at, now=now),
                principal=binding.principal,
                method=binding.method,
                tool=binding.tool,
                arguments=binding.arguments,
                candidates=tuple(Offered(digest_id(item.path), item.etag) for item in candidates),
                issued_at=issued_at,
                expires_at=expires_at,
                nonce=self._random(NONCE_BYTES),
            )
        except InvalidState as error:
            # Here it is the caller's mistake, not a client's.
            raise ValueError(error.reason) from error
        return Asked(form, seal(self._ring, claims.encode(), random=self._random))

    def resume(
        self, binding: Binding, *, state: object, answers: object, now: float
    ) -> Confirmed | Declined | Cancelled | AskAgain:
        """Return what a person answered, by the request's *state* and its map of *answers*.

        A decline spends the state and is remembered; nothing else changes anything. Raises InvalidState for a
        state that is not ours, not this call's, not in time, or spent: before the answer is looked at. Raises
        InvalidAnswer for a malformed answer, which leaves the state usable.
        """
        claims = Claims.decode(unseal(self._ring, state))
        verify(claims, binding, ledger_id=self._ledger.id, now=now)
        standing = self._ledger.standing(
            claims.entry, ledger=claims.ledger, expires_at=claims.expires_at, now=now
        )
        if standing is Standing.SPENT:
            raise InvalidState("spent")
        answer = _answer(answers, claims)
        match answer:
            case Choice(note_id, confirm=True):
                return _confirmed(claims, note_id)
            case _ if standing is not Standing.FREE:
                raise InvalidState("spent")
            case None:
                return AskAgain()
            case Refusal.CANCEL:
                return Cancelled()
            case Refusal.DECLINE | Choice():
                self._decline(binding, claims, now)
                return Declined()
            case never:
                assert_never(never)

    def claim(self, confirmed: Confirmed, *, now: float) -> AbstractContextManager[None]:
        """Spend the confirmation around the deletion: committed at the end of the block, undone if it raises.

        Raises InvalidState, Busy and AlreadyDone as `Ledger.claim` does.
        """
        check_window(confirmed.issued_at, confirmed.expires_at, now)
        return self._ledger.claim(
            confirmed.entry,
            ledger=confirmed.ledger,
            choice=digest_id(confirmed.path),
            expires_at=confirmed.expires_at,
            now=now,
        )

    def settle(self, entry: str) -> bool:
        """Note that the answer `deleted` has left this process: a retry is a replay from here on."""
        return self._ledger.settle(entry)

    def spend_restored(self, entry: str, *, now: float) -> None:
        """Spend *entry* for good, before what it deleted is put back.

        Raises NoteNotFound when *entry* is not the name of an entry.
        """
        issued_at = entry_time(entry)
        if issued_at is None:
            raise NoteNotFound("trash entry", entry)
        self._ledger.spend(entry, expires_at=issued_at + MAX_TTL, now=now)

    def _decline(self, binding: Binding, claims: Claims, now: float) -> None:
        self._ledger.decline(
            claims.entry,
            binding.same_call,
            ledger=claims.ledger,
            expires_at=claims.expires_at,
            until=now + self._decline_memory,
            now=now,
        )


def _answer(answers: object, claims: Claims) -> Choice | Refusal | None:
    if answers is None:
        return None
    if not isinstance(answers, Mapping):
        raise InvalidAnswer("not a map of answers")
    answer = answers.get(ANSWER_KEY)
    if answer is None:
        return None
    return parse_answer(answer, is_offered=lambda note_id: claims.etag_of(note_id) is not None)


def _confirmed(claims: Claims, note_id: str) -> Confirmed:
    etag = claims.etag_of(note_id)
    if etag is None:
        raise InvalidAnswer("a note that the form did not offer")
    return Confirmed(note_id, etag, claims.entry, claims.issued_at, claims.expires_at, claims.ledger)
