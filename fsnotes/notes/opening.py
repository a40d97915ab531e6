"""What a worker of notes is told when it starts: which handlers it has, and how it opens its workspace.

Apart from the handlers, which the process that starts workers never loads for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

from sandbox.policy import HardLinks, Links, Mounts, Policy, Quota
from sandbox.records import record
from sandbox.resolve import ResolverChoice

READER: Final = "fsnotes.notes.reader:build"
"""How a jail is told of what answers commands that only look."""

WRITER: Final = "fsnotes.notes.writer:build"
"""How a jail is told of what answers all commands."""

INDEXER: Final = "fsnotes.notes.indexer:build"
"""How a jail is told of what keeps the index."""

INDEX_FOLDER: Final = "index"
"""Where the index is in the part of the state that is for a workspace: a worker that keeps it has nothing else of that.

So what parses every note cannot write the journal that another worker finishes a move by.
"""

RUN: Final = "run"
"""The one operation: `encode_command`'s values in, `encode_answer`'s or `{"refused": ...}` out."""

PACKAGES: Final = ("fsnotes", "sandbox", "pathvalidate", "ruamel.yaml", "re2")
"""What a worker imports beside the standard library."""


@record
class WorkerOptions:
    """What the parent decides for the workers of a workspace."""

    policy: Policy
    resolver: ResolverChoice = "auto"
    quota: Quota = Quota()
    boot: str | None = None
    """The id of the running boot: an index that another one left open is not trusted. None where nobody knows it."""

    def to_json(self) -> dict[str, Any]:
        """Return the options as a jail's spec takes them."""
        policy, quota = self.policy, self.quota
        return {
            "resolver": self.resolver,
            "boot": self.boot,
            "policy": {
                "links": policy.links.value,
                "hard_links": policy.hard_links.value,
                "mounts": policy.mounts.value,
                "max_file_bytes": policy.max_file_bytes,
                "max_entries": policy.max_entries,
            },
            "quota": {
                "max_bytes": quota.max_bytes,
                "max_entries": quota.max_entries,
                "min_free_bytes": quota.min_free_bytes,
            },
        }

    @classmethod
    def from_json(cls, options: Mapping[str, Any]) -> Self:
        """Return the options that `to_json` wrote; others beside them are somebody else's."""
        policy, quota = options["policy"], options["quota"]
        return cls(
            Policy(
                links=Links(policy["links"]),
                hard_links=HardLinks(policy["hard_links"]),
                mounts=Mounts(policy["mounts"]),
                max_file_bytes=policy["max_file_bytes"],
                max_entries=policy["max_entries"],
            ),
            options["resolver"],
            Quota(
                max_bytes=quota["max_bytes"],
                max_entries=quota["max_entries"],
                min_free_bytes=quota["min_free_bytes"],
            ),
            options["boot"],
        )
