"""The plausible world on show: which pages there are, and a console that serves them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from koken.config import load
from koken.web.house import House
from koken.web.serve import address, bind, open_doors
from tests.web.company import app
from tests.web.world import beat, fill

PAGES: Mapping[str, str] = {
    "overview": "/",
    "jobs": "/jobs",
    "job": "/jobs/nightly",
    "job-ticks": "/jobs/daily-report/ticks",
    "job-versions": "/jobs/daily-report/versions",
    "start": "/jobs/daily-report/start",
    "runs": "/runs",
    "runs-failed": "/runs?q=state:failed",
    "run-failed": "/runs/{broken_step}",
    "run-live": "/runs/{live}",
    "run-question": "/runs/{asks}",
    "run-elsewhere": "/runs/{elsewhere}?tab=operation",
    "run-attempts": "/runs/{failed}?tab=attempts",
    "run-plan": "/runs/{broken_step}/plan/retry",
    "schedules": "/schedules",
    "queues": "/queues",
    "workers": "/workers",
    "locks": "/locks",
    "events": "/events",
    "workspaces": "/workspaces",
    "access": "/access",
    "bulks": "/bulks",
    "account": "/account",
    "not-found": "/runs/999999",
}
"""The pages by what they show; names in braces are runs of the world."""


@dataclass(frozen=True, slots=True)
class Exhibition:
    """A console that serves the world."""

    address: str
    runs: Mapping[str, int]

    def path(self, name: str) -> str:
        """Where a page of the gallery is."""
        return PAGES[name].format_map(self.runs)


@contextmanager
def exhibited(url: str) -> Iterator[Exhibition]:
    """The world in the migrated, empty database at ``url``, served until the end of the block.

    ``KOKEN_DATABASE_URL`` names that database too.
    """
    opened: Future[Exhibition] = Future()
    over = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(showing(url, opened, over)))
    thread.start()
    try:
        yield opened.result(120)
    finally:
        over.set()
        thread.join(60)


async def showing(url: str, opened: Future[Exhibition], over: threading.Event) -> None:
    """Fill and serve until it is over."""
    try:
        world = await fill(url)
        listening = bind("127.0.0.1", 0)
        house = House(app, load(app.settings), loopback=True, local="mira")
        workers = asyncio.ensure_future(beat(url))
        async with open_doors(house, listening):
            opened.set_result(Exhibition(address(listening), world.runs))
            await asyncio.to_thread(over.wait)
        workers.cancel()
    except BaseException as error:
        if not opened.done():
            opened.set_exception(error)
        raise
