"""Which objects a policy accepts and what a quota leaves free, by their numbers alone; no disk is needed."""

from __future__ import annotations

import os
import stat

import pytest

from sandbox.errors import HardLinkRefused, NotRegular, ObjectRefused, TooLarge
from sandbox.names import RelPath
from sandbox.policy import MOST_ENTRIES, USUAL_FREE_BYTES, HardLinks, Links, Mounts, Policy, Quota

PATH = RelPath(("a", "b.md"))


def status(*, kind: int = stat.S_IFREG, names: int = 1, size: int = 0) -> os.stat_result:
    return os.stat_result((kind | 0o600, 7, 1, names, 0, 0, size, 0, 0, 0))


def test_the_words_and_the_most_entries_are_those_of_the_configuration() -> None:
    assert [each.value for each in (*Links, *HardLinks, *Mounts)] == [
        *("refuse", "within"),
        *("refuse", "allow"),
        *("refuse", "allow"),
    ]
    assert MOST_ENTRIES == 10_000_000


def test_the_defaults_are_the_strictest() -> None:
    assert Policy() == Policy(Links.REFUSE, HardLinks.REFUSE, Mounts.REFUSE, 1_048_576, 200_000)
    assert Quota() == Quota(None, None, None)


@pytest.mark.parametrize(
    ("policy", "seen", "fault"),
    [
        (Policy(), status(), None),
        (Policy(), status(size=1_048_576), None),
        (Policy(), status(size=1_048_577), TooLarge),
        (Policy(max_file_bytes=0), status(), None),
        (Policy(max_file_bytes=0), status(size=1), TooLarge),
        (Policy(), status(names=0), None),
        (Policy(), status(names=2), HardLinkRefused),
        (Policy(hard_links=HardLinks.ALLOW), status(names=2), None),
        (Policy(hard_links=HardLinks.ALLOW), status(names=2, size=1_048_577), TooLarge),
        *((Policy(hard_links=HardLinks.ALLOW, links=Links.WITHIN, mounts=Mounts.ALLOW), status(kind=kind), NotRegular)
          for kind in (stat.S_IFDIR, stat.S_IFLNK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK)),
    ],
)  # fmt: skip
def test_only_a_regular_file_within_the_bounds_is_accepted(
    policy: Policy, seen: os.stat_result, fault: type[ObjectRefused] | None
) -> None:
    assert policy.fault(seen) is fault
    if fault is None:
        policy.judge(PATH, seen)
        return
    with pytest.raises(fault) as refused:
        policy.judge(PATH, seen)
    assert type(refused.value) is fault
    assert "a/b.md" in str(refused.value)


def test_a_file_that_is_too_large_is_refused_with_the_limit() -> None:
    with pytest.raises(TooLarge) as refused:
        Policy(max_file_bytes=5).judge(PATH, status(size=6))
    assert (refused.value.path, refused.value.limit) == ("a/b.md", 5)


@pytest.mark.parametrize(
    ("bounds", "nearest"),
    [({"max_file_bytes": -1}, {"max_file_bytes": 0}), ({"max_entries": 0}, {"max_entries": 1})],
)
def test_bounds_below_nothing_are_refused(bounds: dict[str, int], nearest: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="bounds"):
        Policy(**bounds)  # type: ignore[arg-type]
    Policy(**nearest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bounds", "nearest"),
    [
        ({"max_bytes": 0}, {"max_bytes": 1}),
        ({"max_entries": 0}, {"max_entries": 1}),
        ({"max_bytes": 1, "max_entries": 0}, {"max_bytes": 1, "max_entries": 1}),
        ({"max_bytes": 0, "max_entries": 1}, {"max_bytes": 1, "max_entries": 1}),
        ({"max_entries": MOST_ENTRIES + 1}, {"max_entries": MOST_ENTRIES}),
        ({"min_free_bytes": -1}, {"min_free_bytes": 0}),
    ],
)
def test_a_quota_that_can_be_none_is_refused(bounds: dict[str, int], nearest: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"bounds|entries|free"):
        Quota(**bounds)
    Quota(**nearest)


@pytest.mark.parametrize(
    ("quota", "counts"),
    [
        (Quota(), False),
        (Quota(min_free_bytes=1), False),
        (Quota(max_bytes=1), True),
        (Quota(max_entries=1), True),
        (Quota(1, 1), True),
    ],
)
def test_what_a_root_holds_is_counted_only_where_there_is_a_bound(quota: Quota, counts: bool) -> None:
    assert quota.counts is counts


def test_a_hundred_megabytes_stay_free_or_a_twentieth_of_a_small_disk() -> None:
    assert USUAL_FREE_BYTES == 104_857_600
    assert Quota().floor(1 << 40) == USUAL_FREE_BYTES
    assert Quota().floor(20 * USUAL_FREE_BYTES + 19) == USUAL_FREE_BYTES
    assert Quota().floor(20 * USUAL_FREE_BYTES - 1) == USUAL_FREE_BYTES - 1
    assert Quota().floor(1_000) == 50
    assert Quota(min_free_bytes=0).floor(1 << 40) == 0
    assert Quota(min_free_bytes=7).floor(1_000) == 7
