"""Directories that a program may touch, and nothing beside them.

A `Root` is one directory held by its descriptor; a `RelPath` says where in it; a `Policy` says which
objects are acceptable there. The package has never heard of a note.
"""

from __future__ import annotations

from sandbox.names import ROOT, RelPath, is_entry_name
from sandbox.objects import (
    Content,
    Entry,
    FileIdentity,
    Kind,
    Listing,
    Replaced,
    SweepReport,
    TrashedFile,
)
from sandbox.policy import HardLinks, Links, Mounts, Policy, Quota
from sandbox.root import Features, Root
from sandbox.steps import Observer, Step, ignore
from sandbox.uris import FileUri

__all__ = [
    "ROOT",
    "Content",
    "Entry",
    "Features",
    "FileIdentity",
    "FileUri",
    "HardLinks",
    "Kind",
    "Links",
    "Listing",
    "Mounts",
    "Observer",
    "Policy",
    "Quota",
    "RelPath",
    "Replaced",
    "Root",
    "Step",
    "SweepReport",
    "TrashedFile",
    "ignore",
    "is_entry_name",
]
