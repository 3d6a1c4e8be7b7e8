"""The plausible world on show: which pages there are, and a console that serves them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from koken.config import load
from koken.web.house import House
from koken.web.serve import address, bind, open_doors
from tests.web.company import app
from tests.web.world import World, beat, fill

PAGES: Mapping[str, str] = {
    "overview": "/",
    "jobs": "/jobs",
    "job": "/jobs/nightly",
    "job-ticks": "/jobs/daily-report/ticks",
    "job-versions": "/jobs/daily-report/versions",
    "start": "/jobs/daily-report/start",
    "start-like": "/jobs/daily-report/start?from_run={failed}",
    "runs": "/runs",
    "runs-failed": "/runs?q=state:failed",
    "query-unread": "/runs?q=stat:failed",
    "run-failed": "/runs/{broken_step}",
    "run-live": "/runs/{live}",
    "run-blocked": "/runs/{waits_for_lock}",
    "run-question": "/runs/{asks}",
    "run-log": "/runs/{failed}?log_q=refused",
    "run-steps": "/runs/{broken_step}?tab=steps",
    "run-values": "/runs/{failed}?tab=values",
    "run-checkpoints": "/runs/{asks}?tab=checkpoints",
    "run-events": "/runs/{cancelled}?tab=events",
    "run-elsewhere": "/runs/{elsewhere}?tab=operation",
    "run-attempts": "/runs/{failed}?tab=attempts",
    "run-plan": "/runs/{broken_step}/plan/retry",
    "run-plan-skip": "/runs/{broken_step}/plan/skip?step=compute",
    "run-plan-fork": "/runs/{broken_step}/plan/fork",
    "run-plan-cancel": "/runs/{asks}/plan/cancel",
    "schedules": "/schedules",
    "schedule": "/schedules/{schedule}",
    "backfill": "/schedules/{schedule}/backfill?since={last_week}&until={yesterday}",
    "queues": "/queues",
    "queue": "/queues/reports",
    "workers": "/workers",
    "locks": "/locks",
    "events": "/events",
    "workspaces": "/workspaces",
    "access": "/access",
    "access-tokens": "/access/tokens",
    "access-hooks": "/access/hooks",
    "access-sessions": "/access/sessions",
    "bulks": "/bulks",
    "bulk": "/bulks/{bulk}",
    "bulk-preview": "/bulks/preview?verb=retry&q=job:resize-picture%20state:failed",
    "account": "/account",
    "zone": "/zone",
    "sign-in": "/sign-in",
    "problem": "/errors/overlapping",
    "not-found": "/runs/999999",
}
"""The pages by what they show; what stands for the names in braces, the world says."""


@dataclass(frozen=True, slots=True)
class Exhibition:
    """A console that serves the world."""

    address: str
    names: Mapping[str, int | str]
    """What stands for the names in braces."""

    def path(self, name: str) -> str:
        """Where a page of the gallery is."""
        return PAGES[name].format_map(self.names)


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


def named(world: World) -> dict[str, int | str]:
    """What stands for the names in braces."""
    today = datetime.now(UTC).date()
    days = {
        name: (today - timedelta(days=back)).isoformat() + "T00:00"
        for name, back in (("last_week", 8), ("yesterday", 1))
    }
    return {**world.runs, **days, "bulk": world.bulk, "schedule": world.schedule}


async def showing(url: str, opened: Future[Exhibition], over: threading.Event) -> None:
    """Fill and serve until it is over."""
    try:
        world = await fill(url)
        listening = bind("127.0.0.1", 0)
        house = House(app, load(app.settings), loopback=True, local="mira")
        workers = asyncio.ensure_future(beat(url))
        async with open_doors(house, listening):
            opened.set_result(Exhibition(address(listening), named(world)))
            await asyncio.to_thread(over.wait)
        workers.cancel()
    except BaseException as error:
        if not opened.done():
            opened.set_exception(error)
        raise
