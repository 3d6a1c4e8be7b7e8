"""All measurements, in the order in which they are taken."""

from __future__ import annotations

from bench.measures import (
    bulk,
    chains,
    doors,
    drain,
    graphs,
    growth,
    idle,
    neighbour,
    pages,
    pickup,
    schedules,
)
from bench.plan import Measure

EVERY: tuple[Measure, ...] = (
    drain.ONE,
    drain.TWO,
    bulk.BULK,
    bulk.SINGLE,
    pickup.PICKUP,
    pickup.RESTED,
    chains.MANY,
    chains.ALONE,
    graphs.WIDE,
    graphs.LAYERED,
    graphs.DEEP,
    graphs.SCALE,
    graphs.FAN_OUT,
    growth.GROWTH,
    idle.IDLE,
    schedules.SCHEDULES,
    neighbour.NEIGHBOUR,
    doors.HTTP,
    doors.LIVE,
    pages.PAGES,
)


def chosen(names: tuple[str, ...]) -> list[Measure]:
    """Those with these names; all of them where none is given."""
    return [measure for measure in EVERY if not names or measure.name in names]
