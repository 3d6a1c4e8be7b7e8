"""The agenda of all jobs' due times as a picture: where each mark lies, and the same as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from koken.views import clocks, words
from koken.views.agenda import STEP, Agenda, Due
from koken.web.console.pages import hour_of

WIDTH, EDGE = 880, 4
TOP, PILES, ROW = 18, 34, 20
HOUR = timedelta(hours=1)
LONGEST = 22
"""Characters of a job's name beside its line."""
LISTED = 6
"""Jobs named in one line of the text."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A mark: where, how, and what is told of it."""

    x: float
    width: float
    due: Due
    told: str


@dataclass(frozen=True, slots=True)
class Bar:
    """How many fall due in a quarter of an hour."""

    x: float
    y: float
    width: float
    height: float
    count: int
    told: str
    ahead: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """All of it, in the coordinates of the drawing."""

    agenda: Agenda
    height: float
    now_x: float
    hours: Sequence[tuple[float, str]]
    bars: Sequence[Bar]
    rows: Sequence[tuple[float, str, str, bool, Sequence[Spot]]]
    """Of each line: y, the job, its name as far as there is room, whether it is paused, marks."""
    text: Sequence[str]
    """What falls due in each hour to come."""


def picture(agenda: Agenda, zone: tzinfo) -> Picture:
    """The drawing for a reader in ``zone``."""
    first = TOP + PILES + 14
    rows = [
        (
            first + place * ROW,
            line.job,
            line.job if len(line.job) <= LONGEST else f"{line.job[: LONGEST - 1]}…",
            line.paused,
            [spot(agenda, due, zone) for due in line.dues],
        )
        for place, line in enumerate(agenda.lines)
    ]
    return Picture(
        agenda=agenda,
        height=first + max(len(rows), 1) * ROW,
        now_x=x_of(agenda, agenda.now),
        hours=hours(agenda, zone),
        bars=bars(agenda, zone),
        rows=rows,
        text=by_hour(agenda, zone),
    )


def x_of(agenda: Agenda, instant: datetime) -> float:
    """Where an instant lies."""
    part = (instant - agenda.begin) / (agenda.end - agenda.begin)
    return round(EDGE + part * (WIDTH - 2 * EDGE), 1)


def spot(agenda: Agenda, due: Due, zone: tzinfo) -> Spot:
    """A mark."""
    x = x_of(agenda, due.at)
    shape = clocks.clock_shape(due.at, due.until)
    at = f"{due.at.astimezone(zone):{shape}}"
    if due.until > due.at:
        at += f" to {due.until.astimezone(zone):{shape}}"
    many = f", {'about ' if due.often else ''}{due.count:,} times" if due.count > 1 else ""
    return Spot(
        x, round(x_of(agenda, due.until) - x, 1), due, f"{at} {due.job}: {due.mark.word}{many}"
    )


def hours(agenda: Agenda, zone: tzinfo) -> list[tuple[float, str]]:
    """A line every three hours of the reader's clock."""
    found = []
    at = agenda.begin.replace(minute=0)
    while at <= agenda.end:
        local = at.astimezone(zone)
        if at >= agenda.begin and local.minute == 0 and local.hour % 3 == 0:
            told = f"{local:%a}" if local.hour == 0 else f"{local:%H:%M}"
            found.append((x_of(agenda, at), told))
        at += HOUR / 4
    return found


def bars(agenda: Agenda, zone: tzinfo) -> list[Bar]:
    """The piles as bars; the highest has the whole height."""
    most = max((pile.count for pile in agenda.piles), default=0)
    width = x_of(agenda, agenda.begin + STEP) - EDGE
    found = []
    for pile in agenda.piles:
        if pile.count and pile.at < agenda.end:
            height = round(max(pile.count / most * PILES, 2), 1)
            told = f"{pile.at.astimezone(zone):%H:%M}: {pile.count:,} due"
            x, y = x_of(agenda, pile.at), TOP + PILES - height
            ahead = pile.at + STEP > agenda.now
            found.append(Bar(x, y, max(width - 1, 1), height, pile.count, told, ahead))
    return found


def by_hour(agenda: Agenda, zone: tzinfo) -> list[str]:
    """``02:00: daily-report, sync-ads (4 times)`` for each hour to come that has something."""
    found: dict[datetime, Counter[str]] = {}
    often = []
    for line in agenda.lines:
        for due in line.dues:
            if due.often:
                often.append(f"{due.job} about {due.count:,} times")
            elif due.at > agenda.now:
                hour = hour_of(due.at, zone)
                found.setdefault(hour, Counter())[due.job] += due.count
    lines = []
    for at, jobs in sorted(found.items()):
        named = [f"{job} ({count} times)" if count > 1 else job for job, count in jobs.items()]
        more = f" and {len(named) - LISTED} more" if len(named) > LISTED else ""
        lines.append(f"{at.astimezone(zone):%a %H:%M}: {', '.join(named[:LISTED])}{more}")
    if often:
        lines.append(f"all the time: {', '.join(often)}")
    return lines


def told(agenda: Agenda, zone: tzinfo) -> str:
    """Where they pile up, in a line."""
    highest = agenda.highest
    if highest is None or highest.count < 2:
        return "Nothing piles up in the next 24 hours."
    at = highest.at.astimezone(zone)
    return (
        f"The most at once: {words.counted(highest.count, 'due time')} in the quarter of an hour"
        f" from {at:%a %H:%M} on."
    )
