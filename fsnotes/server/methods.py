"""Decide which methods there are beside those of tools, for one configuration.

What each does is in the module of its family; who may do what is left to the service. Knows nothing of the SDK.
"""

from __future__ import annotations

from fsnotes.server.method import Method
from fsnotes.server.prompting import getting
from fsnotes.server.resourcing import resourcing


def methods(*, read_only: bool) -> dict[str, Method]:
    """Return the methods by their names; *read_only* leaves out what leads to a change."""
    return {
        method.name: method for method in (*resourcing(read_only=read_only), getting(read_only=read_only))
    }
