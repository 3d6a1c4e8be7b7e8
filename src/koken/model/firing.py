"""What a schedule does about the due times that have come: which ticks, with which verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from koken.model.schedule import Catchup, Schedule

ON_TIME = timedelta(seconds=10)
"""A due time that is fired at most this late was not missed."""
MOST_TICKS = 100
"""Ticks of one schedule in one sweep."""
MOST_COUNTED = 10_000
"""Missed due times are counted up to here."""

START = "start"
MISSED = "missed"
SKIPPED = "skipped"
PLACE = re.compile(r"\{(logical_time|workspace)(?::([^{}]+))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """One tick to be: for ``due_at``, or for ``count`` due times up to ``until_at``."""

    due_at: datetime
    until_at: datetime
    count: int = 1
    verdict: str
    reason: str | None = None
    since_at: datetime | None = None
    """The start of the window that a coalesced run stands for."""
    delay: float = 0.0
    """Seconds from now until its run may start: the jitter."""
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Firings:
    """What a sweep does with a schedule: its ticks, and how far it has then come."""

    ticks: tuple[Firing, ...]
    cursor_at: datetime
    next_at: datetime | None


def firings(
    schedule: Schedule, *, cursor_at: datetime, now: datetime, job: str, workspace: str
) -> Firings:
    """The ticks for all due times after ``cursor_at`` up to ``now``.

    What is at most ``ON_TIME`` late fires by itself; what is older was missed, and the catch-up
    rule decides. Next times are computed from the last due time, never from now.
    """
    fresh_from = max(cursor_at, now - ON_TIME)
    ticks = list(missing(schedule, cursor_at, now))
    cursor = now
    rule = schedule.catchup
    if rule is Catchup.ALL:
        old, cursor = every_missed(schedule, cursor_at, fresh_from)
        ticks += old
        if cursor < fresh_from:
            return done(schedule, dressed_all(ticks, schedule, now, job, workspace), cursor)
        cursor = now
    on_time = due_between(schedule, fresh_from, now, MOST_TICKS)
    if len(on_time) == MOST_TICKS:
        cursor = on_time[-1]
    if rule is not Catchup.ALL:
        ticks += missed(schedule, cursor_at, fresh_from, instead=bool(on_time))
    ticks += [single(due) for due in on_time]
    return done(schedule, dressed_all(ticks, schedule, now, job, workspace), cursor)


def dressed_all(
    ticks: list[Firing], schedule: Schedule, now: datetime, job: str, workspace: str
) -> list[Firing]:
    """All of them as they are carried out."""
    return [dressed(tick, schedule, now, job, workspace) for tick in ticks]


def due_between(schedule: Schedule, after: datetime, until: datetime, limit: int) -> list[datetime]:
    """Due times in UTC: two times of one zone would compare by the clock on the wall."""
    return [due.astimezone(UTC) for due in schedule.due_between(after, until, limit)]


def done(schedule: Schedule, ticks: list[Firing], cursor: datetime) -> Firings:
    """The ticks with what follows them."""
    return Firings(ticks=tuple(ticks), cursor_at=cursor, next_at=schedule.next_after(cursor))


def single(due: datetime) -> Firing:
    """A tick that starts a run."""
    return Firing(due_at=due, until_at=due, verdict=START)


def missed(schedule: Schedule, after: datetime, until: datetime, *, instead: bool) -> list[Firing]:
    """The ticks for due times that nobody fired in time; ``instead``: a later one fires anyway."""
    found = due_between(schedule, after, until, MOST_COUNTED)
    if not found:
        return []
    last = (schedule.latest_due(after, until) or found[-1]).astimezone(UTC)
    if schedule.catchup is Catchup.COALESCE:
        return [Firing(due_at=last, until_at=last, count=len(found), verdict=START, since_at=after)]
    if schedule.catchup is Catchup.NONE or instead:
        return [stretch(found, last, f"no scheduler ran (catchup {schedule.catchup})")]
    older = [due for due in found if due < last]
    ticks = [single(last)]
    if older:
        ticks.insert(0, stretch(older, older[-1], "no scheduler ran; the latest is made up for"))
    return ticks


def stretch(found: list[datetime], last: datetime, reason: str) -> Firing:
    """One row for many due times."""
    return Firing(due_at=found[0], until_at=last, count=len(found), verdict=MISSED, reason=reason)


def every_missed(
    schedule: Schedule, after: datetime, until: datetime
) -> tuple[list[Firing], datetime]:
    """Each missed due time as a tick, the newest ``catchup_limit`` of them, a page at a time."""
    found = due_between(schedule, after, until, MOST_COUNTED)
    ticks: list[Firing] = []
    over = len(found) - schedule.catchup_limit
    if over > 0:
        reason = f"more than catchup_limit={schedule.catchup_limit} were missed"
        ticks.append(stretch(found[:over], found[over - 1], reason))
        found = found[over:]
    page = found[:MOST_TICKS]
    ticks += [single(due) for due in page]
    return ticks, page[-1] if len(page) < len(found) else until


def missing(schedule: Schedule, after: datetime, until: datetime) -> list[Firing]:
    """Ticks for wall-clock times that the clock jumped over."""
    zone = ZoneInfo(schedule.zone)
    return [
        Firing(
            due_at=at,
            until_at=at,
            verdict=SKIPPED,
            reason=f"{wall:%Y-%m-%d %H:%M} did not exist in {schedule.zone}: clocks went forward",
        )
        for wall in schedule.missing_between(after, until)
        for at in (wall.replace(tzinfo=zone).astimezone(UTC),)
    ]


def dressed(tick: Firing, schedule: Schedule, now: datetime, job: str, workspace: str) -> Firing:
    """A tick that starts a run, with its arguments filled in and its jitter."""
    if tick.verdict != START:
        return tick
    begin = tick.due_at + schedule.jitter_offset(tick.due_at, key=job)
    return Firing(
        due_at=tick.due_at,
        until_at=tick.until_at,
        count=tick.count,
        verdict=tick.verdict,
        since_at=tick.since_at,
        delay=max((begin - now).total_seconds(), 0.0) if schedule.jitter else 0.0,
        args=filled(schedule.args, tick.due_at.astimezone(ZoneInfo(schedule.zone)), workspace),
    )


def filled(args: Any, logical_time: datetime, workspace: str) -> Any:
    """Arguments with ``{logical_time:%Y-%m-%d}`` and ``{workspace}`` replaced, however deep."""
    if isinstance(args, Mapping):
        return {key: filled(item, logical_time, workspace) for key, item in args.items()}
    if isinstance(args, list | tuple):
        return [filled(item, logical_time, workspace) for item in args]
    if not isinstance(args, str):
        return args

    def place(match: re.Match[str]) -> str:
        if match[1] == "workspace":
            return workspace
        return logical_time.strftime(match[2]) if match[2] else logical_time.isoformat()

    return PLACE.sub(place, args)
