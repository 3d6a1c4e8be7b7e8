"""``koken schedules`` and ``koken ticks``: when jobs run, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from koken.cli import output
from koken.cli.common import Common
from koken.cli.lists import Limit, checked_limit
from koken.cli.output import Column
from koken.cli.place import with_client
from koken.client.awaiting import AsyncClient
from koken.model.firing import MOST_COUNTED
from koken.model.instants import with_offset
from koken.model.plain import stamp
from koken.model.states import State
from koken.views import catalog, clocks, moments, words
from koken.views.catalog import ScheduleRow
from koken.views.ticks import TickRow, of_job
from koken.views.ticks import ticks as every

VERDICTS = {
    "started": ("✓", "green"),
    "skipped": ("–", "bright_black"),
    "missed": ("◌", "yellow"),
    "failed": (State.FAILED.glyph, "bold red"),
}


def schedules(ctx: typer.Context) -> None:
    """List when jobs run, and what came of the last time."""
    common: Common = ctx.obj
    found = with_client(
        common, lambda client: catalog.schedules(client.link.views, workspace=client.workspace)
    )
    if common.json:
        output.items(found)
    elif not found:
        output.say("No schedules. Declare one: @app.job(schedule='every day at 2am').")
    else:
        show_schedules(found, datetime.now(UTC))


def show_schedules(found: Sequence[ScheduleRow], now: datetime) -> None:
    """The table of schedules, and what keeps any of them."""
    paused = sum(row.paused_at is not None for row in found)
    told = f", {paused} paused" if paused else ""
    output.say(f"{words.counted(len(found), 'schedule')}{told}.")
    columns = (
        Column("JOB", gives=True),
        Column("NEXT"),
        Column("WHEN", wraps=True),
        Column("OVERLAP", gives=True),
        Column("LAST TICK"),
    )
    output.table(columns, [schedule_cells(row, now) for row in found])
    for told in dict.fromkeys(stops(row, now) for row in found if row.paused_at is not None):
        output.say(told)
    for row in found:
        if row.problem:
            output.say((f"{row.job} cannot fire: {words.plain(row.problem)}", "bold red"))


def stops(row: ScheduleRow, now: datetime) -> str:
    """Who has paused a schedule, when and why."""
    reason = f": {words.plain(row.pause_reason)}" if row.pause_reason else ""
    return f"{row.job} was paused {clocks.ago(row.paused_at, now)} by {row.paused_by}{reason}."


def schedule_cells(row: ScheduleRow, now: datetime) -> tuple[Text | str, ...]:
    """One schedule."""
    following = "paused" if row.paused_at is not None else clocks.ago(row.next_at, now)
    last: Text | str = "–"
    if row.last_verdict is not None:
        last = verdict(row.last_verdict, f" {clocks.ago(row.last_due_at, now)}")
    return (row.job, following, row.words, row.overlap, last)


def verdict(name: str, more: str = "") -> Text:
    """What came of a tick, in its colour."""
    glyph, style = VERDICTS.get(name, ("·", ""))
    return Text(f"{glyph} {name}{more}", style)


def ticks(
    ctx: typer.Context,
    job: Annotated[
        str, typer.Argument(metavar="[JOB]", help="Of this job only; default: of all.")
    ] = "",
    schedule: Annotated[
        str, typer.Option(metavar="NAME", help="Of the schedules of this name only.")
    ] = "",
    verdict: Annotated[
        str, typer.Option(metavar="VERDICT", help=f"{', '.join(VERDICTS)}; several with commas.")
    ] = "",
    since: Annotated[
        str, typer.Option(metavar="WHEN", help="From it on: 2h ago, or an instant.")
    ] = "",
    limit: Limit = 20,
    before: Annotated[
        str, typer.Option(metavar="INSTANT", help="Only due times before it: the next page.")
    ] = "",
) -> None:
    """List the due times of schedules, each with its verdict."""
    common: Common = ctx.obj
    most = checked_limit(limit)
    now = datetime.now(UTC)
    narrowed: dict[str, Any] = {
        "name": schedule or None,
        "verdicts": [each for each in verdict.split(",") if each],
        "since": moments.before(moments.moment("--since", since), now) if since else None,
        "before": with_offset(before, "--before") if before else None,
    }
    found = with_client(common, lambda client: past(client, job, limit=most, **narrowed))
    following = stamp(found[-1].due_at) if len(found) >= most else None
    if common.json:
        output.items(found, following)
    elif found:
        show_ticks(job, found)
        output.say_more(following)
    elif any(narrowed.values()):
        output.say("No tick matches.")
    else:
        whose = f"{job} has no tick yet" if job else "No ticks yet"
        output.say(f"{whose}. `koken schedules` shows when {'it is' if job else 'jobs are'} due.")


async def past(client: AsyncClient, job: str, **narrowed: Any) -> list[TickRow]:
    """The due times of a job, or of all. Raises ``NotFound`` for a job that there is not."""
    if job:
        return await of_job(client.link.views, job, workspace=client.workspace, **narrowed)
    return await every(client.link.views, workspace=client.workspace, **narrowed)


def show_ticks(job: str, found: Sequence[TickRow]) -> None:
    """The table of ticks; due times in UTC, as a sequence that no clock change disturbs."""
    counts = Counter(row.verdict for row in found)
    told = ", ".join(f"{number} {name}" for name, number in counts.most_common())
    whose = f"{job}: " if job else ""
    output.say(f"{whose}{words.counted(len(found), 'tick')}, newest first: {told}.")
    several = len({(row.job, row.schedule) for row in found}) > 1
    columns = [Column("DUE (UTC)"), Column("VERDICT"), Column("RUN"), Column("REASON", wraps=True)]
    if several:
        columns.insert(1, Column("SCHEDULE", gives=True))
    if not job:
        columns.insert(1, Column("JOB", gives=True))
    output.table(columns, [tick_cells(row, several, whose=not job) for row in found])


def tick_cells(row: TickRow, several: bool, *, whose: bool = False) -> list[Text | str]:
    """One tick; of which job, and of which schedule where there are several."""
    return [
        f"{row.due_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        *([row.job] if whose else []),
        *([row.schedule] if several else []),
        verdict(row.verdict, f" ×{times(row.count)}" if row.count > 1 else ""),
        f"{row.run_id} {row.run_state or 'gone'}" if row.run_id else "–",
        row.reason or (f"run {row.blocker_id} goes" if row.blocker_id else "–"),
    ]


def times(count: int) -> str:
    """How many due times a tick stands for."""
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"


COMMANDS = {"schedules": schedules, "ticks": ticks}
