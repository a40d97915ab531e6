"""Confirmation: a form that a person answers, a sealed state, and a ledger that makes it work exactly once.

Knows nothing of notes, rights or protocols. Loading it loads neither cryptography nor sqlite3.
"""

from fsnotes.confirm.flow import (
    ANSWER_KEY,
    AskAgain,
    Asked,
    Cancelled,
    Confirmations,
    Confirmed,
    Declined,
)
from fsnotes.confirm.forms import Candidate, Form
from fsnotes.confirm.keys import Key, KeyRing
from fsnotes.confirm.ledger import AlreadyDone, Ledger, LedgerStep
from fsnotes.confirm.state import MAX_CANDIDATES, MAX_TTL, Binding, digest_arguments, digest_call

__all__ = [
    "ANSWER_KEY",
    "MAX_CANDIDATES",
    "MAX_TTL",
    "AlreadyDone",
    "AskAgain",
    "Asked",
    "Binding",
    "Cancelled",
    "Candidate",
    "Confirmations",
    "Confirmed",
    "Declined",
    "Form",
    "Key",
    "KeyRing",
    "Ledger",
    "LedgerStep",
    "digest_arguments",
    "digest_call",
]
