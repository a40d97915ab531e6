"""Decides what was spent: a state works once, whichever process it reaches, and for whom a person said no.

A row stands for a trash entry, which is known from the state. It is written by the process that deletes, in a
transaction that is open while the note moves, so the row and the move come together or not at all; when the
process dies in between, the note in the trash is the receipt, and the caller finds it there.

Rows are kept until their state has expired and never dropped before; the latest expiry that was dropped is
remembered, so that no clock that is set back revives a state. Where the file is kept is left to `database`.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final

from fsnotes.confirm import owners, private
from fsnotes.errors import Busy, FsnotesError, InvalidState, Unavailable

if TYPE_CHECKING:
    from fsnotes.confirm.database import Database, Transaction

MAX_ROWS: Final = 100_000
"""Most spent rows, and most remembered declines."""

_PRUNED_AT_ONCE: Final = 1000


class LedgerStep(StrEnum):
    """One step that has just been done, in the order of a deletion; the observer is called right after it."""

    BEGUN = "ledger: the transaction of a claim has begun"
    CLAIMED = "ledger: the claim is written, not committed"
    COMMITTED = "ledger: the claim is committed"
    RECLAIMED = "ledger: the claim of a process that died unanswered is taken over"
    SETTLED = "ledger: the answer is known to be out"
    DECLINED = "ledger: a decline is committed"
    SPENT = "ledger: a restored entry is spent"
    RENEWED = "ledger: everything is forgotten under a fresh id"


class Standing(Enum):
    """What the ledger says of an entry."""

    FREE = "free"
    SPENT = "spent"
    UNANSWERED = "deleted by a process that died before it answered"


class AlreadyDone(InvalidState):
    """The confirmed note is in the trash already, and nobody was told: answer `deleted`, move nothing.

    Left uncaught it is what any other use of a spent state is: invalid.
    """

    def __init__(self, entry: str) -> None:
        super().__init__("spent by a process that died before it answered")
        self.entry = entry


def ignore(step: StrEnum) -> None:
    """Observe nothing: the default."""


class Ledger:
    """The one-time ledger in one file, shared by threads and processes. Starts no thread and no process."""

    def __init__(
        self,
        path: str,
        *,
        max_rows: int = MAX_ROWS,
        observe: Callable[[StrEnum], None] = ignore,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._path = path
        self._random = random
        self._max_rows = max_rows
        self._observe = observe
        self._mutex = threading.Lock()
        self._database: Database | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        max_rows: int = MAX_ROWS,
        observe: Callable[[StrEnum], None] = ignore,
        random: Callable[[int], bytes] = os.urandom,
    ) -> Ledger:
        """Return the ledger at *path*; the file is opened, or made (0600), when it is first needed.

        Raises ConfigurationError when the folder cannot be used. A file that is damaged, another program's,
        or not this user's alone makes each use raise Unavailable: nothing is deleted then.
        """
        absolute = os.path.abspath(os.fspath(path))
        with private.opened(os.path.dirname(absolute)):
            return cls(absolute, max_rows=max_rows, observe=observe, random=random)

    def close(self) -> None:
        """Close the file. A transaction that is open keeps its connection until it ends."""
        with self._mutex:
            self._closed = True
            database, self._database = self._database, None
        if database is not None:
            database.close()

    # -- what is known -----------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The ledger's own id, made once with the file; another file, another id."""
        with self._opened().reading() as read:
            return _meta(read)[0]

    def admit(self, *, expires_at: float, now: float) -> str:
        """Return the id for a state that is about to be sealed.

        When the clock was set back behind what was pruned, no such state could be told from one that was
        spent: the ledger gets a fresh id, and all states sealed before become invalid.
        """
        _check_times(expires_at, now)
        database = self._opened()
        with database.reading() as read:
            ledger_id, horizon = _meta(read)
        if expires_at > horizon:
            return ledger_id
        with database.writing() as write:
            ledger_id, horizon = _meta(write)
            if expires_at > horizon:
                return ledger_id
            ledger_id = database.fresh_id()
            write.renew(ledger_id)
        self._observe(LedgerStep.RENEWED)
        return ledger_id

    def standing(self, entry: str, *, ledger: str, expires_at: float, now: float) -> Standing:
        """Say what became of *entry*. Raises InvalidState when no claim of it can be taken at all."""
        with self._opened().reading() as read:
            _check_admissible(read, ledger=ledger, expires_at=expires_at, now=now)
            row = read.row("SELECT outcome, answered, owner FROM spent WHERE entry = ?", entry)
        return Standing.FREE if row is None else _standing(*row)

    def declined(self, call: bytes, *, now: float) -> bool:
        """Say whether a person has declined the same call recently enough to be left in peace."""
        _check_times(now)
        with self._opened().reading() as read:
            row = read.row(
                "SELECT 1 FROM declined WHERE call = ? AND declined_at <= ? AND ? < until", call, now, now
            )
        return row is not None

    # -- what is spent -----------------------------------------------------------------------------

    @contextmanager
    def claim(
        self, entry: str, *, ledger: str, choice: bytes, expires_at: float, now: float
    ) -> Iterator[None]:
        """Spend *entry* around the caller's work: committed when the work ends, undone when it raises.

        Exactly one of any number of threads and processes gets into the body and out of it; the others wait,
        and raise InvalidState, or Busy after `database.BUSY_SECONDS`. AlreadyDone is raised, instead, when
        the entry was spent on the same *choice* by a process that died before its answer was settled: then
        this process is the one that answers, and settles.

        Busy may also be raised at the end, when nothing could be committed although the work is done: the
        work must be found done by the next claim of the same entry.
        """
        with self._opened().writing() as write:
            self._observe(LedgerStep.BEGUN)
            _check_admissible(write, ledger=ledger, expires_at=expires_at, now=now)
            row = write.row("SELECT outcome, answered, owner, choice FROM spent WHERE entry = ?", entry)
            if row is None:
                self._make_room(write, now)
                self._insert(write, entry, "deleted", expires_at, choice=choice, owner=owners.this_process())
                self._observe(LedgerStep.CLAIMED)
                yield
            else:
                if _standing(*row[:3]) is not Standing.UNANSWERED or row[3] != choice:
                    raise InvalidState("spent")
                write.rows("UPDATE spent SET owner = ? WHERE entry = ?", owners.this_process(), entry)
        if row is not None:
            self._observe(LedgerStep.RECLAIMED)
            raise AlreadyDone(entry)
        self._observe(LedgerStep.COMMITTED)

    def settle(self, entry: str) -> bool:
        """Note that the answer `deleted` is out: from here on a retry is a replay, also if we die.

        Returns False where that could not be noted. The answer is out all the same, so nothing is raised.
        """
        try:
            with self._opened().writing() as write:
                write.rows("UPDATE spent SET answered = 1 WHERE entry = ?", entry)
        except FsnotesError:
            return False
        self._observe(LedgerStep.SETTLED)
        return True

    def decline(
        self, entry: str, call: bytes, *, ledger: str, expires_at: float, until: float, now: float
    ) -> None:
        """Spend *entry* without deleting anything, and ask nobody *until* then about the same call.

        Raises InvalidState when it is spent.
        """
        _check_times(until)
        with self._opened().writing() as write:
            _check_admissible(write, ledger=ledger, expires_at=expires_at, now=now)
            if write.row("SELECT 1 FROM spent WHERE entry = ?", entry) is not None:
                raise InvalidState("spent")
            self._make_room(write, now)
            self._insert(write, entry, "declined", expires_at)
            write.rows("INSERT OR REPLACE INTO declined VALUES (?, ?, ?)", call, now, until)
        self._observe(LedgerStep.DECLINED)

    def spend(self, entry: str, *, expires_at: float, now: float) -> None:
        """Spend *entry* for good because what it deleted is put back; one that is spent already stays so."""
        _check_times(expires_at, now)
        with self._opened().writing() as write:
            if write.row("SELECT 1 FROM spent WHERE entry = ?", entry) is None:
                self._make_room(write, now)
                self._insert(write, entry, "restored", expires_at)
            else:
                write.rows(
                    "UPDATE spent SET outcome = 'restored', answered = 1, expires_at = max(expires_at, ?)"
                    " WHERE entry = ?",
                    expires_at,
                    entry,
                )
        self._observe(LedgerStep.SPENT)

    # -- parts -------------------------------------------------------------------------------------

    def _opened(self) -> Database:
        with self._mutex:
            if self._closed:
                raise Unavailable("the confirmation ledger is closed")
            if self._database is None:
                # sqlite3 costs 5 ms to load, and most processes never ask a question.
                from fsnotes.confirm.database import Database

                self._database = Database(self._path, random=self._random)
            return self._database

    def _make_room(self, write: Transaction, now: float) -> None:
        _prune(write, now)
        row = write.row("SELECT count(*) FROM spent")
        if row is None or not row[0] < self._max_rows:
            # Dropping a row that has not expired would let its state work again.
            raise Busy("the confirmation ledger is full")
        write.rows(
            "DELETE FROM declined WHERE call IN"
            " (SELECT call FROM declined ORDER BY until DESC LIMIT -1 OFFSET ?)",
            self._max_rows - 1,
        )

    def _insert(
        self,
        write: Transaction,
        entry: str,
        outcome: str,
        expires_at: float,
        *,
        choice: bytes = b"",
        owner: str = "",
    ) -> None:
        write.rows(
            "INSERT INTO spent (entry, outcome, expires_at, choice, owner, answered)"
            " VALUES (?, ?, ?, ?, ?, 0)",
            entry,
            outcome,
            expires_at,
            choice,
            owner,
        )


