"""Decides when an issuer's keys are fetched, how long they are good for, and who waits for them.

One fetch at a time, in a thread of its own, and one in RETRY_SECONDS at most, whatever comes in: what a stranger sends
cannot make us ask the issuer more often. Time is counted by a clock that nobody sets.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from fsnotes.identity.authenticator import MAX_WAITING
from fsnotes.identity.fetching import FetchFailed
from fsnotes.identity.issuers import Issuer
from fsnotes.identity.keys import Keys, NoKeys

EARLY_SECONDS: Final = 300.0
"""Keys of this age are fetched again while they are used."""

FRESH_SECONDS: Final = 600.0
"""Keys of this age are used only while an attempt to fetch others has failed: one that is withdrawn ends then."""

KEPT_SECONDS: Final = 3600.0
"""Keys of this age are not used at all."""

RETRY_SECONDS: Final = 10.0
"""The least time from one fetch to the next, also for a key that is not known."""

FETCH_SECONDS: Final = 5.0
"""How long a fetch, with finding out where to, may take."""

WAIT_SECONDS: Final = 6.0
"""How long a request waits for one."""

_log = logging.getLogger("fsnotes.identity")


class Keyring:
    """The current keys of one issuer. Thread-safe; nothing is fetched before it is needed."""

    def __init__(self, issuer: Issuer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._clock = clock
        self._changed = threading.Condition()
        self._keys: Keys | None = None
        self._fetched = self._attempted = float("-inf")
        self._failing = False
        self._running = False
        self._waiting = 0

    def current(self) -> Keys | None:
        """Return the keys that may be used without waiting, None where there are none such."""
        with self._changed:
            age = self._clock() - self._fetched
            if age >= EARLY_SECONDS:
                self._begin()
            return self._usable() if self._failing or age < FRESH_SECONDS else None

    def may_change(self) -> bool:
        """Whether waiting could bring other keys: they are being fetched, or may be."""
        with self._changed:
            return self._running or self._is_due()

    @property
    def is_certain(self) -> bool:
        """Whether the latest fetch has succeeded: then a key that is not there is not published, as far as we ask."""
        with self._changed:
            return not self._running and not self._failing

    def refreshed(self) -> Keys | None:
        """Return the keys once a fetch that is running, or may be begun, has ended; None where it has not, or of none.

        Waits WAIT_SECONDS at most, and not at all where MAX_WAITING do.
        """
        with self._changed:
            self._begin()
            if self._running and self._waiting < MAX_WAITING:
                self._waiting += 1
                try:
                    self._changed.wait_for(lambda: not self._running, WAIT_SECONDS)
                finally:
                    self._waiting -= 1
            return None if self._running else self._usable()

    def _usable(self) -> Keys | None:
        return self._keys if self._clock() - self._fetched < KEPT_SECONDS else None

    def _is_due(self) -> bool:
        return self._clock() - self._attempted >= RETRY_SECONDS

    def _begin(self) -> None:
        """Begin a fetch, unless one is running or the latest was just now. The condition is held."""
        if self._running or not self._is_due():
            return
        self._attempted = self._clock()
        self._running = True
        try:
            threading.Thread(target=self._fetch, name="fsnotes-keys", daemon=True).start()
        except RuntimeError:  # no more threads
            self._running = False
            self._failing = True

    def _fetch(self) -> None:
        keys, why = None, "it failed"
        try:
            keys = Keys.parse(self._issuer.published(seconds=FETCH_SECONDS, clock=time.monotonic))
        except (FetchFailed, NoKeys) as error:
            why = str(error)
        finally:
            self._take(keys, why)

    def _take(self, keys: Keys | None, why: str) -> None:
        with self._changed:
            failed_before, self._failing = self._failing, keys is None
            if keys is not None:
                if self._keys is None or self._keys.digest != keys.digest:
                    self._keys = keys
                # When it was begun: what was withdrawn since then may be in it.
                self._fetched = self._attempted
            self._running = False
            self._changed.notify_all()
        # Not while everybody who asks would wait for whoever reads the log.
        if keys is None and not failed_before:
            _log.warning("the issuer's keys could not be fetched: %s", why)
        elif keys is not None and failed_before:
            _log.warning("the issuer's keys could be fetched again")
