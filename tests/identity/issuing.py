"""An authorization server for tests: its own keys, its own endpoints on loopback, and any token one can think of."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

NOW = 1_800_000_000.0
AUDIENCE = "https://notes.example/mcp"

Handler = Callable[[BaseHTTPRequestHandler], None]


def b64(data: bytes) -> str:
    """Encode as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    """Encode a number as a JWK has it."""
    return b64(value.to_bytes((value.bit_length() + 7) // 8 or 1, "big"))


def packed(document: Any) -> str:
    """Encode a document as a part of a JWT; bytes and text as they are."""
    if isinstance(document, str):
        document = document.encode()
    return b64(document if isinstance(document, bytes) else json.dumps(document).encode())


@dataclass
class Signer:
    """A key pair, made anew, and how it signs; written apart from what the product verifies with."""

    algorithm: str
    kid: str
    key: Any = None

    def __post_init__(self) -> None:
        if self.key is None:
            self.key = {
                "RS": lambda: rsa.generate_private_key(65537, 2048),
                "PS": lambda: rsa.generate_private_key(65537, 2048),
                "ES": lambda: ec.generate_private_key(self._curve()),
                "Ed": ed25519.Ed25519PrivateKey.generate,
            }[self.algorithm[:2]]()

    def _curve(self) -> ec.EllipticCurve:
        return {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}[self.algorithm]()

    def _hash(self) -> hashes.HashAlgorithm:
        return {"256": hashes.SHA256, "384": hashes.SHA384, "512": hashes.SHA512}[self.algorithm[2:]]()

    def sign(self, data: bytes) -> bytes:
        """Sign as RFC 7518 and RFC 8037 say."""
        match self.algorithm[:2]:
            case "RS":
                return bytes(self.key.sign(data, padding.PKCS1v15(), self._hash()))
            case "PS":
                pss = padding.PSS(padding.MGF1(self._hash()), self._hash().digest_size)
                return bytes(self.key.sign(data, pss, self._hash()))
            case "ES":
                size = (self.key.key_size + 7) // 8
                parts = decode_dss_signature(self.key.sign(data, ec.ECDSA(self._hash())))
                return b"".join(part.to_bytes(size, "big") for part in parts)
            case _:
                return bytes(self.key.sign(data))

    def jwk(self, **changes: Any) -> dict[str, Any]:
        """Return the public key; *changes* of None leave a member out."""
        public = self.key.public_key()
        if isinstance(public, rsa.RSAPublicKey):
            numbers = public.public_numbers()
            made = {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
        elif isinstance(public, ec.EllipticCurvePublicKey):
            size = (public.key_size + 7) // 8
            point = public.public_numbers()
            curve = {256: "P-256", 384: "P-384", 521: "P-521"}[public.key_size]
            made = {"kty": "EC", "crv": curve}
            made |= {name: b64(getattr(point, name).to_bytes(size, "big")) for name in ("x", "y")}
        else:
            made = {"kty": "OKP", "crv": "Ed25519", "x": b64(public.public_bytes_raw())}
        made |= {"kid": self.kid, "alg": self.algorithm, "use": "sig", **changes}
        return {name: value for name, value in made.items() if value is not None}

    def token(self, claims: Any, header: Any = None) -> str:
        """Return a signed token of *claims*; *header* replaces the usual one, whole."""
        usual = {"alg": self.algorithm, "kid": self.kid, "typ": "at+jwt"}
        signed = f"{packed(usual if header is None else header)}.{packed(claims)}"
        return f"{signed}.{b64(self.sign(signed.encode()))}"


def claims(issuer: str, **changes: Any) -> dict[str, Any]:
    """Return the claims of a good token at NOW; *changes* of None leave one out."""
    made: dict[str, Any] = {
        "iss": issuer, "aud": AUDIENCE, "sub": "alice", "exp": NOW + 300, "iat": NOW - 5, "client_id": "app",
        "jti": "1", **changes,
    }  # fmt: skip
    return {name: value for name, value in made.items() if value is not None}


@dataclass
class Server:
    """Endpoints on loopback: documents by their paths, or a function that answers; *asked* has every path in turn."""

    url: str
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def publish(self, *keys: dict[str, Any]) -> None:
        """Have a key set at /keys."""
        self.answers["/keys"] = {"keys": list(keys)}


@contextmanager
def serving() -> Iterator[Server]:
    """Serve on a port of loopback until the end."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            found = server.answers.get(self.path)
            if callable(found):
                found(self)
                return
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(200 if found is not None else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:  # a client that has enough
            pass

    with Quiet(("127.0.0.1", 0), Answer) as listening:
        server = Server(f"http://127.0.0.1:{listening.server_address[1]}")
        thread = threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join(timeout=10)


class Clock:
    """A clock that is set, and then stands."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def eventually(what: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until *what* holds."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.005)
