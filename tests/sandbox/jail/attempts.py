"""Ways out of a jail, each a small function that returns when it worked and raises when it was refused.

They run in a forked process of `launcher.py`, with and without the jail. Each is written so that it works
without the jail for whoever may do it on this host; `HOST` names those that the host refuses to some even then.
More than 400 lines because it is one list. It goes on in `descriptors.py`.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import importlib
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
LATE_LIBRARY = "libBrokenLocale.so.1"  # of the C library itself, and nobody has loaded it
LATE_MODULE = "late_module_of_the_escape_tests"
WORKED = 42
"""The exit status that an executed program proves itself with."""

_MEMORY = ctypes.create_string_buffer(b"memory of a bystander")
_HOST_NAME = os.uname().nodename.encode()
_X32_GETPID = 0x4000_0000 | 39
_NUMBERS = {
    "x86_64": {
        "ptrace": 101,
        "process_vm_readv": 310,
        "pidfd_open": 434,
        "rt_sigqueueinfo": 129,
        "kcmp": 312,
        "unshare": 272,
        "clone": 56,
        "clone3": 435,
        "mount": 165,
        "umount2": 166,
        "setns": 308,
        "fsopen": 430,
        "open_tree": 428,
        "keyctl": 250,
        "add_key": 248,
        "io_uring_setup": 425,
        "userfaultfd": 323,
        "bpf": 321,
        "perf_event_open": 298,
        "personality": 135,
        "memfd_create": 319,
        "execveat": 322,
        "open": 2,
        "openat2": 437,
        "renameat2": 316,
        "prctl": 157,
        "shmget": 29,
        "shmat": 30,
        "mq_open": 240,
        "mq_unlink": 241,
        "inotify_init1": 294,
        "name_to_handle_at": 303,
        "open_by_handle_at": 304,
        "mlock": 149,
        "pivot_root": 155,
        "sethostname": 170,
        "seccomp": 317,
    },
    "aarch64": {
        "ptrace": 117,
        "process_vm_readv": 270,
        "pidfd_open": 434,
        "rt_sigqueueinfo": 138,
        "kcmp": 272,
        "unshare": 97,
        "clone": 220,
        "clone3": 435,
        "mount": 40,
        "umount2": 39,
        "setns": 268,
        "fsopen": 430,
        "open_tree": 428,
        "keyctl": 219,
        "add_key": 217,
        "io_uring_setup": 425,
        "userfaultfd": 282,
        "bpf": 280,
        "perf_event_open": 241,
        "personality": 92,
        "memfd_create": 279,
        "execveat": 281,
        "openat2": 437,
        "renameat2": 276,
        "prctl": 167,
        "shmget": 194,
        "shmat": 196,
        "mq_open": 180,
        "mq_unlink": 181,
        "inotify_init1": 26,
        "name_to_handle_at": 264,
        "open_by_handle_at": 265,
        "mlock": 228,
        "pivot_root": 41,
        "sethostname": 161,
        "seccomp": 277,
    },
}.get(os.uname().machine, {})


@dataclass(frozen=True)
class Target:
    """What there is to reach. All paths are the host's; everything belongs to the account that tries."""

    outside: str
    state: str
    index: str
    launcher: int
    bystander: int
    tcp: int
    udp: int
    abstract: str
    inherited_folder: int
    inherited_file: int
    channel: int
    ask: Callable[[str], None]
    """Have the launcher, which is not jailed, do something, and wait for it."""


Try = Callable[[Target], object]
ATTEMPTS: dict[str, Try] = {}

ROOT_ONLY = "needs a capability that only root has"
HOST: dict[str, tuple[str, str]] = {
    # name: (whom the host refuses it without any jail: "user" or "all", why)
    "open_by_handle": ("user", ROOT_ONLY),
    "setuid": ("user", ROOT_ONLY),
    "setgroups": ("user", ROOT_ONLY),
    "mknod_device": ("user", ROOT_ONLY),
    "chroot": ("user", ROOT_ONLY),
    "mount": ("user", ROOT_ONLY),
    "unmount": ("all", "nothing of the tests' own is mounted"),
    "pivot_root": ("all", "the root of a host cannot be pivoted"),
    "setns": ("user", ROOT_ONLY),
    "fsopen": ("user", ROOT_ONLY),
    "open_tree": ("user", ROOT_ONLY),
    "bpf": ("user", "unprivileged BPF is usually switched off"),
    "perf": ("user", "kernel.perf_event_paranoid usually forbids it"),
    "sethostname": ("user", ROOT_ONLY),
    "x32_call": ("all", "most kernels are built without x32"),
}
"""These may fail in the control run. Inside, they only count when the process was killed for them."""


