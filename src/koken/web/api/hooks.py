"""Hooks: signed calls of other systems that start a job, and who may call."""

from __future__ import annotations

import logging
import time
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, HTTPException, Path
from pydantic import Field
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response

from koken.engine import hooks as engine
from koken.errors import InvalidArguments, NotSignedIn
from koken.model.hooks import BadSignature, OffTime, delivery, secret
from koken.model.rights import Right
from koken.views import hooks
from koken.views.hooks import HookRow
from koken.web.access.door import Administering
from koken.web.access.principal import Kind, Principal
from koken.web.address import base_of
from koken.web.api import lists
from koken.web.api.answered import Once
from koken.web.api.asked import Reason, Reasoned
from koken.web.api.hookmodels import AcceptedShown, HookMade, HookShown
from koken.web.api.lists import Cursor, Limit, reply
from koken.web.api.models import Listed
from koken.web.api.strict import Strict
from koken.web.house import House
from koken.web.starting import Begun, begin, body_of
from koken.web.visit import Visit

log = logging.getLogger("koken.web")
router = APIRouter(tags=["hooks"], route_class=Strict)
MANAGED = APIRouter(tags=["hooks"], route_class=Once)
Name = Annotated[str, Path(max_length=200, description="The hook's name.")]
REFUSED = "there is no hook of that name, or the signature does not fit"
NOBODY = secret(b"", 0, UUID(int=0))
"""Stands for the secret of a hook that there is not."""
SIGNED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {}}},
        "description": "What the job gets: its fields, or as a whole.",
    },
    "security": [],
    "parameters": [
        {"name": name, "in": "header", "required": False, "schema": {"type": "string"}}
        for name in (
            "webhook-id",
            "webhook-timestamp",
            "webhook-signature",
            "X-Hub-Signature-256",
            "X-GitHub-Delivery",
        )
    ],
}


class HookAsked(Reasoned):
    """A hook to be made."""

    name: str
    job: str
    scheme: Literal["standard", "github"] = Field(
        "standard", description="Standard Webhooks, or GitHub's way."
    )
    argument: str | None = Field(
        None, description="The argument that gets the whole body; null: its fields are arguments."
    )


@MANAGED.get("/hooks", summary="List hooks", responses={200: {"model": Listed[HookShown]}})
async def list_hooks(visit: Administering, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Those of this workspace."""
    of = f"hooks {visit.workspace}"
    after = lists.read(of, cursor) or ""
    found = await hooks.hooks(visit.views, [visit.workspace], after=after, limit=limit + 1)
    return lists.page(of, found, limit, lambda row: row.name)


@router.post(
    "/hooks",
    summary="Make a hook",
    status_code=201,
    responses={201: {"model": HookMade, "description": "The hook; its secret is told this once."}},
)
async def add_hook(request: Request, visit: Administering, body: HookAsked) -> Response:
    """Its secret is told this once. Who makes it may start jobs here themselves.

    `Idempotency-Key` is not looked at: no secret is kept.
    """
    await body_of(visit, body.job)
    made = await engine.add(
        visit.db,
        body.name,
        body.job,
        workspace=visit.workspace,
        scheme=body.scheme,
        argument=body.argument,
        **visit.grant(body.reason),
    )
    return reply(made.to_json(base_of(request)), 201)


@router.post(
    "/hooks/{hook}/rotations",
    summary="Give a hook a new secret",
    responses={200: {"model": HookMade}},
)
async def rotate_hook(
    hook: Name, request: Request, visit: Administering, body: Reasoned | None = None
) -> Response:
    """The old one is good no more.

    `Idempotency-Key` is not looked at: no secret is kept. Where the answer was lost, rotate again;
    until the new one is where the calls come from, they are refused.
    """
    made = await engine.rotate(
        visit.db,
        hook,
        workspace=visit.workspace,
        **visit.grant(body.reason if body else ""),
    )
    return reply(made.to_json(base_of(request)))


@MANAGED.delete("/hooks/{hook}", summary="Remove a hook", status_code=204)
async def remove_hook(hook: Name, visit: Administering, reason: Reason = "") -> Response:
    """Calls to it are refused from now on."""
    await engine.remove(
        visit.db,
        hook,
        workspace=visit.workspace,
        **visit.deed(reason),
    )
    return Response(status_code=204)


@router.post(
    "/hooks/{hook}",
    summary="Start a job by a signed call",
    status_code=202,
    openapi_extra=SIGNED,
    responses={
        202: {
            "model": AcceptedShown,
            "description": "The run; of a call that came before, its run.",
        },
        204: {"description": "A ping: nothing is started."},
    },
)
async def call_hook(hook: Name, request: Request) -> Response:
    """No token: the call is signed with the hook's secret, over its body as it came.

    A call that comes again starts nothing new.
    """
    house: House = request.app.state.house
    body = await request.body()
    row = await hooks.hook(house.views, hook)
    number = await verified(house, row, request, body)
    assert row is not None
    if row.scheme == "github" and request.headers.get("x-github-event") == "ping":
        return Response(status_code=204)
    begun = await started(house, row, number, body)
    house.credentials.note(engine.note_use(house.db, row.id))
    return accepted(base_of(request), begun)


async def verified(house: House, row: HookRow | None, request: Request, body: bytes) -> str:
    """The id of a call that is signed; raises ``NotSignedIn``, for no hook as for a bad signature.

    What is wrong is worked out to the end in either case, so that both take as long.
    """
    door_key = await house.credentials.key()
    key = NOBODY if row is None else secret(door_key, row.id, row.salt)
    scheme = "standard" if row is None else row.scheme
    try:
        number = delivery(scheme, key, request.headers, body, now=time.time())
    except BadSignature as error:
        named = "" if row is None else row.name
        if house.refused.get(named) is None:
            house.refused.put(named, True)
            told = f"hook {named}" if named else "an unknown hook"
            log.warning("a call to %s was refused: %s; more of it in a minute", told, error)
        told_so = row is not None and isinstance(error, OffTime)
        raise NotSignedIn(str(error) if told_so else REFUSED) from None
    if row is None:
        raise NotSignedIn(REFUSED)
    return number


async def started(house: House, row: HookRow, number: str, body: bytes) -> Begun:
    """The run of a call, new or not."""
    try:
        plain = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise HTTPException(400) from None
    visit = Visit(
        house=house,
        principal=Principal(
            name=f"hook {row.name}",
            kind=Kind.TOKEN,
            rights={row.workspace: frozenset({Right.START})},
        ),
        workspace=row.workspace,
    )
    args = await arguments(visit, row, plain)
    return await begin(visit, row.job, args, {"idempotency_key": f"hook:{row.id}:{number}"})


async def arguments(visit: Visit, row: HookRow, plain: Any) -> dict[str, Any]:
    """What the job gets of a body. Raises ``InvalidArguments``."""
    if row.argument is not None:
        return {row.argument: plain}
    if not isinstance(plain, dict):
        raise InvalidArguments("the body is no object", {"body": "is no object with named fields"})
    names = (await body_of(visit, row.job)).argument_names
    return plain if names is None else {key: plain[key] for key in plain if key in names}


def accepted(base: str, begun: Begun) -> Response:
    """The answer to who has started something from elsewhere, and reaches us under ``base``."""
    plain = {
        "run": str(begun.run.id),
        "existing": not begun.fresh,
        "url": f"{base}/runs/{begun.run.id}",
    }
    return reply(plain, 202)


router.include_router(MANAGED)
