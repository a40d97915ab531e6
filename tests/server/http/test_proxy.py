"""Behind a real proxy with TLS, set up as `docs/operations.md` says: all that holds without it holds through it."""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.cli.shell import Shell
from tests.cli.test_serving_http import served
from tests.require import require
from tests.server.http.conftest import Served
from tests.server.http.raw import SECONDS, Answer, Raw, ping, posted
from tests.server.wire import ROOT, accept, call, envelope

pytestmark = [pytest.mark.slow, pytest.mark.extern]

NAME = "notes.example.org"
PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
CADDY = shutil.which("caddy")
NGINX = shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin")))
URI = "file:///x"


def certify(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for NAME that nobody else trusts; return its file and that of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "tls.pem", folder / "tls.key"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem, private


class Tls(Raw):
    """A connection over TLS, with the certificate and the name verified."""

    def __init__(self, port: int, pem: Path) -> None:
        super().__init__(port)
        context = ssl.create_default_context(cafile=str(pem))
        self.socket = context.wrap_socket(self.socket, server_hostname=NAME)


@dataclass
class Proxy:
    """A proxy that runs, and what is needed to speak to it."""

    kind: str
    port: int
    pem: Path
    bearer: str

    def connect(self) -> Tls:
        """Open a connection."""
        return Tls(self.port, self.pem)

    def post(self, body: Any, fields: Any = None, *, bearer: str | None = None) -> Answer:
        """Send one message over a connection of its own."""
        with self.connect() as tls:
            return tls.post(body, {"Host": NAME, **(fields or {})}, bearer=bearer or self.bearer)

    def result(self, tool: str, arguments: Any, **more: Any) -> Any:
        """Call a tool."""
        return self.post(call(1, tool, arguments, **more)).message["result"]


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def of_the_page(language: str, changes: dict[str, str]) -> str:
    """The configuration of the page, of which only ports and files are others."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for former, there in changes.items():
        assert former in text
        text = text.replace(former, there)
    return text


def nginx(folder: Path, upstream: int, port: int, pem: Path, private: Path) -> list[str]:
    """Return how nginx is run."""
    require("nginx", available=NGINX is not None)
    server = of_the_page(
        "nginx",
        {
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            "/etc/fsnotes/tls.pem": str(pem),
            "/etc/fsnotes/tls.key": str(private),
            "127.0.0.1:8931": f"127.0.0.1:{upstream}",
        },
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log {folder}/access.log;\n{paths}{server}}}\n"
    )
    return [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]


def caddy(folder: Path, upstream: int, port: int, pem: Path, private: Path) -> list[str]:
    """Return how Caddy is run."""
    require("caddy", available=CADDY is not None)
    site = of_the_page(
        "caddy",
        {
            "notes.example.org {": f"https://notes.example.org:{port} {{\n bind 127.0.0.1\n tls {pem} {private}\n log",
            "127.0.0.1:8931": f"127.0.0.1:{upstream}",
        },
    )
    (folder / "Caddyfile").write_text(f"{{\nadmin off\nauto_https off\n}}\n{site}")
    return [str(CADDY), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


PROXIES: dict[str, Callable[[Path, int, int, Path, Path], list[str]]] = {"nginx": nginx, "caddy": caddy}


@pytest.fixture(params=PROXIES)
def proxied(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[int, str], Proxy]]:
    """Starts a proxy in front of a server."""
    with ExitStack() as stack:

        def start(upstream: int, bearer: str) -> Proxy:
            folder = tmp_path / "proxy"
            folder.mkdir()
            port, (pem, private) = free_port(), certify(folder)
            command = PROXIES[request.param](folder, upstream, port, pem, private)
            log = stack.enter_context((folder / "said.log").open("wb"))
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env={"HOME": str(folder), "PATH": os.environ["PATH"]}
            )
            stack.callback(process.wait, SECONDS)
            stack.callback(process.terminate)
            end = time.monotonic() + SECONDS
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                except ConnectionRefusedError:
                    assert process.poll() is None, (folder / "said.log").read_text()
                    assert time.monotonic() < end
                    time.sleep(0.02)
                else:
                    return Proxy(request.param, port, pem, bearer)

        yield start


def test_a_server_with_tokens_is_used_over_https(
    tmp_path: Path, proxied: Callable[[int, str], Proxy]
) -> None:
    shell = Shell(tmp_path / "home")
    shell.vault.mkdir(parents=True)
    shell.write("a.md", "# A\n\nthe text of it\n")
    long = "x" * 200_000
    shell.configure(
        f'[http]\nauth = "token"\nallowed_hosts = ["{NAME}"]\n'
        f'[[workspace]]\nname = "notes"\npath = "{shell.vault}"\n'
        '[[grant]]\nprincipal = "token:ci"\nworkspace = "notes"\nallow = ["read", "write", "delete"]\n'
    )
    bearer = shell.call("token", "new", "ci").out.strip()
    uri = shell.vault.as_uri()
    with served(shell, folder=None) as (_, upstream):
        proxy = proxied(upstream, bearer)
        found = proxy.post(ping())
        assert found.message["result"]["supportedVersions"] == ["2026-07-28"]
        assert (found.field("cache-control"), found.field("x-content-type-options")) == (
            "no-store",
            "nosniff",
        )
        listed = proxy.result("notes_list", {"workspaceUri": uri})
        assert [note["path"] for note in listed["structuredContent"]["notes"]] == ["a.md"]
        read = proxy.result("notes_read", {"workspaceUri": uri, "path": "a"})
        assert read["content"][1]["text"] == "# A\n\nthe text of it\n"
        made = proxy.result("notes_create", {"workspaceUri": uri, "path": "long", "content": long})
        assert (made["isError"], (shell.vault / "long.md").stat().st_size) == (False, 200_000)

        asked = {"workspaceUri": uri, "title": "a"}
        form = proxy.result("notes_delete", asked)
        assert ((shell.vault / "a.md").exists(), form["resultType"]) == (True, "input_required")
        state = form["requestState"]
        done = proxy.result("notes_delete", asked, requestState=state, inputResponses=accept("a.md"))
        assert done["structuredContent"]["outcome"] == "deleted"
        assert not (shell.vault / "a.md").exists()

        unknown = proxy.post(ping(), bearer="none")
        assert (unknown.status, unknown.field("www-authenticate")) == (401, 'Bearer realm="fsnotes"')
        for host in ("other.example.org", "127.0.0.1", f"{NAME}.evil.example"):
            # Caddy answers itself, with nothing, where no site of its own is meant.
            refused = proxy.post(ping(), {"Host": host})
            assert (refused.status == 421) or (proxy.kind == "caddy" and refused.body == b"")
        assert proxy.post(ping(), {"Host": NAME.upper()}).status == 200
        # One hands on the port that clients send, the other leaves it out.
        with_port = proxy.post(ping(), {"Host": f"{NAME}:{proxy.port}"}).status
        assert with_port == {"nginx": 200, "caddy": 421}[proxy.kind]
        with proxy.connect() as tls:
            assert tls.get("/healthz", Host=NAME).body != b"ok\n"  # the proxy does not hand it on
    told = b"".join(path.read_bytes() for path in (tmp_path / "proxy").glob("*.log"))
    assert bearer.encode() not in told


def test_a_body_that_is_too_long_is_refused_and_one_that_is_not_gets_through(
    tmp_path: Path, proxied: Callable[[int, str], Proxy], serving: Callable[..., Served]
) -> None:
    upstream = serving(auth="plain", http={"allowed_hosts": (NAME,)}, max_message_bytes=8 * 1_048_576)
    proxy = proxied(upstream.port, "ci-token")
    arguments = {"workspaceUri": URI, "path": "long.md", "content": "x" * 8_300_000}
    assert proxy.post(call(1, "notes_create", arguments)).status == 200
    assert (upstream.folder / "long.md").stat().st_size == 8_300_000
    arguments = {"workspaceUri": URI, "path": "longer.md", "content": "x" * (8 * 1_048_576)}
    try:
        assert proxy.post(call(1, "notes_create", arguments)).status == 413
    except (ssl.SSLEOFError, ConnectionError, EOFError):
        pass  # it was refused before it had been sent whole
    assert not (upstream.folder / "longer.md").exists()


def test_what_a_call_reports_arrives_as_it_is_told(
    tmp_path: Path, proxied: Callable[[int, str], Proxy], serving: Callable[..., Served]
) -> None:
    upstream = serving(auth="plain", http={"allowed_hosts": (NAME,)})
    proxy = proxied(upstream.port, "ci-token")
    told = call(1, "notes_read", {"workspaceUri": URI, "path": "report/6"}, meta=envelope(progressToken="t"))
    with proxy.connect() as tls:
        tls.send(posted(told, {"Host": NAME}, port=proxy.port, bearer="ci-token"))
        status, fields = tls.head()
        assert (status, dict(fields)["content-type"]) == (200, "text/event-stream")
        times, messages = [], []
        while chunk := tls.chunk():
            times.append(time.monotonic())
            messages += [json.loads(block.partition(b"data: ")[2]) for block in chunk.split(b"\n\n") if block]
    assert [message["params"]["progress"] for message in messages[:-1]] == list(range(6))
    assert messages[-1]["id"] == 1
    # Each is told a fifth of a second or so after the one before: held back, they would come together.
    assert times[-1] - times[0] > 0.3
    assert len(times) >= 6


def test_who_hangs_up_on_the_proxy_cancels_the_call(
    tmp_path: Path, proxied: Callable[[int, str], Proxy], serving: Callable[..., Served]
) -> None:
    upstream = serving(auth="plain", http={"allowed_hosts": (NAME,)})
    proxy = proxied(upstream.port, "ci-token")
    with proxy.connect() as staying:
        for name, tls in (("left", proxy.connect()), ("kept", staying)):
            body = call(1, "notes_read", {"workspaceUri": URI, "path": f"wait/{name}"})
            tls.send(posted(body, {"Host": NAME}, port=proxy.port, bearer="ci-token"))
            upstream.await_file(f"{name}.begun")
            if name == "left":
                tls.socket.close()
        time.sleep(0.3)
        for name in ("left", "kept"):
            (upstream.folder / f"{name}.go").touch()
        assert staying.read().message["id"] == 1
    upstream.await_file("left.done")
    assert (upstream.folder / "left.abandoned").exists()
    assert not (upstream.folder / "kept.abandoned").exists()
