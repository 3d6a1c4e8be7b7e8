"""Due times of a backfill: computed beside the loop, and of the schedule as it is declared."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any

import pytest

from koken.engine import backfill
from koken.model.schedule import Schedule
from tests.engine.test_backfill import at, carry, outage, runs
from tests.support.house import House


async def test_due_times_are_computed_beside_the_loop(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: nobody who asks for something else waits for it."""
    await outage(house)
    found, threads = Schedule.due_between, set()

    def due_between(self: Schedule, *args: Any) -> list[datetime]:
        threads.add(threading.current_thread() is threading.main_thread())
        return found(self, *args)

    monkeypatch.setattr(Schedule, "due_between", due_between)
    assert (await carry(house, at(2), at(4))).runs == (1, 2)
    assert threads == {False}


async def test_a_schedule_that_is_declared_anew_meanwhile_is_followed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is still a due time gets a run."""
    await outage(house)
    page = backfill.start_page

    async def after_a_change(*args: Any, **rest: Any) -> Any:
        monkeypatch.setattr(backfill, "start_page", page)
        text = "jsonb_set(declared, '{expression}', '\"0 */2 * * *\"')"
        await house.rows(f"update koken.schedule set declared = {text} returning id")
        return await page(*args, **rest)

    monkeypatch.setattr(backfill, "start_page", after_a_change)
    done = await carry(house, at(1), at(5))
    assert ([each["logical_at"] for each in await runs(house)], len(done.runs)) == (
        [at(2), at(4)], 2,
    )  # fmt: skip
