"""The Model Context Protocol, revision 2026-07-28, in front of the service: the only room that knows the SDK.

`frames` and `envelope` decide what a message is, `streams` and `stdio` move messages, `front` and `kernel`
answer them, `legacy` those of older clients, `calling` runs a tool, `tools` names what can be called. Leaves every
rule about notes, rights and confirmation to `fsnotes.service`.

Loading it does not load the SDK, which takes up to a second and 50 MB: the first request that needs it does.
"""

from __future__ import annotations

from fsnotes.server.loading import ServerSettings
from fsnotes.server.stdio import serve_stdio

__all__ = ["ServerSettings", "serve_stdio"]
