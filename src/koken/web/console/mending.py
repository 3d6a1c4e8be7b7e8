"""The forms of a run's page: plans are told, then carried out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from koken.define.body import json_or_text
from koken.errors import InvalidArguments, KokenError, NotFound
from koken.model.rights import Right
from koken.model.run import Run
from koken.views import openquestions
from koken.views.query import is_id
from koken.views.steps import steps
from koken.web.access.door import Someone
from koken.web.acting import RIGHT_OF
from koken.web.console import run as pages
from koken.web.console.acts import VERBS, Given, tell, wanted
from koken.web.console.forms import reason, text
from koken.web.console.once import Once
from koken.web.console.pages import page, zone_of
from koken.web.masking import refuse_mask, refuse_masks, without_values
from koken.web.visit import Visit

router = APIRouter(route_class=Once)


@router.get("/runs/{number}/plan/{verb}")
async def plan(request: Request, number: str, verb: str, visit: Someone) -> Response:
    """The plan of a verb, as a page of its own or for a place in the page of the run."""
    needed(verb, VERBS)
    there, run = await numbered(visit, number, Right.READ)
    told = await tell(
        there,
        run,
        await steps(there.views, run),
        verb,
        given(request.query_params),
        datetime.now(zone_of(request)),
    )
    return page(request, there, "plan.html", told=told, run=run)


@router.post("/runs/{number}/{verb}")
async def act(request: Request, number: str, verb: str, visit: Someone) -> Response:
    """Carry a verb out, and lead back to the page of the run; what is refused is told there."""
    there, run = await numbered(visit, number, needed(verb, (*VERBS, "answer", "signal")))
    form = await request.form()
    try:
        after = await carried(there, run, verb, form)
    except KokenError as error:
        if error.status not in (404, 409, 422):
            raise
        back, shown = await visit.run(str(back_to(form, run)))
        if isinstance(error, InvalidArguments):
            error = without_values(error, there.house.web.mask)
        return await pages.shown(request, back, shown, problem=error)
    leads = after.id if verb in ("rerun", "fork") else back_to(form, run)
    return RedirectResponse(f"/runs/{leads}?did={verb}", status_code=303)


async def numbered(visit: Visit, number: str, right: Right) -> tuple[Visit, Run[Any]]:
    """A run by its number alone: a job's last run may be another one by now.

    Raises ``NotFound``, ``Forbidden``.
    """
    if not is_id(number):
        raise NotFound(f"{number[:40]!r} is not the number of a run")
    return await visit.run(number, right)


def needed(verb: str, known: tuple[str, ...]) -> Right:
    """The right that a verb takes. Raises ``NotFound``."""
    if verb not in known:
        raise NotFound(f"there is nothing called {verb!r} that can be done with a run")
    return RIGHT_OF[verb]


def back_to(form: FormData, run: Run[Any]) -> int:
    """The run from whose page a form was sent."""
    back = text(form, "back")
    return int(back) if is_id(back) else run.id


def given(form: Mapping[str, Any]) -> Given:
    """What a form says. Raises ``InvalidArguments``."""
    return Given(
        step=text(form, "step").strip(),
        reason=reason(form) or "",
        force=text(form, "force") == "yes",
        args=text(form, "args").strip(),
        result=text(form, "result").strip(),
    )


async def carried(visit: Visit, run: Run[Any], verb: str, form: FormData) -> Run[Any]:
    """Carry a verb out; the run as it stands then, or the new one."""
    client = visit.client
    said = given(form)
    if verb == "answer":
        return await answered(visit, run, form)
    if verb == "signal":
        value = json_or_text(text(form, "value") or "null")
        refuse_mask("value", value, visit.house.web.mask)
        return await client.signal(run, text(form, "name"), value)
    if verb == "cancel":
        return await client.cancel(run, reason=said.reason)
    if verb == "acknowledge":
        return await client.acknowledge(run, reason=said.reason)
    does = {
        "retry": client.retry,
        "rerun": client.rerun,
        "skip": client.skip,
        "resolve": client.resolve,
        "fork": client.fork,
    }[verb]
    more = wanted(said, verb, run)
    refuse_masks(more.get("args"), visit.house.web.mask, run.veil)
    refuse_mask("result", more.get("result"), visit.house.web.mask)
    found: Run[Any] = await does(run, **more, reason=said.reason, force=said.force)  # type: ignore[operator]
    return found


async def answered(visit: Visit, run: Run[Any], form: FormData) -> Run[Any]:
    """Answer a question by its key; texts are taken as they are where texts are wanted."""
    key, value = text(form, "question"), text(form, "value")
    if not {"question", "value"} <= form.keys():
        raise InvalidArguments("an answer names its question and has a value. Nothing was sent.")
    open_ = await openquestions.questions_of(visit.views, [run.id])
    asked = [each for each in open_ if each.key == key]
    refuse_mask("value", value, visit.house.web.mask)
    literal = bool(asked) and asked[0].schema.get("type") == "string"
    return await visit.client.answer(run, key, value if literal else json_or_text(value))
