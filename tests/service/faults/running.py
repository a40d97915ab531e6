"""A story is told once without a fault, and then once for each fault: in a new vault, by a new product."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from fsnotes.access import Right
from fsnotes.wiring import ResolverChoice
from tests.service.conftest import ALICE, inline_household
from tests.service.faults import checks
from tests.service.faults.checks import Ending, Model, attempt, tree_of
from tests.service.faults.errnos import faults_of
from tests.service.faults.seam import Fault, Made, Seam
from tests.service.faults.stories import Scene, Story, furnish


class Profile(Enum):
    """How much is tried of all that can happen."""

    SHORT = "a call of each place fails once, in one of the ways in which it can"
    FULL = "a call of each place, and for each that it is made for there, fails in all of these ways"
    EVERY = "every call fails in all of these ways"

    @classmethod
    def chosen(cls) -> Profile:
        """Return what the environment asks for, where it is not the short one that is run."""
        return cls.EVERY if os.environ.get("FSNOTES_FAULTS") == "every" else cls.FULL


@contextmanager
def scene_of(story: Story, top: Path, resolver: ResolverChoice) -> Iterator[Scene]:
    """Set the scene in the folder *top*, which is removed afterwards."""
    top.mkdir()
    household = inline_household(resolver, top)
    try:
        household.grant(ALICE, *Right)
        furnish(household)
        scene = Scene(household, household.product())
        story.prepare(scene)
        yield scene
    finally:
        household.close()
        shutil.rmtree(top)


def model_of(seam: Seam, story: Story, top: Path, resolver: ResolverChoice) -> Model:
    """Tell the story without a fault, and record its calls."""
    with scene_of(story, top, resolver) as scene:
        before = tree_of(scene.household)
        with seam.recording() as made:
            ending = attempt(story, scene)
        assert ending.error is None, ending.error
        assert ending.said is not None
        return Model(before, tree_of(scene.household), ending.said, tuple(made))


def run(
    seam: Seam, story: Story, model: Model, at: int, fault: Fault, top: Path, resolver: ResolverChoice
) -> bool:
    """Tell the story while its call number *at* fails, see what is true afterwards, and say whether it has failed.

    On a busy machine a call of the service may take other steps than when it was recorded; whichever call of that name
    it is then, it must not matter that it fails; and there may be none.
    """
    with scene_of(story, top, resolver) as scene:
        household = scene.household
        with seam.failing(at, model.made[at].call, fault):
            ending = attempt(story, scene)
        happened = seam.happened
        if happened is None:
            assert ending == Ending(model.said, None)
            return False
        checks.check_words(ending, household)
        checks.check_vault(model, ending, household)
        checks.check_answer(model, ending)
        checks.check_temporaries(household, happened)
        checks.check_audit(story, ending, household, is_of_the_log=".audit." in happened.where)
        checks.check_free(household, scene)
        checks.check_next(story, model, ending, scene, happened)
    left = checks.descriptors(top)
    assert not left, f"left open: {left}"
    return True


def faults_in(model: Model, profile: Profile) -> list[tuple[int, Made, Fault]]:
    """Return what is to fail, and how."""
    if profile is Profile.EVERY:
        return [(at, made, fault) for at, made in enumerate(model.made) for fault in faults_of(made)]
    kinds: dict[str, int] = {}
    for at, made in enumerate(model.made):
        kinds.setdefault(str(made) if profile is Profile.FULL else f"{made.call} in {made.way[0]}", at)
    found: list[tuple[int, Made, Fault]] = []
    for turn, at in enumerate(kinds.values()):
        made = model.made[at]
        faults = faults_of(made)
        found += [
            (at, made, fault)
            for fault in (faults if profile is Profile.FULL else [faults[turn % len(faults)]])
        ]
    return found


def tell(seam: Seam, story: Story, folder: Path, resolver: ResolverChoice, profile: Profile) -> int:
    """Tell the story with one fault after the other; return how many. Raises AssertionError for all at once."""
    # The shorter one, since on a busy machine a call may take steps that it usually does not.
    models = [model_of(seam, story, folder / "top", resolver) for _ in range(2)]
    model = min(models, key=lambda each: len(each.made))
    faults = faults_in(model, profile)
    wrong: list[str] = []
    tried = 0
    for at, made, fault in faults:
        try:
            tried += run(seam, story, model, at, fault, folder / "top", resolver)
        except AssertionError as error:
            wrong.append(f"{made} {fault}: {error}")
    assert not wrong, f"{len(wrong)} of {len(faults)}:\n" + "\n".join(wrong[:20])
    assert tried > len(faults) // 2
    return tried
