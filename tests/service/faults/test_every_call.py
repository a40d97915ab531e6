"""Whatever call fails, of whatever tool: the vault is old or new, what is said is so, nothing is left, and it goes on.

The calls are recorded from a real run of each tool (`seam.py`), so that no list has to be kept; how each can fail is in
`errnos.py`, and what must be true afterwards in `checks.py`. What is tried usually has one resolver, and the slow tests
have the other. `FSNOTES_FAULTS=every pytest -n 0 -m slow` on this file has every single call fail, with both, which
takes minutes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsnotes.errors import FsnotesError
from fsnotes.wiring import ResolverChoice
from tests.require import has_openat2, require
from tests.service.conftest import inline_household
from tests.service.faults.checks import descriptors
from tests.service.faults.errnos import faults_of
from tests.service.faults.running import Profile, model_of, tell
from tests.service.faults.seam import Fault, Seam, built, load
from tests.service.faults.stories import CHANGING, DECLINING, INDEXING, LOOKING, SWEEPING, Story

STORIES = (*LOOKING, *CHANGING, DECLINING, SWEEPING, INDEXING)
RESOLVERS: tuple[ResolverChoice, ...] = ("openat2", "walk")


@pytest.fixture(scope="module")
def seam() -> Iterator[Seam]:
    """Put the seam into the product for the tests of this file."""
    load()
    with built() as made:
        yield made


def needed(resolver: ResolverChoice) -> ResolverChoice:
    """Skip, or fail if that is required, where the host does not have the resolver."""
    if resolver == "openat2":
        require("openat2", available=has_openat2())
    return resolver


def taking_turns(first: int) -> list[tuple[Story, ResolverChoice]]:
    """Return each story with one of the resolvers; the other one has it where *first* is the other number."""
    return [(story, RESOLVERS[(number + first) % 2]) for number, story in enumerate(STORIES)]


ALL = [(story, resolver) for story in STORIES for resolver in RESOLVERS]


@pytest.mark.parametrize(("story", "resolver"), taking_turns(0), ids=str)
def test_a_call_of_each_kind_may_fail(
    seam: Seam, story: Story, resolver: ResolverChoice, tmp_path: Path
) -> None:
    assert tell(seam, story, tmp_path, needed(resolver), Profile.SHORT) > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("story", "resolver"), ALL if Profile.chosen() is Profile.EVERY else taking_turns(1), ids=str
)
def test_a_call_of_each_kind_may_fail_in_every_way(
    seam: Seam, story: Story, resolver: ResolverChoice, tmp_path: Path
) -> None:
    told = tell(seam, story, tmp_path, needed(resolver), Profile.chosen())
    print(f"{story}, {resolver}: {told} faults")


def test_the_seam_sees_the_calls_of_every_layer_and_makes_each_fail(seam: Seam, tmp_path: Path) -> None:
    """Else the tests above would try nothing."""
    (story,) = (each for each in CHANGING if each.name == "notes_move")
    model = model_of(seam, story, tmp_path / "model", "auto")
    rooms = {made.where.rpartition(":")[0].split(".")[1] for made in model.made}
    assert {"audit", "resolve", "locking", "temporaries", "staging", "slots"} <= {
        room for made in model.made for room in made.where.replace(":", ".").split(".")
    }, rooms
    calls = {made.call for made in model.made}
    assert {"os.fsync", "os.write", "os.pwrite", "os.mkdir", "fcntl.flock", "renameat2(2)"} <= calls
    assert all(Fault("fails", 5) in faults_of(made) for made in model.made)


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_a_start_that_fails_leaves_nothing_open_and_the_next_one_succeeds(
    seam: Seam, resolver: ResolverChoice, tmp_path: Path
) -> None:
    household = inline_household(needed(resolver), tmp_path)
    with seam.recording() as recorded:
        household.product().close()
    for at, made in enumerate(list(recorded)):
        for fault in faults_of(made):
            shutil.rmtree(tmp_path / "state")
            before = descriptors(tmp_path)
            try:
                with seam.failing(at, made.call, fault):
                    household.product().close()
            except FsnotesError:
                pass  # what is no error of the product's fails this test
            assert descriptors(tmp_path) == before, f"{made} {fault}"
            household.product().close()
