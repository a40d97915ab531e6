"""A request under way, as what answers it and what moves its messages both know it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsnotes.access import Principal
    from fsnotes.errors import LimitReached
    from fsnotes.server.progress import Notify


class Flight:
    """A request of *principal* under way. `abandoned` turns true when its answer is no longer wanted.

    `on_abandon` is what is to be done at once then; `afterwards` is what is due once the answer has left the process,
    and `notify` sends a notification before that.
    `refusal` is what a call fails with at once: its transport has counted too many. `tool`, `outcome` and
    `trace_id` are for who tells operators of it: the name of a tool there is, and the result's type, the slug of a
    failure, the code of an error, or `crash`.

    A request that stays under way is told of changes by `tell`, on the event loop: it sends a notification if there is
    room for one, and says whether there was. That is done for as long as the transport can `vouch` for the principal,
    None where it always can.
    """

    __slots__ = (
        "_abandoned",
        "afterwards",
        "notify",
        "on_abandon",
        "outcome",
        "principal",
        "refusal",
        "tell",
        "tool",
        "trace_id",
        "vouch",
    )

    def __init__(self, principal: Principal) -> None:
        self.principal = principal
        self._abandoned = False
        self.on_abandon: Callable[[], None] | None = None
        self.tell: Callable[[dict[str, Any]], bool] | None = None
        self.vouch: Callable[[], Awaitable[bool]] | None = None
        self.afterwards: Callable[[], None] | None = None
        self.notify: Notify | None = None
        self.refusal: LimitReached | None = None
        self.tool: str | None = None
        self.outcome: str | None = None
        self.trace_id: str | None = None

    @property
    def abandoned(self) -> bool:
        """Whether the answer is no longer wanted; set on the event loop, which does what is due then."""
        return self._abandoned

    @abandoned.setter
    def abandoned(self, value: bool) -> None:
        self._abandoned = value
        if value and self.on_abandon is not None:
            self.on_abandon()

    def is_abandoned(self) -> bool:
        """Say whether the caller has given up; asked from the thread that does the work."""
        return self.abandoned
