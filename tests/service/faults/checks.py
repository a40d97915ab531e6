"""What is true after a call has failed: looked at from outside, with plain calls of the operating system."""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fsnotes.errors import FsnotesError, InvalidState, OutcomeUnknown
from fsnotes.failures import CRASH, describe, slugs
from sandbox.names import OWN_PREFIX
from tests.service.conftest import ALICE, Household
from tests.service.faults.seam import Made
from tests.service.faults.stories import ENTRY, KILLED, Document, Scene, Story

_ENTRY: Final = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{32}")

Tree = dict[str, tuple[int, object]]


@dataclass(frozen=True)
class Model:
    """What a story does when nothing fails: the vault before and after, what is said, and which calls are made."""

    before: Tree
    after: Tree
    said: Document
    made: tuple[Made, ...]


@dataclass(frozen=True)
class Ending:
    """How a call ended: with an answer, or with an error."""

    said: Document | None
    error: Exception | None


def tree_of(household: Household) -> Tree:
    """Return everything in the vault: modes, texts, and names but for those that are made of chance.

    An empty folder in the trash is none: nobody looks at it. Temporaries are for `temporaries_of`.
    """
    found: Tree = {}
    top = str(household.vault)
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if name.startswith(OWN_PREFIX):
                continue
            shown = os.path.relpath(path, top)
            if stat.S_ISDIR(status.st_mode):
                if shown.startswith(".trash") and not any(under for _, _, under in os.walk(path)):
                    continue
                what: object = "folder"
            else:
                with open(path, "rb") as file:
                    what = file.read()
            found[_without_entry(shown)] = (status.st_mode, what)
    return found


def _without_entry(text: str) -> str:
    return _ENTRY.sub(lambda found: found[0] if found[0] == ENTRY else "ENTRY", text)


def temporaries_of(household: Household) -> list[str]:
    """Return the temporaries in the vault, and those of our own files in the state."""
    state = household.top / "state"
    return household.temporaries() + [
        str(place.relative_to(state)) for place in state.rglob("*.new*") if "index" not in place.parts
    ]


def descriptors(top: Path) -> dict[int, str]:
    """Return what this process has open beneath *top*: elsewhere other tests have workers that come and go."""
    found: dict[int, str] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the listing's own
        if target.startswith(f"{top}/"):
            found[int(name)] = target
    return found


def without_chance(said: Any) -> Any:
    """Return an answer as it is each time."""
    return json.loads(_without_entry(json.dumps(said)))


def attempt(story: Story, scene: Scene) -> Ending:
    """Do what the story tells. What is no error of the product's is none that anybody should see."""
    try:
        return Ending(without_chance(story.act(scene)), None)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is judged below
        return Ending(None, error)


def check_words(ending: Ending, household: Household) -> None:
    """An error is one of the contract's, in one line that tells nothing of the host."""
    if ending.error is None:
        return
    error = ending.error
    assert isinstance(error, FsnotesError), f"a crash: {error!r}"
    failure = describe(error)
    assert failure is not CRASH
    assert failure.slug in slugs()
    assert failure.line.startswith(f"{failure.slug}: ")
    for secret in (str(household.top), "Errno", "errno", "Traceback", "/proc/", "sqlite"):
        assert secret not in failure.line, failure.line


def check_vault(model: Model, ending: Ending, household: Household) -> None:
    """The vault is as it was or as it was to be, and what was said of it is so."""
    now = tree_of(household)
    if model.before == model.after:
        assert now == model.before, "a call that only looks has changed something"
        return
    if ending.error is None:
        check_made(model, ending, now)
        return
    line = describe(ending.error).line
    assert now in (model.before, model.after), f"neither old nor new, and the answer is {line}"
    if isinstance(ending.error, OutcomeUnknown):
        return
    assert now == model.before, f"it was done, and the answer is {line}"


