"""`demo` plays everything for real, keeps its promises, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import FSNOTES, ROOT, SECONDS, Done, Shell
from tests.require import require

PROMISES = [
    "three notes, by path and title",
    "the link that points out of the folder is named as skipped, not followed",
    "the one note that has the word, with its line",
    "refused",
    "refused",
    "a folder whose name merely begins like yours is refused too",
    "nothing is deleted without your answer",
    "the assistant is told so, and both notes are still there",
    "the declined question cannot be answered a second time",
    "it is in the trash, in your own folder",
    "the same confirmation does nothing again",
    "notes_restore brings it back, byte for byte",
]


def went_well(code: int, out: str, err: str) -> bool:
    lines = out.splitlines()
    kept = [line.removeprefix("   ok: ") for line in lines if line.startswith("   ok: ")]
    return (code, err, kept, lines[-1]) == (0, "", PROMISES, "The demo's folder is gone again.")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where temporary folders are made, so that what is left behind is seen."""
    made = tmp_path / "tmp"
    made.mkdir()
    return made


def test_the_demo_keeps_its_promises_twice_at_once_and_leaves_nothing(shell: Shell, place: Path) -> None:
    before = sorted(shell.home.rglob("*"))
    processes = [
        subprocess.Popen(
            [*FSNOTES, "demo"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=shell.environ(TMPDIR=str(place), FSNOTES_STATE_KEYS="no key"),
            cwd=shell.home,
        )
        for _ in range(2)
    ]
    for process in processes:
        out, err = process.communicate(timeout=SECONDS)
        assert went_well(process.returncode, out, err), out + err
    assert (sorted(shell.home.rglob("*")), list(place.iterdir())) == (before, [])


@pytest.fixture
def strangers_home() -> Iterator[Path]:
    """A home of uid 1000, outside the folders that are closed to it."""
    require("root", available=os.geteuid() == 0, why="to become another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        os.chmod(top, 0o755)  # noqa: S103 - the way to the home below
        home = Path(top, "home")
        home.mkdir()
        os.chown(home, 1000, 1000)
        yield home


def test_the_demo_runs_as_an_ordinary_user(strangers_home: Path) -> None:
    shell = Shell(strangers_home)
    packages = os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])

    def as_user(*words: str) -> Done:
        done = subprocess.run(
            words,
            user=1000,
            group=1000,
            extra_groups=[],
            capture_output=True,
            env=shell.environ(TMPDIR=str(strangers_home), PYTHONPATH=packages),
            cwd="/",
            timeout=SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def can_load(python: str) -> bool:
        # Ours may lie in the home of root.
        with contextlib.suppress(OSError):
            return as_user(python, "-c", "import fsnotes.cli, cryptography, mcp").code == 0
        return False

    same = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    python = next(filter(can_load, [sys.executable, same]), None)
    require("python of another user", available=python is not None, why="uid 1000 cannot load what we run")
    assert python is not None
    done = as_user(python, "-B", "-m", "fsnotes", "demo")
    assert went_well(done.code, done.out, done.err), done.out + done.err
    assert list(strangers_home.iterdir()) == []


def test_the_demo_runs_no_code_of_the_folder_it_is_started_in(shell: Shell, place: Path) -> None:
    for name in ("fsnotes.py", "json.py", "sandbox.py"):
        (shell.vault / name).write_text("raise SystemExit('planted')\n")
    command = [sys.executable, "-P", "-m", "fsnotes"]
    done = shell.run("demo", command=command, cwd=shell.vault, env={"TMPDIR": str(place)})
    assert went_well(done.code, done.out, done.err), done.out + done.err


def test_a_demo_whose_server_fails_is_a_failure(shell: Shell, place: Path) -> None:
    code = "import sys; sys.executable = '/bin/false'; from fsnotes.cli import main; sys.exit(main(['demo']))"
    done = shell.run(command=[*FSNOTES[:-2], "-c", code], env={"TMPDIR": str(place)})
    said = "fsnotes: unavailable: the server ended early; "
    assert (done.code, done.err[: len(said)], len(done.err.splitlines())) == (1, said, 1)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_demo_that_is_ended_leaves_nothing_behind(
    shell: Shell, place: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [*FSNOTES, "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shell.environ(TMPDIR=str(place), PYTHONUNBUFFERED="1"),
        cwd=shell.home,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"A sample workspace: ")
        process.send_signal(number)
        _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (130 if number is signal.SIGINT else 128 + number, b"")
    assert list(place.iterdir()) == []


def test_a_reader_that_has_enough_of_the_demo_leaves_nothing_behind(shell: Shell, place: Path) -> None:
    with subprocess.Popen(
        [*FSNOTES, "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shell.environ(TMPDIR=str(place), PYTHONUNBUFFERED="1"),
        cwd=shell.home,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=SECONDS)) == (b"", 0)
    assert list(place.iterdir()) == []
