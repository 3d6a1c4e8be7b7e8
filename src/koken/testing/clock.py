"""The clock of a test's own database, and what it makes fall due."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any

from koken.engine.retime import retime
from koken.model.timing import Timing
from koken.store.database import Database, Row

NOW = "select koken.now() as now"
SET = "update koken.testing_clock set at = $1"
START = "update koken.testing_clock set at = clock_timestamp()"


@cache
def sql(name: str) -> str:
    """A file of SQL beside this one."""
    return resources.files(__package__).joinpath(f"sql/{name}.sql").read_text(encoding="utf-8")


class Clock:
    """Stands still until it is moved."""

    def __init__(self, db: Database, timing: Timing) -> None:
        self.db = db
        self.timing = timing

    async def ask(self, text: str, *args: Any) -> list[Row]:
        """The rows of a statement."""
        async with self.db.session() as session:
            return await session.fetch_text(text, *args)

    async def start(self) -> None:
        """Begin with the machine's time."""
        await self.ask(START)

    async def now(self) -> datetime:
        """What it shows."""
        (row,) = await self.ask(NOW)
        now: datetime = row["now"]
        return now

    async def move(self, to: datetime) -> None:
        """Let it show another time."""
        await self.ask(SET, to)

    async def set_back(self) -> None:
        """Let schedules count from here, after it was moved to what has been."""
        await self.ask(sql("set_back"))
        await retime(self.db)

    async def next_due(self, worker_id: int) -> datetime | None:
        """The next moment at which something falls due, if anything does."""
        (row,) = await self.ask(sql("due"), worker_id, self.timing.lease, self.timing.confirm)
        at: datetime | None = row["at"]
        return at

    async def ready(self) -> list[Row]:
        """The first ready run of each queue."""
        return await self.ask(sql("ready"))


def after(moment: datetime, length: float) -> datetime:
    """``length`` seconds after a moment, never earlier: a clock has microseconds."""
    return moment + timedelta(microseconds=math.ceil(length * 1_000_000))
