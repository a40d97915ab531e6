"""Everybody writes at once, two servers search: what was written before a search is found by it, and nothing twice."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest

from fsnotes.errors import Busy, FsnotesError, InvalidArgument, LimitReached
from fsnotes.service import Service
from tests.service.conftest import ALICE, Household

SECONDS = 5.0
NOTES = 150


class Race:
    """Writers and readers of one vault, until the time is over or something is wrong."""

    def __init__(self, household: Household) -> None:
        self.household = household
        self.products = [household.product(), household.product()]
        self.end = time.monotonic() + SECONDS
        self.wrong: list[object] = []
        self.written = self.searched = 0

    def is_on(self) -> bool:
        return time.monotonic() < self.end and not self.wrong

    def run(self) -> None:
        for number in range(NOTES):
            self.household.write(f"stay{number % 7}/{number}.md", f"stable words {number} " + "x y z " * 50)
        for product in self.products:
            product.keep_indexes()
        targets = [*(self.write_for_ever,) * 3, *(self.search_for_ever,) * 2]
        threads = [threading.Thread(target=target, args=(number,)) for number, target in enumerate(targets)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def found(self, service: Service, query: str, *, limit: int = 50) -> list[str]:
        paths: list[str] = []
        cursor = None
        while True:
            page = service.search(ALICE, self.household.uri, query, limit=limit, cursor=cursor)
            paths += [hit.path for hit in page.hits]
            cursor = page.cursor
            if cursor is None:
                return paths

    def write_for_ever(self, number: int) -> None:
        chance = random.Random(number)  # noqa: S311 - which way a note is written
        for round_ in range(1_000_000):
            if not self.is_on():
                return
            try:
                self._write(number, round_, chance)
            except (Busy, LimitReached):
                continue
            except FsnotesError as error:
                if not _is_outdated(error):
                    self.wrong.append(error)

    def _write(self, number: int, round_: int, chance: random.Random) -> None:
        service = self.products[number % 2].service
        word = f"uniq{number}q{round_}"
        path = self._put(service, number, round_, word, chance.randrange(4))
        for product in self.products:
            found = self.found(product.service, word)
            if found != [path]:
                self.wrong.append((word, path, found))
        if chance.random() < 0.3:
            os.unlink(self.household.vault / path)
            if found := self.found(service, word):
                self.wrong.append(("removed", path, found))
        self.written += 1

    def _put(self, service: Service, number: int, round_: int, word: str, how: int) -> str:
        vault, text = self.household.vault, f"text {word}\n"

        def put(folder: Path) -> None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{word}.md").write_text(text)

        match how:
            case 0:
                service.create(ALICE, self.household.uri, f"made{number}/{word}", text)
                return f"made{number}/{word}.md"
            case 1:
                put(vault / f"out{number}")
                return f"out{number}/{word}.md"
            case 2:
                put(vault / f"tmp{number}-{round_}")
                os.rename(vault / f"tmp{number}-{round_}", vault / f"moved{number}-{round_}")
                return f"moved{number}-{round_}/{word}.md"
            case _:
                put(vault / f"deep{number}" / str(round_) / "a")
                return f"deep{number}/{round_}/a/{word}.md"

    def search_for_ever(self, number: int) -> None:
        chance = random.Random(number)  # noqa: S311 - the size of a page
        service = self.products[number % 2].service
        while self.is_on():
            try:
                found = self.found(service, "stable words", limit=chance.choice([7, 50, 200]))
            except (Busy, LimitReached):
                continue
            except FsnotesError as error:
                if not _is_outdated(error):
                    self.wrong.append(error)
                continue
            if not len(found) == len(set(found)) == NOTES:
                self.wrong.append((len(found), len(set(found))))
            self.searched += 1


def _is_outdated(error: FsnotesError) -> bool:
    """Say whether a cursor was refused since the index was made anew: that happens, and it is said."""
    return isinstance(error, InvalidArgument) and error.argument == "cursor"


@pytest.mark.slow
def test_what_anybody_has_written_is_found_by_the_next_search_of_every_server(household: Household) -> None:
    race = Race(household)
    race.run()
    assert race.wrong == []
    assert race.written > 5
    assert race.searched > 5
