"""Growth: the drain beside a table full of finished jobs against the drain of an empty one.

The backlog comes suddenly, as in life: the planner's statistics know of finished jobs only.
"""

from __future__ import annotations

from bench.lab import Lab
from bench.measures.drain import drain
from bench.plan import Figure, Measure, Sample, Target, own
from bench.systems.base import System


async def take(lab: Lab, system: System) -> Sample:
    """Both drains, one right after the other; which is first changes with the round."""
    empty, full = await lab.base(system), await lab.base(system, "full")
    known = await full.finished()
    if known < lab.sizes.history:
        await full.remember(lab.sizes.history - known)
    await empty.empty()
    found = {}
    for base in (empty, full) if lab.round % 2 else (full, empty):
        found[base.name] = await drain(lab, base, 1, sudden=True)
    return {
        "ratio": found[full.name]["rate"] / found[empty.name]["rate"],
        "empty": found[empty.name]["rate"],
        "full": found[full.name]["rate"],
        "server_empty": found[empty.name]["server_cpu"],
        "server_full": found[full.name]["server_cpu"],
    }


GROWTH = Measure(
    name="growth",
    title="Growth: drain beside finished jobs (1,000,000 at full size)",
    take=take,
    figures=(
        Figure("ratio", "full ÷ empty", 2),
        Figure("empty", "jobs/s empty"),
        Figure("full", "jobs/s full"),
        Figure("server_empty", "server CPU ms/job empty", 3),
        Figure("server_full", "server CPU ms/job full", 3),
    ),
    targets=(Target("full at least 0.95 of empty", own("ratio"), 0.95),),
    measures=lambda system: system.history is not None,
)
