"""What a measurement is: how it is taken, which figures it gives, and which targets it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from statistics import median

from bench.lab import Lab
from bench.systems.base import System

Sample = Mapping[str, float]
"""Figures by name, of one system in one round."""
Samples = Mapping[str, list[Sample]]
"""The rounds of each system."""

FLOOR = "raw"
OURS = "koken"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure by its name, its heading, and the digits that it is shown with."""

    name: str
    heading: str
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """What Koken is to reach: ``value`` against ``goal``."""

    text: str
    value: Callable[[Samples], float | None]
    goal: float
    most: bool = False
    """The goal is the most that it may be, not the least."""

    def met(self, value: float) -> bool:
        """Whether ``value`` reaches the goal."""
        return value <= self.goal if self.most else value >= self.goal


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measurement. The first figure is the one whose ratios are shown."""

    name: str
    title: str
    take: Callable[[Lab, System], Awaitable[Sample]]
    figures: tuple[Figure, ...]
    targets: tuple[Target, ...] = ()
    measures: Callable[[System], bool] = lambda _: True
    """Whether a system can be measured so."""
    rounds: int = 100
    """Rounds that are worth their time."""
    smaller_is_better: bool = False


def typical(samples: Samples, system: str, figure: str) -> float | None:
    """The median of a figure over the rounds; None where there is none."""
    found = [sample[figure] for sample in samples.get(system, []) if figure in sample]
    return median(found) if found else None


def own(figure: str) -> Callable[[Samples], float | None]:
    """Koken's figure."""
    return lambda samples: typical(samples, OURS, figure)


def against(peer: str, figure: str) -> Callable[[Samples], float | None]:
    """Koken's figure as a multiple of a peer's: the median of the ratios of each round."""

    def ratio(samples: Samples) -> float | None:
        pairs = zip(samples.get(OURS, []), samples.get(peer, []), strict=False)
        found = [ours[figure] / theirs[figure] for ours, theirs in pairs if theirs.get(figure)]
        return median(found) if found else None

    return ratio
