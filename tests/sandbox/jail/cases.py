"""What honest and dishonest workers do, one function each; run by `launcher.py` inside a jail.

A case returns what the test looks at, and raises when something honest is refused.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import sqlite3
import time
from collections.abc import Callable

from sandbox import Policy, RelPath, Root
from sandbox._linux import prctl
from sandbox.errors import Exists
from sandbox.jail import seccomp
from sandbox.resolve import ResolverChoice
from tests.sandbox.jail.attempts import Target, run_code

MACHINE = os.uname().machine
ENTRY = "20260728T101112Z-" + "0" * 32
P = RelPath.parse
_GETPID_32 = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"


def refused(act: Callable[[], object]) -> str:
    """Return the name of the errno that *act* is refused with."""
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "it worked"


def nothing(t: Target) -> object:
    return None


def who(t: Target) -> object:
    return {
        "pid": os.getpid(),
        "uids": [os.getuid(), os.geteuid()],
        "gids": [os.getgid(), os.getegid()],
        "cwd": os.getcwd(),
        "here": sorted(os.listdir(".")),
        "descriptors": [number for number in range(1000) if refused(lambda: os.fstat(number)) != "EBADF"],  # noqa: B023
    }


# -- the honest life ---------------------------------------------------------------------------


def life_of_a_root(t: Target) -> object:
    return _life("auto")


def life_of_a_root_by_walking(t: Target) -> object:
    return _life("walk")


def _life(resolver: ResolverChoice) -> object:
    with Root.open(".", Policy(), resolver=resolver) as root, root.lock(timeout=5):
        root.create(P("new/folder/a.md"), b"one")
        descriptor = os.open("new/folder/a.md", os.O_RDWR)
        os.setxattr(descriptor, "user.kept", b"1")
        os.close(descriptor)
        made = root.stat(P("new/folder/a.md"))
        replaced = root.replace(P("new/folder/a.md"), b"two", expect=made)
        assert replaced.not_kept == (), replaced
        assert root.read(P("new/folder/a.md")).data == b"two"
        descriptor = os.open("new/folder/a.md", os.O_RDONLY)
        assert os.getxattr(descriptor, "user.kept") == b"1"
        os.close(descriptor)
        try:
            root.create(P("new/folder/a.md"), b"x")
        except Exists:
            pass
        root.move(P("new/folder/a.md"), P("other/b.md"), expect=root.stat(P("new/folder/a.md")))
        listed = [entry.name for entry in root.list(P("other"), with_identity=True).entries]
        root.trash(P("other/b.md"), entry=ENTRY, expect=lambda data: data == b"two")
        assert root.receipt(P("other/b.md"), entry=ENTRY) == b"two"
        assert root.trash_entries() == (ENTRY,)
        assert root.restore(ENTRY) == P("other/b.md")
        features = root.features()
        swept = root.sweep(now=time.time() + 3600)
        return [listed, swept.moved, features.rename_flags, features.folder_sync, root.resolver_name]


def life_of_an_index(t: Target) -> object:
    """Every journal mode, big sorts, two connections that lock each other out, and a check."""
    folder = "/index" if stat_of("/index") else t.index
    counts = []
    for mode in ("TRUNCATE", "DELETE", "PERSIST", "WAL"):
        path = f"{folder}/{mode.lower()}.db"
        database = sqlite3.connect(path, isolation_level=None, timeout=0)
        assert database.execute(f"PRAGMA journal_mode={mode}").fetchone()[0].upper() == mode
        database.execute("PRAGMA temp_store=MEMORY")
        database.execute("PRAGMA mmap_size=0")
        database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO notes (text) VALUES (?)", [(str(n) * 50,) for n in range(2000)])
        second = sqlite3.connect(path, isolation_level=None, timeout=0)
        try:
            second.execute("BEGIN IMMEDIATE")
            raise AssertionError("two writers")
        except sqlite3.OperationalError:
            pass
        database.execute("COMMIT")
        counts.append(len(database.execute("SELECT text FROM notes ORDER BY text DESC").fetchall()))
        database.execute("VACUUM")
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        second.close()
        database.close()
    return counts


def stat_of(path: str) -> bool:
    """Whether something is there."""
    return refused(lambda: os.stat(path)) == "it worked"


def index_past_the_limit(t: Target) -> object:
    """SQLite past the file size is an error of its own, and no signal."""
    folder = "/index" if stat_of("/index") else t.index
    database = sqlite3.connect(f"{folder}/big.db", isolation_level=None)
    database.execute("CREATE TABLE t (x BLOB)")
    try:
        database.execute("INSERT INTO t VALUES (zeroblob(?))", (50 << 20,))
    except sqlite3.OperationalError as error:
        return str(error)
    return "it worked"


# -- what each kind may do ---------------------------------------------------------------------


def rights(t: Target) -> object:
    """Try to read and write notes and index; say what was refused."""
    index = "/index" if stat_of("/index") else t.index

    def create(path: str) -> Callable[[], object]:
        return lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    return {
        "read a note": refused(lambda: os.close(os.open("mine.md", os.O_RDONLY))),
        "make a note": refused(create("made.md")),
        "read the attributes of a note": refused(lambda: os.listxattr(os.open("mine.md", os.O_RDONLY))),
        "mark a note": mark("mine.md"),
        "mark the workspace": mark("."),
        "set times": refused(lambda: os.utime(os.open("mine.md", os.O_RDONLY), (1, 1))),
        "change a note": refused(lambda: os.close(os.open("mine.md", os.O_WRONLY))),
        "empty a note": refused(lambda: os.close(os.open("mine.md", os.O_RDONLY | os.O_TRUNC))),
        "make a folder": refused(lambda: os.mkdir("folder", dir_fd=os.open(".", os.O_PATH))),
        "move a note": refused(
            lambda: os.replace("mine.md", "sub/moved.md", src_dir_fd=here(), dst_dir_fd=here())
        ),
        "remove a note": refused(lambda: os.unlink("sub/note.md", dir_fd=here())),
        "read the index": refused(lambda: os.close(os.open(f"{index}/cache", os.O_RDONLY))),
        "change the index": refused(lambda: os.close(os.open(f"{index}/cache", os.O_WRONLY))),
        "make a file of the index": refused(create(f"{index}/journal")),
        "make a folder of the index": refused(lambda: os.mkdir("f", dir_fd=os.open(index, os.O_PATH))),
        "mark the index": mark(f"{index}/cache"),
        "set times of the index": refused(lambda: os.utime(os.open(f"{index}/cache", os.O_RDONLY), (1, 1))),
        "lock the workspace": refused(lambda: fcntl.flock(os.open(".", os.O_RDONLY), fcntl.LOCK_EX)),
    }


def mark(path: str) -> str:
    """Change mode, owner and attributes by a descriptor; all of it is refused, or nothing."""
    descriptor = os.open(path, os.O_RDONLY)
    acts: tuple[Callable[[], object], ...] = (
        lambda: os.fchmod(descriptor, 0o750),
        lambda: os.fchown(descriptor, os.getuid(), os.getgid()),
        lambda: os.setxattr(descriptor, "user.left", b"1"),
        lambda: os.removexattr(descriptor, "user.left"),
    )
    (answer,) = {refused(act) for act in acts}
    return answer


def here() -> int:
    """Open the workspace."""
    return os.open(".", os.O_PATH | os.O_DIRECTORY)


def write_into_a_mount_of_the_workspace(t: Target) -> object:
    """`sub` is a mount of its own here."""
    return refused(lambda: os.close(os.open("sub/new.md", os.O_WRONLY | os.O_CREAT, 0o600)))


def flags_of_mounts(t: Target) -> object:
    found = {}
    for path in ("/", "/ws", "/index"):
        flags = os.fstatvfs(os.open(path, os.O_PATH)).f_flag
        found[path] = sorted(
            name for name in ("RDONLY", "NOSUID", "NODEV", "NOEXEC") if flags & getattr(os, f"ST_{name}")
        )
    return found


# -- ends --------------------------------------------------------------------------------------


def end_with_seven(t: Target) -> object:
    os._exit(7)


def touch_bad_memory(t: Target) -> object:
    return ctypes.string_at(0)


def use_up_the_processor(t: Target) -> object:
    while True:
        pass


def use_up_the_memory_and_go_on(t: Target) -> object:
    for _ in range(3):
        try:
            bytearray(1 << 30)
        except MemoryError:
            continue
        return "it worked"
    return len(bytearray(10 << 20))


def write_past_the_limit(t: Target) -> object:
    descriptor = os.open("big.md", os.O_WRONLY | os.O_CREAT)
    return refused(lambda: os.pwrite(descriptor, b"x", 64 << 20))


def be_looked_at(t: Target) -> object:
    t.ask("look at me")
    return None


# -- the filter alone --------------------------------------------------------------------------


def call_32_bit(t: Target) -> object:
    return run_code(_GETPID_32)


def call_32_bit_under_the_filter(t: Target) -> object:
    memory = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(_GETPID_32)
    code = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    prctl(38, 1)
    permitted = seccomp.permit("rw", own_tree=False, follows_links=False)
    seccomp.install(seccomp.build(permitted, pid=os.getpid(), machine=MACHINE))
    return code()
