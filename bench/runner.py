"""Takes measurements in rounds: every system once a round, in an order that is turned each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.lab import Lab
from bench.plan import Measure, Sample
from bench.systems.base import System

Tell = Callable[[str], None]
"""Shows a line of progress."""


def turned(systems: Sequence[System], number: int) -> list[System]:
    """The systems, begun at another one each round."""
    at = number % len(systems)
    return [*systems[at:], *systems[:at]]


async def measure(
    lab: Lab, what: Measure, systems: Sequence[System], rounds: int, tell: Tell
) -> dict[str, list[Sample]]:
    """The rounds of one measurement; a system that fails is told of and left out from then on."""
    going = [system for system in systems if what.measures(system)]
    samples: dict[str, list[Sample]] = {system.name: [] for system in going}
    count = min(rounds, what.rounds)
    for number in range(count):
        lab.round = number
        for system in turned(going, number) if going else ():
            tell(f"{what.name} {number + 1}/{count}: {system.name}")
            try:
                samples[system.name].append(await what.take(lab, system))
            except Exception as error:
                tell(f"{what.name}: {system.name} failed: {type(error).__name__}: {error}\n")
                going = [each for each in going if each is not system]
    return samples
