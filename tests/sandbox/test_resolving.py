"""How a resolver is chosen and proven, and which refusal an errno becomes."""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import resource
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from sandbox import _linux
from sandbox.errors import (
    Escape,
    Exists,
    LinkRefused,
    Missing,
    MountRefused,
    NotAFolder,
    NotRegular,
    RootUnusable,
    StorageFailed,
)
from sandbox.names import MAX_DEPTH, ROOT, RelPath
from sandbox.policy import Links, Mounts, Policy
from sandbox.records import replace
from sandbox.reports import refusal
from sandbox.resolve import LOOK, LOOK_FOLDER, MOVED_ATTEMPTS, READ_FOLDER, WalkResolver, choose_resolver
from sandbox.root import Root
from tests.disk import Tree
from tests.require import has_openat2, require

P = RelPath.parse


def fail_with(number: int) -> Callable[..., int]:
    def call(*arguments: object, **more: object) -> int:
        raise OSError(number, os.strerror(number))

    return call


@contextmanager
def without_privileges() -> Iterator[None]:
    """Act as nobody where the test runs as root, so that permissions mean something."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def test_openat2_is_chosen_where_it_works(openat2_disk: Tree) -> None:
    openat2_disk.resolver = "auto"
    with openat2_disk.open_root() as root:
        assert root.resolver_name == "openat2"


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM, errno.EINVAL])
def test_walk_takes_over_where_openat2_fails(
    openat2_disk: Tree, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """An old kernel says ENOSYS, a container's filter EPERM."""
    monkeypatch.setattr(_linux, "openat2", fail_with(number))
    openat2_disk.resolver = "auto"
    openat2_disk.build("root/a.md: a")
    with openat2_disk.open_root() as root:
        assert root.resolver_name == "walk"
        assert root.read(P("a.md")).data == b"a"


