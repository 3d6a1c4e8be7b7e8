"""A page of due times, of a job or of one of its schedules."""

from __future__ import annotations

from datetime import datetime

from starlette.responses import Response

from koken.views import catalog
from koken.views.catalog import TickRow
from koken.web.api import lists
from koken.web.api.lists import listed
from koken.web.visit import Visit


async def page_of_ticks(
    visit: Visit, job: str, schedule: int | None, limit: int, cursor: str | None
) -> Response:
    """The newest first. Those that are due at the same time stand on the same page."""
    of = f"ticks {visit.workspace} {job!r} {schedule}"
    before = lists.read(of, cursor)
    end = None if before is None else datetime.fromisoformat(before)

    async def page(end: datetime | None, limit: int) -> list[TickRow]:
        return await catalog.ticks(
            visit.views,
            job,
            workspace=visit.workspace,
            limit=limit,
            before=end,
            schedule=schedule,
        )

    rows = await page(end, limit)
    last = rows[-1].due_at if len(rows) >= limit else None
    more = last is not None and await page(last, 1)
    after = lists.written(of, last.isoformat()) if last is not None and more else None
    return listed((row.to_json() for row in rows), after)