def attempt(function: Try) -> Try:
    """Put a function on the list under its name."""
    ATTEMPTS[function.__name__] = function
    return function


def call(name: str, *arguments: object) -> int:
    """Make a raw system call; whole numbers are passed as longs."""
    if name not in _NUMBERS:
        raise OSError(errno.ENOSYS, name)
    return number(_NUMBERS[name], *arguments)


def has_call(name: str) -> bool:
    """Whether this machine has a call of that name."""
    return name in _NUMBERS


def number(which: int, *arguments: object) -> int:
    """Make a raw system call by its number."""
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result: int = LIBC.syscall(ctypes.c_long(which), *given)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def read(path: str | int, **how: int) -> bytes:
    """Return the beginning of a file."""
    descriptor = os.open(path, os.O_RDONLY, **how) if isinstance(path, str) else path
    got = os.read(descriptor, 100)
    assert got
    return got


# -- files -------------------------------------------------------------------------------------


@attempt
def read_outside(t: Target) -> object:
    return read(t.outside + "/secret.txt")


@attempt
def read_passwd(t: Target) -> object:
    return read("/etc/passwd")


@attempt
def read_above(t: Target) -> object:
    return read("../outside/secret.txt")


@attempt
def read_far_above(t: Target) -> object:
    return read("../" * 30 + t.outside + "/secret.txt")


@attempt
def read_through_link(t: Target) -> object:
    return read("link-to-file")


@attempt
def read_through_folder_link(t: Target) -> object:
    return read("link-to-folder/secret.txt")


@attempt
def read_keys(t: Target) -> object:
    return read(t.state + "/private/keys")


@attempt
def read_keys_beside_the_index(t: Target) -> object:
    index = "/index" if os.path.isdir("/index") else t.index
    return read(index + "/../../private/keys")


@attempt
def list_outside(t: Target) -> object:
    return os.listdir(t.outside)


@attempt
def list_root(t: Target) -> object:
    return os.listdir("/")


@attempt
def list_above(t: Target) -> object:
    return os.listdir("..")


