"""Where an instant stands in the picture of a timeline: long pauses in it are folded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from koken.views.timeline import WAIT, Timeline

LONG = 60.0
"""Seconds; what is shorter is never folded."""
TIMES = 5
"""So many times as long as all in which something went: a pause of that length is folded."""
FOLDED, MOST = 8.0, 40.0
"""Percents of the width for a folded pause, and for all of them at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A time in which nothing went, folded."""

    start: datetime
    end: datetime
    x: float
    width: float

    @property
    def seconds(self) -> float:
        """How long it was."""
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """From instants to percents of the width."""

    start: datetime
    each: float
    """Percents for a second that is not folded."""
    pauses: tuple[Pause, ...] = ()

    def place(self, instant: datetime) -> float:
        """Where an instant stands."""
        seconds, x = (instant - self.start).total_seconds(), 0.0
        for pause in self.pauses:
            if instant <= pause.start:
                break
            inside = min(instant, pause.end) - pause.start
            seconds -= inside.total_seconds()
            x += pause.width * inside.total_seconds() / pause.seconds
        return x + self.each * seconds


def scale(found: Timeline) -> Scale:
    """The scale of a timeline."""
    whole = max((found.end - found.start).total_seconds(), 0.001)
    long = pauses(found)
    if not long:
        return Scale(start=found.start, each=100 / whole)
    width = min(FOLDED, MOST / len(long))
    folded = sum((end - start).total_seconds() for start, end in long)
    each = (100 - width * len(long)) / max(whole - folded, 0.001)
    made: list[Pause] = []
    for start, end in long:
        x = Scale(start=found.start, each=each, pauses=tuple(made)).place(start)
        made.append(Pause(start=start, end=end, x=x, width=width))
    return Scale(start=found.start, each=each, pauses=tuple(made))


def pauses(found: Timeline) -> list[tuple[datetime, datetime]]:
    """The times between two things that went which are much longer than all that went."""
    went = sorted(
        (segment.start, segment.end or found.end)
        for bar in found.bars
        for segment in bar.segments
        if segment.mark is not WAIT
    )
    between: list[tuple[datetime, datetime]] = []
    busy, until = 0.0, went[0][0] if went else found.start
    for start, end in went:
        if start > until:
            between.append((until, start))
        busy += max((end - max(start, until)).total_seconds(), 0.0)
        until = max(until, end)
    least = max(LONG, TIMES * busy)
    return [(start, end) for start, end in between if (end - start).total_seconds() >= least]
