"""The page from which a job is started: a form made from its arguments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from koken.errors import Conflict, InvalidArguments
from koken.model import codec
from koken.model.fields import arranged
from koken.model.hiding import MASK, Hider, masked, of_key, opened, secret
from koken.model.rights import Right
from koken.views.jobfacts import JobFacts, job_facts
from koken.views.query import is_id
from koken.web.access.door import StartingInSight
from koken.web.console import forms
from koken.web.console.jobwords import OVERLAP
from koken.web.console.once import fresh, key_of
from koken.web.console.pages import page, zone_of
from koken.web.console.startfields import MISSING, Field, dump, fields_of, formless, told
from koken.web.console.startform import (
    Filled,
    Reader,
    Unreadable,
    filled,
    typed,
    without_secrets,
    zone_named,
)
from koken.web.console.startturn import spelled_out, unplaced
from koken.web.masking import problems_shown, without_values
from koken.web.starting import body_of, bound, options_of, start
from koken.web.visit import Visit

router = APIRouter()
CHOSEN = (
    "when", "run_at", "delay", "logical_time", "priority", "queue", "overlap", "idempotency_key"
)  # fmt: skip
"""The options of a form."""


@dataclass(slots=True, kw_only=True)
class Shown:
    """What a start form shows: what stands in it, and what is wrong with that."""

    in_json: bool
    stands: Filled = field(default_factory=Filled)
    json: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    """What is wrong and concerns no field."""
    conflict: Conflict | None = None
    left_out: list[str] = field(default_factory=list)
    """Arguments of the run that the form is filled like which the job does not have any more."""
    like: int | None = None
    """The run that the form is filled like."""
    form: Mapping[str, Any] = field(default_factory=dict)
    """What that run's job took, where it calls some of it secret."""
    once: str = ""
    """What makes a second sending of the same form start nothing more."""


@router.get("/jobs/{name}/start")
async def form(
    request: Request, visit: StartingInSight, name: str, from_run: str = ""
) -> HTMLResponse:
    """The form, empty or filled like a run."""
    facts = await job_facts(
        visit.views, name, workspace=visit.workspace, owner=visit.principal.name
    )
    zone = zone_of(request)
    shown = Shown(in_json=in_json(facts, request.query_params.get("as", "")), once=fresh())
    values: Mapping[str, Any] = {}
    if from_run:
        values = await like(visit, facts, from_run, shown)
    fields = fields_for(visit, facts)
    mask = visit.house.web.mask
    plain, kept_back = without_secrets(values, masked(values, mask, shown.form), MASK)
    shown.stands = filled(fields, plain, zone)
    shown.json = dump(plain or spelled_out(fields, {}))
    shown.stands.kept_back = kept_back
    return show(request, visit, facts, fields, shown, zone)


async def like(visit: Visit, facts: JobFacts, from_run: str, shown: Shown) -> Mapping[str, Any]:
    """The arguments of a run of the job. Raises ``InvalidArguments`` for one of another job."""
    _, run = await visit.run(from_run, Right.READ)
    if run.job != facts.name or run.of_step:
        raise InvalidArguments(
            f"run {run.id} is no run of {facts.name}", {"from_run": "is another's"}
        )
    shown.like, shown.form = run.id, run.veil
    known = facts.parameters.get("properties", {})
    if not formless(facts.parameters):
        shown.left_out = [argument for argument in run.args if argument not in known]
    kept = {
        argument: value for argument, value in run.args.items() if argument not in shown.left_out
    }
    found: Mapping[str, Any] = arranged(kept, facts.parameters)
    return found


@router.post("/jobs/{name}/start")
async def sent(request: Request, visit: StartingInSight, name: str) -> Response:
    """Start what the form says; where something is wrong with it, the form again."""
    facts = await job_facts(
        visit.views, name, workspace=visit.workspace, owner=visit.principal.name
    )
    given = dict(await request.form())
    zone = zone_named(forms.text(given, "zone"), zone_of(request))
    fields = fields_for(visit, facts)
    reader = Reader(given, zone)
    shown = Shown(in_json=in_json(facts, forms.text(given, "as")), once=fresh())
    origin = forms.text(given, "from_run")
    shown.like = int(origin) if is_id(origin) else None
    shown.options = {option: forms.text(given, f"o.{option}") for option in CHOSEN}
    if forms.text(given, "turn"):
        turn(given, fields, zone, shown)
        return show(request, visit, facts, fields, shown, zone)
    try:
        args = whole(forms.text(given, "json"), shown) if shown.in_json else reader.values(fields)
        options = reader.options()
        unread = problems_shown(reader.problems, visit.house.web.mask)
        shown.problems |= refused(facts.name, options) | unread
        if not shown.problems:
            run = await start(visit, facts.name, args, once(given, args, options))
            return RedirectResponse(f"/runs/{run.id}", 303)
        if "json" not in shown.problems:
            shown.problems = await misfits(visit, facts.name, args) | shown.problems
        shown.problem = "Nothing was started: something is wrong below."
    except InvalidArguments as error:
        hushed = without_values(error, visit.house.web.mask)
        shown.problems |= hushed.problems
        shown.problem = str(hushed)
    except Conflict as error:
        shown.problem, shown.conflict = str(error), error
    shown.stands = typed(fields, given)
    shown.json = forms.text(given, "json")
    status = shown.conflict.status if shown.conflict else 422
    return show(request, visit, facts, fields, shown, zone, status)


