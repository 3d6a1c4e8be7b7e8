"""``/live``: a word to a page that what it shows has changed; the page then fetches itself anew."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from starlette.responses import Response

from koken.errors import KokenError, NotFound
from koken.model.rights import Right
from koken.model.states import State
from koken.store.database import Database
from koken.views import runs
from koken.views.query import is_id
from koken.web.access import door
from koken.web.access.door import Someone
from koken.web.live.stream import COMMENT, Live, frame, last_seen, reading
from koken.web.live.topics import OfLog, OfRun, OfWorkspace, Topic
from koken.web.visit import Visit

router = APIRouter()
WORKSPACE = "workspace"
SEEN = "live_seen"
"""Where a request keeps how its topics stood before anything was read for its page."""


@router.get("/live")
async def live(request: Request, visit: Someone, topic: str = WORKSPACE) -> Response:
    """``changed`` with each new fingerprint, ``over`` when nothing will change any more.

    Topics are ``run:412``, ``log:412``, ``workspace:acme``, and ``workspace`` for where the
    visitor is. A page says by ``seen`` how the topic stood when it was made, a browser that comes
    back by ``Last-Event-ID`` what it has heard last.
    """
    of, there, run_id = await watched(visit, topic)

    async def tell(versions: AsyncIterator[str | None]) -> AsyncIterator[str]:
        known = last_seen(request)
        async for version in versions:
            if version is None:
                yield COMMENT
                continue
            if version != known:
                yield frame("changed", version, version)
            known = version
            if run_id is not None and await is_over(visit.views, run_id):
                last = await visit.house.hub.look_now(of)
                if last != known:
                    yield frame("changed", last, last)
                yield frame("over", last, last)
                return

    return Live(request, of, tell, may=reading(there.workspace))


async def watched(visit: Visit, topic: str) -> tuple[Topic, Visit, int | None]:
    """What a topic is, the visit there, and the run that it is about.

    Raises ``NotFound``, ``Forbidden``.
    """
    kind, _, name = topic.partition(":")
    if kind in ("run", "log") and is_id(name):
        there, run = await visit.run(name)
        return OfRun(run.id) if kind == "run" else OfLog(run.id), there, run.id
    place = name or visit.workspace
    known = place == visit.workspace or await visit.house.credentials.is_workspace(place)
    if kind == WORKSPACE and known and visit.principal.sees(place):
        there = visit.at(place)
        there.need(Right.READ)
        return OfWorkspace(there.workspace), there, None
    raise NotFound(f"there is nothing to watch by the name {topic!r}")


async def is_over(db: Database, run_id: int) -> bool:
    """Whether a run and the tree that it is part of have ended, and nobody is expected to act.

    One that has failed is not over before it is acknowledged: somebody may be about to repair it.
    """
    found = await runs.get_many(db, [run_id])
    run = found.get(run_id)
    if run is None:
        return True
    if run.root_id != run.id:
        found |= await runs.get_many(db, [run.root_id])
    return all(
        each.state.ended
        and (each.state in (State.SUCCEEDED, State.SKIPPED) or each.acknowledged_by is not None)
        and (each.children is None or each.children.going == 0)
        for each in found.values()
    )


async def see(request: Request) -> None:
    """Note how the topic of a page stands before the page reads anything.

    So what changes while it is made is told, and what has not changed is not. A page of a run
    is about that run, any other about the workspace.
    """
    if request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
        return
    try:
        visit = await door.visit(request)
        hub = visit.house.hub
        parts = request.url.path.split("/")
        if parts[1] == "runs" and len(parts) > 2 and is_id(parts[2]):
            run = OfRun(int(parts[2]))
            request.scope[SEEN] = {run.key: await hub.version(run)}
        else:
            place = OfWorkspace(visit.workspace)
            version = await hub.version(place)
            request.scope[SEEN] = {WORKSPACE: version, place.key: version}
    except KokenError:
        request.scope[SEEN] = {}
