"""Starts as they come through the doors: a job's name, plain values, options as texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, TypedDict

from koken.client.arguments import said
from koken.define.body import NOT_STARTED, Body
from koken.define.problems import invalid
from koken.define.spelling import did_you_mean, meant
from koken.define.starting import START, changed
from koken.engine import start as engine
from koken.errors import InvalidArguments, NotFound
from koken.model import codec, instants
from koken.model.job import StartOptions
from koken.model.run import Run
from koken.views import runs
from koken.views.parameters import parameters
from koken.web.access.principal import Kind
from koken.web.masking import refuse_masks
from koken.web.storedbody import Stored
from koken.web.visit import Visit

INSTANTS = ("run_at", "logical_time")
OF_ONE = ("idempotency_key", "logical_time")
"""Options that name one run, and so are none for many."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A run, and whether it is a new one."""

    run: Run[Any]
    fresh: bool


class Starter(TypedDict):
    """Who starts a run, for the record."""

    by: str
    program: bool


async def start(
    visit: Visit, job: str, args: Mapping[str, Any], options: Mapping[str, Any]
) -> Run[Any]:
    """Start a run of ``job``, as ``begin`` does."""
    return (await begin(visit, job, args, options)).run


async def begin(visit: Visit, job: str, args: Any, options: Mapping[str, Any]) -> Begun:
    """Start a run of ``job``, or find the one that the idempotency key names.

    ``options`` are those of ``Job.using``, with instants as texts; ``None`` is the same as leaving
    out. Arguments are checked by the program's own types where it declares the job, else by what
    is stored of the job. Raises as ``AsyncClient.start`` does; then nothing was started.
    """
    chosen = options_of(job, options)
    plain = bound(await body_of(visit, job), job, args, visit.house.web.mask)
    started = await engine.start(
        visit.db, job, plain, workspace=visit.workspace, options=chosen, **starter(visit)
    )
    found = await runs.get_many(visit.views, [started.run_id])
    return Begun(found[started.run_id], started.verdict != "existing")


async def begin_many(
    visit: Visit, job: str, rows: Sequence[Any], options: Mapping[str, Any]
) -> list[int]:
    """Start a run of ``job`` for each of ``rows``, which are arguments by name: all or none."""
    given = {name: "is for one run" for name in OF_ONE if options.get(name) is not None}
    if given:
        raise invalid(job, given, end=NOT_STARTED)
    chosen = options_of(job, options)
    body, words = await body_of(visit, job), visit.house.web.mask
    texts = []
    for number, row in enumerate(rows):
        try:
            texts.append(codec.encode(bound(body, job, row, words), name="the arguments"))
        except InvalidArguments as error:
            problems = {
                f"rows[{number}].{at}".rstrip("."): text for at, text in error.problems.items()
            }
            raise InvalidArguments(f"row {number}: {error}", problems) from None
    if not texts:
        return []
    return await engine.start_many(
        visit.db, job, texts, workspace=visit.workspace, options=chosen, **starter(visit)
    )


def starter(visit: Visit) -> Starter:
    """Who starts a run: a person, or a program with a token."""
    return {"by": visit.principal.name, "program": visit.principal.kind is Kind.TOKEN}


def options_of(job: str, options: Mapping[str, Any]) -> StartOptions:
    """The options of a start. Raises ``InvalidArguments``, by their names."""
    hints = meant([name for name in options if name not in START], START)
    problems = {name: f"is no option.{hint}" for name, hint in hints.items()}
    read: dict[str, Any] = {}
    for name, value in options.items():
        try:
            texts = name in INSTANTS and value is not None and not isinstance(value, datetime)
            read[name] = instants.read(value) if texts else value
        except ValueError as error:
            problems[name] = str(error)
    if problems:
        raise invalid(job, problems, end=NOT_STARTED)
    try:
        return changed(job, StartOptions(), read)
    except InvalidArguments as error:
        raise invalid(job, error.problems, end=NOT_STARTED) from None


def bound(body: Body, job: str, args: Any, words: Sequence[str]) -> dict[str, Any]:
    """Arguments as the body takes them; ``words`` tell which are secrets.

    Raises ``InvalidArguments``.
    """
    if not isinstance(args, Mapping) or not all(isinstance(name, str) for name in args):
        raise invalid(job, {"": "the arguments are no object with named fields"}, end=NOT_STARTED)
    refuse_masks(args, words, body.parameters)
    return body.bind_plain(args)


async def body_of(visit: Visit, job: str) -> Body:
    """What takes the arguments: the program's own body, or what is stored of another's.

    Raises ``NotFound``.
    """
    link = visit.house.client.link
    if job in link.registry:
        found = link.registry.get(job)
        await link.publish(found, visit.principal.name)
        return found.body
    form = await form_of(visit, said("job", job))
    if form is None:
        raise NotFound(f"there is no job {job!r}.{did_you_mean(job, link.registry.jobs)}")
    return stored(job, form)


async def form_of(visit: Visit, job: str) -> str | None:
    """The JSON Schema of what a job takes, as it was a moment ago; None: there is no such job."""
    kept, key = visit.house.forms, (visit.workspace, job)
    form = kept.get(key)
    if form is None:
        form = await parameters(visit.views, job, visit.workspace)
        if form is not None:
            kept.put(key, form)
    return form


@lru_cache(maxsize=500)
def stored(job: str, text: str) -> Body:
    """The body of a job of another program, by the JSON Schema of its arguments."""
    schema = json.loads(text)
    return Stored(schema).named(job) if schema else Body().named(job)
