"""What a worker wakes by itself, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence

import pytest

from koken.engine import wake
from koken.model.timing import FAST
from koken.runtime.chores import Chores
from koken.store.database import Database
from tests.runtime.test_service import NOWHERE, nothing
from tests.support.moments import until


class Alarm:
    """Stands in for the statement that wakes runs."""

    def __init__(self) -> None:
        self.woken: list[int] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = 0

    async def wake(self, db: Database, run_ids: Sequence[int]) -> list[int]:
        self.waiting += 1
        await self.gate.wait()
        self.woken += run_ids
        return list(run_ids)


@pytest.fixture
async def alarm(monkeypatch: pytest.MonkeyPatch) -> Alarm:
    alarm = Alarm()
    monkeypatch.setattr(wake, "wake", alarm.wake)
    return alarm


def chores() -> Chores:
    return Chores(
        Database(NOWHERE),
        worker_id=lambda: 1,
        queue_ids=lambda: [1],
        timing=FAST,
        keep={},
        on_ready=lambda: None,
        audit=nothing,
    )


async def test_a_run_is_woken_at_its_moment(alarm: Alarm) -> None:
    service = chores()
    service.wake_in(60, 1)  # that long is left to the sweep
    service.wake_in(0.05, 2)
    service.wake_in(0, 3)
    gc.collect()
    await until(lambda: alarm.woken == [3, 2])
    await until(lambda: not service.wakers)


async def test_nothing_wakes_after_the_stop(alarm: Alarm) -> None:
    """Neither what waits for its moment, nor what is under way, nor what is parked last."""
    service = chores()
    alarm.gate.clear()
    service.wake_in(0, 1)
    await until(lambda: alarm.waiting)
    service.wake_in(0.05, 2)
    await service.stop()
    service.wake_in(0.05, 3)
    alarm.gate.set()
    later = asyncio.Event()
    asyncio.get_running_loop().call_later(0.2, later.set)
    await later.wait()
    assert alarm.woken == []
    assert asyncio.all_tasks() == {asyncio.current_task()}
