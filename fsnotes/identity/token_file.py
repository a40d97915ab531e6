"""Decides which static tokens there are: a private file of hashes that every process reads anew when it changes.

Nothing of a token but its hash is ever written. Whose request a token makes it is left to `tokens`.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from fsnotes.access import Principal
from fsnotes.confirm import private
from fsnotes.errors import ConfigurationError, InvalidArgument, NoteNotFound
from fsnotes.identity import documents, token_text
from sandbox.records import record

MAX_TOKENS: Final = 256
"""Most tokens of one state folder: each is compared with every token that is presented."""

ID_BYTES: Final = 4

Version = tuple[int, ...]

_VERSION: Final = 1
_ID: Final = re.compile(r"[0-9a-f]{8}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_DAMAGED: Final = "the tokens file is damaged"


@record
class Token:
    """One token as it is kept: an *id* that says nothing about it, whose it is, its hash, and when it was made."""

    id: str
    name: str
    digest: bytes
    created: int

    def __repr__(self) -> str:
        return f"Token(id={self.id!r}, name={self.name!r}, created={self.created!r})"

    @property
    def principal(self) -> Principal:
        """Whom it proves."""
        return Principal(f"token:{self.name}")


@record
class Tokens:
    """All tokens as they stood in the file of *version*, None where there was no file."""

    tokens: tuple[Token, ...]
    version: Version | None
    changed: int
    """When the file got what it holds, in nanoseconds of the file system's clock; 0 without a file."""


class TokenFile:
    """The tokens of one state folder. Thread-safe; processes that share the file agree."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Callable[[], float] = time.time,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._path = os.path.abspath(path)
        self._folder, self._name = os.path.split(self._path)
        self._clock = clock
        self._random = random

    def version(self) -> Version | None:
        """Return what changes with each change of the file, and of the owner or mode of either; None without a file.

        Two system calls. Raises OSError.
        """
        try:
            folder = os.stat(self._folder, follow_symlinks=False)
            return _version(folder, os.stat(self._path, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def read(self) -> Tokens:
        """Return all tokens, the oldest first.

        Raises ConfigurationError when the file or its folder is a link, another user's, open to others or damaged.
        """
        with private.opened(self._folder) as folder:
            return self._read(folder)

    def add(self, name: str) -> tuple[Token, str]:
        """Make one more token for *name* and return it with its text, which is kept nowhere.

        Others of the same name stay: so a token is replaced without a moment in which there is none. Raises
        InvalidArgument for a name that cannot be one, ConfigurationError as `read` and where MAX_TOKENS are there, and
        Busy when another process holds the folder's lock.
        """
        _check_name(name)
        with private.opened(self._folder) as folder, private.exclusive(folder):
            kept = self._read(folder).tokens
            if len(kept) >= MAX_TOKENS:
                raise ConfigurationError(
                    f"there are {MAX_TOKENS} tokens and may be no more; revoke one first"
                )
            text = token_text.make(self._random(token_text.SECRET_BYTES))
            made = Token(self._free_id(kept), name, token_text.digest(text), int(self._clock()))
            private.write(folder, self._name, _encode((*kept, made)))
        return made, text

    def revoke(self, name_or_id: str) -> tuple[Token, ...]:
        """Remove the token of this id, or all of this name, and return them. Names never look like ids.

        Raises as `add`, and NoteNotFound when there is none: then nothing was changed.
        """
        if _ID.fullmatch(name_or_id) is None:
            _check_name(name_or_id)
        with private.opened(self._folder) as folder, private.exclusive(folder):
            kept = self._read(folder).tokens
            gone = tuple(token for token in kept if name_or_id in (token.id, token.name))
            if not gone:
                raise NoteNotFound("token", name_or_id)
            private.write(folder, self._name, _encode([token for token in kept if token not in gone]))
        return gone

    def _read(self, folder: int) -> Tokens:
        found = private.read(folder, self._name)
        if found is None:
            return Tokens((), None, 0)
        data, status = found
        return Tokens(_decode(data), _version(os.fstat(folder), status), status.st_ctime_ns)

    def _free_id(self, beside: Sequence[Token]) -> str:
        taken = {token.id for token in beside}
        while True:
            made = self._random(ID_BYTES).hex()
            if made not in taken:
                return made


def _version(folder: os.stat_result, file: os.stat_result) -> Version:
    # Not the folder's times: they change with every file that is made in it.
    around = (folder.st_dev, folder.st_ino, folder.st_mode, folder.st_uid)
    return (*around, file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns)


def _check_name(name: str) -> None:
    # Not repeated: who takes a token for its name must not find it in a log.
    if _NAME.fullmatch(name) is None:
        raise InvalidArgument(
            "NAME", "1 to 64 letters, digits, '.', '_' and '-' are expected, the first a letter or digit"
        )
    if _ID.fullmatch(name) is not None:
        raise InvalidArgument("NAME", "eight hexadecimal digits are an id and cannot be a name")


def _encode(tokens: Sequence[Token]) -> bytes:
    items = [
        {"id": token.id, "name": token.name, "sha256": token.digest.hex(), "created": token.created}
        for token in tokens
    ]
    lines = ",\n".join(json.dumps(item) for item in items)
    return f'{{"version": {_VERSION}, "tokens": [\n{lines}\n]}}\n'.encode("ascii")


def _decode(data: bytes) -> tuple[Token, ...]:
    try:
        document = documents.parse(data)
    except documents.NotAnObject:
        raise ConfigurationError(_DAMAGED) from None
    match document:
        case {"version": 1, "tokens": [*items], **rest} if not rest and len(items) <= MAX_TOKENS:
            tokens = tuple(_token(item) for item in items)
        case _:
            raise ConfigurationError(_DAMAGED)
    for part in ({token.id for token in tokens}, {token.digest for token in tokens}):
        if len(part) != len(tokens):
            raise ConfigurationError(_DAMAGED)
    return tokens


def _token(item: Any) -> Token:
    match item:
        case {"id": str(id_), "name": str(name), "sha256": str(hash_), "created": int(created), **rest} if (
            not rest
            and _ID.fullmatch(id_)
            and _NAME.fullmatch(name)
            and not _ID.fullmatch(name)
            and _HASH.fullmatch(hash_)
            and not isinstance(created, bool)
            and created >= 0
        ):
            return Token(id_, name, bytes.fromhex(hash_), created)
    raise ConfigurationError(_DAMAGED)
