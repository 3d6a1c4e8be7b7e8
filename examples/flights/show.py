"""The show: what the demo puts on, in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from examples.flights import stage
from examples.flights.airline import Deliveries
from examples.flights.screen import Screen
from examples.flights.tell import Teller, now
from examples.flights.watch import GLANCE, Tried, Watcher
from koken import AsyncClient, Run
from koken.embedded.server import Server
from koken.store.migrate import migrate
from koken.views import floor, runs

APP = "examples.flights.jobs:app"
JOB = "delay_report"
PERIOD = 10
"""Seconds between two ticks, for the demo."""
DELIVERY = 3.0
"""Seconds after which the airline sends the other half of a file."""
PATIENCE = 100.0
"""Seconds within which the healed run has to be there."""


class ShowFailed(Exception):
    """The demo could not show what it is to show; the message says why."""


class Show:
    """One performance. ``encore``: go on after the healed run, until somebody ends it."""

    def __init__(self, screen: Screen, folder: Path, *, encore: bool) -> None:
        self.screen = screen
        self.folder = folder
        self.encore = encore
        self.healed = False
        self.airline = Deliveries(folder / "inbox")
        self.reports = folder / "reports"
        self.teller = Teller(screen, period=timedelta(seconds=PERIOD))
        self.workers: list[stage.Worker] = []
        self.errand: asyncio.Task[None] | None = None

    async def play(self) -> None:
        """From an empty stage to the healed run, and on. Raises ``ShowFailed``."""
        self.screen.say("Koken demo: a daily delay report over the flights that left New York in")
        self.screen.say("February 2013. It takes about a minute; Ctrl-C ends it at any time.")
        self.airline.begin()
        self.reports.mkdir(parents=True, exist_ok=True)
        for page in self.reports.iterdir():
            page.unlink()
        async with AsyncExitStack() as stack:
            client = await self.set_up(stack)
            self.screen.heading("Two days in February")
            first, second = self.airline.files()
            self.screen.line("airline", f"delivers {first}, and half of {second}", at=now())
            await first_of(self.follow(client), self.guard(), self.hurry())

    async def set_up(self, stack: AsyncExitStack) -> AsyncClient:
        """PostgreSQL, the schema, the workers; gives a client."""
        self.screen.heading("Set-up")
        began = time.monotonic()
        self.screen.status("PostgreSQL starts")
        server = await stack.enter_async_context(stage.private_server())
        took = f"{time.monotonic() - began:.1f} s"
        self.ready(f"PostgreSQL {server.version}, private, on port {server.port} ({took})")
        applied = await migrate(server.url)
        self.ready(f"schema koken, migration {applied[-1].number:04}")
        self.screen.status("the workers start")
        crew = stage.worker_processes(2, self.environment(server), self.folder)
        self.workers = await stack.enter_async_context(crew)
        client = await stack.enter_async_context(AsyncClient(server.url))
        await first_of(self.all_live(client), self.guard(), self.hurry())
        for worker in self.workers:
            self.teller.crew[worker.process.pid] = worker.number
            self.ready(f"worker {worker.number}, process {worker.process.pid}, queue reports")
        self.ready(f"schedule: each {PERIOD} s (in earnest at 6:30, New York)")
        return client

    def ready(self, text: str) -> None:
        """Something stands."""
        self.screen.line("ready", text)

    def environment(self, server: Server) -> dict[str, str]:
        """What the worker processes have to know."""
        return {
            "KOKEN_APP": APP,
            "KOKEN_DATABASE_URL": server.url,
            "KOKEN_TIMING": "fast",
            "FLIGHTS_INBOX": stage.from_root(self.airline.inbox),
            "FLIGHTS_REPORTS": stage.from_root(self.reports),
            "FLIGHTS_SCHEDULE": f"{PERIOD}s",
            "FLIGHTS_BACKOFF": "8s",
            "FLIGHTS_SECONDS_A_DAY": "4",
        }

    async def all_live(self, client: AsyncClient) -> None:
        """Until all workers have registered."""
        while True:
            if len(await floor.workers(client.link.views)) == len(self.workers):
                return
            await asyncio.sleep(GLANCE)

    async def guard(self) -> None:
        """Until no worker is left, or one ends too soon. Raises ``ShowFailed``."""
        for ending in asyncio.as_completed([worker.ended() for worker in self.workers]):
            worker = await ending
            code = worker.process.returncode
            if not self.healed:
                raise ShowFailed(f"worker {worker.number} ended, code {code}:\n{worker.said()}")
            self.screen.line("lost", f"worker {worker.number} has ended, code {code}", at=now())
        raise ShowFailed("no worker is left")

    async def hurry(self) -> None:
        """Until it has taken too long. Raises ``ShowFailed``."""
        await asyncio.sleep(PATIENCE)
        if not self.healed:
            raise ShowFailed(f"nothing was healed within {PATIENCE:.0f} s")
        await asyncio.Event().wait()

    async def follow(self, client: AsyncClient) -> None:
        """Tell what happens until the end of the show."""
        watcher = Watcher(client, JOB)
        while not (self.healed and not self.encore):
            for fact in await watcher.look():
                self.teller.tell(fact)
                if isinstance(fact, Tried):
                    await self.react(client, fact)
            self.teller.standing()
            await asyncio.sleep(GLANCE)

    async def react(self, client: AsyncClient, fact: Tried) -> None:
        """The airline's part in it, and what is shown once the run is healed."""
        if self.airline.cut and fact.attempt.outcome == "retry":
            self.errand = asyncio.create_task(self.mend())
        elif fact.attempt.outcome == "succeeded":
            if fact.run.attempt > 1 and not self.healed:
                self.healed = True
                await self.look_back(client, fact.run)
            if self.healed:
                self.airline.next()

    async def mend(self) -> None:
        """The airline sees that half of its file is missing."""
        await asyncio.sleep(DELIVERY)
        name = self.airline.mend()
        self.screen.line("airline", f"the rest of {name} has arrived", at=now())

    async def look_back(self, client: AsyncClient, run: Run[Any]) -> None:
        """What is kept of the healed run, and what to try next."""
        attempts = await runs.attempts(client.link.views, run.id)
        self.teller.history(run, attempts, await client.logs(run))
        self.screen.heading("Try next")
        if self.encore:
            self.invite(run, client.link.config.database_url)
        else:
            koken = stage.shown(stage.KOKEN)
            self.screen.code(f"{koken} dev --app {APP}")
            self.screen.code(f"{koken} run {JOB} --wait    # in another terminal")
            self.screen.code("less examples/flights/jobs.py docs/tutorial.md")

    def invite(self, run: Run[Any], url: str) -> None:
        """What somebody at a terminal may try while the show goes on."""
        koken = stage.shown(stage.KOKEN)
        self.screen.say(f"A day each {PERIOD} s follows, until Ctrl-C. In another terminal:")
        self.screen.code(f"export KOKEN_DATABASE_URL={url}")
        self.screen.code(f"{koken} show {run.id}")
        self.screen.code(f"{koken} runs")
        self.screen.code(f"kill -9 {self.workers[-1].process.pid}    # the other worker takes over")
        self.screen.heading("Further days")


async def first_of(*work: Coroutine[Any, Any, None]) -> None:
    """Until the first is done, or fails; the others are left off."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            if not task.done():
                task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
