"""Where the steps of a graph stand in a picture: layers from left to right, few crossings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from koken.views.drawingnet import Net

SWEEPS = 6
BENDS = 20_000
"""Places in which long edges may be led through the layers between."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """Heights: of a step with what is free below it, and of an edge that passes."""

    step: float
    edge: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The middle of each step in its layer, and how high its edges pass the layers between."""

    layers: Sequence[Sequence[str]]
    middles: Mapping[str, float]
    bends: Mapping[tuple[str, str], Sequence[float]]
    top: float
    bottom: float


class Places:
    """Steps and the bends of edges by number, each with its neighbours in the layers beside it."""

    def __init__(self, net: Net) -> None:
        self.number = {name: number for number, name in enumerate(net.nodes)}
        self.layers: list[list[int]] = [[self.number[name] for name in one] for one in net.layers]
        self.before: list[list[int]] = [[] for _ in self.number]
        self.after: list[list[int]] = [[] for _ in self.number]
        self.bends: dict[tuple[str, str], list[int]] = {}
        spans = {key: net.levels[key[1]] - net.levels[key[0]] - 1 for key in net.edges}
        led = sum(spans.values()) <= BENDS
        for (source, target), span in spans.items():
            last = self.number[source]
            bends = []
            for level in range(span if led else 0):
                bend = self.add(net.levels[source] + 1 + level)
                self.join(last, bend)
                bends.append(bend)
                last = bend
            if led or not span:
                self.join(last, self.number[target])
            self.bends[source, target] = bends

    def add(self, level: int) -> int:
        """A bend in a layer."""
        number = len(self.before)
        self.before.append([])
        self.after.append([])
        self.layers[level].append(number)
        return number

    def join(self, one: int, other: int) -> None:
        """Make two places of layers side by side neighbours."""
        self.after[one].append(other)
        self.before[other].append(one)


def layout(net: Net, spacing: Spacing) -> Layout:
    """Order each layer by the middle of its neighbours, then move it towards them."""
    places = Places(net)
    heights = [spacing.step] * len(places.number)
    heights += [spacing.edge] * (len(places.before) - len(heights))
    order(places)
    middles = [0.0] * len(heights)
    for layer in places.layers:
        stack(layer, heights, middles)
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        for layer in places.layers if forth else reversed(places.layers):
            pull(layer, places.before if forth else places.after, heights, middles)
    names = list(net.nodes)
    return Layout(
        layers=[[names[at] for at in layer if at < len(names)] for layer in places.layers],
        middles={name: middles[number] for name, number in places.number.items()},
        bends={key: [middles[at] for at in bends] for key, bends in places.bends.items()},
        top=min((middles[at] - heights[at] / 2 for at in range(len(heights))), default=0.0),
        bottom=max((middles[at] + heights[at] / 2 for at in range(len(heights))), default=0.0),
    )


def order(places: Places) -> None:
    """Sort each layer by the mean place of its neighbours, to and fro."""
    at = [0.0] * len(places.before)
    for layer in places.layers:
        note(layer, at)
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        sides = places.before if forth else places.after
        for layer in places.layers if forth else reversed(places.layers):
            layer.sort(key=lambda number: mean((at[each] for each in sides[number]), at[number]))
            note(layer, at)


def note(layer: Sequence[int], at: list[float]) -> None:
    """Note the places of a layer, as shares of it: layers of any size compare."""
    for place, number in enumerate(layer):
        at[number] = (place + 0.5) / len(layer)


def mean(values: Iterable[float], otherwise: float) -> float:
    """The mean; without values, what stands otherwise."""
    found = list(values)
    return sum(found) / len(found) if found else otherwise


def stack(layer: Sequence[int], heights: Sequence[float], middles: list[float]) -> None:
    """One below the other, around nought."""
    y = -sum(heights[number] for number in layer) / 2
    for number in layer:
        middles[number] = y + heights[number] / 2
        y += heights[number]


def pull(
    layer: Sequence[int],
    sides: Sequence[Sequence[int]],
    heights: Sequence[float],
    middles: list[float],
) -> None:
    """Move a layer to its neighbours without a change of its order.

    Half-way between the two ways to make room, down from the top and up from the bottom.
    """
    wanted = [mean((middles[each] for each in sides[at]), middles[at]) for at in layer]
    apart = [(heights[one] + heights[other]) / 2 for one, other in pairwise(layer)]
    down = list(wanted)
    for place, gap in enumerate(apart, 1):
        down[place] = max(wanted[place], down[place - 1] + gap)
    up = list(wanted)
    for place in range(len(apart) - 1, -1, -1):
        up[place] = min(wanted[place], up[place + 1] - apart[place])
    for place, number in enumerate(layer):
        middles[number] = (down[place] + up[place]) / 2
