"""Decides which keys seal and unseal confirmation state, where they are kept, and when one is dropped.

The first key of the ring seals, all of it unseals. What is done with a key is left to `sealing`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from fsnotes.confirm import private
from fsnotes.confirm.state import MAX_TTL
from fsnotes.errors import ConfigurationError, Unavailable
from sandbox.records import record

SECRET_BYTES: Final = 32
ID_BYTES: Final = 4

RETIRED_SECONDS: Final = MAX_TTL + 600
"""How long a key that no longer seals still unseals: the longest life of a state, and some slack."""

MAX_KEYS: Final = 16
"""Most keys of a ring: beyond, a rotation drops the oldest."""

_VERSION: Final = 1


@record
class Key:
    """One secret, and the id by which a token names it. The secret never appears in a repr."""

    id: bytes
    secret: bytes
    created: int = 0

    def __repr__(self) -> str:
        return f"Key(id={self.id!r}, created={self.created!r})"

    @classmethod
    def of(cls, secret: bytes, *, created: int = 0) -> Key:
        """Return the key of *secret*. The id is made from the secret, and says nothing about it."""
        if type(secret) is not bytes or len(secret) != SECRET_BYTES:
            raise ConfigurationError(f"a state key must have {SECRET_BYTES} bytes")
        if len(set(secret)) < SECRET_BYTES // 4:
            raise ConfigurationError("a state key must be random")
        digest = hashlib.blake2b(key=secret, person=b"fsnotes key id", digest_size=ID_BYTES)
        return cls(digest.digest(), secret, created)


class KeyRing:
    """The keys of one state folder, or of one text. Thread-safe; processes that share the file agree."""

    def __init__(
        self,
        keys: tuple[Key, ...],
        *,
        path: str | None,
        clock: Callable[[], float],
        random: Callable[[int], bytes],
    ) -> None:
        self._keys = keys
        self._path = path
        self._clock = clock
        self._random = random
        self._version: tuple[int, ...] | None = None
        self._mutex = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        clock: Callable[[], float] = time.time,
        random: Callable[[int], bytes] = os.urandom,
    ) -> KeyRing:
        """Read the ring from the file at *path*, making it (0600, in a folder of 0700) where it is missing.

        Raises ConfigurationError when the file or its folder is a link, another user's, open to others or
        damaged, and Busy when another process holds the folder's lock.
        """
        ring = cls((), path=os.fspath(path), clock=clock, random=random)
        ring._load()
        return ring

    @classmethod
    def from_text(cls, text: str) -> KeyRing:
        """Read a ring of base64 keys, separated by commas; the first one seals. Raises ConfigurationError."""
        keys = tuple(Key.of(_from_base64(part.strip())) for part in text.split(","))
        _check_ring(keys)
        return cls(keys, path=None, clock=time.time, random=os.urandom)

    @property
    def keys(self) -> tuple[Key, ...]:
        """All keys, the one that seals first."""
        return self._current()

    @property
    def sealing(self) -> Key:
        """The key that seals, also when another process has just rotated the file. Raises Unavailable."""
        return self._current()[0]

    def find(self, kid: bytes) -> Key | None:
        """Return the key with the id *kid*, looking into the file again before saying None."""
        for key in self._current():
            if key.id == kid:
                return key
        if self._path is None:
            return None
        for key in self._current(reread=True):
            if key.id == kid:
                return key
        return None

    def rotate(self, now: float) -> Key:
        """Put a fresh key first, and drop those that no state in its life can need.

        What is sealed already stays usable for as long as it lives. To make every state in flight useless,
        remove the file instead: a ring that finds none makes one.
        """
        if self._path is None:
            raise ConfigurationError("these keys come from FSNOTES_STATE_KEYS; rotate them there")
        if type(now) not in (int, float) or not math.isfinite(now):
            raise ValueError("not a time")
        with private.opened(self._folder) as folder, private.exclusive(folder):
            kept = _still_needed(self._read(folder)[0], now)
            fresh = self._fresh(now, beside=kept)
            private.write(folder, self._name, _encode((fresh, *kept)))
        with self._mutex:
            self._load()
        return fresh

    # -- the file ----------------------------------------------------------------------------------

    @property
    def _folder(self) -> str:
        return os.path.dirname(os.path.abspath(self._path or ""))

    @property
    def _name(self) -> str:
        return os.path.basename(self._path or "")

    def _current(self, *, reread: bool = False) -> tuple[Key, ...]:
        if self._path is None:
            return self._keys
        with self._mutex:
            try:
                version: tuple[int, ...] | None
                try:
                    version = _version(os.stat(self._path, follow_symlinks=False))
                except FileNotFoundError:
                    version = None
                if reread or version != self._version:
                    self._load()
            except (OSError, ConfigurationError) as error:
                raise Unavailable("the confirmation keys cannot be used") from error
            return self._keys

    def _load(self) -> None:
        with private.opened(self._folder) as folder:
            keys, version = self._read(folder)
            if not keys:
                with private.exclusive(folder):
                    # Another process may have been faster.
                    if not self._read(folder)[0]:
                        private.write(folder, self._name, _encode((self._fresh(self._clock()),)))
                    keys, version = self._read(folder)
        self._keys, self._version = keys, version

    def _read(self, folder: int) -> tuple[tuple[Key, ...], tuple[int, ...] | None]:
        found = private.read(folder, self._name)
        if found is None:
            return (), None
        data, status = found
        return _decode(data), _version(status)

    def _fresh(self, now: float, *, beside: Sequence[Key] = ()) -> Key:
        taken = {key.id for key in beside}
        while True:
            key = Key.of(self._random(SECRET_BYTES), created=int(now))
            if key.id not in taken:
                return key


def _version(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes with each rotation, and with each change of owner or mode."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _still_needed(keys: Sequence[Key], now: float) -> tuple[Key, ...]:
    # A key stops sealing when the one before it is made, the first one just now. Age alone says nothing: a
    # key that has sealed for a year sealed a form a second ago.
    retired = [now, *(key.created for key in keys[:-1])]
    needed = [key for key, since in zip(keys, retired, strict=True) if now - since < RETIRED_SECONDS]
    return tuple(needed[: MAX_KEYS - 1])


def _encode(keys: Sequence[Key]) -> bytes:
    ring = [
        {"id": key.id.hex(), "secret": base64.b64encode(key.secret).decode("ascii"), "created": key.created}
        for key in keys
    ]
    return json.dumps({"version": _VERSION, "keys": ring}, indent=1).encode("ascii") + b"\n"


def _decode(data: bytes) -> tuple[Key, ...]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise ConfigurationError("the keys file is damaged") from None
    match document:
        case {"version": 1, "keys": [_, *_] as items, **rest} if not rest:
            keys = tuple(_key(item) for item in items)
        case _:
            raise ConfigurationError("the keys file is damaged")
    _check_ring(keys)
    return keys


def _key(item: Any) -> Key:
    match item:
        case {"id": str(kid), "secret": str(secret), "created": int(created), **rest} if not rest:
            key = Key.of(_from_base64(secret), created=created)
            if key.id.hex() == kid:
                return key
    raise ConfigurationError("the keys file is damaged")


def _check_ring(keys: Sequence[Key]) -> None:
    if len(keys) > MAX_KEYS:
        raise ConfigurationError(f"more than {MAX_KEYS} state keys")
    if len({key.id for key in keys}) != len(keys):
        raise ConfigurationError("a state key twice")


def _from_base64(text: str) -> bytes:
    """Decode either alphabet, with or without padding. The text is a secret: no error repeats it."""
    plain = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigurationError("a state key is not base64") from None
