"""Decide what a `file://` URI means, component by component.

A URI is decoded exactly once and compared by component, never as text. Who may use what it names, and whether
anything is there, is decided elsewhere: a parsed URI is a name, not a right.
"""

from __future__ import annotations

import re

from sandbox.errors import InvalidUri
from sandbox.names import component_fault
from sandbox.records import record

MAX_URI_BYTES = 8192  # decoded; room for a workspace and the longest path beneath it

# SAFETY: ASCII rules for case. By Unicode's, a dotless "i" and a long "s" would spell "file" and
# "localhost" too.
_FILE_SCHEME = re.compile(r"file:", re.IGNORECASE | re.ASCII)
_HOSTS = re.compile(r"(?:localhost)?", re.IGNORECASE | re.ASCII)
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_RAW_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ENCODED = tuple(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in range(256))


@record
class FileUri:
    """An absolute `file://` URI on this host, as its decoded components; without components it is "/".

    Two are equal when their components are, whatever their spelling and with or without the trailing slash.
    """

    parts: tuple[str, ...]
    trailing_slash: bool = False

    def __post_init__(self) -> None:
        for part in self.parts:
            fault = component_fault(part)
            if fault is not None:
                raise InvalidUri(fault.reason)
        if len("/".join(self.parts).encode()) + 1 > MAX_URI_BYTES:
            raise InvalidUri("too long")

    @classmethod
    def parse(cls, text: str) -> FileUri:
        """Return what *text* names. One trailing slash is tolerated and remembered in `trailing_slash`.

        Raises InvalidUri for another scheme or host, userinfo, port, query, fragment, `file:/x`, bad
        escapes, an escaped or raw separator or NUL inside a component, bytes that are not UTF-8, empty
        components and dot segments in any spelling. Characters beyond ASCII and spaces may stand unescaped.
        """
        if len(text) > 3 * MAX_URI_BYTES:
            raise InvalidUri("too long")
        if _RAW_CONTROL.search(text):
            raise InvalidUri("a control character")
        scheme = _FILE_SCHEME.match(text)
        if scheme is None:
            raise InvalidUri("not a file URI")
        rest = text[scheme.end() :]
        if not rest.startswith("//"):
            raise InvalidUri("no authority: file:// is followed by a third slash")
        host, slash, path = rest[2:].partition("/")
        if not slash or not _HOSTS.fullmatch(host):
            raise InvalidUri("another host, userinfo, a port, or no path")
        if "?" in path or "#" in path:
            raise InvalidUri("a query or a fragment")
        if not path:
            return cls((), trailing_slash=True)
        trailing = path.endswith("/")
        return cls(tuple(map(_decode, path.removesuffix("/").split("/"))), trailing)

    @classmethod
    def from_path(cls, absolute: str) -> FileUri:
        """Return the URI of an absolute path, one trailing slash tolerated.

        Raises InvalidUri for a relative path, one that is not in its plain form (dot segments, doubled
        slashes), and one that no URI of ours can carry: not UTF-8, or with a backslash.
        """
        if not absolute.startswith("/"):
            raise InvalidUri("not an absolute path")
        if absolute == "/":
            return cls((), trailing_slash=True)
        path = absolute[1:]
        return cls(tuple(path.removesuffix("/").split("/")), trailing_slash=path.endswith("/"))

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, FileUri) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parts)

    def __str__(self) -> str:
        """The canonical spelling: everything escaped but unreserved characters, no trailing slash."""
        return "file:///" + "/".join("".join(map(_ENCODED.__getitem__, part.encode())) for part in self.parts)

    def relative_to(self, base: FileUri) -> tuple[str, ...] | None:
        """Return the components beneath *base* (none when they are equal), or None when this lies outside."""
        depth = len(base.parts)
        return self.parts[depth:] if self.parts[:depth] == base.parts else None


def _decode(component: str) -> str:
    """Decode one component exactly once. What comes out is judged by the constructor of `FileUri`."""
    try:
        raw = component.encode()
        if raw.count(b"%") != len(_ESCAPE.findall(raw)):
            raise InvalidUri("a bad escape")
        # SAFETY: the split into components came first, so an escaped slash cannot make new ones; the
        # constructor refuses it. Each escape becomes one byte and is never looked at again.
        return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), raw).decode()
    except UnicodeError:
        raise InvalidUri("not UTF-8") from None