@attempt
def write_outside(t: Target) -> object:
    return os.write(os.open(t.outside + "/new.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), b"x")


@attempt
def append_outside(t: Target) -> object:
    return os.write(os.open(t.outside + "/victim.txt", os.O_WRONLY | os.O_APPEND), b"x")


@attempt
def truncate_outside(t: Target) -> object:
    return os.close(os.open(t.outside + "/victim.txt", os.O_RDONLY | os.O_TRUNC))


@attempt
def create_by_raw_openat2(t: Target) -> object:
    how = struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o644, 0)
    return call("openat2", -100, (t.outside + "/raw.txt").encode(), how, len(how))


@attempt
def create_above(t: Target) -> object:
    return os.open("../outside/above.txt", os.O_WRONLY | os.O_CREAT)


@attempt
def rename_out(t: Target) -> object:
    return os.rename("mine.md", t.outside + "/taken.md")


@attempt
def rename_in(t: Target) -> object:
    return os.rename(t.outside + "/victim.txt", "got.md")


@attempt
def link_in(t: Target) -> object:
    return os.link(t.outside + "/secret.txt", "linked.md")


@attempt
def link_out(t: Target) -> object:
    return os.link("mine.md", t.outside + "/linked.md")


@attempt
def link_in_by_descriptor(t: Target) -> object:
    seen = os.open(t.outside + "/secret.txt", os.O_PATH)
    empty_path = 0x1000
    done = LIBC.linkat(seen, b"", -100, b"linked.md", empty_path)
    if done != 0 and os.path.isdir("/proc/self/fd"):
        done = LIBC.linkat(-100, f"/proc/self/fd/{seen}".encode(), -100, b"linked.md", 0x400)
    if done != 0:
        raise OSError(ctypes.get_errno(), "linkat")
    return read("linked.md")


@attempt
def unlink_outside(t: Target) -> object:
    return os.unlink(t.outside + "/victim.txt")


@attempt
def mkdir_outside(t: Target) -> object:
    return os.mkdir(t.outside + "/made")


@attempt
def rmdir_outside(t: Target) -> object:
    return os.rmdir(t.outside + "/empty")


@attempt
def make_link(t: Target) -> object:
    """A link that leads out would be followed by other programs."""
    return os.symlink("/etc", "planted")


# -- descriptors of folders --------------------------------------------------------------------


@attempt
def inherited_folder(t: Target) -> object:
    return read("secret.txt", dir_fd=t.inherited_folder)


@attempt
def inherited_folder_above(t: Target) -> object:
    return os.listdir(os.open("..", os.O_RDONLY, dir_fd=t.inherited_folder))


@attempt
def inherited_file(t: Target) -> object:
    return read(t.inherited_file)


@attempt
def change_the_mode_of_an_inherited_file(t: Target) -> object:
    return os.fchmod(t.inherited_file, 0o600)


@attempt
def change_the_times_of_an_inherited_file(t: Target) -> object:
    return os.utime(t.inherited_file)


@attempt
def any_inherited_folder(t: Target) -> object:
    for descriptor in range(3, 64):
        try:
            return os.open(".", os.O_RDONLY, dir_fd=descriptor)
        except OSError:
            continue
    raise FileNotFoundError("no folder is open")


@attempt
def moved_folder_read_above(t: Target) -> object:
    held = os.open("sub", os.O_RDONLY | os.O_DIRECTORY)
    t.ask("move sub out")
    return read("../secret.txt", dir_fd=held)


@attempt
def moved_folder_write_above(t: Target) -> object:
    held = os.open("sub", os.O_RDONLY | os.O_DIRECTORY)
    t.ask("move sub out")
    return os.open("../by-moving.txt", os.O_WRONLY | os.O_CREAT, dir_fd=held)


@attempt
def path_descriptor_of_the_folder_above(t: Target) -> object:
    above = os.open("..", os.O_PATH | os.O_DIRECTORY)
    return read("outside/secret.txt", dir_fd=above)


@attempt
def open_by_handle(t: Target) -> object:
    class Handle(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("bytes", ctypes.c_char * 128)]

    handle, mount = Handle(128, 0, b""), ctypes.c_int()
    call(
        "name_to_handle_at",
        -100,
        (t.outside + "/secret.txt").encode(),
        ctypes.byref(handle),
        ctypes.byref(mount),
        0,
    )
    folder = os.open(".", os.O_RDONLY)
    return read(call("open_by_handle_at", folder, ctypes.byref(handle), os.O_RDONLY))


# -- /proc, /sys, /dev -------------------------------------------------------------------------


@attempt
def proc_own_descriptors(t: Target) -> object:
    return os.listdir("/proc/self/fd")


@attempt
def proc_root_of_the_parent(t: Target) -> object:
    return read(f"/proc/{t.launcher}/root/etc/passwd")


@attempt
def proc_environment_of_the_parent(t: Target) -> object:
    return read(f"/proc/{t.launcher}/environ")


@attempt
def proc_command_lines(t: Target) -> object:
    return read(f"/proc/{t.bystander}/cmdline")


@attempt
def proc_memory(t: Target) -> object:
    memory = os.open("/proc/self/mem", os.O_RDWR)
    return os.pwrite(memory, b"M", ctypes.addressof(_MEMORY))


@attempt
def proc_maps(t: Target) -> object:
    return read("/proc/self/maps")


@attempt
def sys_tree(t: Target) -> object:
    return os.listdir("/sys/kernel")


@attempt
def device(t: Target) -> object:
    return os.write(os.open("/dev/null", os.O_WRONLY), b"x")


# -- metadata outside --------------------------------------------------------------------------


@attempt
def stat_outside(t: Target) -> object:
    return os.stat(t.outside + "/secret.txt").st_size


@attempt
def access_outside(t: Target) -> object:
    if not os.access(t.outside + "/secret.txt", os.F_OK):
        raise FileNotFoundError
    return True


@attempt
def look_by_path_descriptor(t: Target) -> object:
    return os.fstat(os.open(t.outside + "/secret.txt", os.O_PATH)).st_size


@attempt
def tell_existence_by_the_error(t: Target) -> object:
    answers = []
    for name in ("/secret.txt", "/no such file"):
        try:
            os.open(t.outside + name, os.O_WRONLY)
            answers.append(0)
        except OSError as error:
            answers.append(error.errno or 0)
    if answers[0] == answers[1]:
        raise FileNotFoundError("no difference")
    return answers


@attempt
def statfs_outside(t: Target) -> object:
    return os.statvfs("/etc").f_bfree


@attempt
def readlink_outside(t: Target) -> object:
    return os.readlink(t.outside + "/a-link")


@attempt
def chdir_outside(t: Target) -> object:
    return os.chdir(t.outside)


@attempt
def fchdir_outside(t: Target) -> object:
    return os.fchdir(os.open("..", os.O_PATH))


@attempt
def chmod_outside(t: Target) -> object:
    return os.chmod(t.outside + "/victim.txt", 0o644)


@attempt
def chown_outside(t: Target) -> object:
    return os.chown(t.outside + "/victim.txt", os.getuid(), os.getgid())


@attempt
def utime_outside(t: Target) -> object:
    return os.utime(t.outside + "/victim.txt", (1, 1))


@attempt
def utime_by_descriptor_path(t: Target) -> object:
    return os.utime("victim.txt", (1, 1), dir_fd=os.open(t.outside, os.O_PATH))


@attempt
def setxattr_outside(t: Target) -> object:
    return os.setxattr(t.outside + "/victim.txt", "user.left", b"1")


@attempt
def getxattr_outside(t: Target) -> object:
    return os.getxattr(t.outside + "/secret.txt", "user.tag")


OF_FILES = frozenset(ATTEMPTS)
"""Those so far, which reach for files: what a worker may do to them depends on its kind."""


# -- other processes ---------------------------------------------------------------------------


@attempt
def ptrace(t: Target) -> object:
    seize, detach = 0x4206, 17
    call("ptrace", seize, t.bystander, 0, 0)
    LIBC.ptrace(detach, t.bystander, 0, 0)
    return True


@attempt
def read_memory_of_another(t: Target) -> object:
    got = ctypes.create_string_buffer(len(_MEMORY))
    mine = struct.pack("QQ", ctypes.addressof(got), len(got))
    theirs = struct.pack("QQ", ctypes.addressof(_MEMORY), len(_MEMORY))
    call("process_vm_readv", t.bystander, mine, 1, theirs, 1, 0)
    assert got.value == b"memory of a bystander"
    return got.value


@attempt
def signal_another(t: Target) -> object:
    return os.kill(t.bystander, signal.SIGCONT)


@attempt
def signal_the_parent(t: Target) -> object:
    return os.kill(t.launcher, 0)


@attempt
def signal_everybody(t: Target) -> object:
    return os.killpg(0, 0)


@attempt
def signal_a_thread_of_another(t: Target) -> object:
    if LIBC.tgkill(t.bystander, t.bystander, 0) != 0:
        raise OSError(ctypes.get_errno(), "tgkill")
    return True


@attempt
def queue_a_signal(t: Target) -> object:
    info = struct.pack("iii", 0, 0, -1) + b"\0" * 116
    return call("rt_sigqueueinfo", t.bystander, 0, info)


@attempt
def own_the_signals_of_a_file(t: Target) -> object:
    """The kernel would send SIGIO on our behalf."""
    return fcntl.fcntl(t.channel, fcntl.F_SETOWN, t.bystander)


@attempt
def take_a_lease(t: Target) -> object:
    return fcntl.fcntl(os.open("mine.md", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)


@attempt
def watch_a_folder(t: Target) -> object:
    return fcntl.fcntl(os.open(".", os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE)


@attempt
def pidfd_open(t: Target) -> object:
    return call("pidfd_open", t.bystander, 0)


@attempt
def compare_processes(t: Target) -> object:
    return call("kcmp", os.getpid(), t.bystander, 1, 0, 0)


@attempt
def slow_down_another(t: Target) -> object:
    return os.setpriority(os.PRIO_PROCESS, t.bystander, 19)


@attempt
def limit_another(t: Target) -> object:
    return resource.prlimit(t.bystander, resource.RLIMIT_CORE, (0, 0))


@attempt
def read_limits_of_another(t: Target) -> object:
    return resource.prlimit(t.bystander, resource.RLIMIT_CORE)


# -- network and channels ----------------------------------------------------------------------


@attempt
def tcp_connect(t: Target) -> object:
    return socket.create_connection(("127.0.0.1", t.tcp), 5)


@attempt
def tcp_listen(t: Target) -> object:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.listen()


@attempt
def udp_send(t: Target) -> object:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", t.udp))


@attempt
def unix_connect(t: Target) -> object:
    return socket.socket(socket.AF_UNIX).connect(t.outside + "/socket")


@attempt
def abstract_connect(t: Target) -> object:
    return socket.socket(socket.AF_UNIX).connect("\0" + t.abstract)


@attempt
def netlink(t: Target) -> object:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)


@attempt
def socket_pair(t: Target) -> object:
    return socket.socketpair()


@attempt
def make_pipe(t: Target) -> object:
    return os.pipe()


@attempt
def bind_socket_in_the_workspace(t: Target) -> object:
    return socket.socket(socket.AF_UNIX).bind("planted.sock")


@attempt
def send_descriptor(t: Target) -> object:
    with socket.socket(fileno=os.dup(t.channel)) as channel:
        return socket.send_fds(channel, [b"\n"], [os.open("mine.md", os.O_RDONLY)])


@attempt
def receive_descriptor(t: Target) -> object:
    t.ask("send a folder")
    with socket.socket(fileno=os.dup(t.channel)) as channel:
        _, found, _, _ = socket.recv_fds(channel, 1, 1)
    return os.listdir(found[0])


# -- programs and threads ----------------------------------------------------------------------


@attempt
def execute(t: Target) -> object:
    return os.execv("/bin/sh", ["sh", "-c", f"exit {WORKED}"])  # noqa: S606 - that is the attempt


@attempt
def execute_from_memory(t: Target) -> object:
    made = call("memfd_create", b"program", 0)
    os.write(made, f"#!/bin/sh\nexit {WORKED}\n".encode())
    arguments = (ctypes.c_char_p * 2)(b"program", None)
    return call("execveat", made, b"", arguments, None, 0x1000)


@attempt
def execute_from_the_workspace(t: Target) -> object:
    made = os.open("program", os.O_WRONLY | os.O_CREAT, 0o755)
    os.write(made, f"#!/bin/sh\nexit {WORKED}\n".encode())
    os.fchmod(made, 0o755)
    os.close(made)
    return os.execv("./program", ["program"])  # noqa: S606 - that is the attempt


@attempt
def run_a_program(t: Target) -> object:
    return subprocess.run(["/bin/true"], check=True, timeout=10)


@attempt
def fork(t: Target) -> object:
    child = os.fork()
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)


@attempt
def clone_into_a_user_namespace(t: Target) -> object:
    child = call("clone", 0x1000_0000 | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)


@attempt
def raw_clone3(t: Target) -> object:
    arguments = struct.pack("8Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    child = call("clone3", arguments, len(arguments))
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)


@attempt
def start_a_thread(t: Target) -> object:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    return thread.join()


# -- resources ---------------------------------------------------------------------------------


@attempt
def much_memory(t: Target) -> object:
    return mmap.mmap(-1, 3 << 30)


@attempt
def much_memory_by_allocation(t: Target) -> object:
    return len(bytearray(600 << 20))


@attempt
def lock_memory(t: Target) -> object:
    return call("mlock", ctypes.addressof(_MEMORY), 1)


@attempt
def big_file(t: Target) -> object:
    return os.ftruncate(os.open("big.md", os.O_RDWR | os.O_CREAT), 200 << 20)


@attempt
def big_file_by_writing(t: Target) -> object:
    return os.pwrite(os.open("long.md", os.O_RDWR | os.O_CREAT), b"x", 200 << 20)


@attempt
def many_descriptors(t: Target) -> object:
    return [os.dup(t.channel) for _ in range(300)]


@attempt
def raise_a_limit(t: Target) -> object:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@attempt
def fill_disk(t: Target) -> object:
    for count in range(100):
        os.close(os.open(f"small-{count}.md", os.O_WRONLY | os.O_CREAT))
    return True


@attempt
def shared_memory(t: Target) -> object:
    made = call("shmget", 0, 4096, 0o1600)
    LIBC.shmctl(made, 0, None)
    return made


@attempt
def message_queue(t: Target) -> object:
    name = b"fsnotes-escape-%d" % os.getpid()
    made = call("mq_open", name, os.O_RDWR | os.O_CREAT, 0o600, None)
    call("mq_unlink", name)
    return made


@attempt
def inotify(t: Target) -> object:
    return call("inotify_init1", 0)


# -- rights ------------------------------------------------------------------------------------


@attempt
def setuid(t: Target) -> object:
    return os.setresuid(12345, 12345, 12345)


@attempt
def setgroups(t: Target) -> object:
    return os.setgroups([12345])


@attempt
def set_own_uid_again(t: Target) -> object:
    """Harmless by itself; nothing honest does it."""
    return os.setuid(os.getuid())


@attempt
def mknod_device(t: Target) -> object:
    return os.mknod("device", 0o20600, os.makedev(1, 3))


@attempt
def make_fifo(t: Target) -> object:
    return os.mkfifo("fifo")


@attempt
def set_id_bit(t: Target) -> object:
    return os.fchmod(os.open("mine.md", os.O_RDWR), 0o4755)


@attempt
def chmod_by_path_in_the_workspace(t: Target) -> object:
    return os.chmod("mine.md", 0o600)


@attempt
def become_dumpable(t: Target) -> object:
    return call("prctl", 4, 1, 0, 0, 0)


@attempt
def outlive_the_parent(t: Target) -> object:
    return call("prctl", 1, 0, 0, 0, 0)


@attempt
def flags_of_a_file(t: Target) -> object:
    """FS_IOC_GETFLAGS; the one that sets them makes a file immutable."""
    return fcntl.ioctl(os.open("mine.md", os.O_RDONLY), 0x80086601, b"\0" * 8)


@attempt
def chroot(t: Target) -> object:
    return os.chroot("sub")


@attempt
def mount(t: Target) -> object:
    call("mount", b"none", b"sub", b"tmpfs", 0, None)
    return call("umount2", b"sub", 2)


@attempt
def unmount(t: Target) -> object:
    return call("umount2", b"sub", 2)


@attempt
def pivot_root(t: Target) -> object:
    return call("pivot_root", b"sub", b"sub")


@attempt
def unshare_user(t: Target) -> object:
    return call("unshare", 0x1000_0000)


@attempt
def setns(t: Target) -> object:
    try:
        space = os.open("/proc/self/ns/uts", os.O_RDONLY)
    except OSError:
        space = -1
    return call("setns", space, 0)


@attempt
def fsopen(t: Target) -> object:
    return call("fsopen", b"tmpfs", 0)


@attempt
def open_tree(t: Target) -> object:
    return call("open_tree", -100, b"sub", 1)


@attempt
def sethostname(t: Target) -> object:
    return call("sethostname", _HOST_NAME, len(_HOST_NAME))


# -- parts of the kernel -----------------------------------------------------------------------


@attempt
def keyring(t: Target) -> object:
    return call("keyctl", 0, -2, 1, 0, 0)


@attempt
def add_key(t: Target) -> object:
    return call("add_key", b"user", b"fsnotes-escape", b"x", 1, -2)


@attempt
def io_uring(t: Target) -> object:
    return call("io_uring_setup", 4, ctypes.create_string_buffer(120))


@attempt
def userfaultfd(t: Target) -> object:
    return call("userfaultfd", 1 | os.O_CLOEXEC)


@attempt
def bpf(t: Target) -> object:
    array = struct.pack("IIII", 2, 4, 4, 1) + b"\0" * 112
    return call("bpf", 0, array, len(array))


@attempt
def perf(t: Target) -> object:
    what = struct.pack("IIQ", 1, 112, 0) + b"\0" * 96
    return call("perf_event_open", what, 0, -1, -1, 0)


@attempt
def personality(t: Target) -> object:
    return call("personality", 0x0400000)


@attempt
def another_filter(t: Target) -> object:
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF_0000))
    call("prctl", 38, 1, 0, 0, 0)
    return call("seccomp", 1, 0, struct.pack("H6xQ", 1, ctypes.addressof(allow)))


