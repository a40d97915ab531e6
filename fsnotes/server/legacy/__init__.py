"""Clients of revisions 2025-11-25 and 2025-06-18, which open a connection with `initialize`: the same tools for them.

`revisions` says which revision a request is of and what these have in other shapes, `answers` answers their messages:
for `peer`, the other side of a connection that lasts, or `stateless`, where each request comes alone. `questions` puts
a form to a person in a request of our own, and `commands` says what a person can run where no form can be shown. No
rule about notes, rights or confirmation is here, and the SDK is not needed.
"""

from __future__ import annotations

from fsnotes.server.legacy.commands import Commands
from fsnotes.server.legacy.peer import Peer
from fsnotes.server.legacy.stateless import Stateless

__all__ = ["Commands", "Peer", "Stateless"]
