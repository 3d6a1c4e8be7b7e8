"""A graph as lines of text: a step a line, rails on its left, what is known of it on its right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from koken.model.states import State
from koken.views.drawingfold import Fold, chains, layers, stems, tally, twins
from koken.views.drawinglanes import Lanes, Line
from koken.views.drawingnet import Net, net_of
from koken.views.graph import Graph, Node

Piece = tuple[str, str]
"""A text and its style: a look, or ``name``, ``dim``, ``rail``, or nothing."""
FOLDS: Sequence[tuple[Fold, int]] = (
    (twins, 3), (chains, 3), (stems, 3), (twins, 3), (layers, 1), (chains, 3)
)  # fmt: skip
"""One after the other, until it is small enough to be looked at."""
WIDEST = 23
"""Columns of rails."""
MOST = 200
"""Steps."""
LONGEST_NAME = 40
TOLD = 10
"""Failed steps that are told one by one where the picture hides them."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The lines of a picture, and the telling steps that it does not show by themselves."""

    lines: Sequence[Sequence[Piece]]
    hidden: Sequence[Node]
    left_out: int
    """How many more of them there are."""


def draw(graph: Graph, zone: tzinfo | None = None) -> Drawing:
    """The picture of a graph; times of day are told in ``zone``."""
    net = net_of(graph)
    lines = attempted(net)
    for fold, keep in FOLDS:
        if fits(lines):
            break
        net = fold(net, keep)
        lines = attempted(net)
    lines = lines or Lanes(net).draw()
    hidden = [
        node for node in graph.nodes if node.name not in net.nodes and node.mark.look == "failed"
    ]
    conditions = {edge.target: edge.label for edge in net.edges.values() if edge.label}
    return Drawing(
        lines=Writer(lines, conditions, zone).write(),
        hidden=hidden[:TOLD],
        left_out=max(len(hidden) - TOLD, 0),
    )


def attempted(net: Net) -> list[Line]:
    """The lines of a graph; none where it has far too many steps."""
    return Lanes(net).draw() if len(net.nodes) <= MOST else []


def fits(lines: Sequence[Line]) -> bool:
    """Whether lines can be looked at."""
    return bool(lines) and max(line.width for line in lines) <= WIDEST


class Writer:
    """Writes what is known of each step beside its rails, in columns."""

    def __init__(
        self, lines: Sequence[Line], conditions: Mapping[str, str], zone: tzinfo | None
    ) -> None:
        self.lines = lines
        self.conditions = conditions
        self.zone = zone
        nodes = [line.node for line in lines if line.node is not None]
        self.rails = max(line.width for line in lines)
        self.name = min(max(len(node.name) for node in nodes), LONGEST_NAME)
        self.word = max(len(word(node)) for node in nodes)
        self.far = max(len(far(node)) for node in nodes)

    def write(self) -> list[list[Piece]]:
        """All lines."""
        return [self.line(line) for line in self.lines]

    def line(self, line: Line) -> list[Piece]:
        """A line with its styles."""
        if line.node is None:
            return [(line.left, "rail")]
        node = line.node
        found = [
            (line.left, "rail"),
            (node.mark.glyph, node.mark.look),
            (f"{line.right}{' ' * (self.rails - line.width)}  ", "rail"),
            (f"{node.name:<{self.name}}", "name"),
        ]
        columns = [(word(node), node.mark.look, self.word), (far(node), "dim", self.far)]
        columns += [(text, style, 0) for text, style in self.facts(node)]
        for text, style, width in columns:
            if text or width:
                found.append((f"  {text:<{width}}", style))
        while not found[-1][0].strip():
            found.pop()
        text, style = found[-1]
        return [(text, style) for text, style in found[:-1] if text] + [(text.rstrip(), style)]

    def facts(self, node: Node) -> list[Piece]:
        """What else is told of a step."""
        ended = node.state is not None and node.state.ended
        starts = node.starts and not node.child and not ended
        condition = node.when or self.conditions.get(node.name, "")
        found = [
            (f"each of {node.spreads}" if node.spreads and not node.items else "", "dim"),
            (f"when {condition}" if condition and not (ended or node.attempt) else "", "dim"),
            (f"join {node.join}" if node.join and not ended else "", "dim"),
            (f"starts {node.starts}" if starts else "", "dim"),
            (f"→ {node.child}" if node.child and node.child not in node.reason else "", "dim"),
            (node.detail, "dim"),
            (f"lock {node.lock}" if node.lock else "", "dim"),
            (held(node, self.zone), "dim"),
            (node.reason, node.mark.look if node.state is State.FAILED else "dim"),
        ]
        return [(text, style) for text, style in found if text]


def word(node: Node) -> str:
    """A step's word; of those that stand for many how many are what: ``90 ✓ 3 ✗``."""
    if node.mark.look == "planned" or not node.tally:
        return node.mark.word
    return " ".join(f"{number:,} {mark.glyph}" for mark, number in node.tally)


def far(node: Node) -> str:
    """``209/214`` items; attempt ``2/2`` where one of several has failed."""
    if node.items is not None:
        return f"{node.items.good:,}/{node.items.made:,}"
    if node.tried_again and node.max_attempts > 1:
        return f"{node.attempt}/{node.max_attempts}"
    return ""


def held(node: Node, zone: tzinfo | None) -> str:
    """``not before 04:30 (gate 30 4 * * *)``."""
    if node.state is not None and node.state.ended:
        return ""
    if node.until is None:
        return node.gate
    if not node.gate:
        return f"until {time_of(node.until, zone)}"
    return f"not before {time_of(node.until, zone)} ({node.gate})"


def time_of(instant: datetime, zone: tzinfo | None) -> str:
    """The time of day."""
    return f"{instant.astimezone(zone):%H:%M}"


def summary(graph: Graph) -> list[Piece]:
    """``6 ✓  1 ✗`` over all steps of a run; nothing for a job."""
    found = [(f"{number:,} {mark.glyph}", mark.look) for mark, number in tally(graph.nodes)]
    return [] if any(look == "planned" for _, look in found) else found
