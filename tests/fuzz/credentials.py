"""What proves something: sealed states, answers to forms, JWTs, the keys of issuers, and the files of secrets."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from fsnotes.access import Principal
from fsnotes.confirm import KeyRing, keys
from fsnotes.confirm.forms import Choice, Refusal, parse_answer
from fsnotes.confirm.sealing import seal, unseal
from fsnotes.confirm.state import Binding, Claims, Offered, digest_id, entry_time, verify
from fsnotes.errors import ConfigurationError, FsnotesError, InvalidAnswer, InvalidState
from fsnotes.identity import Unauthenticated, documents, token_file, token_text
from fsnotes.identity.claims import MAX_SUBJECT
from fsnotes.identity.fetching import FetchFailed
from fsnotes.identity.issuers import Issuer
from fsnotes.identity.jwts import JwtAuthenticator
from fsnotes.identity.keys import ALGORITHMS, Keys, NoKeys
from tests.fuzz.supply import Supply, text_of
from tests.identity.issuing import AUDIENCE, NOW, Signer, b64, claims

# -- states --------------------------------------------------------------------------------------


def _secret(number: int) -> bytes:
    return hashlib.sha256(b"secret %d" % number).digest()


@cache
def _ring() -> KeyRing:
    return KeyRing.from_text(",".join(base64.b64encode(_secret(number)).decode() for number in range(2)))


_CLAIMED = Claims(
    ledger="0" * 16, principal="local:a", method="tools/call", tool="notes_delete", arguments=_secret(2),
    candidates=(Offered(digest_id("a/b.md"), "e" * 32), Offered(digest_id("c.md"), "f" * 32)),
    issued_at=1_700_000_000, expires_at=1_700_000_300, nonce=_secret(3),
)  # fmt: skip
_BINDING = Binding("local:a", "tools/call", "notes_delete", _secret(2), _secret(4))


@cache
def _token() -> str:
    return seal(_ring(), _CLAIMED.encode(), random=lambda size: bytes(range(size)))


def states(data: bytes) -> None:
    """No state but the one that was sealed is opened, and no claims but the ones that were made are read."""
    supply = Supply(data)
    token: object = _token()
    if supply.flag():
        raw = bytearray(base64.urlsafe_b64decode(_token()[3:] + "=" * (-len(_token()[3:]) % 4)))
        for _ in range(1 + supply.below(4)):
            raw[supply.below(len(raw))] ^= supply.below(256)
        del raw[len(raw) - supply.below(3) :]
        token = "v1." + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    else:
        at, size = supply.below(len(_token())), supply.below(len(_token()))
        token = _token()[:at] + supply.text(30) + _token()[at + size :]
    try:
        opened = unseal(_ring(), token)
    except InvalidState:
        assert token != _token()
    else:
        assert token == _token()
        assert Claims.decode(opened) == _CLAIMED
    for written in (data, _changed_claims(data)):
        try:
            claimed = Claims.decode(written)
        except InvalidState:
            continue
        assert claimed.encode() == written
        assert entry_time(claimed.entry) == claimed.issued_at
        try:
            verify(claimed, _BINDING, ledger_id="0" * 16, now=1_700_000_100)
        except InvalidState:
            continue
        assert (claimed.principal, claimed.tool, claimed.arguments, claimed.ledger) == (
            "local:a", "notes_delete", _secret(2), "0" * 16,
        )  # fmt: skip
        assert claimed.issued_at <= 1_700_000_100 < claimed.expires_at


def _changed_claims(data: bytes) -> bytes:
    supply = Supply(data)
    document = json.loads(_CLAIMED.encode())
    name = supply.pick(sorted(document))
    document[name] = supply.json(("local:a", "notes_delete", "asked", "0" * 64, "e" * 32, "00", "v"))
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=supply.flag()).encode(
        "utf-8", "surrogatepass"
    )


_WORDS = (
    "action",
    "content",
    "accept",
    "decline",
    "cancel",
    "note_id",
    "confirm",
    "a.md",
    "b.md",
    "true",
    "yes",
)


def answers(data: bytes) -> None:
    """Nothing is consent but an accepted form with a note that was offered and a true that is one."""
    supply = Supply(data)
    answer = supply.json(_WORDS)
    if supply.flag():
        content = {"note_id": supply.json(_WORDS, depth=1), "confirm": supply.json(_WORDS, depth=1)}
        for _ in range(supply.below(2)):
            content[supply.pick(_WORDS)] = supply.json(_WORDS, depth=1)
        answer = {"action": supply.pick(_WORDS), "content": content}
    try:
        said = parse_answer(answer, is_offered={"a.md", "é.md"}.__contains__)
    except InvalidAnswer:
        return
    if isinstance(said, Choice):
        assert answer == {"action": "accept", "content": {"note_id": said.note_id, "confirm": said.confirm}}
        assert said.note_id in ("a.md", "é.md")
        assert type(answer["content"]["confirm"]) is bool
    else:
        assert answer["action"] == {Refusal.DECLINE: "decline", Refusal.CANCEL: "cancel"}[said]


# -- JWTs ----------------------------------------------------------------------------------------

_ISSUER = "https://issuer.example"


@cache
def _signer() -> Signer:
    return Signer("ES256", "one", ec.derive_private_key(12_345, ec.SECP256R1()))


@cache
def _trust() -> JwtAuthenticator:
    published = json.dumps({"keys": [_signer().jwk()]}).encode()
    trust = JwtAuthenticator(
        _ISSUER, AUDIENCE, jwks_url=f"{_ISSUER}/keys", clock=lambda: NOW, monotonic=lambda: 0.0,
        fetch=lambda *_, **__: published,
    )  # fmt: skip
    assert trust.identify(_good()) == Principal(f"{_ISSUER}|alice")
    return trust


@cache
def _good() -> str:
    return _signer().token(claims(_ISSUER))


_CLAIM_WORDS = (
    "iss", "aud", "sub", "exp", "iat", "nbf", "scope", "cnf", "crit", "alg", "kid", "typ", "at+jwt", "JWT", "ES256",
    "none", "HS256", "one", "alice", _ISSUER, AUDIENCE, "jwk", "b64", "act",
)  # fmt: skip


def jwts(data: bytes) -> None:
    """A token that is not signed is nobody's; one that is makes the request its subject's if it is right for us."""
    supply = Supply(data)
    head, said, signature = _good().split(".")
    match supply.below(4):
        case 0:
            token = text_of(supply.rest())
        case 1:
            at = supply.below(len(_good()))
            token = _good()[:at] + supply.text(8) + _good()[at + supply.below(8) :]
        case 2:
            token = ".".join(supply.pick((head, said, signature, b64(supply.take(20)))) for _ in range(3))
        case _:
            _check_signed(supply)
            return
    principal, status = _identified(token)
    if principal is None:
        assert status == 401
        assert token != _good()
    else:
        # What is signed is the same; of signatures by ECDSA there are many.
        assert token.rpartition(".")[0] == f"{head}.{said}"
        assert principal.name == f"{_ISSUER}|alice"


def _identified(token: str) -> tuple[Principal | None, int]:
    """Return whom a token proves, or the status that is answered instead."""
    try:
        return _trust().identify(token), 200
    except Unauthenticated as refused:
        return None, refused.status


def _check_signed(supply: Supply) -> None:
    """What the issuer itself has signed is taken only where each claim is what it must be."""
    header: dict[str, Any] = {"alg": "ES256", "kid": "one", "typ": "at+jwt"}
    said = claims(_ISSUER)
    for _ in range(supply.below(4)):
        (header if supply.below(4) == 0 else said)[supply.pick(_CLAIM_WORDS)] = supply.json(
            _CLAIM_WORDS, depth=1
        )
    principal, status = _identified(_signer().token(said, header))
    if principal is None:
        assert status == 401
        return
    assert principal.name == f"{_ISSUER}|{said['sub']}"
    assert 0 < len(said["sub"]) <= MAX_SUBJECT
    assert said["sub"].isprintable()
    assert said["iss"] == _ISSUER
    assert said["aud"] == AUDIENCE or AUDIENCE in said["aud"]
    assert said["exp"] > NOW
    assert header["alg"] == "ES256"
    assert not {"crit", "b64"} & header.keys()
    assert "cnf" not in said
    assert all(type(said.get(name, 0)) in (int, float) for name in ("iat", "nbf", "exp"))


def issuers(data: bytes) -> None:
    """Key sets and metadata of issuers are read strictly, and none of the keys is secret or for something else."""
    supply = Supply(data)
    key = _signer().jwk()
    for _ in range(supply.below(4)):
        key[supply.pick((*key, "use", "key_ops", "n", "e", "d"))] = supply.json(_KEY_WORDS, depth=1)
    for document in (data, json.dumps({"keys": [key, supply.json(_KEY_WORDS)]}).encode()):
        with contextlib.suppress(documents.NotAnObject):
            assert isinstance(documents.parse(document), dict)
        with contextlib.suppress(NoKeys):
            found = Keys.parse(document)
            for algorithm in ALGORITHMS:
                for kid in (None, "one"):
                    made = found.find(kid, algorithm)
                    assert made is None or made.algorithm_name == algorithm
    metadata = {"issuer": _ISSUER, "jwks_uri": supply.text(40)}
    fetched: list[str] = []

    def fetch(url: str, *, seconds: float) -> bytes:
        fetched.append(url)
        return json.dumps(metadata).encode() if supply.flag() else data

    issuer = Issuer(_ISSUER, jwks_url=None, fetch=fetch)
    with contextlib.suppress(FetchFailed):
        issuer.published(seconds=1.0, clock=lambda: 0.0)
    assert all(url.startswith("https://") for url in fetched)


_KEY_WORDS = ("RSA", "EC", "OKP", "oct", "sig", "enc", "verify", "sign", "ES256", "RS256", "EdDSA", "P-256", "P-521",
              "Ed25519", "AQAB", "kty", "crv", "x", "y", "alg", "kid", "keys")  # fmt: skip


# -- files of secrets ------------------------------------------------------------------------------


def tokens(data: bytes) -> None:
    """A file of tokens or keys is what we write or damaged, and a text is a token or nearly never taken for one."""
    with contextlib.suppress(ConfigurationError):
        kept = token_file._decode(data)
        assert token_file._decode(token_file._encode(kept)) == kept
        assert len({token.id for token in kept}) == len({token.digest for token in kept}) == len(kept)
    with contextlib.suppress(ConfigurationError):
        ring = keys._decode(data)
        assert keys._decode(keys._encode(ring)) == ring
    with contextlib.suppress(FsnotesError):
        assert KeyRing.from_text(text_of(data)).sealing.secret
    text = text_of(data)
    if token_text.fault(text) is None:
        assert text == token_text.make(bytes.fromhex(text[8:72]))
    made = token_text.make(hashlib.sha256(data).digest())
    assert token_text.fault(made) is None
    at = len(data) % len(made)
    changed = made[:at] + chr(ord(made[at]) ^ 1) + made[at + 1 :]
    assert token_text.fault(changed) is not None
