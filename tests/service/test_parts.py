"""Root serves folders of other users: their workers get their part of the state, and nobody gains by that."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsnotes.errors import ConfigurationError, JailRequired, OutcomeUnknown, Unavailable
from fsnotes.wiring import Product
from fsnotes.workers import indexing
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.records import replace
from sandbox.steps import Step
from tests.service.estates import (
    ALICE,
    BOB,
    ME,
    NOTES,
    PASSABLE,
    SHARED,
    SHUT,
    SOURCES,
    Estate,
    Layout,
    as_user,
    estate,
    handled_by,
    maker,
)

LAYOUTS: tuple[Layout, ...] = ("full", "contained")


@pytest.fixture
def here() -> Iterator[Estate]:
    with estate() as made:
        yield made


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Layout:
    found: Layout = request.param
    return found


def move(product: Product, estate: Estate, path: str, new_path: str, name: str = "Notes") -> None:
    product.service.move(ME, estate.uri(name), path, new_path)


def withheld(product: Product) -> list[str]:
    """Return what is said of workspaces without a part, one line for each."""
    return [notice for notice in product.notices if "part of the state" in notice]


def expect_no_part(product: Product, estate: Estate, *said: str, name: str = "Notes") -> None:
    """One notice says why; what needs a journal is refused, and all else is served."""
    (notice,) = withheld(product)
    assert repr(name) in notice
    assert [word for word in said if word not in notice] == []
    with pytest.raises(Unavailable):
        move(product, estate, "a", "elsewhere", name)
    assert {path: estate.text(path, name) for path in NOTES} == NOTES
    assert product.service.read(ME, estate.uri(name), "c").text == NOTES["c.md"]
    move(product, estate, "log", "diary", name)
    assert estate.text("diary.md", name) == NOTES["log.md"]
    move(product, estate, "diary", "log", name)


# -- what it is for ------------------------------------------------------------------------------


def test_a_move_that_rewrites_links_has_its_journal_and_the_rest_of_the_state_stays_roots(
    here: Estate, layout: Layout
) -> None:
    here.vault()
    with here.serving(layout=layout) as product:
        assert withheld(product) == []
        move(product, here, "a", "sub/b")
    assert here.text("c.md") == "[[b]]\n"
    assert here.owner_and_mode(here.part()) == (ALICE, SHUT)
    assert not (here.part() / "move.json").exists()
    assert here.owner_and_mode(here.state) == here.owner_and_mode(here.state / "ws") == (0, PASSABLE)
    assert here.owner_and_mode(here.state / "private") == (0, SHUT)
    assert {os.stat(place).st_uid for place in (here.top / "Notes").rglob("*")} == {ALICE}
    with here.serving(layout=layout) as product:  # a second start, with the part as it is by then
        assert withheld(product) == []
        move(product, here, "sub/b", "a")
    assert here.text("c.md") == "[[a]]\n"


def test_its_journal_survives_a_kill_and_is_finished_by_the_next_start(here: Estate, layout: Layout) -> None:
    here.vault()

    def deadly(spec: JailSpec) -> JailSpec:
        options = {"kill_at": Step.MOVE_MOVED}
        return spec if spec.kind == "ro" else handled_by(spec, "tests.service.deadly:build", options)

    worker = maker(layout, change=deadly)
    with here.serving(layout=layout, worker=worker) as product, pytest.raises(OutcomeUnknown):
        move(product, here, "a", "b")
    assert sorted(os.listdir(here.part())) == ["index", "move.json", "moved"]
    files = {here.owner_and_mode(file) for file in here.part().iterdir() if file.is_file()}
    assert (files, here.owner_and_mode(here.part() / "index")) == ({(ALICE, 0o600)}, (ALICE, SHUT))
    assert (here.text("b.md"), here.text("c.md")) == (NOTES["a.md"], NOTES["c.md"])
    with here.serving(layout=layout) as product:
        product.service.append(ME, here.uri(), "log", "more")
    assert (here.text("c.md"), here.text("log.md")) == ("[[b]]\n", "log\nmore\n")
    assert not (here.part() / "move.json").exists()


def test_a_workspace_that_was_left_to_roots_group_is_served_without_it(here: Estate, layout: Layout) -> None:
    """As after `chown alice Notes`."""
    place = here.vault()
    os.chown(place, ALICE, 0)
    with here.serving(layout=layout) as product:
        assert withheld(product) == []
        product.service.create(ME, here.uri(), "made", "text")
        move(product, here, "a", "b")
    for made in (place / "made.md", place / "c.md", here.part(), here.part() / "index"):
        status = made.stat()
        assert status.st_uid == ALICE
        assert status.st_gid != 0


def test_a_workspace_of_roots_own_has_a_part_of_roots_own(here: Estate) -> None:
    here.vault(owner=0)
    with here.serving() as product:
        assert withheld(product) == []
        move(product, here, "a", "b")
    assert here.text("c.md") == "[[b]]\n"
    assert here.owner_and_mode(here.part()) == (0, SHUT)


@pytest.mark.parametrize("kind", ["ro", "rw", "index"])
def test_nothing_else_of_the_state_is_reached_from_inside_a_worker(
    here: Estate, layout: Layout, kind: str
) -> None:
    here.vault()
    here.vault("Other", BOB)
    specs: list[JailSpec] = []
    with here.serving(layout=layout, worker=maker(layout, before=specs.append)):
        for name in ("keys.json", "ledger.sqlite3", "audit.jsonl"):
            (here.state / "private" / name).touch()
        for name in ("Notes", "Other"):
            for file in (here.part(name) / "cache", here.part(name) / "index/cache"):
                file.write_bytes(b"")
                os.chown(file, here.owners[name], here.owners[name])
    spec = next(spec for spec in specs if spec.index == str(here.part()))
    spec = indexing(spec) if kind == "index" else replace(spec, kind=kind)
    spec = replace(handled_by(spec, "tests.service.reaching:build", {}), want=Level(layout))
    jail = Jail(spec, require=Level(layout))
    jail.start()
    deadline = time.monotonic() + 60

    def ask(operation: str, *paths: str) -> dict[str, str]:
        return jail.call(operation, {"paths": list(paths)}, deadline=deadline, write=False)

    tops = (str(here.state), "{index}/../..", f"{here.top}/Notes/../state")
    names = ("private/keys.json", "private/ledger.sqlite3", "private/audit.jsonl")
    try:
        closed = ask("open", *(f"{top}/{name}" for top in tops for name in names))
        closed |= ask(
            "open", str(here.part("Other") / "cache"), f"{{index}}/../{here.part('Other').name}/cache"
        )
        closed |= ask("list", *tops, *(f"{top}/private" for top in tops), f"{here.state}/ws", "{index}/..")
        closed |= ask("list", str(here.part("Other")))
        if kind == "index":
            # Nor what the others have beside the index: another worker does what the journal says.
            journal = (f"{here.part()}/move.json", "{index}/../move.json", "{index}/../move.json.new")
            closed |= ask("make", *journal) | ask("open", f"{here.part()}/cache", "{index}/../cache")
            closed |= ask("list", str(here.part()))
        assert set(closed.values()) <= {"EACCES", "ENOENT", "EROFS"}, closed
        # Its own part, which is the nearest thing, it has.
        assert ask("open", "{index}/cache") == {"{index}/cache": "opened"}
        assert ask("list", "{index}") == {"{index}": "opened"}
        wanted = "opened" if kind != "ro" else {"full": "EROFS", "contained": "EACCES"}[layout]
        assert ask("make", "{index}/new") == {"{index}/new": wanted}
    finally:
        jail.stop()


def test_each_owner_gets_the_part_of_its_own_workspace_and_of_no_other(here: Estate, layout: Layout) -> None:
    here.vault("One", ALICE)
    here.vault("Two", BOB)
    here.vault("Mine", 0)
    with here.serving(layout=layout) as product:
        assert withheld(product) == []
        for name in here.owners:
            move(product, here, "a", "b", name)
            assert here.text("c.md", name) == "[[b]]\n"
    assert [here.owner_and_mode(here.part(name))[0] for name in here.owners] == [ALICE, BOB, 0]
    # Without any jail they reach no more: not even the names of what there is.
    assert as_user(ALICE, "ls", str(here.part("One")))
    for closed in (
        here.part("Two"),
        here.part("Mine"),
        here.state,
        here.state / "ws",
        here.state / "private",
    ):
        assert not as_user(ALICE, "ls", str(closed))
    assert not as_user(ALICE, "mv", str(here.part("One")), str(here.state / "ws/other"))
    assert not as_user(ALICE, "rmdir", str(here.part("One")))


# -- who is given it, and when -------------------------------------------------------------------


def test_nothing_is_given_away_before_a_worker_stands(here: Estate) -> None:
    here.vault()
    seen: list[tuple[str | None, int]] = []

    def look(spec: JailSpec) -> None:
        seen.append((spec.index, here.owner_and_mode(here.part())[0]))

    with here.serving(worker=maker("contained", before=look)):
        pass
    assert seen == [(None, 0), (str(here.part()), ALICE)]


def test_a_workspace_for_which_none_stands_gets_nothing(here: Estate) -> None:
    vault = here.vault()

    def exchange(_: JailSpec) -> None:
        if not (here.top / "Moved").exists():
            vault.rename(here.top / "Moved")
            vault.mkdir()
            os.chown(vault, ALICE, ALICE)

    with pytest.raises(JailRequired):
        here.product(worker=maker("contained", before=exchange))
    assert here.owner_and_mode(here.part()) == (0, SHUT)
    vault.rmdir()
    (here.top / "Moved").rename(vault)
    with here.serving() as product:
        assert withheld(product) == []
    assert here.owner_and_mode(here.part()) == (ALICE, SHUT)


def test_when_the_owner_of_a_workspace_changes_the_part_stays_with_the_former_one(here: Estate) -> None:
    here.vault()
    with here.serving():
        pass
    (here.part() / "left.txt").write_text("by alice")
    here.give("Notes", BOB)
    with here.serving() as product:
        expect_no_part(product, here, f"uid {ALICE}", f"uid {BOB}", str(here.part()))
    assert here.owner_and_mode(here.part()) == (ALICE, SHUT)
    assert (here.part() / "left.txt").read_text() == "by alice"
    (here.part() / "left.txt").unlink()
    shutil.rmtree(here.part())  # as the notice says
    with here.serving() as product:
        assert withheld(product) == []
        move(product, here, "a", "b")
    assert here.owner_and_mode(here.part()) == (BOB, SHUT)


def test_the_owner_may_change_while_the_part_is_still_roots(here: Estate) -> None:
    here.vault(owner=0)
    with here.serving() as product:
        move(product, here, "a", "b")
    here.give("Notes", ALICE)
    with here.serving() as product:
        assert withheld(product) == []
        move(product, here, "b", "a")
    assert here.owner_and_mode(here.part()) == (ALICE, SHUT)


def test_a_worker_that_starts_again_for_another_owner_begins_with_no_part_of_the_former_one(
    here: Estate, layout: Layout
) -> None:
    """Its account is the owner of the moment, so the worker itself looks whose the part is."""
    here.vault()
    with here.serving(layout=layout) as product:
        here.give("Notes", BOB)
        with pytest.raises(Unavailable):
            move(product, here, "a", "b")
        assert {path: here.text(path) for path in NOTES} == NOTES
        here.give("Notes", ALICE)
        product._clear("Notes")
        move(product, here, "a", "b")
    assert here.text("c.md") == "[[b]]\n"


def test_a_part_with_anything_of_roots_in_it_is_not_given_away(here: Estate) -> None:
    here.vault()
    here.part().mkdir(parents=True, mode=SHUT)
    os.chmod(here.state, PASSABLE)
    os.chmod(here.state / "ws", PASSABLE)
    (here.state / "private").mkdir(mode=SHUT)
    os.link(here.secret, here.part() / "cache")
    with here.serving() as product:
        expect_no_part(product, here, "files of root's", f"uid {ALICE}", str(here.part()))
    assert here.owner_and_mode(here.part()) == (0, SHUT)
    assert here.owner_and_mode(here.secret) == (0, 0o600)
    (here.part() / "cache").unlink()
    with here.serving() as product:
        assert withheld(product) == []
    assert here.owner_and_mode(here.part()) == (ALICE, SHUT)


def test_a_part_that_a_process_of_roots_uses_is_not_given_away(here: Estate) -> None:
    here.vault()
    with here.serving(jail="off") as inline:
        with here.serving() as product:
            expect_no_part(product, here, "is being used by a process of root's")
        assert here.owner_and_mode(here.part()) == (0, SHUT)
        move(inline, here, "a", "b")
        move(inline, here, "b", "a")
    with here.serving() as product:
        assert withheld(product) == []


# -- what root uses itself -----------------------------------------------------------------------


def plant(here: Estate) -> None:
    """Put into the part of Alice's what she would like root to open, or to make for her."""
    part = here.part()
    (part / "move.json").symlink_to(here.secret)
    (part / "lock").symlink_to(here.top / "made by root")
    (part / "move.json.new").symlink_to(here.top / "made by root")
    (part / "index" / "search.sqlite3").symlink_to(here.secret)
    os.mkfifo(part / "index" / "search.lock")


