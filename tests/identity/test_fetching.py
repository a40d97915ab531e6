"""How a document is fetched: bounded in time and size, and from nowhere else than it was asked for."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fsnotes.errors import ConfigurationError
from fsnotes.identity.fetching import MAX_BYTES, FetchFailed, fetch
from tests.identity.issuing import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def _failure(url: str, seconds: float = 5) -> str:
    with pytest.raises(FetchFailed) as caught:
        fetch(url, seconds=seconds)
    assert "canary" not in repr(caught.value)
    return str(caught.value)


def test_what_stands_there_is_returned_as_it_is(server: Server) -> None:
    server.answers["/keys?a=b"] = b'{"x": "\xff"}'
    assert fetch(f"{server.url}/keys?a=b", seconds=5) == b'{"x": "\xff"}'
    server.answers["/"] = b"root"
    assert fetch(server.url, seconds=5) == b"root"


@pytest.mark.parametrize("status", [201, 204, 301, 302, 303, 307, 308, 400, 401, 404, 500])
@pytest.mark.parametrize("target", ["same", "other", "file"])
def test_any_other_status_is_a_failure_and_no_redirect_is_followed(
    server: Server, status: int, target: str
) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status, "canary")
        to = {"same": "/good", "other": "http://localhost:1/good", "file": "file:///etc/passwd"}[target]
        handler.send_header("Location", to)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.answers |= {"/keys": answer, "/good": b"{}"}
    assert str(status) in _failure(f"{server.url}/keys")
    assert server.asked == ["/keys"]


def test_the_largest_document_is_taken_and_a_larger_one_is_not(server: Server) -> None:
    server.answers |= {"/fits": b" " * MAX_BYTES, "/more": b" " * (MAX_BYTES + 1)}
    assert len(fetch(f"{server.url}/fits", seconds=5)) == MAX_BYTES
    assert "larger" in _failure(f"{server.url}/more")


def test_an_endless_document_is_read_no_further_than_the_bound(server: Server) -> None:
    sent = [0]

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            sent[0] += handler.wfile.write(b"canary " * 10_000)

    server.answers["/keys"] = answer
    assert "larger" in _failure(f"{server.url}/keys")
    assert sent[0] < 100 * MAX_BYTES


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"canary\r\n\r\n", b"HTTP/1.1 canary OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ncanary",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\ncanary",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\ncanary",
        b"HTTP/1.1 200 OK\r\n" + b"X: canary\r\n" * 200 + b"\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"c" * 70_000,
    ],
)  # fmt: skip
def test_what_is_no_whole_answer_is_a_failure(raw: bytes) -> None:
    with _answering(lambda peer: peer.sendall(raw)) as url:
        assert _failure(url)


def test_a_body_that_says_it_is_another_length_is_cut_there() -> None:
    with _answering(
        lambda peer: peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}canary")
    ) as url:
        assert fetch(url, seconds=5) == b"{}"


def _drip(peer: socket.socket, head: bytes, drop: bytes) -> None:
    peer.sendall(head)
    for _ in range(200):
        time.sleep(0.05)
        peer.sendall(drop)


@pytest.mark.parametrize(
    "answer",
    [
        lambda peer: peer.recv(1),
        lambda peer: _drip(peer, b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        lambda peer: _drip(peer, b"", b"H"),
        lambda peer: _drip(peer, b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"x"),
        lambda peer: _drip(peer, b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
        lambda peer: _drip(
            peer, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n", b"x"
        ),
        lambda peer: _drip(peer, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
    ids=["silent", "headers", "status line", "length", "until the end", "length and end", "chunks"],
)
def test_who_sends_nothing_or_a_byte_at_a_time_is_given_up_in_time(
    answer: Callable[[socket.socket], None],
) -> None:
    with _answering(answer) as url:
        began = time.perf_counter()
        assert "too long" in _failure(url, seconds=0.4)
        assert time.perf_counter() - began < 5


def test_nobody_there_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert "ConnectionRefusedError" in _failure(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    "url", ["http://as.example/", "file:///etc/passwd", "ftp://127.0.0.1/", "/etc/passwd", ""]
)
def test_no_other_scheme_or_host_is_asked(url: str) -> None:
    with pytest.raises(ConfigurationError):
        fetch(url, seconds=5)


def test_proxies_of_the_environment_are_not_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    server.answers["/keys"] = b"{}"
    assert fetch(f"{server.url}/keys", seconds=5) == b"{}"


def test_https_is_taken_from_a_certificate_that_the_host_trusts_and_from_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = _certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def answer(peer: socket.socket) -> None:
        with context.wrap_socket(peer, server_side=True) as secured:
            secured.recv(65_536)
            secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with _answering(answer, asks_first=False) as url:
        assert "SSLCertVerificationError" in _failure(url.replace("http:", "https:"))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with _answering(answer, asks_first=False) as url:
        assert fetch(url.replace("http:", "https:"), seconds=5) == b"{}"
    with _answering(answer, asks_first=False) as url:
        assert "SSLCertVerificationError" in _failure(url.replace("http://127.0.0.1", "https://localhost"))


def test_a_dripping_https_server_is_given_up_and_nothing_is_read_without_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = _certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    def answer(peer: socket.socket) -> None:
        with context.wrap_socket(peer, server_side=True) as secured:
            secured.recv(65_536)
            _drip(secured, b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")

    with _answering(answer, asks_first=False) as url:
        began = time.perf_counter()
        assert "too long" in _failure(url.replace("http:", "https:"), seconds=0.5)
        assert time.perf_counter() - began < 5


def _certificate(folder: Path) -> Path:
    """Make a certificate for 127.0.0.1 that signs itself, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fsnotes test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    file = folder / "certificate.pem"
    file.write_bytes(
        made.public_bytes(encoding)
        + key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return file


class _answering:  # noqa: N801 - used as a function
    """A server of one connection, which reads the request and then does as it is told."""

    def __init__(self, answer: Callable[[socket.socket], None], *, asks_first: bool = True) -> None:
        self._answer = answer
        self._asks_first = asks_first
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(20)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}/keys"

    def __exit__(self, *_: object) -> None:
        self._thread.join(timeout=20)
        self._listening.close()
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        try:
            peer, _ = self._listening.accept()
            with peer:
                peer.settimeout(20)
                if self._asks_first:
                    peer.recv(65_536)
                self._answer(peer)
        except OSError:  # the client has given up, as it should
            pass
