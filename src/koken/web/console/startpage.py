"""The page from which a job is started: a form made from its arguments."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from koken.errors import Conflict, InvalidArguments
from koken.model import codec
from koken.model.fields import arranged
from koken.model.rights import Right
from koken.model.run import FROM_FORM
from koken.views.jobfacts import JobFacts, job_facts
from koken.web.access.door import Starting
from koken.web.console import forms
from koken.web.console.jobwords import OVERLAP
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
from koken.web.masking import MASK, masked, problems_shown, secret, spelled, without_values
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
    once: str = ""
    """What makes a second sending of the same form start nothing more."""


@router.get("/jobs/{name}/start")
async def form(request: Request, visit: Starting, name: str, from_run: str = "") -> HTMLResponse:
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
    plain, kept_back = without_secrets(values, masked(values, visit.house.web.mask), MASK)
    shown.stands = filled(fields, plain, zone)
    shown.json = dump(plain or defaults(fields))
    shown.stands.kept_back = kept_back
    return show(request, visit, facts, fields, shown, zone)


async def like(visit: Visit, facts: JobFacts, from_run: str, shown: Shown) -> Mapping[str, Any]:
    """The arguments of a run of the job. Raises ``InvalidArguments`` for one of another job."""
    _, run = await visit.run(from_run, Right.READ)
    if run.job != facts.name or run.of_step:
        raise InvalidArguments(
            f"run {run.id} is no run of {facts.name}", {"from_run": "is another's"}
        )
    shown.like = run.id
    known = facts.parameters.get("properties", {})
    if not formless(facts.parameters):
        shown.left_out = [argument for argument in run.args if argument not in known]
    kept = {
        argument: value for argument, value in run.args.items() if argument not in shown.left_out
    }
    found: Mapping[str, Any] = arranged(kept, facts.parameters)
    return found


@router.post("/jobs/{name}/start")
async def sent(request: Request, visit: Starting, name: str) -> Response:
    """Start what the form says; where something is wrong with it, the form again."""
    facts = await job_facts(
        visit.views, name, workspace=visit.workspace, owner=visit.principal.name
    )
    given = dict(await request.form())
    zone = zone_named(forms.text(given, "zone"), zone_of(request))
    fields = fields_for(visit, facts)
    reader = Reader(given, zone)
    shown = Shown(in_json=in_json(facts, forms.text(given, "as")))
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
    shown.options = {option: forms.text(given, f"o.{option}") for option in CHOSEN}
    shown.once = fresh()
    status = shown.conflict.status if shown.conflict else 422
    return show(request, visit, facts, fields, shown, zone, status)


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
        bound(await body_of(visit, job), job, args)
    except InvalidArguments as error:
        return dict(without_values(error, visit.house.web.mask).problems)
    return {}


def fields_for(visit: Visit, facts: JobFacts) -> tuple[Field, ...]:
    """The fields for a job's arguments."""
    mask = visit.house.web.mask
    names = tuple(spelled(part) for part in mask)
    found = fields_of(facts.parameters, lambda name: secret(name, names))
    return tuple(unrevealing(each, mask) for each in found)


def unrevealing(each: Field, mask: Sequence[str]) -> Field:
    """A field without the secrets inside its default; who leaves the rest as it is gets all."""
    default = each.default
    if default is not MISSING:
        default, _ = without_secrets(default, masked(default, mask), MASK)
    return replace(
        each, default=default, fields=tuple(unrevealing(inner, mask) for inner in each.fields)
    )


def in_json(facts: JobFacts, wanted: str) -> bool:
    """Whether the arguments are written as one JSON object."""
    return wanted == "json" or formless(facts.parameters)


def fresh() -> str:
    """What one form is told by."""
    return secrets.token_urlsafe(12)


def once(
    given: Mapping[str, Any], args: Mapping[str, Any], options: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The options with a key, so that a form that is sent twice starts once.

    One that was changed in between starts again.
    """
    form = forms.text(given, "once")[:40]
    if not form or "idempotency_key" in options:
        return options
    said = json.dumps([args, options], sort_keys=True)
    digest = hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return {**options, "idempotency_key": f"{FROM_FORM}{form}-{digest}"}


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


def defaults(fields: tuple[Field, ...]) -> dict[str, Any]:
    """The arguments with their defaults, for somebody to change; null for what must be given."""
    return {
        each.name: None if each.default is MISSING else each.default
        for each in fields
        if not each.secret and (each.required or each.default is not MISSING)
    }


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