def test_openat2_that_does_not_refuse_is_not_trusted(
    openat2_disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emulation that takes the call and ignores its rules is found out by trying to leave."""

    def careless(folder: int, path: bytes, *, flags: int, resolve: int) -> int:
        return os.open(path, flags | os.O_CLOEXEC, dir_fd=folder)

    monkeypatch.setattr(_linux, "openat2", careless)
    openat2_disk.resolver = "auto"
    with openat2_disk.open_root() as root:
        assert root.resolver_name == "walk"


def test_root_is_unusable_when_its_policy_needs_what_is_missing(
    openat2_disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    within = Policy(links=Links.WITHIN)
    openat2_disk.resolver = "walk"
    with pytest.raises(RootUnusable):
        openat2_disk.open_root(policy=within)
    monkeypatch.setattr(_linux, "openat2", fail_with(errno.ENOSYS))
    openat2_disk.resolver = "auto"
    with pytest.raises(RootUnusable):
        openat2_disk.open_root(policy=within)
    openat2_disk.resolver = "openat2"
    with pytest.raises(RootUnusable):
        openat2_disk.open_root()


def test_directory_that_cannot_be_opened_is_no_root(disk: Tree) -> None:
    disk.build("file: x")
    for path in ("nowhere", "file", "nul\0byte"):
        with pytest.raises(RootUnusable):
            Root.open(disk.path(path), resolver=disk.resolver)


def test_closed_root_answers_nothing_and_touches_no_other_descriptor(disk: Tree) -> None:
    root = disk.open_root()
    root.close()
    root.close()
    with pytest.raises(RootUnusable):
        root.list(with_identity=False)
    with pytest.raises(RootUnusable), root.lock(timeout=0):
        pass


def test_root_follows_its_directory_and_knows_when_the_path_names_another(disk: Tree) -> None:
    disk.build("root/a.md: a", "other/a.md: b")
    with disk.open_root() as root:
        assert root.place.still_holds()
        os.rename(disk.path("root"), disk.path("moved"))
        assert not root.place.still_holds()
        os.rename(disk.path("other"), disk.path("root"))
        assert not root.place.still_holds()
        assert root.read(P("a.md")).data == b"a"
        assert root.identity == (os.stat(disk.path("moved")).st_dev, os.stat(disk.path("moved")).st_ino)


@pytest.mark.parametrize(
    "parts", [(b"..",), (b"sub", b".."), (b".",), (b"",), (b"sub/../..",), (b"/etc",), (b"a.md\0x",)]
)
def test_resolver_refuses_what_is_no_component_by_itself(disk: Tree, parts: tuple[bytes, ...]) -> None:
    """Not even a caller that bypasses RelPath can step out."""
    disk.build("root/sub/", "root/a.md: a")
    fd = os.open(disk.path("root"), os.O_PATH)
    try:
        with pytest.raises(Escape):
            choose_resolver(fd, Policy(), want=disk.resolver).open(fd, parts, LOOK)
    finally:
        os.close(fd)


def test_descriptors_of_a_resolver_are_not_inherited(disk: Tree) -> None:
    disk.build("root/sub/a.md: a")
    fd = os.open(disk.path("root"), os.O_PATH)
    try:
        resolver = choose_resolver(fd, Policy(), want=disk.resolver)
        for parts, flags in (
            ((), LOOK_FOLDER),
            ((b"sub",), READ_FOLDER),
            ((b"sub", b"a.md"), LOOK),
            ((b"sub", b"a.md"), os.O_RDONLY),
        ):
            opened = resolver.open(fd, parts, flags)
            assert not os.get_inheritable(opened)
            os.close(opened)
    finally:
        os.close(fd)


def test_both_resolvers_agree_with_plain_openings_where_nothing_escapes(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/sub/b.md: b", "root/sub/deep/c.md: c")
    with disk.open_root() as root:
        for path in ("a.md", "sub/b.md", "sub/deep/c.md"):
            plain = os.stat(disk.path(f"root/{path}"))
            content = root.read(P(path))
            assert content.data == disk.read(f"root/{path}")
            assert (content.identity.dev, content.identity.ino) == (plain.st_dev, plain.st_ino)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOENT, Missing),
        (errno.ENOTDIR, NotAFolder),
        (errno.EEXIST, Exists),
        (errno.ELOOP, LinkRefused),
        (errno.EXDEV, MountRefused),
        (errno.ENXIO, NotRegular),
    ],
)
def test_errno_about_a_path_becomes_its_refusal(number: int, expected: type[Exception]) -> None:
    error = refusal(OSError(number, "x"), "a.md")
    assert type(error) is expected


@pytest.mark.parametrize(
    "number",
    [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENAMETOOLONG],
)  # fmt: skip
def test_errno_about_the_storage_keeps_its_number(number: int) -> None:
    error = refusal(OSError(number, "x"), "a.md")
    assert type(error) is StorageFailed
    assert error.errno == number


def test_error_without_a_number_fails_closed() -> None:
    error = refusal(OSError("odd"), "a.md")
    assert isinstance(error, StorageFailed)
    assert error.errno == errno.EIO


def test_message_carries_no_raw_bytes_of_a_hostile_name(disk: Tree) -> None:
    with disk.open_root() as root, pytest.raises(Missing) as caught:
        root.read(P("a\x1b[2J\u202eb\n.md"))
    assert caught.value.path == "a\x1b[2J\u202eb\n.md"
    assert str(caught.value).isprintable()


def test_folder_that_may_not_be_entered_is_a_storage_failure(disk: Tree) -> None:
    disk.build("root/closed/a.md: a", "root/open/a.md: a")
    disk.chmod("root", 0o755)
    disk.chmod("root/open", 0o755)
    disk.chmod("root/open/a.md", 0o644)
    disk.chmod("root/closed", 0)
    try:
        with disk.open_root() as root, without_privileges():
            assert root.read(P("open/a.md")).data == b"a"
            with pytest.raises(StorageFailed) as caught:
                root.read(P("closed/a.md"))
            assert caught.value.errno == errno.EACCES
    finally:
        disk.chmod("root/closed", 0o755)


def test_running_out_of_descriptors_is_a_storage_failure_and_leaks_none(disk: Tree) -> None:
    disk.build("root/a/b/c/d.md: x")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with disk.open_root() as root:
        highest = max(int(name) for name in os.listdir("/proc/self/fd"))
        fillers = [os.open("/dev/null", os.O_RDONLY) for _ in range(3)]
        try:
            limit = max([highest, *fillers]) + 1
            fillers.extend(
                os.open("/dev/null", os.O_RDONLY) for _ in range(limit - len(os.listdir("/proc/self/fd")))
            )
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(fillers) + 1, hard))
            for attempt in (
                lambda: root.read(P("a/b/c/d.md")),
                lambda: root.create(P("new.md"), b"x"),
                lambda: root.list(with_identity=True),
            ):
                with pytest.raises(StorageFailed) as caught:
                    attempt()
                assert caught.value.errno == errno.EMFILE
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for filler in fillers:
                os.close(filler)
        assert root.read(P("a/b/c/d.md")).data == b"x"
    assert os.listdir(disk.path("root")) == ["a"]


def test_the_deepest_path_there_is_needs_few_descriptors(disk: Tree) -> None:
    """A worker may have 64, and a path as many components."""
    disk.build("root/")
    path = RelPath(("d",) * (MAX_DEPTH - 1) + ("a.md",))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with disk.open_root() as root:
        before = os.listdir("/proc/self/fd")
        free = (number for number in itertools.count() if str(number) not in before)
        resource.setrlimit(resource.RLIMIT_NOFILE, (next(itertools.islice(free, 8, None)), hard))
        try:
            root.create(path, b"x", durable=False)
            assert root.read(path).data == b"x"
            listed = root.list(path.parent, with_identity=True)
            assert [entry.name for entry in listed.entries] == ["a.md"]
            with pytest.raises(Missing):
                root.read(path.parent.child("b.md"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert sorted(os.listdir("/proc/self/fd")) == sorted(before)


# -- mount ids ---------------------------------------------------------------------------------


def test_glance_tells_type_and_mount_as_proc_does(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/link => a.md", "root/pipe | fifo")
    for name, kind in (
        ("", stat.S_IFDIR),
        ("a.md", stat.S_IFREG),
        ("link", stat.S_IFLNK),
        ("pipe", stat.S_IFIFO),
    ):
        fd = os.open(disk.path(f"root/{name}").rstrip("/"), os.O_PATH | os.O_NOFOLLOW)
        try:
            seen = _linux.glance(fd)
            assert seen.mode == kind
            assert seen.mount == ("mount", _linux._mount_id_from_proc(fd))
            assert not seen.by_device
        finally:
            os.close(fd)


def test_walk_says_when_it_knows_mounts_by_device_only(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither statx nor /proc: weaker, still serving, and reported."""
    disk.build("root/sub/a.md: a")
    monkeypatch.setattr(_linux, "_KNOWN", False)
    monkeypatch.setattr(_linux, "_mount_id_from_proc", lambda _: None)
    disk.resolver = "walk"
    with disk.open_root() as root:
        assert root.read(P("sub/a.md")).data == b"a"
        assert root.features().sees_bind_mounts is False


def test_kernel_without_statx_is_served_by_proc(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.build("root/sub/a.md: a")
    monkeypatch.setattr(_linux, "_KNOWN", False)
    disk.resolver = "walk"
    with disk.open_root() as root:
        assert root.features().sees_bind_mounts is True
        assert root.features().rename_flags is False


def test_walk_cannot_be_made_for_links_within(disk: Tree) -> None:
    fd = os.open(disk.base, os.O_PATH)
    try:
        with pytest.raises(RootUnusable):
            WalkResolver(fd, Policy(links=Links.WITHIN))
    finally:
        os.close(fd)


def test_system_call_numbers_agree_with_the_kernel_headers() -> None:
    header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
    generic = "/usr/include/asm-generic/unistd.h"
    require("kernel headers", available=os.path.exists(header) and os.path.exists(generic))
    for machine, path in (("x86_64", header), ("aarch64", generic), ("riscv64", generic)):
        with open(path) as lines:
            numbers = {
                words[1].removeprefix("__NR_"): words[2]
                for words in (line.split() for line in lines)
                if len(words) >= 3 and words[0] == "#define"
            }
        assert numbers["renameat2"] == str(_linux._RENAMEAT2[machine])
        assert numbers["statx"] == str(_linux._STATX[machine])
        assert numbers["openat2"] == str(_linux._OPENAT2)
        for name in ("inotify_init1", "inotify_add_watch", "inotify_rm_watch"):
            assert numbers[name] == str(_linux._NUMBERS[machine][name])


def test_nul_never_reaches_a_system_call() -> None:
    with pytest.raises(OSError, match="NUL"):
        _linux.openat2(0, b"a\0b", flags=LOOK, resolve=0)
    with pytest.raises(OSError, match="NUL"):
        _linux.renameat2(0, b"a", 0, b"b\0", flags=1)


def test_openat2_is_tried_again_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    require("openat2", available=has_openat2())
    calls = 0

    def busy(*arguments: object) -> int:
        nonlocal calls
        calls += 1
        ctypes.set_errno(errno.EAGAIN)
        return -1

    monkeypatch.setattr(_linux, "_openat2", busy)
    with pytest.raises(BlockingIOError):
        _linux.openat2(0, b"a", flags=LOOK, resolve=0)
    assert calls == _linux.OPENAT2_ATTEMPTS


@pytest.mark.parametrize("times", [1, 1000])
def test_object_that_is_moved_out_during_the_walk_is_resolved_again(
    openat2_disk: Tree, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """The kernel looks once more at the end of a walk, and says EXDEV as it does for an escape."""
    openat2_disk.build("root/sub/a.md: a")
    real = _linux.openat2
    moves = 0

    def moving(folder: int, path: bytes, *, flags: int, resolve: int) -> int:
        nonlocal moves
        if path == b"sub/a.md" and resolve & _linux.RESOLVE_NO_XDEV and moves < times:
            moves += 1
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return real(folder, path, flags=flags, resolve=resolve)

    with openat2_disk.open_root() as root:
        monkeypatch.setattr(_linux, "openat2", moving)
        if times == 1:
            assert root.read(P("sub/a.md")).data == b"a"
        else:
            with pytest.raises(Escape):
                root.read(P("sub/a.md"))
            assert moves == MOVED_ATTEMPTS


def test_policy_with_senseless_bounds_is_no_policy() -> None:
    for change in ({"max_file_bytes": -1}, {"max_entries": 0}):
        with pytest.raises(ValueError, match="positive"):
            replace(Policy(mounts=Mounts.ALLOW), **change)  # type: ignore[arg-type]  # one of two ints


def test_features_of_an_ordinary_file_system(disk: Tree) -> None:
    with disk.open_root() as root:
        before = disk.snapshot()
        found = root.features()
        assert (found.rename_flags, found.folder_sync, found.lock) == (True, True, "directory")
        assert found.sees_bind_mounts is True
        disk.build("root/probe: x")
        assert found.folds_case is disk.exists("root/PROBE")
        os.unlink(disk.path("root/probe"))
        assert disk.snapshot() == before


def test_features_are_unknown_where_nothing_can_be_written(disk: Tree) -> None:
    disk.build("root/")
    disk.chmod("root", 0o555)
    with disk.open_root() as root, without_privileges():
        found = root.features()
    assert (found.rename_flags, found.normalises, found.folds_case) == (None, None, None)


def test_listing_the_root_is_listing_no_parts(disk: Tree) -> None:
    disk.build("root/a.md: a")
    with disk.open_root() as root:
        assert root.list(with_identity=False) == root.list(ROOT, with_identity=False)
        assert root.kind(ROOT) is not None
