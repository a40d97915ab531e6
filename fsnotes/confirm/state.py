"""Decides what a confirmation's state says, and whether it speaks of the call that brings it.

How a state is hidden and signed is left to `sealing`, whether it was used before to `ledger`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from fsnotes.errors import InvalidState
from sandbox.records import record

MAX_TTL: Final = 3600
"""Longest life of a state, in seconds. What is spent need not be remembered for longer."""

MAX_CANDIDATES: Final = 25
"""Most notes that one form offers."""

NONCE_BYTES: Final = 32
PHASE: Final = "asked"
"""The only phase so far: a form was sent and its answer is awaited."""

_VERSION: Final = 1
_DIGEST_BYTES: Final = 32
_MAX_NAME: Final = 1024
_ETAG: Final = re.compile(r"[A-Za-z0-9_-]{1,86}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})+")
_MAX_SECONDS: Final = 253_402_300_799 - MAX_TTL
"""The last second of the year 9999, less a life: a later one has no entry name."""

_ENTRY: Final = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{32}")


def digest_arguments(arguments: Mapping[str, object]) -> bytes:
    """Return the SHA-256 of *arguments* as canonical JSON: all but the order of keys makes a difference.

    Raises TypeError or ValueError for what no JSON text can have held.
    """
    _check_json(arguments)
    text = json.dumps(dict(arguments), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(b"fsnotes arguments\0" + text.encode("ascii")).digest()


def digest_call(*parts: str) -> bytes:
    """Return the SHA-256 that stands for a call in the memory of declines; no two lists of parts share it."""
    digest = hashlib.sha256(b"fsnotes call\0")
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()


def digest_id(note_id: str) -> bytes:
    """Return the SHA-256 of a note's id. Raises InvalidState for text that is not Unicode."""
    try:
        encoded = note_id.encode()
    except UnicodeEncodeError:
        raise InvalidState("a note id that is not Unicode text") from None
    return hashlib.sha256(b"fsnotes note\0" + encoded).digest()


def check_window(issued_at: int, expires_at: float, now: float) -> None:
    """Raise InvalidState unless *now* lies in the time window, and the window is no longer than MAX_TTL."""
    # Comparisons with a NaN are false and what is no number is no time: the odd case is refused.
    if type(now) not in (int, float) or not (issued_at <= now < expires_at):
        raise InvalidState("outside its time window")
    if not (0 < expires_at - issued_at <= MAX_TTL):
        raise InvalidState("a longer life than any state has")


def entry_name(issued_at: int, nonce: bytes) -> str:
    """Return the name of the trash entry, known as soon as the form is: its time, and a hash of the nonce."""
    moment = datetime.fromtimestamp(issued_at, UTC)
    date = f"{moment.year:04}{moment.month:02}{moment.day:02}"
    clock = f"{moment.hour:02}{moment.minute:02}{moment.second:02}"
    return f"{date}T{clock}Z-{hashlib.sha256(nonce).hexdigest()[:32]}"


def entry_time(entry: str) -> int | None:
    """Return when the form of *entry* was issued; None when it is not the name of an entry."""
    match = _ENTRY.fullmatch(entry)
    if match is None or not entry.isascii():
        return None
    try:
        year, month, day, hour, minute, second = map(int, match.groups())
        return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp())
    except ValueError:
        return None


@record
class Binding:
    """The call that a state belongs to: nobody else, no other tool and no other arguments can use it."""

    principal: str
    method: str
    tool: str
    arguments: bytes
    """`digest_arguments` of the whole arguments, the workspace among them."""
    same_call: bytes
    """`digest_call` of what makes a call the same for the memory of declines."""


@record
class Offered:
    """A candidate as the state holds it: the digest of its id, and the etag that was shown."""

    id: bytes
    etag: str


