"""A sample of what `test_every_call.py` does, in a jailed worker: what fails there is told by its parent as it is."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.records import replace
from tests.service.conftest import Household
from tests.service.faults import checks
from tests.service.faults.checks import Ending, Model, attempt, tree_of
from tests.service.faults.jailed import END, FAIL, TELL
from tests.service.faults.running import Profile
from tests.service.faults.seam import Made
from tests.service.faults.stories import CHANGING, Scene, Story, furnish

SOURCES = str(Path(__file__).resolve().parents[3])
STRIDE, SLOW_STRIDE = 5, 3
"""One call of so many fails; none is left out where `FSNOTES_FAULTS` says so."""


@dataclass
class Seamed:
    """Makes workers that have the seam in them, and speaks to the one that changes something."""

    jails: list[Jail] = field(default_factory=list)

    def __call__(self, spec: JailSpec, *, require: Level) -> Jail:
        if spec.kind == "rw":
            spec = replace(
                spec,
                handler="tests.service.faults.jailed:build",
                import_paths=(*spec.import_paths, SOURCES),
            )
        jail = Jail(spec, require=require)
        if spec.kind == "rw":
            self.jails.append(jail)
        return jail

    def ask(self, operation: str, **args: Any) -> dict[str, Any]:
        (jail,) = self.jails
        deadline = time.monotonic() + 30
        return jail.call(operation, args, deadline=deadline, write=False, abandoned=lambda: False)


@dataclass
class Stage:
    """One product for all faults of a story: a worker takes long to start."""

    household: Household
    workers: Seamed
    scene: Scene

    def again(self, story: Story) -> None:
        """Put everything back to where the story begins."""
        vault = self.household.vault
        for place in vault.iterdir():
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        furnish(self.household)
        (self.household.top / "state/private/audit.jsonl").unlink(missing_ok=True)
        story.prepare(self.scene)

    def tell(self, story: Story, at: int) -> tuple[Ending, dict[str, Any]]:
        """Tell the story while the call number *at* of the worker fails; return what the worker has to say of it."""
        self.workers.ask(FAIL, at=at, kind="fails", number=errno.EIO)
        ending = attempt(story, self.scene)
        told = self.workers.ask(TELL)
        self.workers.ask(END)
        return ending, told


@pytest.fixture
def stage(jailed: Household) -> Iterator[Stage]:
    """Set up a vault, and a product whose worker has the seam."""
    workers = Seamed()
    jailed.worker = workers
    product = jailed.product()
    assert product.sweep() == 0  # starts the worker
    yield Stage(jailed, workers, Scene(jailed, product))
    product.close()


def run(stage: Stage, story: Story, stride: int) -> int:
    """Tell the story with one fault after the other; return how many there were."""
    household = stage.household
    stage.again(story)
    before = tree_of(household)
    ending, told = stage.tell(story, -1)
    assert ending.error is None
    assert ending.said is not None
    model = Model(before, tree_of(household), ending.said, ())
    wrong: list[str] = []
    numbers = range(0, len(told["made"]), stride)
    for at in numbers:
        stage.again(story)
        is_open = stage.workers.ask(TELL)["open"]
        ending, told = stage.tell(story, at)
        happened = Made(*_halves(told["happened"]))
        try:
            checks.check_words(ending, household)
            checks.check_vault(model, ending, household)
            checks.check_answer(model, ending)
            checks.check_temporaries(household, happened)
            checks.check_audit(story, ending, household, is_of_the_log=False)
            checks.check_free(household, stage.scene)
            checks.check_next(story, model, ending, stage.scene, happened)
            assert told["open"] == is_open, "a descriptor was left open"
        except AssertionError as error:
            wrong.append(f"{told['happened']}: {error}")
    assert not wrong, f"{len(wrong)} of {len(numbers)}:\n" + "\n".join(wrong[:20])
    return len(numbers)


def _halves(happened: str | None) -> tuple[str, tuple[str, ...]]:
    call, _, where = (happened or "no call in nothing").partition(" in ")
    return call, tuple(where.split(" for "))


@pytest.mark.parametrize(
    "story", [each for each in CHANGING if each.name in ("notes_edit", "notes_delete")], ids=str
)
def test_a_sample_of_a_workers_calls_may_fail(stage: Stage, story: Story) -> None:
    assert run(stage, story, STRIDE) > 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("story", CHANGING, ids=str)
def test_any_of_a_workers_calls_may_fail(stage: Stage, story: Story) -> None:
    stride = 1 if Profile.chosen() is Profile.EVERY else SLOW_STRIDE
    print(f"{story}, jailed: {run(stage, story, stride)} faults")
