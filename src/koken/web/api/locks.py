"""Locks: who has them, since when, who waits; and how one is taken away."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import AwareDatetime, Field
from starlette.responses import Response

from koken.engine.unlock import unlock
from koken.errors import InvalidArguments
from koken.views import locks
from koken.web.access.door import Operating, Reading
from koken.web.api import lists
from koken.web.api.answered import Once
from koken.web.api.asked import Reasoned
from koken.web.api.lists import Cursor, Limit, listed, reply
from koken.web.api.lockmodels import KeyShown, LockShown, UnlockedShown
from koken.web.api.models import Listed
from koken.web.numbers import number_in_query

router = APIRouter(tags=["locks"], route_class=Once)
Kind = Annotated[locks.Kind | None, Query(description="Of this kind only.")]
Key = Annotated[str, Path(description="The key, as the lock has it when it is filled.")]
LONGEST = 100 * 366 * 86400.0


class UnlockAsked(Reasoned):
    """How a lock is taken away."""

    kind: locks.Kind | None = Field(None, description="Which, where there are several of that key.")
    run: str | None = Field(
        None, description="From this run alone; refused with 409 where another has the lock."
    )
    since: Annotated[AwareDatetime, Field(strict=False)] | None = Field(
        None, description="With `run`: only if it has had the lock from then on."
    )
    force: bool = Field(
        False,
        description="Also from a run that goes: it is cancelled; wants `run` and a reason.",
    )


@router.get(
    "/locks",
    summary="List locks, those held longest first",
    responses={200: {"model": Listed[LockShown]}},
)
async def list_locks(
    visit: Reading,
    kind: Kind = None,
    key: Annotated[str, Query(max_length=1000, description="Of this key only.")] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Those of this workspace that somebody has or waits for."""
    of = f"locks {visit.workspace} {kind} {key!r}"
    before = lists.read(of, cursor)
    after = None
    if before is not None:
        since, number = before
        after = (None if since is None else datetime.fromisoformat(since), number)
    found = await locks.locks(
        visit.views,
        workspace=visit.workspace,
        kind=kind,
        key=key or None,
        limit=limit + 1,
        after=after,
    )
    return lists.page(
        of, found, limit, lambda row: [None if row.since is None else row.since.isoformat(), row.id]
    )


@router.get(
    "/overlap-keys",
    summary="List overlap keys that a run keeps for itself, the longest first",
    responses={200: {"model": Listed[KeyShown]}},
)
async def list_keys(
    visit: Reading,
    longer_than: Annotated[
        float, Query(ge=0, le=LONGEST, allow_inf_nan=False, description="Seconds.")
    ] = 0.0,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Of rules that skip, refuse or queue a second run."""
    of = f"overlap-keys {visit.workspace} {longer_than}"
    since, number = lists.read(of, cursor) or (None, 0)
    found = await locks.keys(
        visit.views,
        workspace=visit.workspace,
        longer_than=longer_than,
        limit=limit + 1,
        after=(None if since is None else datetime.fromisoformat(since), number),
    )
    return lists.page(of, found, limit, lambda row: [row.since.isoformat(), row.run_id])


@router.get(
    "/locks/{key:path}",
    summary="Look at the locks of a key",
    responses={200: {"model": Listed[LockShown]}},
)
async def get_lock(key: Key, visit: Reading, kind: Kind = None) -> Response:
    """One, or one of each kind: all of them are in the answer."""
    found = await locks.named(visit.views, key, workspace=visit.workspace, kind=kind)
    return listed(row.to_json() for row in found)


@router.post(
    "/locks/{key:path}/unlocks",
    summary="Take a lock from a run that has ended or is gone",
    responses={200: {"model": UnlockedShown}},
)
async def unlock_key(key: Key, visit: Operating, body: UnlockAsked | None = None) -> Response:
    """It goes to the next in line. One whose run goes is refused with 409, unless by force."""
    asked = body or UnlockAsked()
    found = await locks.named(visit.views, key, workspace=visit.workspace, kind=asked.kind)
    if len(found) > 1:
        kinds = ", ".join(row.kind for row in found)
        raise InvalidArguments(
            f"there are several of that key; say which kind: {kinds}", {"kind": kinds}
        )
    done = await unlock(
        visit.db,
        key,
        workspace=visit.workspace,
        kind=found[0].kind,
        run=None if asked.run is None else number_in_query("run", asked.run, "run"),
        since=asked.since,
        force=asked.force,
        **visit.deed(asked.reason),
    )
    return reply(done.to_json())