@record
class Claims:
    """What a state says. Holding one proves its shape only: `verify` compares it with the call."""

    ledger: str
    principal: str
    method: str
    tool: str
    arguments: bytes
    candidates: tuple[Offered, ...]
    issued_at: int
    expires_at: int
    nonce: bytes
    phase: str = PHASE

    def __post_init__(self) -> None:
        for text in (self.ledger, self.principal, self.method, self.tool, self.phase):
            if type(text) is not str or not 0 < len(text) <= _MAX_NAME:
                raise InvalidState("a name of the wrong shape")
            if _SURROGATE.search(text):
                raise InvalidState("a name that is not Unicode text")
        if type(self.issued_at) is not int or type(self.expires_at) is not int:
            raise InvalidState("times of the wrong shape")
        if not (0 <= self.issued_at <= _MAX_SECONDS and 0 < self.expires_at - self.issued_at <= MAX_TTL):
            raise InvalidState("times that no state has")
        if not 0 < len(self.candidates) <= MAX_CANDIDATES:
            raise InvalidState("a number of candidates that no form has")
        for digest in (self.arguments, *(offered.id for offered in self.candidates)):
            if type(digest) is not bytes or len(digest) != _DIGEST_BYTES:
                raise InvalidState("a digest of the wrong shape")
        if any(_ETAG.fullmatch(offered.etag) is None for offered in self.candidates):
            raise InvalidState("an etag of the wrong shape")
        if len({offered.id for offered in self.candidates}) != len(self.candidates):
            raise InvalidState("a candidate twice")
        if type(self.nonce) is not bytes or len(self.nonce) != NONCE_BYTES:
            raise InvalidState("a nonce of the wrong shape")

    @property
    def entry(self) -> str:
        """The trash entry that this state leads to, and its key in the ledger."""
        return entry_name(self.issued_at, self.nonce)

    def etag_of(self, note_id: str) -> str | None:
        """Return the etag that was shown for *note_id*, None when the form did not offer it."""
        try:
            digest = digest_id(note_id)
        except InvalidState:
            return None
        for offered in self.candidates:
            if offered.id == digest:
                return offered.etag
        return None

    def encode(self) -> bytes:
        """Return the only bytes that `decode` turns into these claims."""
        document = {
            "arguments": self.arguments.hex(),
            "candidates": [[offered.id.hex(), offered.etag] for offered in self.candidates],
            "expires_at": self.expires_at,
            "issued_at": self.issued_at,
            "ledger": self.ledger,
            "method": self.method,
            "nonce": self.nonce.hex(),
            "phase": self.phase,
            "principal": self.principal,
            "tool": self.tool,
            "v": _VERSION,
        }
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def decode(cls, data: bytes) -> Claims:
        """Return the claims that *data* spells. Raises InvalidState for any other bytes."""
        try:
            claims = cls._of(json.loads(data.decode()))
        except (ValueError, RecursionError):
            raise InvalidState("not the shape of a state") from None
        # What encodes to other bytes had a second spelling: a key twice or too many, white space, 1.0 for 1.
        if claims.encode() != data:
            raise InvalidState("not the only spelling of a state")
        return claims

    @classmethod
    def _of(cls, document: Any) -> Claims:
        match document:
            case {
                "v": 1,
                "ledger": str(ledger),
                "principal": str(principal),
                "method": str(method),
                "tool": str(tool),
                "arguments": str(arguments),
                "candidates": list(candidates),
                "phase": str(phase),
                "issued_at": int(issued_at),
                "expires_at": int(expires_at),
                "nonce": str(nonce),
            }:
                return cls(
                    ledger=ledger,
                    principal=principal,
                    method=method,
                    tool=tool,
                    arguments=_from_hex(arguments),
                    candidates=tuple(map(_offered, candidates)),
                    phase=phase,
                    issued_at=issued_at,
                    expires_at=expires_at,
                    nonce=_from_hex(nonce),
                )
            case _:
                raise InvalidState("not the shape of a state")


def verify(claims: Claims, binding: Binding, *, ledger_id: str, now: float) -> None:
    """Raise InvalidState unless *claims* were made for this call, by this ledger, and are in time.

    Authorizes nothing: that the principal may still do this is for the caller to find out again.
    """
    if claims.principal != binding.principal:
        raise InvalidState("another principal's")
    if claims.method != binding.method or claims.tool != binding.tool:
        raise InvalidState("for another method or tool")
    if claims.arguments != binding.arguments:
        raise InvalidState("for other arguments")
    if claims.phase != PHASE:
        raise InvalidState("of another phase")
    if claims.ledger != ledger_id:
        raise InvalidState("of another ledger")
    check_window(claims.issued_at, claims.expires_at, now)


def _offered(item: Any) -> Offered:
    match item:
        case [str(digest), str(etag)]:
            return Offered(_from_hex(digest), etag)
        case _:
            raise InvalidState("not the shape of a candidate")


def _from_hex(text: str) -> bytes:
    if _HEX.fullmatch(text) is None:
        raise InvalidState("not hexadecimal")
    return bytes.fromhex(text)


def _check_json(value: object) -> None:
    """Refuse what `json.dumps` would turn into something else: keys that are not text, tuples, subclasses."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError("a key that is not text")
            _check_json(item)
    elif type(value) is list:
        for item in value:
            _check_json(item)
    elif type(value) is float:
        if not math.isfinite(value):
            raise ValueError("a number that JSON does not have")
    elif value is not None and type(value) not in (str, int, bool):
        raise TypeError(f"{type(value).__name__} is not JSON")