def test_a_process_of_roots_without_a_jail_refuses_a_part_that_is_not_roots(here: Estate) -> None:
    here.vault()
    with here.serving():
        pass
    plant(here)
    with pytest.raises(ConfigurationError) as caught:
        here.product(jail="off")
    assert str(here.part()) in str(caught.value)
    assert f"uid {ALICE}" in str(caught.value)
    assert not (here.top / "made by root").exists()
    assert {path: here.text(path) for path in NOTES} == NOTES
    with here.serving(jail="off", state="other") as product:
        move(product, here, "a", "b")
    assert here.text("c.md") == "[[b]]\n"


def test_a_part_that_an_earlier_user_has_left_is_used_by_nobody_of_roots(here: Estate) -> None:
    here.vault()
    with here.serving():
        pass
    plant(here)
    here.give("Notes", 0)
    with here.serving() as product:
        expect_no_part(product, here, f"uid {ALICE}", "uid 0", str(here.part()))
    with pytest.raises(ConfigurationError):
        here.product(jail="off")
    assert not (here.top / "made by root").exists()
    assert here.owner_and_mode(here.part()) == (ALICE, SHUT)


def test_where_no_worker_has_walls_root_serves_with_a_part_of_its_own_or_not_at_all(here: Estate) -> None:
    """At best effort on a host that gives no jail: nothing is given away for a worker that is not kept."""
    here.vault()

    def bare(spec: JailSpec, *, require: Level) -> Jail:
        return Jail(spec, require=require, entry="tests.sandbox.jail.unlocked")

    def unlocked(spec: JailSpec, *, require: Level) -> Jail:
        return bare(replace(spec, import_paths=(*spec.import_paths, SOURCES)), require=require)

    with here.serving(jail="best-effort", worker=unlocked) as product:
        assert withheld(product) == []
        assert product.service.workspaces(ME).document()["workspaces"][0]["jail"] == "none"
        move(product, here, "a", "b")
        move(product, here, "b", "a")
    assert here.owner_and_mode(here.part()) == (0, SHUT)
    with here.serving():
        pass
    assert here.owner_and_mode(here.part()) == (ALICE, SHUT)
    with pytest.raises(ConfigurationError, match=f"uid {ALICE}"):
        here.product(jail="best-effort", worker=unlocked)


