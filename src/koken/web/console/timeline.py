"""The timeline of a run as rows of a table, each with its picture and the same in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from koken.model.duration import in_words
from koken.views import clocks, words
from koken.views.timeline import WAIT, Bar, Segment, Timeline
from koken.web.console.timescale import Pause, Scale, scale

TICKS = 5
SHORT = 5.0
"""Seconds; below that the axis tells how much later than its beginning."""
ROUND = tuple(unit * count for unit in (0.001, 0.01, 0.1, 1.0) for count in (1, 2, 5))
"""Seconds that may lie there between two marks."""
DAY = 86400
STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(60 * minutes for minutes in (1, 2, 5, 10, 15, 30)),
    *(3600 * hours for hours in (1, 2, 3, 6, 12, 24)),
)
"""Seconds that may lie between two marks that are times of day."""
EDGE = 4.0
"""Percent; a mark that near to an end stands inside it."""
LAST = 90.0
"""Percent; behind that there is room for no other mark than ``now``."""
LATE, APART = 75.0, 8.0
"""Percents; behind the one a mark stands before its pause, and marks stand so far apart."""
NARROWEST = 0.35
"""Percent; so that what was short is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A segment as it is drawn; places are percents of the width."""

    x: float
    width: float
    look: str
    told: str
    retried: str = ""
    """Who has let it go again at its beginning."""


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
    pauses: Sequence[Pause] = ()


def chart(found: Timeline, now: datetime, zone: tzinfo) -> Chart:
    """The rows and the axis; times of day are told in ``zone``."""
    whole = max((found.end - found.start).total_seconds(), 0.001)
    axis = scale(found)
    place = axis.place
    lines = []
    for bar in found.bars:
        blocks = []
        for each in bar.segments:
            x = place(each.start)
            width = max(place(each.end or found.end) - x, NARROWEST)
            x = min(x, 100 - NARROWEST)
            look = each.mark.look
            told = said(each, now, zone)
            blocks.append(Block(x=x, width=width, look=look, told=told, retried=each.retried))
        told = "; ".join(block.told for block in blocks)
        lines.append(Line(bar=bar, blocks=blocks, told=told))
    marks = folded(found, axis, zone) if axis.pauses else ticks(found, whole, zone)
    return Chart(
        lines=lines, ticks=marks, left_out=found.left_out, live=found.live, pauses=axis.pauses
    )


def said(segment: Segment, now: datetime, zone: tzinfo) -> str:
    """``attempt 1 failed at 02:00:09, after 9 s: OSError: …``."""
    length = clocks.length_of(segment.start, segment.end or now)
    if segment.mark is WAIT:
        return f"waited {length}" if segment.end else f"has been waiting for {length}"
    retried = f", {segment.retried}, " if segment.retried else " "
    what = f"attempt {segment.attempt}{retried}" if segment.attempt else ""
    at = f"{segment.start.astimezone(zone):%H:%M:%S}"
    if segment.end is None:
        return f"{what}{segment.mark.word} since {at}, for {length}"
    end = f"{segment.end.astimezone(zone):%H:%M:%S}"
    error = f": {words.plain(segment.error)}" if segment.error else ""
    return f"{what}{segment.mark.word}, {at} to {end}, {length}{error}"


def folded(found: Timeline, axis: Scale, zone: tzinfo) -> list[Tick]:
    """When it began, and after each pause that is folded how much later it went on."""
    marks = [Tick(x=0, text=f"{found.start.astimezone(zone):%H:%M:%S}", anchor="start")]
    for pause in axis.pauses:
        x, anchor = pause.x + pause.width, "start"
        if x > LATE:
            x, anchor = pause.x, "end"
        if x - marks[-1].x >= APART:
            marks.append(Tick(x=x, text=f"{in_words(round(pause.seconds))} later", anchor=anchor))
    return [*marks, Tick(x=100, text="now", anchor="end")] if found.live else marks


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
    """Round times of day; of what is short how long after the first."""
    if whole < SHORT:
        return lengths(found, whole, zone)
    step = next((each for each in STEPS if whole / each < TICKS), 0) or days(whole)
    first, last = found.start.astimezone(zone), found.end.astimezone(zone)
    shape = "%H:%M:%S" if step < 60 else "%H:%M"
    if first.date() != last.date():
        shape = f"%-d %b{f' {shape}' if step < DAY else ''}"
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    into = (first.replace(tzinfo=None) - midnight).total_seconds()
    marks = []
    for no in range(math.ceil(into / step), math.ceil(into / step) + TICKS):
        at = (midnight + timedelta(seconds=no * step)).replace(tzinfo=zone)
        x = 100 * (at - found.start).total_seconds() / whole
        if 0 <= x <= 100:
            anchor = "start" if x < EDGE else "end" if x > 100 - EDGE else "middle"
            marks.append(Tick(x=x, text=f"{at:{shape}}", anchor=anchor))
    return marks


def days(whole: float) -> int:
    """As many whole days as there may be between two marks, in seconds."""
    return DAY * math.ceil(whole / DAY / TICKS + 0.01)
