"""Clients of revisions 2025-11-25 and 2025-06-18, which open a connection with `initialize`: the same tools for them.

`revisions` says what these revisions have in other shapes, `peer` answers their messages, `questions` puts a form to a
person in a request of our own, and `commands` says what a person can run where no form can be shown. No rule about
notes, rights or confirmation is here, and the SDK is not needed.
"""

from __future__ import annotations

from fsnotes.server.legacy.commands import Commands
from fsnotes.server.legacy.peer import Peer

__all__ = ["Commands", "Peer"]
