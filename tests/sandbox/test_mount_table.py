"""The table of mounts: what a kernel writes is read, anything else is none, and changes are seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import mounts
from sandbox.mounts import Mount, MountsUnknownError, MountWatch, around, obstacle, parse

TABLE = rb"""22 27 0:21 / /proc rw,nosuid shared:5 - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
41 27 0:40 / /home/alice/Notes/usb rw - tmpfs none rw
42 41 8:1 /sub\040folder /home/alice/Notes/usb/a\040b\011c\012d\134\043 ro,nosuid master:2 propagate_from:3 - fat a rw
43 27 0:41 / /home/alice/Notes-2 rw unbindable - fuse.sshfs host:/a\040b rw,user_id=0
44 27 0:42 net:[4026532000] /run/netns/x rw shared:9 - nsfs nsfs rw
45 27 8:2 /gone//deleted /mnt rw - ext4  rw
"""


def test_what_a_kernel_writes_is_read() -> None:
    found = parse(TABLE)
    assert [mount.number for mount in found] == [22, 27, 41, 42, 43, 44, 45]
    assert found[3] == Mount(
        42, 41, b"8:1", b"/sub folder", b"/home/alice/Notes/usb/a b\tc\nd\\#", b"ro,nosuid"
    )
    assert (found[5].root, found[6].root) == (b"net:[4026532000]", b"/gone//deleted")
    assert parse(b"") == ()


def test_the_table_of_this_host_is_read() -> None:
    found = parse(Path(mounts.TABLE).read_bytes())
    assert b"/" in {mount.point for mount in found}
    device = os.stat("/proc").st_dev
    (proc,) = (mount for mount in found if mount.point == b"/proc")
    assert proc.device == f"{os.major(device)}:{os.minor(device)}".encode()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"41 27 0:40 / /a rw - tmpfs none",
        b"41 27 0:40 / a rw - tmpfs none rw",
        b"x 27 0:40 / /a rw - tmpfs none rw",
        b"-1 27 0:40 / /a rw - tmpfs none rw",
        b"41 27 0.40 / /a rw - tmpfs none rw",
        b"1" * 5000 + b" 27 0:40 / /a rw - tmpfs none rw",
        b"41 27 0:40 / /a rw tmpfs none rw",
        b"41 27 0:40 / /a  rw - tmpfs none rw",
        b"41  27 0:40 / /a rw - tmpfs none rw",
        b"41 27 0:40 / /a\\04 rw - tmpfs none rw",
        b"41 27 0:40 / /a\\400 rw - tmpfs none rw",
        b"41 27 0:40 / /a\\x20 rw - tmpfs none rw",
        b"41 27 0:40 / /a\\ rw - tmpfs none rw",
        b"41 27 0:40 / /a\\089 rw - tmpfs none rw",
        b"41 27 0:40 / /a\tb rw - tmpfs none rw",
        b" 41 27 0:40 / /a rw - tmpfs none rw",
        "4\u0661 27 0:40 / /a rw - tmpfs none rw".encode(),
    ],
)
def test_what_is_no_line_of_it_is_refused(line: bytes) -> None:
    good = b"41 27 0:40 / /a rw - tmpfs none rw\n"
    assert len(parse(good)) == 1
    for table in (line + b"\n", good + line + b"\n", line + b"\n" + good):
        with pytest.raises(MountsUnknownError):
            parse(table)


@pytest.mark.parametrize(
    "table",
    [
        b"41 27 0.40 / /a rw - tmpfs none rw",
        b"1" * 5000 + b" 27 0:40 / /a rw - tmpfs none rw",
        b"\n",
        b"x",
        TABLE[:-5],
    ],
)
def test_a_table_that_ends_within_a_line_is_none(table: bytes) -> None:
    with pytest.raises(MountsUnknownError):
        parse(table)


@given(st.binary(max_size=80))
def test_any_bytes_are_a_table_or_none(table: bytes) -> None:
    try:
        found = parse(table)
    except MountsUnknownError:
        return
    assert len(found) == table.count(b"\n")


def test_around_a_folder_is_what_it_lies_on_and_what_is_in_it() -> None:
    table = parse(TABLE)

    def numbers(folder: str) -> set[int]:
        return {mount.number for mount in around(table, folder)}

    assert numbers("/home/alice/Notes") == {27, 41, 42}
    assert numbers("/home/alice/Note") == {27}
    assert numbers("/home/alice/Notes/usb") == {27, 41, 42}
    assert numbers("/home/alice/Notes/usb/deep") == {41}
    assert numbers("/home/alice/Notes-2/deep") == {43}
    assert numbers("/proc/1") == {22}
    assert numbers("/") == {22, 27, 41, 42, 43, 44, 45}


def test_of_mounts_on_one_place_all_count() -> None:
    table = parse(b"1 1 0:1 / / rw - a b c\n2 1 0:2 / /a rw - a b c\n3 2 0:3 / /a rw - a b c\n")
    assert {mount.number for mount in around(table, "/a/b")} == {2, 3}
    assert {mount.number for mount in around(table, "/a")} == {1, 2, 3}


def test_a_name_that_is_no_text_is_compared_by_its_bytes() -> None:
    table = parse(b"1 1 0:1 / / rw - a b c\n2 1 0:2 / /a\xff/b rw - a b c\n")
    assert {mount.number for mount in around(table, os.fsdecode(b"/a\xff"))} == {1, 2}


class Told(MountWatch):
    """A watch that is told of changes by a test."""

    changed = False

    def _has_changed(self, descriptor: int) -> bool:
        changed, self.changed = self.changed, False
        return changed


def test_a_watch_reads_again_only_what_has_changed(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    first, second = (b"".join(TABLE.splitlines(keepends=True)[:count]) for count in (2, 3))
    table.write_bytes(first)
    watch = Told("/home/alice/Notes", "/proc/1", table=str(table))
    before = watch.look()
    assert before is not None
    assert {mount.number for mount in before} == {22, 27}
    table.write_bytes(second)
    assert watch.look() is before
    watch.changed = True
    assert {mount.number for mount in watch.look() or ()} == {22, 27, 41}
    table.write_bytes(b"something else\n")
    watch.changed = True
    assert (watch.look(), watch.why) == (None, "the table of mounts has a line that is none")
    table.write_bytes(first)
    watch.changed = True
    assert watch.look() == before
    watch.close()
    assert (watch.look(), watch.bell) == (None, None)
    watch.close()


def test_a_table_that_is_not_there_or_too_long_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = MountWatch("/", table=str(tmp_path / "missing"))
    assert (missing.look(), missing.bell) == (None, None)
    assert missing.why is not None
    assert missing.why.endswith("No such file or directory")
    missing.close()
    monkeypatch.setattr(mounts, "MAX_BYTES", 100)
    long = MountWatch("/")
    assert (long.look(), long.why) == (None, "the table of mounts is too long")
    long.close()
    assert obstacle() == "the table of mounts is too long"
    monkeypatch.undo()
    assert obstacle() is None


def test_a_table_that_could_not_be_opened_is_tried_again(tmp_path: Path) -> None:
    table = tmp_path / "later"
    watch = MountWatch(str(tmp_path), table=str(table))
    try:
        assert watch.look() is None
        assert "cannot be opened" in str(watch.why)
        table.symlink_to("/proc/self/mountinfo")
        assert watch.look()
    finally:
        watch.close()
    assert watch.look() is None


def test_a_table_that_could_not_be_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = mounts.read, iter([OSError(5, "Input/output error"), None])

    def read(descriptor: int) -> bytes:
        if (failure := next(failures, None)) is not None:
            raise failure
        return real(descriptor)

    monkeypatch.setattr(mounts, "read", read)
    watch = MountWatch(str(tmp_path))
    try:
        assert watch.look() is None
        assert watch.look()
    finally:
        watch.close()