def turn(given: Mapping[str, Any], fields: Sequence[Field], zone: tzinfo, shown: Shown) -> None:
    """What was typed into fields as JSON, or the other way round; secrets are left out.

    JSON that cannot be read, or that fields would not show in whole, stays as it is.
    """
    if not shown.in_json:
        typed_in = Reader(given, zone, keeps=True).values(fields)
        shown.in_json, shown.json = True, dump(spelled_out(fields, typed_in))
        shown.stands.kept_back = typed(fields, given).kept_back
        return
    shown.json = forms.text(given, "json")
    values = whole(shown.json, shown)
    shown.problems |= unplaced(fields, values)
    if shown.problems:
        shown.problem = "This stays JSON: fields cannot show it."
        return
    shown.in_json, shown.stands = False, filled(fields, values, zone)


def refused(job: str, options: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with the options, so that it is told together with what else is wrong."""
    try:
        options_of(job, options)
    except InvalidArguments as error:
        return error.problems
    return {}


async def misfits(visit: Visit, job: str, args: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with the arguments that could be read, where others could not."""
    try:
        bound(await body_of(visit, job), job, args, visit.house.web.mask)
    except InvalidArguments as error:
        return dict(without_values(error, visit.house.web.mask).problems)
    return {}


def fields_for(visit: Visit, facts: JobFacts) -> tuple[Field, ...]:
    """The fields for a job's arguments."""
    mask, root = visit.house.web.mask, facts.parameters
    found = fields_of(root, lambda name: secret(name, mask))
    return unrevealing(found, Hider(mask, root), [root])


def unrevealing(fields: Iterable[Field], hider: Hider, schemas: Sequence[Any]) -> tuple[Field, ...]:
    """Fields without the secrets inside their defaults; who leaves the rest as it is gets all.

    ``schemas`` are of what they are in.
    """
    known = opened(schemas, hider.root)
    return tuple(
        replace(
            each,
            default=unsecret(each.default, hider, of_key(known, each.name)),
            fields=unrevealing(each.fields, hider, of_key(known, each.name)),
        )
        for each in fields
    )


def unsecret(default: Any, hider: Hider, schemas: Sequence[Any]) -> Any:
    """A default without the secrets in it."""
    if default is MISSING:
        return default
    return without_secrets(default, hider.of(default, schemas), MASK)[0]


def in_json(facts: JobFacts, wanted: str) -> bool:
    """Whether the arguments are written as one JSON object."""
    return wanted == "json" or formless(facts.parameters)


def once(
    given: Mapping[str, Any], args: Mapping[str, Any], options: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The options with a key, so that a form that is sent twice starts once.

    One that was changed in between starts again.
    """
    form = forms.text(given, "once")
    if not form or "idempotency_key" in options:
        return options
    said = json.dumps([args, options], sort_keys=True)
    digest = hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()
    return {**options, "idempotency_key": key_of(form, digest)}


def whole(text: str, shown: Shown) -> Mapping[str, Any]:
    """All arguments from one JSON text; what is wrong with it stands in ``shown``."""
    try:
        found = codec.decode(text or "{}")
        if not isinstance(found, dict):
            raise Unreadable('is no object; write it as {"day": "2026-11-30"}')
    except ValueError as error:
        told = str(error) if isinstance(error, Unreadable) else f"is no JSON: {error}"
        shown.problems["json"] = told
        return {}
    return found


def placed(shown: Shown, own: set[str]) -> dict[str, str]:
    """Problems that stand beside no field; one within a field's JSON stands beside that field."""
    elsewhere = {}
    for path, text in shown.problems.copy().items():
        if path in own:
            continue
        near = max((each for each in own if path.startswith((f"{each}.", f"{each}["))), default="")
        if near:
            shown.problems.setdefault(near, f"{path} {text}")
        else:
            elsewhere[path] = text
    return elsewhere


def show(
    request: Request,
    visit: Visit,
    facts: JobFacts,
    fields: tuple[Field, ...],
    shown: Shown,
    zone: tzinfo,
    status: int = 200,
) -> HTMLResponse:
    """The page with the form."""
    own = {"json"} if shown.in_json else {each.path for one in fields for each in one.within()}
    elsewhere = placed(shown, own | set(CHOSEN))
    zones = [str(zone), facts.spec["timezone"], "UTC"]
    return page(
        request,
        visit,
        "start.html",
        status=status,
        tab="start",
        facts=facts,
        fields=fields,
        shown=shown,
        elsewhere=elsewhere,
        zones=list(dict.fromkeys(zones)),
        overlaps=OVERLAP,
        missing=MISSING,
        told=told,
        dump=json.dumps,
        options_open=any(
            shown.options.get(option) or option in shown.problems
            for option in CHOSEN
            if option not in ("when", "run_at", "delay")
        ),
    )
