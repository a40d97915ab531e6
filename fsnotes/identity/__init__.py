"""Decides who sends an HTTP request: from the credentials it bears, to a principal or a refusal.

Synchronous, and without the protocol. What the principal may do is left to `fsnotes.access`, HTTP to
`fsnotes.server.http`. Nothing here ever repeats a credential: not in an error, not in a log.
"""

from __future__ import annotations

from fsnotes.identity.authenticator import MAX_TOKEN, MAX_WAITING, Authenticator, Unauthenticated
from fsnotes.identity.challenges import metadata_paths

__all__ = ["MAX_TOKEN", "MAX_WAITING", "Authenticator", "Unauthenticated", "metadata_paths"]
