"""What ``koken dev`` shows while it goes: runs as they start and end, and what they print."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from koken.cli import output, words
from koken.cli.output import DIM, GAP
from koken.cli.show import log_line
from koken.errors import DatabaseUnreachable
from koken.model.run import Run
from koken.model.states import State
from koken.store.database import Database
from koken.views import activity, logs
from koken.views.catalog import JobRow

LOOK = 0.25
"""Seconds between two looks."""
QUIET = (State.READY,)
"""States that are gone in a moment, and told only by what follows."""
LINES = 200


def list_jobs(found: Sequence[JobRow], now: datetime) -> None:
    """The jobs, each with when it is due or how to start it."""
    output.say(f"{words.counted(len(found), 'job')}:")
    width = max((len(job.name) for job in found), default=0)
    for job in found:
        due = f"next {words.ago(job.next_at, now)} ({'; '.join(job.schedules)})"
        how = due if job.next_at is not None else f"start it: koken run {job.name}"
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
        """Tell what is new."""
        for run in await activity.changed(self.db, self.newest, list(self.signs)):
            if run.id not in self.lines:
                self.lines[run.id] = await self.last_line(run)
            self.newest = max(self.newest, run.id)
            sign = f"{run.state} {run.attempt} {run.phase}"
            news = self.signs.get(run.id) != sign and run.state not in QUIET
            self.signs[run.id] = sign
            begun = run.state is State.RUNNING
            if news and begun:
                tell(run)
            await self.tell_lines(run)
            if news and not begun:
                tell(run)
            if run.state.ended:
                del self.signs[run.id], self.lines[run.id]

    async def last_line(self, run: Run[Any]) -> int:
        """The line up to which a run's log is old news."""
        if run.id > self.newest:
            return 0
        last = await logs.tail(self.db, run.id, limit=1)
        return last[-1].id if last else 0

    async def tell_lines(self, run: Run[Any]) -> None:
        """Print what the run has printed."""
        for each in await logs.lines(self.db, run.id, after=self.lines[run.id], limit=LINES):
            output.say(log_line(each, f"{run.job} {run.id}"))
            self.lines[run.id] = each.id


def tell(run: Run[Any]) -> None:
    """A line on how a run stands now."""
    now = datetime.now(UTC)
    told = words.ending(run) if run.state.ended else words.standing(run, now)
    subject = ""
    if run.state is State.RUNNING:
        told = words.word(run) if run.attempt == 1 else f"{words.word(run)}, attempt {run.attempt}"
        subject = words.about(run)
    output.say(
        (words.clock(run.ended_at or now), DIM),
        Text(f" {words.glyph(run)} ", output.style_of(run)),
        (f"{run.job} {run.id}", "bold"),
        GAP,
        (told, output.style_of(run)),
        (f"{GAP}{subject}" if subject else "", DIM),
    )
