"""Several processes, and processes that are killed: an entry is spent once, or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsnotes.confirm import AlreadyDone, Binding, Candidate, Confirmations, KeyRing, Ledger, LedgerStep
from fsnotes.confirm.flow import Asked
from fsnotes.confirm.ledger import Standing
from fsnotes.errors import InvalidState

NOW = 1_800_000_000.0
ENTRY = "20270115T080000Z-" + "0" * 32
CALL = b"c" * 32

# Does one operation on a ledger and kills itself right after the step, or in the middle of the claim's work.
_KILLED = """
import os, signal, sys
from fsnotes.confirm import AlreadyDone, Ledger

path, operation, step = sys.argv[1:4]
entry, now = "20270115T080000Z-" + "0" * 32, 1_800_000_000.0

def stop(done):
    if getattr(done, "name", done) == step:
        os.kill(os.getpid(), signal.SIGKILL)

ledger = Ledger.open(path, observe=stop)
if operation == "claim":
    with ledger.claim(entry, ledger=ledger.id, choice=b"a", expires_at=now + 300, now=now):
        stop("work")
    ledger.settle(entry)
elif operation == "decline":
    ledger.decline(entry, b"c" * 32, ledger=ledger.id, expires_at=now + 300, until=now + 60, now=now)
elif operation == "spend":
    ledger.spend(entry, expires_at=now + 3600, now=now)
elif operation == "admit":
    # What takes a row drops those that have expired, and remembers that it did.
    ledger.spend("20270115T081640Z-" + "1" * 32, expires_at=now + 1300, now=now + 1000)
    ledger.admit(expires_at=now - 700, now=now - 1000)
raise SystemExit("not killed")
"""

# What a killed process leaves behind, for each step: the operations it does, and how its entry stands after.
_AFTER: dict[LedgerStep, tuple[str, Standing]] = {
    LedgerStep.BEGUN: ("claim", Standing.FREE),
    LedgerStep.CLAIMED: ("claim", Standing.FREE),
    LedgerStep.COMMITTED: ("claim", Standing.UNANSWERED),
    LedgerStep.RECLAIMED: ("claim", Standing.UNANSWERED),
    LedgerStep.SETTLED: ("claim", Standing.SPENT),
    LedgerStep.DECLINED: ("decline", Standing.SPENT),
    LedgerStep.SPENT: ("spend", Standing.SPENT),
    LedgerStep.RENEWED: ("admit", Standing.FREE),
}


@contextmanager
def _opened(path: Path) -> Iterator[Ledger]:
    ledger = Ledger.open(path)
    try:
        yield ledger
    finally:
        ledger.close()


def _kill_at(path: Path, operation: str, step: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(path), operation, step],
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, b"")


def _claim(ledger: Ledger) -> None:
    with ledger.claim(ENTRY, ledger=ledger.id, choice=b"a", expires_at=NOW + 300, now=NOW):
        pass


def _standing(ledger: Ledger) -> Standing:
    return ledger.standing(ENTRY, ledger=ledger.id, expires_at=NOW + 300, now=NOW)


@pytest.mark.parametrize("step", list(LedgerStep))
def test_a_process_killed_at_any_step_leaves_the_entry_spent_or_usable(
    tmp_path: Path, step: LedgerStep
) -> None:
    operation, expected = _AFTER[step]
    path = tmp_path / "ledger.sqlite3"
    with _opened(path) as ledger:
        before = ledger.id
        if step is LedgerStep.RECLAIMED:
            _kill_at(path, operation, LedgerStep.COMMITTED.name)
        if step is LedgerStep.RENEWED:
            ledger.spend(ENTRY, expires_at=NOW + 300, now=NOW)
        _kill_at(path, operation, step.name)
        assert _standing(ledger) is expected
        assert (ledger.id != before) is (step is LedgerStep.RENEWED)
        assert ledger.declined(CALL, now=NOW) is (step is LedgerStep.DECLINED)
        match expected:
            case Standing.FREE:
                _claim(ledger)
            case Standing.UNANSWERED:
                with pytest.raises(AlreadyDone):
                    _claim(ledger)
            case Standing.SPENT:
                pass
        with pytest.raises(InvalidState, match=r"^spent$"):
            _claim(ledger)


def test_a_process_killed_in_the_middle_of_its_work_leaves_the_entry_usable(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    _kill_at(path, "claim", "work")
    with _opened(path) as ledger:
        assert _standing(ledger) is Standing.FREE
        _claim(ledger)
        assert _standing(ledger) is Standing.SPENT


def test_only_the_first_retry_after_a_kill_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    _kill_at(path, "claim", LedgerStep.COMMITTED.name)
    start, outcomes = threading.Barrier(4), []

    def retry() -> None:
        with _opened(path) as ledger:
            start.wait(10)
            try:
                _claim(ledger)
            except InvalidState as error:
                outcomes.append(type(error))

    threads = [threading.Thread(target=retry) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(outcome.__name__ for outcome in outcomes) == ["AlreadyDone"] + ["InvalidState"] * 3


# -- races -------------------------------------------------------------------------------------------

_RACER = """
import sys
from fsnotes.confirm import *
from fsnotes.errors import InvalidState
from fsnotes.confirm.flow import Confirmed

