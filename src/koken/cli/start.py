"""``koken run``: start a job."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from koken.cli import output, telling
from koken.cli.common import Common
from koken.cli.follow import Timeout, length, say_end, until_ended
from koken.cli.place import with_client
from koken.client.awaiting import AsyncClient
from koken.define.job import Job
from koken.errors import InvalidArguments, NotFound
from koken.model.instants import with_offset
from koken.model.run import Run
from koken.views import clocks, runwords


def run(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB")],
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Arguments; a value is JSON or plain text."),
    ] = None,
    args: Annotated[
        str, typer.Option(metavar="JSON", help="All arguments as one JSON object.")
    ] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the end; exit 1 unless it succeeds.")
    ] = False,
    timeout: Timeout = "",
    at: Annotated[str, typer.Option(metavar="INSTANT", help="Not before this instant.")] = "",
    delay: Annotated[
        str, typer.Option(metavar="DURATION", help="Not before so long from now.")
    ] = "",
    key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Idempotency key: a second start gives the first's run."),
    ] = None,
    priority: Annotated[int | None, typer.Option(metavar="N", help="Smaller goes first.")] = None,
    overlap: Annotated[
        str, typer.Option(metavar="RULE", help="Overlap rule for this start: refuse, queue_one, …")
    ] = "",
    queue: Annotated[str, typer.Option(metavar="QUEUE", help="Another queue than the job's.")] = "",
) -> int:
    """Start a job."""
    common: Common = ctx.obj
    options = {
        "run_at": with_offset(at, "--at") if at else None,
        "delay": delay or None,
        "idempotency_key": key,
        "priority": priority,
        "overlap": overlap or None,
        "queue": queue or None,
    }
    given = arguments(pairs or [], args)
    if timeout and not wait:
        raise InvalidArguments("--timeout belongs to --wait: how long to wait for the end")
    limit = length(timeout, "--timeout") if timeout else None

    async def work(client: AsyncClient) -> Run[Any]:
        started = await begin(client, job, given, options)
        return await until_ended(client, started, limit) if wait else started

    done = with_client(common, work)
    if wait:
        return say_end(common, done)
    tell(common, done)
    return 0


@dataclass(frozen=True, slots=True)
class Given:
    """Arguments as they were written: texts by name, or an object of JSON."""

    texts: Mapping[str, str]
    plain: Mapping[str, Any] | None = None

    def bound(self, job: Job[..., Any]) -> dict[str, Any]:
        """As the job takes them. Raises ``InvalidArguments``."""
        if self.plain is not None:
            return job.body.bind_plain(self.plain)
        return job.body.bind_text(self.texts)


def arguments(pairs: Sequence[str], text: str) -> Given:
    """The arguments of a start. Raises ``InvalidArguments``."""
    if text and pairs:
        raise InvalidArguments("give arguments as name=value or by --args, not both")
    return Given({}, json_object(text)) if text else Given(named(pairs))


def json_object(text: str) -> dict[str, Any]:
    """An object from JSON text. Raises ``InvalidArguments``."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"--args is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidArguments('--args is no JSON object; write it as {"day": "2026-11-30"}')
    return found


def named(pairs: Sequence[str]) -> dict[str, str]:
    """Texts by name. Raises ``InvalidArguments`` for what is no pair."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidArguments(f"{pair!r} is no argument; write it as name=value")
        if name in found:
            raise InvalidArguments(f"argument {name!r} is given twice")
        found[name] = value
    return found


async def begin(
    client: AsyncClient, name: str, given: Given, options: Mapping[str, Any]
) -> Run[Any]:
    """Start a job of the app, or one that another program declares."""
    registry = client.link.registry
    job: Job[..., Any] = registry.get(name) if name in registry else Job(name)
    try:
        return await client.start_bound(job.using(**options), given.bound(job))
    except NotFound:
        if len(registry) and name not in registry:
            raise NotFound(registry.unknown(name)) from None
        raise


def tell(common: Common, started: Run[Any]) -> None:
    """Say that it is started, and how to follow it."""
    if common.json:
        output.as_json(started.to_json())
        return
    if started.state.ended:
        output.say(output.titled(started), (telling.ending(started), output.style_of(started)))
        return
    due = (
        clocks.due(started.wait.until, started.created_at)
        if started.wait and started.wait.until
        else ""
    )
    told = f"{runwords.word(started)}, due {due}" if due else runwords.word(started)
    output.say(output.titled(started), f"{told}. Follow it: koken watch {started.id}")


COMMANDS = {"run": run}
