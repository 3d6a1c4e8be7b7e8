"""What a schedule does about the due times that have come: which ticks, with which verdict."""

from __future__ import annotations

import re
import sys
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
"""Due times of a stretch are counted up to here; one more stands for more."""
INSTANT = timedelta(microseconds=1)

START = "start"
MISSED = "missed"
SKIPPED = "skipped"
PLACE = re.compile(r"(\{\{|\}\})|\{(logical_time|workspace)(?::([^{}]+))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """One tick to be: for ``due_at``, or for ``count`` due times up to ``until_at``."""

    due_at: datetime
    until_at: datetime
    count: int = 1
    """Up to ``MOST_COUNTED``; one more stands for more."""
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
    last = latest(schedule, after, until)
    if last is None:
        return []
    if schedule.catchup is Catchup.COALESCE:
        count = counted(schedule, after, until)
        return [Firing(due_at=last, until_at=last, count=count, verdict=START, since_at=after)]
    if schedule.catchup is Catchup.NONE or instead:
        reason = f"no scheduler ran (catchup {schedule.catchup})"
        return stretch(schedule, after, until, MISSED, reason)
    reason = "no scheduler ran; the latest is made up for"
    return [*stretch(schedule, after, last - INSTANT, MISSED, reason), single(last)]


def stretch(
    schedule: Schedule, after: datetime, until: datetime, verdict: str, reason: str
) -> list[Firing]:
    """One tick for all due times of a stretch; none where nothing was due."""
    last = latest(schedule, after, until)
    if last is None:
        return []
    (first,) = due_between(schedule, after, until, 1)
    count = counted(schedule, after, until)
    if count > MOST_COUNTED:
        reason = f"at least {MOST_COUNTED:,} due times: {reason}"
    return [Firing(due_at=first, until_at=last, count=count, verdict=verdict, reason=reason)]


def counted(schedule: Schedule, after: datetime, until: datetime) -> int:
    """How many due times a stretch has; above ``MOST_COUNTED`` one more, however many."""
    return len(due_between(schedule, after, until, MOST_COUNTED + 1))


def latest(schedule: Schedule, after: datetime, until: datetime) -> datetime | None:
    """The last due time of a stretch, in UTC."""
    last = schedule.latest_due(after, until)
    return last and last.astimezone(UTC)


def every_missed(
    schedule: Schedule, after: datetime, until: datetime
) -> tuple[list[Firing], datetime]:
    """Each missed due time as a tick, the newest ``catchup_limit`` of them, a page at a time."""
    found = newest(schedule, after, until, schedule.catchup_limit)
    if not found:
        return [], until
    reason = f"more than catchup_limit={schedule.catchup_limit} were missed"
    page = found[:MOST_TICKS]
    ticks = stretch(schedule, after, found[0] - INSTANT, MISSED, reason)
    ticks += [single(due) for due in page]
    return ticks, page[-1] if len(page) < len(found) else until


def newest(schedule: Schedule, after: datetime, until: datetime, number: int) -> list[datetime]:
    """The last ``number`` due times of a stretch, oldest first.

    Looks back from the end, twice as far each time, so that a long stretch need not be walked.
    """
    found = due_between(schedule, after, until, number + 1)
    back = timedelta(minutes=1)
    while len(found) > number:
        start = max(after, until - back)
        within = due_between(schedule, start, until, sys.maxsize)
        if start == after or len(within) >= number:
            return within[-number:]
        back *= 2
    return found


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
        if match[1]:
            return match[1][0]
        if match[2] == "workspace":
            return workspace
        return logical_time.strftime(match[3]) if match[3] else logical_time.isoformat()

    return PLACE.sub(place, args)
