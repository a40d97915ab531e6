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

    `afterwards` is what is due once the answer has left the process, and `notify` sends a notification before that.
    `refusal` is what a call fails with at once: its transport has counted too many.

    A request that stays under way is told of changes by `tell`, on the event loop: it sends a notification if there is
    room for one, and says whether there was. That is done for as long as the transport can `vouch` for the principal,
    None where it always can. `when_abandoned` is called once nobody listens.
    """

    __slots__ = (
        "_abandoned",
        "afterwards",
        "notify",
        "principal",
        "refusal",
        "tell",
        "vouch",
        "when_abandoned",
    )

    def __init__(self, principal: Principal) -> None:
        self.principal = principal
        self._abandoned = False
        self.tell: Callable[[dict[str, Any]], bool] | None = None
        self.vouch: Callable[[], Awaitable[bool]] | None = None
        self.when_abandoned: Callable[[], None] | None = None
        self.afterwards: Callable[[], None] | None = None
        self.notify: Notify | None = None
        self.refusal: LimitReached | None = None

    @property
    def abandoned(self) -> bool:
        """Whether the answer is no longer wanted; set on the event loop."""
        return self._abandoned

    @abandoned.setter
    def abandoned(self, value: bool) -> None:
        self._abandoned = value
        if value and self.when_abandoned is not None:
            self.when_abandoned()

    def is_abandoned(self) -> bool:
        """Say whether the caller has given up; asked from the thread that does the work."""
        return self.abandoned