def check_made(model: Model, ending: Ending, now: Tree) -> None:
    """A change that is acknowledged is there; what of it could not be done is told."""
    said = ending.said or {}
    if said.get("moved") == 0:  # the sweep, which does what it can
        assert now == model.before
        return
    lost = set(said.get("notKept", ()))
    left = {each.get("path") for each in said.get("leftAlone", ())}
    for path in {*now, *model.after}:
        if now.get(path) == model.after.get(path) or path in left:
            continue
        assert path in now, f"{path} is missing"
        assert path in model.after, f"{path} is left"
        (mode, text), (wanted, expected) = now[path], model.after[path]
        assert text == expected, path
        assert mode != wanted, path
        assert lost, f"{path} has another mode, and nobody is told"


def check_answer(model: Model, ending: Ending) -> None:
    """What is answered is what is always answered, or tells what it lacks."""
    if ending.said is None or ending.said == model.said:
        return
    said, usual = ending.said, model.said
    if said == {"moved": 0}:
        return
    for key in ("skipped", "leftAlone", "notKept"):
        if len(said.get(key, ())) > len(usual.get(key, ())):
            return
    if said.get("partial") and not usual.get("partial"):
        return
    if any(each["noteCountComplete"] is False for each in said.get("workspaces", ())):
        return
    raise AssertionError(f"another answer, without a word: {said}, and not {usual}")


def check_temporaries(household: Household, happened: Made) -> None:
    """None is left but one that could not be removed, and that is what the sweeper takes."""
    left = [each for each in temporaries_of(household) if not each.endswith(KILLED)]
    if left:
        assert happened.call in ("os.unlink", "os.stat"), f"left behind: {left}"
        assert "discard" in happened.where or "lstat" in happened.where, f"left behind: {left}"


def check_audit(story: Story, ending: Ending, household: Household, *, is_of_the_log: bool) -> None:
    """There is one line for a change, and it says what happened; one that could not be written says what it can."""
    lines = household.audit()  # parses each line
    if story.outcome is None:
        return
    outcomes = [line["outcome"] for line in lines]
    if is_of_the_log:
        assert len(outcomes) <= 1, outcomes
        if outcomes:
            assert outcomes[0] in ("begun", story.outcome, "unavailable", "outcome_unknown"), outcomes
        return
    assert len(outcomes) == 1, outcomes
    match ending.error:
        case None:
            assert outcomes == [story.outcome]
        case OutcomeUnknown():
            assert outcomes == ["outcome_unknown"]
        case _:
            assert outcomes[0] not in (story.outcome, "begun", "outcome_unknown"), outcomes


def check_free(household: Household, scene: Scene) -> None:
    """No lock is held, and, where commands are run in this process, no place is taken."""
    for place in (
        household.vault,
        household.top / "state/private/audit.jsonl",
        household.top / "state/private",
    ):
        if place.exists():
            descriptor = os.open(place, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            finally:
                os.close(descriptor)
    guarded: Any = scene.product._runner
    for served in () if household.is_jailed else guarded._runner._served.values():
        assert set(served.pending._counts.values()) == {0}, "a place is taken"


def check_next(story: Story, model: Model, ending: Ending, scene: Scene, happened: Made) -> None:
    """The next call works; the same one does, where it was not done."""
    household = scene.household
    now = tree_of(household)
    again = attempt(story, scene)
    if isinstance(again.error, InvalidState) and happened.call == "sqlite3.execute":
        pass  # the ledger has the answer, and could not say so
    elif story.outcome is None and story.repeats:
        assert again.error is None, f"the next call is refused: {again.error!r}"
        assert again.said == model.said, f"the next answer is another one: {again.said}"
    elif ending.error is not None and now == model.before:
        assert again.error is None, f"the next call is refused: {again.error!r}"
        assert again.said == model.said, again.said
        assert tree_of(household) == model.after, "the next call did something else"
    else:
        check_words(again, household)
    scene.service.append(ALICE, scene.uri, "Log", "- a line")
    assert (household.vault / "Log.md").read_text() == "# Log\n- a line\n"
