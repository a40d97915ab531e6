"""Races that end in jailed workers: one for each process, which meet at the lock of the workspace alone."""

from __future__ import annotations

from tests.service import test_racing
from tests.service.conftest import Household


def test_processes_with_workers_of_their_own_race_on_one_confirmation_and_exactly_one_deletes(
    jailed: Household,
) -> None:
    test_racing.race_for_one_confirmation(jailed, 3)


def test_threads_share_a_worker_and_race_on_one_confirmation_and_exactly_one_deletes(
    jailed: Household,
) -> None:
    test_racing.test_eight_threads_race_on_one_confirmation_and_exactly_one_deletes(jailed)


def test_threads_that_delete_what_another_thread_creates_and_restores_lose_nothing(
    jailed: Household,
) -> None:
    test_racing.test_threads_that_delete_what_another_thread_creates_and_restores_lose_nothing(jailed)