# -- what stands in its place --------------------------------------------------------------------


@pytest.mark.parametrize("target", ["elsewhere", "private", "other", "vault", "secret"])
def test_a_link_as_the_part_is_never_given_away(here: Estate, target: str) -> None:
    here.vault()
    here.vault("Other", BOB)
    with here.serving("Other"):
        pass
    elsewhere = here.top / "elsewhere"
    elsewhere.mkdir(mode=SHUT)
    targets = {
        "elsewhere": elsewhere,
        "private": here.state / "private",
        "other": here.part("Other"),
        "vault": here.top / "Notes",
        "secret": here.secret,
    }
    here.part().symlink_to(targets[target])
    before = here.owner_and_mode(targets[target])
    if target in ("elsewhere", "secret"):
        with here.serving("Notes") as product:
            expect_no_part(product, here, "behind a link" if target == "elsewhere" else "cannot be looked at")
    else:
        with pytest.raises(ConfigurationError):
            here.product("Notes")
    assert here.owner_and_mode(targets[target]) == before
    here.part().unlink()
    with here.serving("Notes") as product:
        assert withheld(product) == []


def test_a_link_as_the_folder_of_the_parts_is_never_passed(here: Estate) -> None:
    here.vault()
    here.state.mkdir(mode=PASSABLE)
    (here.top / "disk").mkdir(mode=PASSABLE)
    (here.state / "ws").symlink_to(here.top / "disk")
    with here.serving() as product:
        expect_no_part(product, here)
    (made,) = (here.top / "disk").iterdir()
    assert here.owner_and_mode(made) == (0, SHUT)


