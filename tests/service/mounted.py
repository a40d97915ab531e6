"""Cases that need mounts; run in a process and a mount namespace of their own (`test_escapes.py`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from fsnotes.access import Right
from fsnotes.errors import FsnotesError, NoRoom, NotAllowed, NoteChanged, NoteNotFound, Unavailable
from fsnotes.outcomes import Deletion
from fsnotes.service import Service
from fsnotes.wiring import ResolverChoice
from sandbox.jail.report import Level
from sandbox.policy import Mounts, Policy, Quota
from tests.mounts import mount
from tests.service.conftest import ALICE, Household, accept, answer, ask
from tests.workers import jail_level

TEXT = "# Mounted\nfrom elsewhere\n"


def _elsewhere(household: Household) -> Path:
    place = household.top / "Elsewhere"
    place.mkdir()
    (place / "a.md").write_text(TEXT)
    household.write("mine.md", "# Mine\n")
    return place


def _refuse(household: Household, path: str) -> None:
    """Everything about *path* is refused, and nothing changes on either side."""
    service, uri, before = household.service(), household.uri, household.tree()
    with pytest.raises(NotAllowed):
        service.read(ALICE, uri, path)
    with pytest.raises(FsnotesError):
        service.create(ALICE, uri, path, "x")
    for dry_run in (True, False):
        with pytest.raises(NotAllowed):
            service.append(ALICE, uri, path, "x", dry_run=dry_run)
    with pytest.raises(NoteNotFound):
        ask(service, ALICE, uri, "mounted")
    assert [note.path for note in service.list(ALICE, uri, recursive=True).notes] == ["mine.md"]
    assert household.tree() == before


def bind_mount_of_a_folder(household: Household) -> None:
    elsewhere = _elsewhere(household)
    (household.vault / "mnt").mkdir()
    mount("--bind", str(elsewhere), str(household.vault / "mnt"))
    _refuse(household, "mnt/a.md")
    service, uri = household.service(), household.uri
    for path in ("mnt/new", "mnt/sub/new"):
        with pytest.raises(NotAllowed):
            service.create(ALICE, uri, path, "x")
    with pytest.raises(NotAllowed):
        service.list(ALICE, uri, folder="mnt")
    listed = service.list(ALICE, uri, recursive=True).document()
    assert [item["reason"] for item in listed["skipped"]] == ["mount"]
    assert (elsewhere / "a.md").read_text() == TEXT
    assert sorted(place.name for place in elsewhere.iterdir()) == ["a.md"]


def bind_mount_of_a_file(household: Household) -> None:
    elsewhere = _elsewhere(household)
    household.write("a.md", "covered")
    mount("--bind", str(elsewhere / "a.md"), str(household.vault / "a.md"))
    _refuse(household, "a.md")
    assert (elsewhere / "a.md").read_text() == TEXT


def another_file_system(household: Household) -> None:
    _elsewhere(household)
    (household.vault / "mnt").mkdir()
    mount("-t", "tmpfs", "none", str(household.vault / "mnt"))
    household.write("mnt/a.md", TEXT)
    _refuse(household, "mnt/a.md")


def mount_over_a_confirmed_note(household: Household) -> None:
    """What is mounted over it between the rounds has the same bytes, and is not what was shown."""
    elsewhere = _elsewhere(household)
    household.write("a.md", TEXT)
    asked = ask(household.service(), ALICE, household.uri, "a.md")
    mount("--bind", str(elsewhere / "a.md"), str(household.vault / "a.md"))
    before = household.tree()
    with pytest.raises(NoteChanged):
        answer(household.service(), ALICE, household.uri, "a.md", asked, accept("a.md"))
    assert household.tree() == before


def trash_that_is_a_mount(household: Household) -> None:
    """A note would leave the file system, so it stays."""
    elsewhere = _elsewhere(household)
    (household.vault / ".trash").mkdir(mode=0o700)
    asked = ask(household.service(), ALICE, household.uri, "mine.md")
    mount("--bind", str(elsewhere), str(household.vault / ".trash"))
    before = household.tree()
    service = household.service()
    with pytest.raises(Unavailable):
        answer(service, ALICE, household.uri, "mine.md", asked, accept("mine.md"))
    with pytest.raises(Unavailable):
        service.trash(ALICE, household.uri)
    assert household.tree() == before


def allowed_mount(household: Household) -> None:
    elsewhere = _elsewhere(household)
    (household.vault / "mnt").mkdir()
    mount("--bind", str(elsewhere), str(household.vault / "mnt"))
    household.policy = Policy(mounts=Mounts.ALLOW)
    service, uri = household.service(), household.uri
    assert service.read(ALICE, uri, "mnt/a").text == TEXT
    assert service.create(ALICE, uri, "mnt/new", "x").reply.path == "mnt/new.md"
    assert service.edit(ALICE, uri, "mnt/new", "y", old_text="x").reply.path == "mnt/new.md"
    assert (elsewhere / "new.md").read_text() == "y"
    asked = ask(service, ALICE, uri, "mine.md")
    assert isinstance(answer(service, ALICE, uri, "mine.md", asked, accept("mine.md")), Deletion)
    # The trash is on the vault's own file system: a note of another one does not get there in one step.
    asked = ask(service, ALICE, uri, "mnt/a.md")
    with pytest.raises(FsnotesError):
        answer(service, ALICE, uri, "mnt/a.md", asked, accept("mnt/a.md"))
    assert (elsewhere / "a.md").read_text() == TEXT


def mounts_that_come_and_go(household: Household) -> None:
    """What is mounted while a product serves is refused from then on, or served; nothing is written beneath it."""
    place = household.vault / "usb"
    place.mkdir()
    for household.is_jailed in (False, jail_level()[0].rank >= Level.CONTAINED.rank):
        for household.policy in (Policy(), Policy(mounts=Mounts.ALLOW)):
            product, uri = household.product(), household.uri
            service = product.service
            assert service.create(ALICE, uri, "usb/before", "x").reply.path == "usb/before.md"
            mount("-t", "tmpfs", "none", str(place))
            (place / "stick.md").write_text(TEXT)
            if household.policy.mounts is Mounts.ALLOW:
                assert service.create(ALICE, uri, "usb/new", "x").reply.path == "usb/new.md"
                assert service.read(ALICE, uri, "usb/stick").text == TEXT
            else:
                for refused in (
                    lambda: service.create(ALICE, uri, "usb/new", "x"),  # noqa: B023 - called at once
                    lambda: service.read(ALICE, uri, "usb/stick"),  # noqa: B023
                ):
                    with pytest.raises(NotAllowed):
                        refused()
                listed = service.list(ALICE, uri, recursive=True).document()
                assert [item["reason"] for item in listed["skipped"]] == ["mount"]
            subprocess.run(["umount", str(place)], check=True)
            assert sorted(path.name for path in place.iterdir()) == ["before.md"]
            assert service.read(ALICE, uri, "usb/before").text == "x"
            product.close()
            (place / "before.md").unlink()


def full_disk(household: Household) -> None:
    """On a full disk the old bytes stand, nothing of ours is left, and what needs no room still works."""
    mount("-t", "tmpfs", "-o", "size=256k", "none", str(household.vault))
    household.write("mine.md", "# Mine\n")
    household.quota = Quota(min_free_bytes=0)
    service, uri = household.service(), household.uri
    before = household.tree()
    with pytest.raises(Unavailable):
        service.create(ALICE, uri, "deep/new/big", "x" * 400_000)
    assert household.tree() == before
    for grow in (
        lambda: service.edit(ALICE, uri, "mine", "x" * 400_000, old_text="Mine"),
        lambda: service.append(ALICE, uri, "mine", "x" * 400_000),
    ):
        with pytest.raises(Unavailable):
            grow()
        assert household.tree() == before
    assert service.edit(ALICE, uri, "mine", "Ours", old_text="Mine").outcome == "changed"
    assert service.append(ALICE, uri, "mine", "more").outcome == "changed"
    assert household.files() == {"mine.md": b"# Ours\nmore\n"}
    household.write("mine.md", "# Mine\n")
    asked = ask(service, ALICE, uri, "mine.md")
    deletion = answer(service, ALICE, uri, "mine.md", asked, accept("mine.md"))
    assert isinstance(deletion, Deletion)
    service.restore(ALICE, uri, str(deletion.trash_id))
    assert household.files() == {"mine.md": b"# Mine\n"}


def small_disk(household: Household) -> None:
    """Usually a twentieth of a small disk stays free and the rest can be used, with workers and without."""
    mount("-t", "tmpfs", "-o", "size=4m", "none", str(household.vault))
    floor, text, uri = 4 * 1_048_576 // 20, "x" * 100_000, household.uri
    service = household.service()
    for number in range(38):
        service.create(ALICE, uri, f"{number}", text)
    for household.is_jailed in (False, jail_level()[0].rank >= Level.CONTAINED.rank):
        service, before = household.service(), household.tree()
        with pytest.raises(NoRoom) as refused:
            service.create(ALICE, uri, "new/one", text)
        assert (refused.value.bound, refused.value.limit) == ("min_free_bytes", floor)
        assert household.tree() == before
        status = os.statvfs(household.vault)
        assert floor <= status.f_bavail * status.f_frsize < floor + 110_000
        asked = ask(service, ALICE, uri, "1.md")
        assert isinstance(answer(service, ALICE, uri, "1.md", asked, accept("1.md")), Deletion)
        shutil.rmtree(household.vault / ".trash")
        assert service.create(ALICE, uri, "1", text).reply.path == "1.md"


def quota_beside_a_mount(household: Household) -> None:
    """What lies on another file system takes no room in this one, and has a floor of its own."""
    (household.vault / "mnt").mkdir()
    mount("-t", "tmpfs", "-o", "size=1m", "none", str(household.vault / "mnt"))
    household.write("mnt/large.md", "x" * 500_000)
    household.policy = Policy(mounts=Mounts.ALLOW)
    household.quota = Quota(max_bytes=100, max_entries=3)
    service, uri = household.service(), household.uri
    assert service.create(ALICE, uri, "a", "x" * 50).reply.path == "a.md"
    household.quota = Quota(min_free_bytes=600_000)
    service = household.service()
    with pytest.raises(NoRoom):
        service.create(ALICE, uri, "mnt/b", "x")
    with pytest.raises(NoRoom):
        service.create(ALICE, uri, "mnt/new/b", "x")
    assert service.create(ALICE, uri, "b", "x").reply.path == "b.md"
    assert sorted(place.name for place in (household.vault / "mnt").iterdir()) == ["large.md"]


def read_only_file_system(household: Household) -> None:
    mount("-t", "tmpfs", "none", str(household.vault))
    household.write("mine.md", "# Mine\n")
    mount("-o", "remount,bind,ro", str(household.vault))
    service, uri, before = household.service(), household.uri, household.tree()
    asked = ask(service, ALICE, uri, "mine.md")
    with pytest.raises(Unavailable):
        answer(service, ALICE, uri, "mine.md", asked, accept("mine.md"))
    with pytest.raises(Unavailable):
        service.create(ALICE, uri, "new", "x")
    for dry_run in (True, False):
        with pytest.raises(Unavailable):
            service.append(ALICE, uri, "mine", "x", dry_run=dry_run)
        with pytest.raises(Unavailable):
            service.move(ALICE, uri, "mine", "new/mine", dry_run=dry_run)
    assert household.tree() == before
    assert service.read(ALICE, uri, "mine").text == "# Mine\n"
    mount("-o", "remount,bind,rw", str(household.vault))
    assert isinstance(answer(service, ALICE, uri, "mine.md", asked, accept("mine.md")), Deletion)


def full_disk_beneath_the_state(household: Household) -> None:
    """No index can be made there, and a search finds everything all the same."""
    for number in range(300):
        household.write(f"{number}.md", f"word {number}\n" * 800)
    state = household.top / "small"
    state.mkdir(mode=0o700)
    mount("-t", "tmpfs", "-o", "size=256k,mode=700", "none", str(state))
    product = household.product(state="small")
    product.keep_indexes()
    (upkeep,) = product._upkeeps
    for round_ in range(5):
        assert _found(product.service, household, "word") == 300
        household.write("new.md", f"other{round_}")
        assert _found(product.service, household, f"other{round_}") == 1
        assert not upkeep.standing().settled
        time.sleep(0.2)


def _found(service: Service, household: Household, query: str) -> int:
    found: list[str] = []
    cursor = None
    while True:
        page = service.search(ALICE, household.uri, query, limit=200, cursor=cursor)
        found += [hit.path for hit in page.hits]
        cursor = page.cursor
        if cursor is None:
            assert len(set(found)) == len(found)
            return len(found)


CASES: tuple[Callable[[Household], None], ...] = (
    bind_mount_of_a_folder,
    bind_mount_of_a_file,
    another_file_system,
    mount_over_a_confirmed_note,
    trash_that_is_a_mount,
    allowed_mount,
    mounts_that_come_and_go,
    full_disk,
    small_disk,
    quota_beside_a_mount,
    read_only_file_system,
    full_disk_beneath_the_state,
)

if __name__ == "__main__":
    _, top, chosen = sys.argv
    for case in CASES:
        print(f"case: {case.__name__}", file=sys.stderr, flush=True)
        made = Household(Path(top) / case.__name__, cast(ResolverChoice, chosen))
        made.vault.mkdir(parents=True)
        made.grant(ALICE, *Right)
        case(made)
        made.close()
