"""The timeline of a run as rows of a table, each with its picture and the same in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from koken.model.duration import in_words
from koken.views import words
from koken.views.timeline import WAIT, Bar, Segment, Timeline

TICKS = 5
SHORT = 5.0
"""Seconds; below that the axis tells how much later than its beginning."""
ROUND = tuple(unit * count for unit in (0.001, 0.01, 0.1, 1.0) for count in (1, 2, 5))
"""Seconds that may lie there between two marks."""
LAST = 90.0
"""Percent; behind that there is room for no other mark than ``now``."""
NARROWEST = 0.35
"""Percent; so that what was short is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A segment as it is drawn; places are percents of the width."""

    x: float
    width: float
    look: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row as it is drawn."""

    bar: Bar
    blocks: Sequence[Block]
    told: str
    """The same in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A time of day on the axis."""

    x: float
    text: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A whole timeline as it is drawn."""

    lines: Sequence[Line]
    ticks: Sequence[Tick]
    left_out: int
    live: bool


def chart(found: Timeline, now: datetime, zone: tzinfo) -> Chart:
    """The rows and the axis; times of day are told in ``zone``."""
    whole = max((found.end - found.start).total_seconds(), 0.001)

    def place(instant: datetime) -> float:
        return 100 * (instant - found.start).total_seconds() / whole

    lines = []
    for bar in found.bars:
        blocks = []
        for each in bar.segments:
            x = place(each.start)
            width = max(place(each.end or found.end) - x, NARROWEST)
            x = min(x, 100 - NARROWEST)
            look = each.mark.look
            blocks.append(Block(x=x, width=width, look=look, told=said(each, now, zone)))
        told = "; ".join(block.told for block in blocks)
        lines.append(Line(bar=bar, blocks=blocks, told=told))
    return Chart(
        lines=lines, ticks=ticks(found, whole, zone), left_out=found.left_out, live=found.live
    )


def said(segment: Segment, now: datetime, zone: tzinfo) -> str:
    """``attempt 1 failed at 02:00:09, after 9 s: OSError: …``."""
    length = words.length_of(segment.start, segment.end or now)
    if segment.mark is WAIT:
        return f"waited {length}" if segment.end else f"has been waiting for {length}"
    what = f"attempt {segment.attempt} " if segment.attempt else ""
    at = f"{segment.start.astimezone(zone):%H:%M:%S}"
    if segment.end is None:
        return f"{what}{segment.mark.word} since {at}, for {length}"
    end = f"{segment.end.astimezone(zone):%H:%M:%S}"
    error = f": {words.plain(segment.error)}" if segment.error else ""
    return f"{what}{segment.mark.word}, {at} to {end}, {length}{error}"


def lengths(found: Timeline, whole: float, zone: tzinfo) -> list[Tick]:
    """When it began, and round lengths after that, told as the lengths of steps are."""
    step = next((each for each in ROUND if whole / each < TICKS), SHORT)
    marks = [Tick(x=0, text=f"{found.start.astimezone(zone):%H:%M:%S}", anchor="start")]
    for no in range(1, TICKS):
        x = 100 * no * step / whole
        if x <= LAST:
            marks.append(Tick(x=x, text=f"+{in_words(no * step)}", anchor="middle"))
    return [*marks, Tick(x=100, text="now", anchor="end")] if found.live else marks


def ticks(found: Timeline, whole: float, zone: tzinfo) -> list[Tick]:
    """Times of day from the first to the last; of what is short how long after the first."""
    if whole < SHORT:
        return lengths(found, whole, zone)
    days = found.start.astimezone(zone).date() != found.end.astimezone(zone).date()
    shape = "%m-%d %H:%M" if days else "%H:%M:%S" if whole < 3600 else "%H:%M"
    marks = []
    for no in range(TICKS):
        at = found.start + timedelta(seconds=whole * no / (TICKS - 1))
        anchor = "start" if no == 0 else "end" if no == TICKS - 1 else "middle"
        text = f"{at.astimezone(zone):{shape}}"
        marks.append(Tick(x=100 * no / (TICKS - 1), text=text, anchor=anchor))
    return marks