@pytest.mark.parametrize("by", ["another folder", "a link"])
def test_a_part_that_is_exchanged_before_it_is_given_is_not_given(here: Estate, by: str) -> None:
    """After it was looked at, and before the first worker stands."""
    here.vault()

    def exchange(spec: JailSpec) -> None:
        if not (here.top / "moved").exists():
            here.part().rename(here.top / "moved")
            put(here, by)

    with here.serving(worker=maker("contained", before=exchange)) as product:
        expect_no_part(product, here)
    assert here.owner_and_mode(here.top / "moved") == (0, SHUT)
    assert here.owner_and_mode(here.top / "bait") == (0, SHUT)


def put(here: Estate, by: str) -> None:
    """Put something else in the place of the part."""
    bait = here.top / "bait"
    if by == "another folder":
        here.part().mkdir(mode=SHUT)
        bait.mkdir(mode=SHUT)
    else:
        bait.mkdir(mode=SHUT)
        here.part().symlink_to(bait)


@pytest.mark.parametrize("by", ["another folder", "a link"])
def test_a_part_that_is_exchanged_before_its_worker_starts_reaches_no_worker(
    here: Estate, layout: Layout, by: str
) -> None:
    """After it was given; what takes its place belongs to the same user, so only its identity tells."""
    here.vault()

    def exchange(spec: JailSpec) -> None:
        if spec.index is not None:
            here.part().rename(here.top / "moved")
            put(here, by)
            os.chown(here.part(), ALICE, ALICE)

    with here.serving(layout=layout, worker=maker(layout, before=exchange)) as product:
        expect_no_part(product, here, "none can be started with")
    assert here.owner_and_mode(here.top / "moved") == (ALICE, SHUT)
    assert os.listdir(here.part()) == []


