"""Streamable HTTP of revision 2026-07-28: one endpoint, no sessions, behind a front that is strict about everything.

`connections` and `heads` decide what is a request and `presence` whether its client is still there, `hosts`, `callers`
and `limits` whether it is let in, `bodies` and `headers` what it says, `app` in which order; `replies` and `exchanges`
send what the front answers, or `legacy` to older clients, `listening` and `serving` run it. With several processes,
`parent` keeps them and `child` is what each knows of it.
"""

from __future__ import annotations

from fsnotes.server.http.listening import bind
from fsnotes.server.http.serving import serve_http

__all__ = ["bind", "serve_http"]
