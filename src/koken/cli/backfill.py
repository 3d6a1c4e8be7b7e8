"""``koken backfill``: runs for due times of the past that have had none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.cli import output
from koken.cli.common import Common
from koken.cli.mend import DryRun, Reason
from koken.cli.place import with_client
from koken.client.awaiting import AsyncClient
from koken.errors import InvalidArguments
from koken.model.backfill import Backfilled, BackfillPlan
from koken.model.instants import with_offset
from koken.views import backfills


def backfill(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB")],
    since: Annotated[
        str, typer.Option("--from", metavar="INSTANT", help="Due times from it on.")
    ] = "",
    until: Annotated[
        str, typer.Option("--to", metavar="INSTANT", help="And before it; default: now.")
    ] = "",
    schedule: Annotated[
        str, typer.Option(metavar="NAME", help="Which schedule, where the job has several.")
    ] = "",
    at_once: Annotated[
        int, typer.Option(metavar="N", help="So many go together; where overlap is allowed.")
    ] = 1,
    dry_run: DryRun = False,
    reason: Reason = "",
) -> None:
    """Start a run for each due time of the past that has had none."""
    common: Common = ctx.obj
    if not since:
        raise InvalidArguments("say from when on: --from 2026-03-01T00:00:00+00:00")
    begin = with_offset(since, "--from")
    end = with_offset(until, "--to") if until else datetime.now(UTC)

    async def work(client: AsyncClient) -> BackfillPlan | Backfilled:
        if dry_run:
            return await client.backfill_plan(
                job, since=begin, until=end, schedule=schedule, at_once=at_once
            )
        return await client.backfill(
            job, since=begin, until=end, schedule=schedule, at_once=at_once, reason=reason
        )

    done = with_client(common, work)
    if common.json:
        output.as_json(done.to_json())
    elif isinstance(done, Backfilled):
        output.say(backfills.told(done))
        show(done.plan)
    else:
        output.say(backfills.sentence(done))
        show(done)


def show(plan: BackfillPlan) -> None:
    """What is left as it is, and what to know."""
    for line in (*backfills.left(plan), *plan.notes):
        output.say(f"  {line}")


COMMANDS = {"backfill": backfill}