def test_a_part_that_is_exchanged_while_it_is_served_reaches_no_later_worker(
    here: Estate, layout: Layout
) -> None:
    here.vault()
    with here.serving(layout=layout) as product:
        here.part().rename(here.top / "moved")
        here.part().mkdir(mode=SHUT)
        os.chown(here.part(), ALICE, ALICE)
        with pytest.raises(Unavailable):
            move(product, here, "a", "b")
        assert product.service.read(ME, here.uri(), "c").text == NOTES["c.md"]
        assert {path: here.text(path) for path in NOTES} == NOTES
        assert os.listdir(here.part()) == []
        here.part().rmdir()
        (here.top / "moved").rename(here.part())
        product._clear("Notes")
        move(product, here, "a", "b")
    assert here.text("c.md") == "[[b]]\n"


def test_links_that_the_owner_plants_in_the_part_lead_its_workers_nowhere(
    here: Estate, layout: Layout
) -> None:
    here.vault()
    with here.serving(layout=layout):
        pass
    plant(here)
    for place in here.part().iterdir():
        os.lchown(place, ALICE, ALICE)
    with here.serving(layout=layout) as product:
        assert withheld(product) == []
        with pytest.raises(Unavailable):
            move(product, here, "a", "b")
        assert product.service.read(ME, here.uri(), "c").text == NOTES["c.md"]
        assert {path: here.text(path) for path in NOTES} == NOTES
        (here.part() / "move.json").unlink()
        (here.part() / "move.json.new").unlink()
        move(product, here, "a", "b")
    assert here.text("c.md") == "[[b]]\n"
    assert not (here.top / "made by root").exists()


