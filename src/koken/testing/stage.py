"""What happens while time is moved: from one due moment to the next, all the work of each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any

from koken.client.link import Link
from koken.define.registry import Program
from koken.executors import capture
from koken.model.duration import in_words
from koken.model.run import Run
from koken.store.database import Row
from koken.testing.cast import Cast
from koken.testing.clock import Clock, after
from koken.testing.databases import Place
from koken.testing.worker import HandWorker
from koken.views import runs
from koken.views.why import why

MOST_MOMENTS = 10_000
"""Due moments until a run that is waited for counts as one that never ends."""

LIVE = """
select id, lease, state from koken.run where state in ('blocked', 'ready', 'running', 'waiting')
"""
LAST = "select coalesce(max(id), 0) as id from koken.run"
AFTER = """
select r.id, r.lease, r.state,
       case when r.step_no is null then r.id when p.step_no is null then p.id else p.parent_id end
         as whole
  from koken.run r left join koken.run p on p.id = r.parent_id
 where r.id > $1 or r.id = any($2::bigint[]) or r.id = any($3::bigint[])
 order by r.id
"""


class Stage:
    """The database, the clock and the worker of one test."""

    def __init__(self, program: Program, link: Link, place: Place) -> None:
        self.link = link
        self.place = place
        self.clock = Clock(link.db, link.config.timing)
        self.cast = Cast(program.registry)
        self.worker = HandWorker(program, link, self.cast, self.clock)
        self.playing = False
        self.carried: list[int] = []

    async def open(self) -> None:
        """Make the database; it is now, and stays so."""
        await self.place.make(self.link.config.schema)
        await self.clock.start()

    async def close(self) -> None:
        """Let go of everything, and drop the database."""
        try:
            await self.worker.close()
        finally:
            await self.link.close()
            await self.place.drop()

    async def jump(self, to: datetime) -> None:
        """Set the clock, as if nothing had been there to do what falls due between."""
        back = to < await self.clock.now()
        await self.move(to)
        if back:
            await self.clock.set_back()

    async def move(self, to: datetime) -> None:
        """Move the clock; the worker has been there all the time."""
        await self.clock.move(to)
        await self.worker.beat()

    async def drain(self) -> list[Run[Any]]:
        """Work until nothing is ready."""
        async with self.watching() as happened:
            await self.work()
        return happened

    async def advance(self, length: float) -> list[Run[Any]]:
        """Let so many seconds pass."""
        until = after(await self.clock.now(), length)
        async with self.watching() as happened:
            async for _ in self.moments(until):
                pass
        return happened

    async def until_ended(self, run_id: int, length: float | None = None) -> None:
        """Let time pass until a run has ended, at most so many seconds. Raises ``TimeoutError``."""
        if await self.ended(run_id):
            return
        until = None if length is None else after(await self.clock.now(), length)
        moments = 0
        with self.play():
            async with aclosing(self.moments(until)) as passing:
                async for _ in passing:
                    moments += 1
                    if await self.ended(run_id):
                        return
                    if moments == MOST_MOMENTS:
                        break
        how = "and nothing more falls due" if length is None else f"within {in_words(length)}"
        if moments == MOST_MOMENTS:
            how = f"after {moments:,} due moments"
        raise TimeoutError(await self.standing(run_id, how))

    async def ended(self, run_id: int) -> bool:
        """Whether a run has ended."""
        return (await runs.states(self.link.views, [run_id]))[run_id].ended

    async def standing(self, run_id: int, how: str) -> str:
        """That a run has not ended, how, and why."""
        run = (await runs.get_many(self.link.views, [run_id]))[run_id]
        causes = "; ".join(cause.text for cause in (await why(self.link.views, run)).causes)
        return f"run {run_id} of {run.job} has not ended {how}: {causes}"

    async def moments(self, until: datetime | None) -> AsyncGenerator[None, None]:
        """Each due moment in turn, when its work is done; the last one is ``until``."""
        await self.work()
        yield
        while (due := await self.next_due()) is not None and (until is None or due <= until):
            await self.move(due)
            await self.work()
            yield
        if until is not None:
            await self.move(until)
            await self.work()
            yield

    async def next_due(self) -> datetime | None:
        """The next moment at which there may be something to do."""
        due = await self.clock.next_due(self.worker.id)
        if self.worker.again is None:
            return due
        room = after(await self.clock.now(), self.worker.again)
        return room if due is None else min(due, room)

    async def work(self) -> None:
        """All that can be done at this moment."""
        self.carried += await self.worker.work()

    @contextmanager
    def play(self) -> Iterator[None]:
        """One play at a time; what bodies print goes into the logs of their runs."""
        if self.playing:
            raise RuntimeError("a body is under way: it ends before others begin")
        self.playing = True
        capture.install()
        try:
            yield
        finally:
            capture.uninstall()
            self.playing = False

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[list[Run[Any]]]:
        """A list that has, in the end, the runs with which something happened meanwhile."""
        happened: list[Run[Any]] = []
        with self.play():
            before = {row["id"]: standing(row) for row in await self.clock.ask(LIVE)}
            (last,) = await self.clock.ask(LAST)
            self.carried = []
            yield happened
            rows = await self.clock.ask(AFTER, last["id"], list(before), self.carried)
            whole = {row["id"]: row["whole"] for row in rows}
            others = [row["id"] for row in rows if before.get(row["id"]) != standing(row)]
            ids = list(dict.fromkeys(whole[run_id] for run_id in (*self.carried, *others)))
            found = await runs.get_many(self.link.views, ids)
            happened += [found[run_id] for run_id in ids]


def standing(row: Row) -> tuple[int, str]:
    """What changes whenever something happens with a run."""
    return row["lease"], row["state"]