folder, state, now = sys.argv[1], sys.argv[2], float(sys.argv[3])
flow = Confirmations(KeyRing.open(folder + "/keys.json"), Ledger.open(folder + "/ledger.sqlite3"),
                     ttl=300, decline_memory=60)
call = Binding("local:me", "tools/call", "notes_delete", digest_arguments({"title": "x"}), digest_call("x"))
answers = {"delete_choice": {"action": "accept", "content": {"note_id": "a.md", "confirm": True}}}
print("ready", flush=True)
sys.stdin.readline()
try:
    confirmed = flow.resume(call, state=state, answers=answers, now=now)
    assert isinstance(confirmed, Confirmed)
    with flow.claim(confirmed, now=now):
        with open(folder + "/deleted", "a") as file:
            file.write("deleted once\\n")
except InvalidState as error:
    print(error.reason, flush=True)
else:
    print("deleted", flush=True)
sys.stdin.readline()
"""


def _race(scripts: Sequence[list[str]]) -> list[str]:
    """Start the scripts, let them go at once, and return what each says; they live until all have spoken."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", *script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for script in scripts
    ]
    said = []
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        assert child.stdout is not None
        said.append(child.stdout.readline().strip())
    for child in children:
        child.communicate("end\n", timeout=30)
        assert child.returncode == 0
    return said


def test_eight_processes_race_for_one_confirmation_and_exactly_one_deletes(tmp_path: Path) -> None:
    from fsnotes.confirm import digest_arguments, digest_call

    call = Binding(
        "local:me", "tools/call", "notes_delete", digest_arguments({"title": "x"}), digest_call("x")
    )
    with _opened(tmp_path / "ledger.sqlite3") as ledger:
        flow = Confirmations(KeyRing.open(tmp_path / "keys.json"), ledger, ttl=300, decline_memory=60)
        asked = flow.ask(call, [Candidate("a.md", "e", "A", 1, NOW)], workspace="notes", now=NOW)
    assert isinstance(asked, Asked)
    for round_number in range(2):
        said = _race([[_RACER, str(tmp_path), asked.state, str(NOW)]] * 8)
        assert sorted(said) == (["deleted"] if round_number == 0 else []) + ["spent"] * (7 + round_number)
        assert (tmp_path / "deleted").read_text() == "deleted once\n"
        # Who deleted has ended without saying so; who comes first now would be answered, and would not delete.
        with _opened(tmp_path / "ledger.sqlite3") as ledger:
            confirmed_entry = _entries(tmp_path)
            assert len(confirmed_entry) == 1
            assert ledger.settle(confirmed_entry[0])


def _entries(folder: Path) -> list[str]:
    import sqlite3

    connection = sqlite3.connect(folder / "ledger.sqlite3")
    try:
        return [entry for (entry,) in connection.execute("SELECT entry FROM spent")]
    finally:
        connection.close()


_MAKER = """
import sys
from fsnotes.confirm import Ledger
ledger = Ledger.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(ledger.id, flush=True)
sys.stdin.readline()
"""


def test_eight_processes_that_make_the_ledger_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    said = _race([[_MAKER, str(path)]] * 8)
    with _opened(path) as ledger:
        assert said == [ledger.id] * 8
    assert sorted(name.name for name in tmp_path.iterdir() if name.stat().st_size) == ["ledger.sqlite3"]
