"""What is published can be made again, byte for byte, by whoever has the sources; and it works where nothing else is.

Needs the package registry: the build back end, and what the product depends on.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("pyproject.toml", ".gitignore", ".ci", "fsnotes", "sandbox", "tests", "docs")
BACKEND = ("hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers")
PAGES = ("README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md")
A_PART = (
    "tests/docs/test_supply_chain.py",
    "tests/access",
    "tests/sandbox/test_uris.py",
    "tests/sandbox/test_names.py",
)

pytestmark = [pytest.mark.extern, pytest.mark.timeout(900)]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    # Nothing of what is here: neither PYTHONPATH nor what else a caller may have set for Python.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def environment(place: Path, *packages: str | Path) -> Path:
    """Make an empty environment, install *packages*, and return the folder of its programs."""
    run(sys.executable, "-m", "venv", place, cwd=place.parent)
    if packages:
        run(place / "bin/pip", "install", "-q", *packages, cwd=place.parent)
    return place / "bin"


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the locked build back end, by hash."""
    folder = tmp_path_factory.mktemp("backend")
    lines = (ROOT / ".ci/requirements.txt").read_text(encoding="utf-8")
    programs = environment(folder / "venv")
    chosen = folder / "chosen.txt"
    chosen.write_text("".join(_pin(lines, name) for name in BACKEND))
    run(programs / "pip", "install", "-q", "--no-deps", "--require-hashes", "-r", chosen, cwd=folder)
    return programs / "python"


def _pin(lock: str, name: str) -> str:
    """Return what the lock says of one package."""
    start = lock.index(f"\n{name}==") + 1
    return lock[start : lock.index("    # via", start)]


@pytest.fixture(scope="module")
def built(backend: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build in two folders that differ in all that is no content: place, umask, modes, times, the order of names."""
    made = []
    for number, umask in enumerate((0o022, 0o077)):
        place = tmp_path_factory.mktemp(f"in-a-place-of-another-length-{'x' * number}") / "sources"
        copy(place, is_second=bool(number))
        former = os.umask(umask)
        try:
            zone = ("UTC", "Pacific/Auckland")[number]
            run(
                backend,
                "-m",
                "hatchling",
                "build",
                "-d",
                place.parent / "dist",
                cwd=place,
                TZ=zone,
                HOME=str(place),
            )
        finally:
            os.umask(former)
        made.append(place.parent / "dist")
    return made[0], made[1]


def copy(place: Path, *, is_second: bool) -> None:
    """Copy the sources; the second time in the other order, at another time, and closed to others."""
    place.mkdir()
    for name in sorted((*SOURCES, *PAGES), reverse=is_second):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        else:
            shutil.copy2(source, place / name)
    if is_second:
        for each in (place, *place.rglob("*")):
            each.chmod(each.stat().st_mode & 0o700)  # who may run it is content
            os.utime(each, (1_000_000_000, 1_000_000_000))


def test_wheel_and_sdist_are_the_same_bytes_whoever_builds_them(built: tuple[Path, Path]) -> None:
    first, second = ({each.name: digest(each) for each in place.iterdir()} for place in built)
    assert {name.rpartition("-")[2] for name in first} == {"any.whl", "0.1.0.tar.gz"}
    assert first == second


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_wheel_holds_the_packages_and_nothing_else(built: tuple[Path, Path]) -> None:
    (wheel,) = built[0].glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"fsnotes", "sandbox", "fsnotes-0.1.0.dist-info"}
    assert {"fsnotes/py.typed", "sandbox/py.typed"} <= set(names)


def test_the_wheel_alone_runs_the_demo_and_the_tests_of_the_sdist_pass_on_it(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    (wheel,), (sdist,) = built[0].glob("*.whl"), built[0].glob("*.tar.gz")
    programs = environment(tmp_path / "venv", wheel)
    shown = run(programs / "fsnotes", "demo", cwd=tmp_path, HOME=str(tmp_path))
    assert shown.strip()
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (sources,) = tmp_path.glob("fsnotes-*")
    # From its own sources, with what they need, and with no more of pytest than the tests ask for.
    run(programs / "pip", "uninstall", "-q", "-y", "fsnotes", cwd=tmp_path)
    run(programs / "pip", "install", "-q", sdist, cwd=tmp_path)
    run(
        programs / "pip", "install", "-q", "hypothesis", "markdown-it-py", "packaging", "pytest", "pytest-timeout",
        "pytest-xdist", cwd=tmp_path,
    )  # fmt: skip
    told = run(programs / "python", "-m", "pytest", "-q", "-n", "0", *A_PART, cwd=sources, HOME=str(tmp_path))
    assert " passed" in told
    assert "failed" not in told