@pytest.mark.parametrize("planted", ["a link", "a file", "nothing"])
def test_without_a_folder_of_its_own_for_the_index_nothing_else_becomes_one(
    here: Estate, layout: Layout, planted: str
) -> None:
    here.vault()
    with here.serving(layout=layout):
        pass
    (here.part() / "index").rmdir()
    bait = here.top / "bait"
    bait.mkdir()
    os.chown(bait, ALICE, ALICE)
    if planted == "a link":
        (here.part() / "index").symlink_to(bait)
    elif planted == "a file":
        (here.part() / "index").touch()
    with here.serving(layout=layout) as product:
        assert withheld(product) == []
        with pytest.raises(Unavailable):
            product.build_index("Notes", lambda _: None)
        assert product.service.search(ME, here.uri(), "text", limit=5).document()["hits"] is not None
        move(product, here, "a", "b")
    assert os.listdir(bait) == []
    assert (here.part() / "index").is_dir() == (planted == "a link")


@pytest.mark.parametrize("fault", ["open", "folders in it", "set-group-id"])
def test_what_the_owner_makes_of_the_part_keeps_nobody_else_from_being_served(
    here: Estate, fault: str
) -> None:
    here.vault()
    here.vault("Other", BOB)
    with here.serving():
        pass
    if fault == "folders in it":
        (here.part() / "sub").mkdir()
    else:
        os.chmod(here.part(), {"open": 0o777, "set-group-id": 0o2700}[fault])
    with here.serving() as product:
        expect_no_part(product, here, str(here.part()))
        move(product, here, "a", "b", "Other")
    assert here.text("c.md", "Other") == "[[b]]\n"


# -- the way there -------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", ["top", "state", "ws"])
def test_a_way_that_is_closed_to_the_owner_is_said_and_not_opened(here: Estate, closed: str) -> None:
    here.vault()
    with here.serving(jail="off"):
        pass
    place = {"top": here.top, "state": here.state, "ws": here.state / "ws"}[closed]
    os.chmod(place, SHUT)
    with here.serving() as product:
        expect_no_part(product, here, f"uid {ALICE}", str(place), "chmod", "--state-dir")
    assert here.owner_and_mode(place) == (0, SHUT)
    assert here.owner_and_mode(here.part()) == (0, SHUT)
    os.chmod(place, PASSABLE)
    with here.serving() as product:
        assert withheld(product) == []
        move(product, here, "a", "b")
    assert here.text("c.md") == "[[b]]\n"


@pytest.mark.parametrize(("owner", "mode"), [(BOB, PASSABLE), (ALICE, PASSABLE), (0, 0o733)])
def test_a_state_folder_that_others_could_exchange_has_no_part_for_others(
    here: Estate, owner: int, mode: int
) -> None:
    here.vault()
    above = here.top / "above"
    above.mkdir()
    os.chown(above, owner, owner)
    os.chmod(above, mode)
    with here.serving(state="above/state") as product:
        expect_no_part(product, here, str(above), "exchange")
    (part,) = (above / "state/ws").iterdir()
    assert here.owner_and_mode(part) == (0, SHUT)
    os.chown(above, 0, 0)
    os.chmod(above, SHARED)  # as /tmp is: what is root's there is renamed by nobody else
    with here.serving(state="above/state") as product:
        assert withheld(product) == []


def test_a_state_folder_or_a_private_part_that_others_may_write_is_no_state_folder(here: Estate) -> None:
    here.vault()
    with here.serving():
        pass
    for place in (here.state, here.state / "ws", here.state / "private"):
        mode = here.owner_and_mode(place)[1]
        os.chmod(place, mode | 0o020)
        with pytest.raises(ConfigurationError):
            here.product()
        os.chmod(place, mode)
    with here.serving() as product:
        assert withheld(product) == []


def test_a_second_name_of_the_state_folder_leads_to_the_same_part(here: Estate) -> None:
    here.vault()
    (here.top / "name").symlink_to("state")
    with here.serving():
        pass
    with here.serving(state="name") as product:
        assert withheld(product) == []
        move(product, here, "a", "b")
    assert [place.name for place in (here.state / "ws").iterdir()] == [Path(here.part()).name]