@attempt
def x32_call(t: Target) -> object:
    return number(_X32_GETPID)


@attempt
def call_of_a_32_bit_program(t: Target) -> object:
    return run_code(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, getpid; int 0x80; ret


# -- code --------------------------------------------------------------------------------------


def run_code(code: bytes) -> int:
    """Put machine code into memory and call it; on other machines only ask for the memory."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    if os.uname().machine != "x86_64":
        return 1
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    result: int = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if result < 0:
        raise OSError(-result, "refused")
    return result


@attempt
def executable_memory(t: Target) -> object:
    return mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)


@attempt
def memory_made_executable(t: Target) -> object:
    memory = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), 5) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    return True


@attempt
def executable_file_mapping(t: Target) -> object:
    descriptor = os.open("mine.md", os.O_RDONLY)
    return mmap.mmap(descriptor, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)


@attempt
def executable_shared_memory(t: Target) -> object:
    made = call("shmget", 0, 4096, 0o1700)
    try:
        return call("shmat", made, 0, 0o100000)
    finally:
        LIBC.shmctl(made, 0, None)


@attempt
def anonymous_file(t: Target) -> object:
    return call("memfd_create", b"x", 0)


@attempt
def load_a_library(t: Target) -> object:
    return ctypes.CDLL(LATE_LIBRARY)


@attempt
def late_import(t: Target) -> object:
    return importlib.import_module(LATE_MODULE)
