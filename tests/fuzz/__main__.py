"""Looks for inputs that break a harness, guided by what they reach: `python -m tests.fuzz NAME --seconds 600`.

Needs the extra `fuzz`. What is found is written into the folder `--keep` (a new temporary one, if it is not given), and
so are the inputs that reach something new, which are read from there the next time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.harnesses import CORPUS, NAMES, load

ONE_INPUT_SECONDS = 20
"""An input that takes longer is a finding."""

MOST_MEMORY = 2_048
"""An input with which the process needs so many MiB is a finding."""


def main() -> None:
    """Run one harness; libFuzzer ends the process, with a status of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--keep", type=Path, help="a folder for what is found")
    parser.add_argument("--longest", type=int, default=1_000, help="bytes of an input")
    chosen = parser.parse_args()
    import atheris

    keep = chosen.keep or Path(tempfile.mkdtemp(prefix=f"fsnotes-fuzz-{chosen.name}-"))
    keep.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=["fsnotes", "sandbox"]):
        harness = load(chosen.name)
    arguments = [
        sys.argv[0],
        f"-max_total_time={chosen.seconds}",
        f"-timeout={ONE_INPUT_SECONDS}",
        f"-rss_limit_mb={MOST_MEMORY}",
        f"-max_len={chosen.longest}",
        f"-artifact_prefix={keep}/",
        "-print_final_stats=1",
        "-close_fd_mask=1",
        str(keep),
        str(CORPUS / chosen.name),
    ]
    atheris.Setup(arguments, harness)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
