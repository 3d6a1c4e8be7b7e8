"""A house to test the engine in: verbs by hand, on a real database, with its time in our hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from koken.engine import claim, finish, publish, register, repair, start
from koken.engine.claim import Claimed
from koken.engine.finish import Ending, Finished
from koken.engine.register import Label
from koken.engine.repair import Order
from koken.engine.start import Started
from koken.model import codec
from koken.model.job import JobSpec, StartOptions
from koken.model.states import State
from koken.store.database import Database

NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
CLOCK = """
create table if not exists koken.test_clock (at timestamptz not null);
delete from koken.test_clock;
insert into koken.test_clock values ('{at}');
create or replace function koken.now() returns timestamptz language sql stable
as 'select at from koken.test_clock'
"""
ARGUMENTS = {"type": "object", "properties": {"n": {"type": "integer"}, "who": {"type": "string"}}}


class House:
    """The engine on ``db``; nothing happens that a test does not say."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.now = NOON
        self.worker = 0

    async def set_clock(self, at: datetime) -> None:
        """Put the engine's clock to ``at``."""
        self.now = at
        async with self.db.session() as session:
            await session.execute(CLOCK.format(at=at.isoformat()))

    async def pass_time(self, **length: float) -> None:
        """Move the engine's clock forward."""
        await self.set_clock(self.now + timedelta(**length))

    async def job(self, name: str = "report", **spec: Any) -> JobSpec:
        """Publish a job that takes ``n`` and ``who``, neither required."""
        made = JobSpec(name=name, **{"parameters": ARGUMENTS, **spec})
        await publish.publish(self.db, "test", [made], by="test", whole=False)
        await self.db.run(lambda tx: publish.publish_job(tx, app="test", spec=made, by="test"))
        return made

    async def start(
        self, job: str = "report", *, workspace: str = "default", by: str = "", **rest: Any
    ) -> Started:
        """Start a run; ``rest`` are arguments (n, who) and start options."""
        args = {name: rest.pop(name) for name in ("n", "who") if name in rest}
        return await start.start(
            self.db, job, args, workspace=workspace, options=StartOptions(**rest), by=by
        )

    async def start_many(self, count: int, job: str = "report", **options: Any) -> list[int]:
        """Start that many runs, numbered from 0 by ``n``."""
        rows = [codec.encode({"n": n}, name="arguments") for n in range(count)]
        return await start.start_many(
            self.db, job, rows, workspace="default", options=StartOptions(**options), by=""
        )

    async def hire(self, name: str = "w", **queues: int) -> int:
        """Register a worker and make it the one that claims."""
        label = Label(name=name, host="h", pid=1, app="test", version="0")
        self.worker = await register.register(self.db, label, queues or {"default": 100})
        return self.worker

    async def claim(
        self, count: int = 100, queue: str = "default", worker: int | None = None
    ) -> list[Claimed]:
        """Claim from the bottom of a queue."""
        if not self.worker:
            await self.hire()
        ids = await register.queue_ids(self.db, {queue: 1})
        return await claim.from_bottom(self.db, worker or self.worker, {ids[queue]: count})

    async def finish(self, run: Claimed, state: State = State.SUCCEEDED, **ending: Any) -> Finished:
        """End one run."""
        outcome = "succeeded" if state is State.SUCCEEDED else state.value
        made = Ending(
            run.id, run.lease, state, **{"outcome": outcome, "part": run.is_part, **ending}
        )
        return await finish.finish(self.db, [made])

    async def retry(
        self, run_id: int, *, by: str = "anna", reason: str | None = None, args: str | None = None
    ) -> None:
        """A person has a run go again."""
        order = Order(verb="retry", run_id=run_id, by=by, reason=reason, args=args)
        await repair.repair(self.db, order)

    async def row(self, run_id: int) -> Mapping[str, Any]:
        """A run's row."""
        (found,) = await self.rows("select * from koken.run where id = $1", run_id)
        return found

    async def state(self, run_id: int) -> str:
        """A run's state."""
        return str((await self.row(run_id))["state"])

    async def rows(self, text: str, *args: Any) -> list[Mapping[str, Any]]:
        """The rows of any statement."""
        async with self.db.session() as session:
            return [dict(row) for row in await session.fetch_text(text, *args)]

    async def value(self, text: str, *args: Any) -> Any:
        """The only value of the only row."""
        (row,) = await self.rows(text, *args)
        (found,) = row.values()
        return found


@asynccontextmanager
async def open_house(url: str, **options: Any) -> AsyncIterator[House]:
    """A house on the database at ``url``; it is noon on 10 March 2026."""
    db = Database(url, **{"size": 10, **options})
    try:
        house = House(db)
        await house.set_clock(NOON)
        yield house
    finally:
        await db.close()
