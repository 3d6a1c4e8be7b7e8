"""What ``koken dev`` shows while it goes: runs as they start and end, and what they print."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from koken.cli import output, telling
from koken.cli.output import DIM, GAP
from koken.cli.show import log_line
from koken.errors import DatabaseUnreachable
from koken.model.run import Run
from koken.model.states import State
from koken.store.database import Database
from koken.views import activity, clocks, logs, runwords, words
from koken.views.catalog import JobRow, ScheduleRow

LOOK = 0.25
"""Seconds between two looks."""
QUIET = (State.READY,)
"""States that are gone in a moment, and told only by what follows."""
LINES = 200
News = tuple[datetime, Text]
"""When something happened, and the line that tells it."""


NO_JOBS = (
    "Declare one by @app.job, or name the modules that do: App(…, modules=[…]). "
    "Then start koken dev again."
)


def list_jobs(found: Sequence[JobRow], times: Sequence[ScheduleRow], now: datetime) -> None:
    """The jobs, each with when it is due or how to start it."""
    if not found:
        output.say("The app has no jobs. ", NO_JOBS)
        return
    output.say(f"{words.counted(len(found), 'job')}:")
    width = max(len(job.name) for job in found)
    for job in found:
        written = "; ".join(words.expression(row) for row in times if row.job == job.name)
        how = f"start it: koken run {job.name}"
        if job.next_at is not None:
            how = f"next {clocks.ago(job.next_at, now)} ({written})"
        elif job.paused:
            how = f"paused ({written}); let it go on: koken resume {job.name}"
        output.say(GAP, (f"{job.name:<{width}}", "bold"), GAP, (words.plain(how), DIM))


class Live:
    """Prints a line for everything that happens from now on."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.newest = 0
        self.signs: dict[int, str] = {}
        """What was last told of each run that still goes."""
        self.lines: dict[int, int] = {}
        """The last line printed of each of them."""

    async def begin(self) -> None:
        """Note where things stand, so that only news is told."""
        self.newest = await activity.newest(self.db)

    async def go(self) -> None:
        """Look until cancelled; a database that does not answer costs looks, nothing more."""
        while True:
            with suppress(DatabaseUnreachable):
                await self.look()
            await asyncio.sleep(LOOK)

    async def look(self) -> None:
        """Tell what is new, in the order in which it happened."""
        news: list[News] = []
        for run in await activity.changed(self.db, self.newest, list(self.signs)):
            news += await self.of_run(run)
        for _, line in sorted(news, key=lambda each: each[0]):
            output.say(line)

    async def of_run(self, run: Run[Any]) -> list[News]:
        """What is new of a run: that it begins, what it prints, how it stands then."""
        if run.id not in self.lines:
            self.lines[run.id] = await self.last_line(run)
        self.newest = max(self.newest, run.id)
        sign = f"{run.state} {run.attempt} {run.phase}"
        changed = self.signs.get(run.id) != sign and run.state not in QUIET
        self.signs[run.id] = sign
        news = await self.printed(run)
        if changed and run.state is State.RUNNING and run.phase is None:
            news.insert(0, told(run, min([runwords.begun(run) or now(), *(at for at, _ in news)])))
        elif changed:
            news.append(told(run, max([run.ended_at or now(), *(at for at, _ in news)])))
        if run.state.ended:
            del self.signs[run.id], self.lines[run.id]
        return news

    async def last_line(self, run: Run[Any]) -> int:
        """The line up to which a run's log is old news."""
        if run.id > self.newest:
            return 0
        last = await logs.tail(self.db, run.id, limit=1)
        return last[-1].id if last else 0

    async def printed(self, run: Run[Any]) -> list[News]:
        """What the run has printed since the last look."""
        found = await logs.lines(self.db, run.id, after=self.lines[run.id], limit=LINES)
        if found:
            self.lines[run.id] = found[-1].id
        return [(each.at, log_line(each, f"{run.job} {run.id}")) for each in found]


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


def told(run: Run[Any], at: datetime) -> News:
    """A line on how a run stands."""
    text = telling.ending(run) if run.state.ended else runwords.standing(run, now())
    subject = ""
    if run.state is State.RUNNING:
        again = "" if run.attempt == 1 else f", attempt {run.attempt}"
        text = f"{runwords.word(run)}{again}"
        subject = runwords.about(run)
    return at, Text.assemble(
        (telling.clock(run.ended_at or at), DIM),
        Text(f" {runwords.glyph(run)} ", output.style_of(run)),
        (f"{run.job} {run.id}", "bold"),
        GAP,
        (text, output.style_of(run)),
        (f"{GAP}{subject}" if subject else "", DIM),
    )