def _meta(transaction: Transaction) -> tuple[str, float]:
    match transaction.row("SELECT id, horizon FROM meta"):
        case (str(ledger_id), float(horizon)) if len(ledger_id) == 32:
            return ledger_id, horizon
        case _:
            raise Unavailable("the confirmation ledger is damaged")


def _check_admissible(transaction: Transaction, *, ledger: str, expires_at: float, now: float) -> None:
    _check_times(expires_at, now)
    ledger_id, horizon = _meta(transaction)
    if ledger != ledger_id:
        raise InvalidState("of another ledger")
    if not now < expires_at:
        raise InvalidState("outside its time window")
    if not expires_at > horizon:
        raise InvalidState("so old that its row may have been pruned")


def _standing(outcome: object, answered: object, owner: object) -> Standing:
    if outcome == "deleted" and answered == 0 and isinstance(owner, str) and not owners.is_alive(owner):
        return Standing.UNANSWERED
    return Standing.SPENT


def _prune(write: Transaction, now: float) -> None:
    expired = "SELECT {} FROM spent WHERE expires_at <= ? ORDER BY expires_at LIMIT ?"
    row = write.row(
        f"SELECT max(expires_at) FROM ({expired.format('expires_at')})",  # noqa: S608  # fixed texts
        now,
        _PRUNED_AT_ONCE,
    )
    if row is not None and row[0] is not None:
        write.rows(
            f"DELETE FROM spent WHERE entry IN ({expired.format('entry')})",  # noqa: S608  # fixed texts
            now,
            _PRUNED_AT_ONCE,
        )
        write.rows("UPDATE meta SET horizon = max(horizon, ?)", row[0])
    write.rows("DELETE FROM declined WHERE until <= ?", now)


def _check_times(*times: float) -> None:
    for time in times:
        if type(time) not in (int, float) or not math.isfinite(time):
            raise InvalidState("not a time")
