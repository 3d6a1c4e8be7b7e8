"""Behind a pooler a view's statements bring the session's settings along."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import pytest_asyncio

from koken.config import KEEP
from koken.errors import NotFound
from koken.store.database import Database, Transaction
from koken.views import (
    activity,
    catalog,
    events,
    floor,
    graph,
    health,
    history,
    locks,
    logs,
    runs,
    vitals,
    workspaces,
)
from tests.support.house import House

VIEWS: dict[str, Callable[[Database], Awaitable[Any]]] = {
    "newest": activity.newest,
    "changed": lambda db: activity.changed(db, 0, []),
    "jobs": lambda db: catalog.jobs(db, workspace="default"),
    "events": lambda db: events.of_run(db, 1),
    "queues": floor.queues,
    "workers": lambda db: floor.workers(db, workspace="default"),
    "locks": lambda db: locks.locks(db, workspace="default"),
    "keys": lambda db: locks.keys(db, workspace="default"),
    "done": lambda db: events.of_workspace(db, workspace="default"),
    "workspaces": workspaces.workspaces,
    "vitals": vitals.vitals,
    "server": health.server,
    "holders": lambda db: health.holders(db, seconds=1.0, transactions=1),
    "log": health.log,
    "old": lambda db: history.old(db, KEEP),
    "lines": lambda db: logs.lines(db, 1),
    "get": lambda db: runs.get(db, 1, workspace="default"),
    "graph": lambda db: graph.graph_of_job(db, "report"),
    "find": lambda db: runs.find(db, "since:2h", workspace="default"),
}


@pytest_asyncio.fixture
async def pooled(house: House) -> AsyncIterator[Database]:
    """Connections as for a pooler, on which nothing may be relied but what they are told."""
    db = Database(house.db.url, planner="default", pooled=True, deadline=7.0)
    yield db
    await db.close()


@pytest.mark.parametrize("name", VIEWS)
async def test_every_view_reads_one_way(
    pooled: Database, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch_text = Transaction.fetch_text
    timeouts = []

    async def watched(self: Transaction, text: str, *args: Any) -> list[Any]:
        timeouts.append(await self.connection.fetchval("show lock_timeout"))
        return await fetch_text(self, text, *args)

    monkeypatch.setattr(Transaction, "fetch_text", watched)
    with suppress(NotFound):
        await VIEWS[name](pooled)
    assert set(timeouts) == {"5s"}
