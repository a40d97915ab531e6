"""Authorization: may this principal do this kind of thing in this workspace and folder?"""

from __future__ import annotations

from fsnotes.access.grants import Access, Grant, Held, Principal, Right, Rule, Workspace

__all__ = ["Access", "Grant", "Held", "Principal", "Right", "Rule", "Workspace"]
