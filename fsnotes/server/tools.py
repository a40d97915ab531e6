"""Decide what can be called: every tool, in one fixed order.

A descriptor is the same for every caller; who may do what is left to the service. Knows nothing of the SDK.
"""

from __future__ import annotations

from typing import Final

from fsnotes.server.changing import CHANGING
from fsnotes.server.looking import LOOKING
from fsnotes.server.overviews import LINKS, SEARCH, TAGS
from fsnotes.server.tool import Tool

_ORDER: Final = (
    "notes_workspaces",
    "notes_list",
    "notes_read",
    "notes_search",
    "notes_create",
    "notes_edit",
    "notes_append",
    "notes_properties",
    "notes_move",
    "notes_links",
    "notes_tags",
    "notes_delete",
    "notes_trash",
    "notes_restore",
)

TOOLS: Final = tuple(
    sorted((*LOOKING, SEARCH, LINKS, TAGS, *CHANGING), key=lambda tool: _ORDER.index(tool.name))
)


def offered(*, read_only: bool) -> tuple[Tool, ...]:
    """Return the tools of one configuration, in their order; *read_only* leaves out what changes things."""
    return tuple(tool for tool in TOOLS if not (read_only and tool.changes))
