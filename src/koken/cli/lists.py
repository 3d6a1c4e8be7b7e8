"""``koken jobs`` and ``koken runs``: a sentence, then a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from koken.cli import output
from koken.cli.common import Common
from koken.cli.output import Column
from koken.cli.place import with_client
from koken.errors import InvalidArguments
from koken.model.run import Run
from koken.model.states import State
from koken.views import catalog, clocks, marks, runwords, words
from koken.views.catalog import JobRow
from koken.views.query import is_id
from koken.views.runs import MOST

Limit = Annotated[int, typer.Option(metavar="N", help="At most so many, the newest.")]


def checked_limit(limit: int) -> int:
    """A length of a list."""
    if not 1 <= limit <= MOST:
        raise InvalidArguments(f"--limit is {limit}; it is between 1 and {MOST:,}")
    return limit


def jobs(
    ctx: typer.Context,
    retired: Annotated[
        bool, typer.Option("--retired", help="Those too that no program declares any more.")
    ] = False,
) -> None:
    """List the jobs, with their last run and their next time."""
    common: Common = ctx.obj
    found = with_client(
        common,
        lambda client: catalog.jobs(client.link.views, workspace=client.workspace, retired=retired),
    )
    if common.json:
        output.items(found)
    elif not found:
        output.say("No jobs yet. `koken worker` or `koken dev` makes those of an app known.")
    else:
        show_jobs(found, datetime.now(UTC))


def show_jobs(found: Sequence[JobRow], now: datetime) -> None:
    """The table of jobs."""
    failed = [job.name for job in found if job.last_state == State.FAILED]
    told = f"; the last run failed of {', '.join(failed)}" if failed else ""
    output.say(f"{words.counted(len(found), 'job')}{told}.")
    columns = (
        Column("JOB", gives=True),
        Column("LAST RUN"),
        Column("NEXT"),
        Column("SCHEDULE", gives=True),
        Column("QUEUE", gives=True),
    )
    output.table(
        columns,
        [
            (
                job.name,
                last_run(job, now),
                next_time(job, now),
                "; ".join(job.schedules) or "–",
                job.queue,
            )
            for job in found
        ],
    )


def next_time(job: JobRow, now: datetime) -> str:
    """When a job is due, or why it is not."""
    if job.retired_at is not None:
        return f"retired {clocks.ago(job.retired_at, now)}"
    if job.next_at is None and job.paused:
        return "paused"
    return clocks.ago(job.next_at, now)


def last_run(job: JobRow, now: datetime) -> Text | str:
    """How a job's last run stands."""
    if job.last_state is None:
        return "–"
    state = State(job.last_state)
    return Text(f"{state.glyph} {state} {clocks.ago(job.last_at, now)}", output.STYLES[state])


def runs(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUERY]", help="Such as: job:report state:failed since:2h"),
    ] = None,
    limit: Limit = 20,
    before: Annotated[
        str, typer.Option(metavar="ID", help="Only runs before this one: the next page.")
    ] = "",
) -> None:
    """List runs, the newest first."""
    common: Common = ctx.obj
    asked = " ".join(query or [])
    most = checked_limit(limit)
    if before and not is_id(before):
        raise InvalidArguments(f"--before is {before!r}, which is no run's number")
    end = int(before) if before else None
    found = with_client(
        common, lambda client: client.find(asked, limit=min(most + 1, MOST), before=end)
    )
    more = len(found) > most or len(found) == MOST
    found = found[:most]
    following = str(found[-1].id) if more else None
    if common.json:
        output.items(found, following)
    elif not found:
        narrowed = asked or before
        output.say("No run matches." if narrowed else "No runs yet. `koken run JOB` starts one.")
    else:
        show_runs(found, datetime.now(UTC))
        output.say_more(following)


def show_runs(found: Sequence[Run[Any]], now: datetime) -> None:
    """The table of runs."""
    how = marks.tally(marks.of_run(run) for run in found)
    output.say(f"{words.counted(len(found), 'run')}, newest first: {how}.")
    columns = (
        Column("STATE"),
        Column("RUN", right=True),
        Column("JOB", gives=True),
        Column("ABOUT", gives=True),
        Column("BY", gives=True),
        Column("STARTED"),
        Column("TOOK"),
        Column("TRIES"),
    )
    output.table(
        columns,
        [
            (
                output.state(run),
                str(run.id),
                run.job,
                runwords.about(run) or "–",
                runwords.trigger(run),
                clocks.ago(run.started_at, now),
                runwords.took(run, now),
                runwords.tries(run),
            )
            for run in found
        ],
    )


COMMANDS = {"jobs": jobs, "runs": runs}
