"""Steps one below the other, with a rail for each step that is still to come.

Each line has the rails on its left: ``│ ● ╮``. A rail leads to one step; all that it needs run into
its rail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from koken.views.drawingnet import Net, by_needs
from koken.views.graph import Node

CORNERS = {
    # up, down, left, right
    (True, True, True, True): "┼",
    (True, True, True, False): "┤",
    (True, True, False, True): "├",
    (True, False, True, True): "┴",
    (False, True, True, True): "┬",
    (True, False, True, False): "╯",
    (True, False, False, True): "╰",
    (False, True, True, False): "╮",
    (False, True, False, True): "╭",
}
RAIL, SPACE, DASH = "│", " ", "─"


@dataclass(frozen=True, slots=True)
class Line:
    """A line: what is left of its node's glyph and what is right of it, or rails alone."""

    left: str
    node: Node | None = None
    right: str = ""

    @property
    def width(self) -> int:
        """The columns that it takes."""
        return len(self.left) + len(self.right) + (self.node is not None)


class Lanes:
    """Draws line by line."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.lanes: list[str | None] = []
        """The step to which each rail leads."""
        self.lines: list[Line] = []
        self.above: set[int] = set()
        """Places in which the line above has anything."""

    def draw(self) -> list[Line]:
        """All lines."""
        for name in by_needs(self.net, self.net.nodes):
            self.step(name)
        return self.lines

    def step(self, name: str) -> None:
        """The line of a step, and one for its rails where they turn."""
        place = self.place_of(name)
        self.lanes[place] = name
        cells = self.rails()
        left = "".join(cell + SPACE for cell in cells[:place])
        right = "".join(SPACE + cell for cell in cells[place + 1 :])
        self.lines.append(Line(left, self.net.nodes[name], right.rstrip()))
        self.above = {at for at, lane in enumerate(self.lanes) if lane is not None}
        self.lanes[place] = None
        followers = self.net.followers[name]
        joined = {at for at, lane in enumerate(self.lanes) if lane in followers}
        begun = self.begin(place, [each for each in followers if each not in self.lanes])
        if turns := (joined | begun) - {place}:
            self.turn(place, turns, joined)
        while self.lanes and self.lanes[-1] is None:
            self.lanes.pop()

    def place_of(self, name: str) -> int:
        """The rail that leads to a step, or a new one that touches nothing above."""
        if name in self.lanes:
            return self.lanes.index(name)
        place = self.free(0)
        if place in self.above:
            self.lines.append(Line(SPACE.join(self.rails()).rstrip()))
        return place

    def free(self, least: int) -> int:
        """The first free place from ``least`` on."""
        for place in range(least, len(self.lanes)):
            if self.lanes[place] is None:
                return place
        self.lanes.append(None)
        return len(self.lanes) - 1

    def begin(self, place: int, followers: Sequence[str]) -> set[int]:
        """Lay a rail for each follower that has none, the first straight on."""
        begun = set()
        for follower in followers:
            at = self.free(place)
            self.lanes[at] = follower
            begun.add(at)
        return begun

    def rails(self) -> list[str]:
        """The rails of a line in which nothing turns."""
        return [SPACE if lane is None else RAIL for lane in self.lanes]

    def turn(self, place: int, turns: set[int], joined: set[int]) -> None:
        """The line in which the rails of the step at ``place`` go to theirs."""
        low, high = min(turns | {place}), max(turns | {place})
        cells = []
        for at, rail in enumerate(self.rails()):
            if at == place:
                ways = (True, rail == RAIL, low < at, at < high)
                cells.append(CORNERS[ways])
            elif at in turns:
                cells.append(CORNERS[at in joined, True, low < at, at < high])
            else:
                cells.append(DASH if rail == SPACE and low < at < high else rail)
        line = ""
        for at, cell in enumerate(cells):
            line += cell + (DASH if low <= at < high else SPACE)
        self.lines.append(Line(line.rstrip()))
        self.above = {at for at, cell in enumerate(cells) if cell != SPACE}
