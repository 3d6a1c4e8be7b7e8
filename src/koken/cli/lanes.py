"""``koken queue pause resume``: how much goes at once, and what does not go for now."""

from __future__ import annotations

import re
from types import EllipsisType
from typing import Annotated

import typer

from koken.cli import output
from koken.cli.common import Common
from koken.cli.mend import Reason
from koken.cli.place import with_client
from koken.client.awaiting import AsyncClient
from koken.config import read_rate
from koken.engine import queues, schedules
from koken.errors import InvalidArguments, NotFound, Refused
from koken.views import catalog, floor, words
from koken.views.floor import QueueRow

NONE = "none"


def queue(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    limit: Annotated[
        str, typer.Option(metavar="N", help="Runs at once, over all workers; or none.")
    ] = "",
    rate: Annotated[
        str, typer.Option(metavar="RATE", help="Starts: 10/s, 600/m, 1000/h; or none.")
    ] = "",
    create: Annotated[
        bool, typer.Option("--create", help="Make the queue, where nobody has named it yet.")
    ] = False,
    reason: Reason = "",
) -> None:
    """Show a queue, or set how many of its runs go at once and how many start."""
    common: Common = ctx.obj
    new_limit, new_rate = read_limit(limit), rate_or_none(rate)

    async def work(client: AsyncClient) -> QueueRow:
        if new_limit is ... and new_rate is ...:
            return await one(client, name)
        before = await find(client, name)
        if before is None and not create:
            raise unknown(name, "; --create makes it, `koken queues` lists those there are")
        await queues.set_limits(
            client.link.db,
            name,
            limit=new_limit,
            rate=new_rate,
            burst=before.burst if before else 1,
            by=common.who,
            reason=reason or None,
        )
        return await one(client, name)

    found = with_client(common, work)
    if common.json:
        output.as_json(found.to_json())
    else:
        output.say(sentence(found))


def read_limit(text: str) -> int | EllipsisType | None:
    """A limit from the command line; ``...`` where none is given."""
    if not text:
        return ...
    if text == NONE:
        return None
    if not re.fullmatch("[0-9]{1,10}", text) or int(text) > 2**31 - 1:
        raise InvalidArguments(f"--limit is {text!r}; write a number such as 4, or none")
    return int(text)


def rate_or_none(text: str) -> float | EllipsisType | None:
    """A rate from the command line; ``...`` where none is given."""
    if not text:
        return ...
    if text == NONE:
        return None
    try:
        return read_rate(text)
    except ValueError as error:
        raise InvalidArguments(f"--{error}, or none") from None


async def find(client: AsyncClient, name: str) -> QueueRow | None:
    """The queue of that name, if there is one."""
    return next((row for row in await floor.queues(client.link.views) if row.name == name), None)


async def one(client: AsyncClient, name: str) -> QueueRow:
    """The queue of that name. Raises ``NotFound``."""
    found = await find(client, name)
    if found is None:
        raise unknown(name, "; `koken queues` lists them")
    return found


def unknown(name: str, way_on: str) -> NotFound:
    """What is said of a queue that no job and no worker has named."""
    return NotFound(f"there is no queue {name!r}{way_on}")


def sentence(row: QueueRow) -> str:
    """A queue in a line."""
    limit = "no limit" if row.max_running is None else f"at most {row.max_running} at once"
    rate = "no rate" if row.rate is None else f"{words.rate(row.rate)} at most"
    stands = f"; paused by {row.paused_by}" if row.paused_at is not None else ""
    counts = f"{words.capped(row.running)} running, {words.capped(row.ready)} ready"
    return f"{row.name}: {limit}, {rate}; {counts}, {words.counted(row.slots, 'slot')}{stands}."


OnlyJob = Annotated[
    bool, typer.Option("--job", help="The job of that name, where a queue has it too.")
]
OnlyQueue = Annotated[bool, typer.Option("--queue", help="The queue of that name.")]
Target = Annotated[str, typer.Argument(metavar="JOB|QUEUE")]


def pause(
    ctx: typer.Context,
    name: Target,
    job: OnlyJob = False,
    queue: OnlyQueue = False,
    reason: Reason = "",
) -> None:
    """Stop a job's schedules from firing, or a queue's runs from being handed out."""
    switch(ctx.obj, name, only(job, queue), reason, paused=True)


def resume(
    ctx: typer.Context,
    name: Target,
    job: OnlyJob = False,
    queue: OnlyQueue = False,
    reason: Reason = "",
) -> None:
    """Let a paused job or queue go on."""
    switch(ctx.obj, name, only(job, queue), reason, paused=False)


def only(job: bool, queue: bool) -> str:
    """Which of the two is meant, if somebody says."""
    if job and queue:
        raise InvalidArguments("give --job or --queue, not both")
    return "job" if job else "queue" if queue else ""


def switch(common: Common, name: str, kind: str, reason: str, *, paused: bool) -> None:
    """Pause or resume, and say what that came to."""

    async def work(client: AsyncClient) -> tuple[str, str]:
        meant = kind or await kind_of(client, name)
        act = switch_queue if meant == "queue" else switch_job
        return meant, await act(client, name, reason or None, paused)

    meant, told = with_client(common, work)
    if common.json:
        output.as_json({meant: name, "paused": paused})
    else:
        output.say(told)


async def kind_of(client: AsyncClient, name: str) -> str:
    """Whether a name is a job's or a queue's."""
    jobs = await catalog.jobs(client.link.views, workspace=client.workspace)
    is_job = any(job.name == name for job in jobs)
    is_queue = await find(client, name) is not None
    if is_job and is_queue:
        raise InvalidArguments(f"{name} is a job and a queue; say --job or --queue")
    if not is_job and not is_queue:
        raise NotFound(
            f"there is no job and no queue {name!r}; `koken jobs` and `koken queues` list them"
        )
    return "job" if is_job else "queue"


async def switch_queue(client: AsyncClient, name: str, reason: str | None, paused: bool) -> str:
    """Pause or resume a queue."""
    before = await one(client, name)
    await queues.pause(client.link.db, name, paused=paused, by=client.who, reason=reason)
    if not paused:
        return f"Queue {name} goes on; {words.capped(before.ready)} ready."
    if before.paused_at is not None:
        return f"Queue {name} is paused by {before.paused_by} already."
    return f"Queue {name} is paused: what runs goes on, nothing new starts."


async def switch_job(client: AsyncClient, name: str, reason: str | None, paused: bool) -> str:
    """Pause or resume the schedules of a job."""
    found = await catalog.schedules(client.link.views, workspace=client.workspace, job=name)
    if not found:
        raise Refused(f"job {name!r} has no schedule that could be paused", what=name)
    act = schedules.pause if paused else schedules.resume
    changed = await act(
        client.link.db, name, workspace=client.workspace, by=client.who, reason=reason
    )
    what = words.counted(changed, "schedule")
    if not changed:
        return f"Job {name} {'is paused already' if paused else 'is not paused'}."
    if paused:
        return f"Job {name} is paused: {what} will not fire; it can still be started by hand."
    return f"Job {name} goes on: {what} will fire again."


COMMANDS = {"queue": queue, "pause": pause, "resume": resume}
