"""How much is measured, at each size."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured."""

    jobs: int
    """Jobs in a backlog that is drained."""
    bulk: int
    """Rows of a bulk start, in batches of 1,000."""
    singles: int
    """Starts one by one."""
    pickups: int
    """Starts whose way to the function is timed."""
    chains: int
    """Chains of ten steps at once."""
    waves: int
    """How often, one after another."""
    alone: int
    """Chains of ten steps, one after another."""
    steps: int
    """Steps of one graph, a square number."""
    items: int
    """Items of one step."""
    history: int
    """Finished jobs in the full table."""
    idle: float
    """Seconds that an idle worker is watched."""
    schedules: int
    due: int
    """Of them, those that fall due in one second."""
    neighbour: float
    """Seconds under load beside an open transaction."""
    load: int
    """Jobs started in each of these seconds."""
    requests: int
    """Requests of each kind over HTTP."""


SIZES = {
    "small": Sizes(
        jobs=3_000,
        bulk=5_000,
        singles=100,
        pickups=40,
        chains=50,
        waves=2,
        alone=10,
        steps=900,
        items=5_000,
        history=50_000,
        idle=11,
        schedules=5_000,
        due=200,
        neighbour=15,
        load=1_000,
        requests=300,
    ),
    "full": Sizes(
        jobs=20_000,
        bulk=40_000,
        singles=400,
        pickups=150,
        chains=200,
        waves=5,
        alone=60,
        steps=10_000,
        items=100_000,
        history=1_000_000,
        idle=15,
        schedules=100_000,
        due=1_000,
        neighbour=36,
        load=3_000,
        requests=6_000,
    ),
}
