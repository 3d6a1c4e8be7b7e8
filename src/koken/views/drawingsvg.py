"""A graph as SVG, layers from left to right: a file that needs nothing else, or part of a page."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence, Set
from datetime import tzinfo
from xml.sax.saxutils import escape, quoteattr

from koken.views.drawing import far, held, summary, word
from koken.views.drawingfold import Fold, chains, layers, stems, twins
from koken.views.drawinglayers import Layout, Spacing, layout
from koken.views.drawingnet import Net, net_of
from koken.views.drawingstyle import STYLE
from koken.views.graph import Edge, Graph, Node

HIGH, FREE, PASSING = 46.0, 18.0, 12.0
"""Heights of a step, of what is free below it, of an edge that passes."""
BETWEEN, CROWDED = 56.0, 2.5
"""Free width between two layers, and what each step of the larger one adds; labels come on top."""
MARGIN, HEAD = 24.0, 52.0
LETTER, SMALL_LETTER = 8.4, 6.3
"""Mean widths of letters, bold and small."""
INSET = 34.0
"""From the left edge of a step to its name."""
LONGEST, LONGEST_SAID, NARROWEST = 30, 46, 96.0
FOLDS: Sequence[tuple[Fold, int]] = (
    (twins, 12), (chains, 12), (stems, 8), (twins, 6), (chains, 6), (layers, 1), (chains, 6)
)  # fmt: skip
MOST, HIGHEST = 1500, 40
"""Steps in a picture, and in one of its layers."""
FOLDS_OF_PAGE: Sequence[tuple[Fold, int]] = (
    (twins, 12), (chains, 2), (twins, 5), (chains, 1), (stems, 4), (layers, 1), (chains, 1)
)  # fmt: skip
"""The same for a part of a page, of which a window shows so much at once as can be read."""
MOST_OF_PAGE, HIGHEST_OF_PAGE, LONGEST_OF_PAGE = 80, 16, 20
"""Steps in a part of a page, in one of its layers, and layers; beside what is unfolded."""
WIDE = 1250
"""A picture of a page that is no wider is made to fit."""
Leads = Callable[[Node], str]
"""Where a step of a picture leads; an empty text: nowhere."""


def svg(graph: Graph, zone: tzinfo | None = None) -> str:
    """The picture as the text of a file; times of day are told in ``zone``."""
    return Picture(graph, folded(graph), zone).file()


def part(graph: Graph, zone: tzinfo | None = None, *, leads: Leads) -> str:
    """The picture as an element of a page, which has the rules of ``drawingstyle.sheet``."""
    return Picture(graph, folded(graph, of_page=True), zone, leads).part()


def folded(graph: Graph, *, of_page: bool = False) -> Net:
    """What of a graph is drawn."""
    fits = readable if of_page else drawable
    net = net_of(graph)
    for fold, keep in FOLDS_OF_PAGE if of_page else FOLDS:
        if fits(net, net.graph.kept):
            break
        net = fold(net, keep)
    return net


def drawable(net: Net, _: Set[str]) -> bool:
    """Whether a picture can be drawn at all."""
    return len(net.nodes) <= MOST and max(map(len, net.layers)) <= HIGHEST


def readable(net: Net, kept: Set[str]) -> bool:
    """Whether a part of a page can be read; ``kept`` are steps that somebody has unfolded."""
    sizes = [sum(name not in kept for name in layer) for layer in net.layers]
    return (
        sum(sizes) <= MOST_OF_PAGE
        and max(sizes) <= HIGHEST_OF_PAGE
        and sum(size > 0 for size in sizes) <= LONGEST_OF_PAGE
    )


def plain(text: str) -> str:
    """A text that XML can hold: control characters become spaces, halves of letters go."""
    odd = {"Cc": " ", "Cs": "", "Cn": ""}
    return "".join(odd.get(unicodedata.category(letter), letter) for letter in text)


def xml(text: str) -> str:
    """A text between tags."""
    return escape(plain(text))


def cut(text: str, most: int) -> str:
    """A text of at most so many letters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def wide(text: str, letter: float) -> float:
    """About how wide a text is."""
    return sum(
        letter * (1.8 if unicodedata.east_asian_width(each) in "WF" else 1.0) for each in text
    )


class Picture:
    """Writes the parts of one picture."""

    def __init__(
        self, graph: Graph, net: Net, zone: tzinfo | None, leads: Leads | None = None
    ) -> None:
        self.graph = graph
        self.net = net
        self.zone = zone
        self.leads = leads
        self.above = HEAD if leads is None else MARGIN
        self.layout: Layout = layout(net, Spacing(HIGH + FREE, PASSING))
        self.second = {name: self.second_line(node) for name, node in net.nodes.items()}
        self.lefts, self.widths, self.width = self.columns()
        self.height = self.layout.bottom - self.layout.top + self.above + MARGIN

    def second_line(self, node: Node) -> str:
        """What stands below the name."""
        found = [word(node), far(node), held(node, self.zone)]
        if not node.tally:
            found.append(f"lock {node.lock}" if node.lock else "")
            found.append(f"each of {node.spreads}" if node.spreads and not node.items else "")
            found.append(f"join {node.join}" if node.join else "")
            found.append(f"starts {node.starts}" if node.starts and not node.child else "")
            found.append(f"→ {node.child}" if node.child else "")
            found.append(node.detail)
            found.append(f"when {node.when}" if node.when else "")
        return " · ".join(text for text in found if text)

    def columns(self) -> tuple[list[float], list[float], float]:
        """Where each layer begins, how wide its steps are, and how wide the picture is."""
        lefts, widths = [], []
        x = MARGIN
        for level, layer in enumerate(self.layout.layers):
            labels = [
                self.net.edges[need, name].label for name in layer for need in self.net.needs[name]
            ]
            longest = max((wide(cut(label, LONGEST), SMALL_LETTER) for label in labels), default=0)
            crowd = max(len(layer), len(self.layout.layers[level - 1]))
            x += BETWEEN + CROWDED * crowd + longest if level else 0
            widths.append(max(self.wide(name) for name in layer))
            lefts.append(x)
            x += widths[-1]
        return lefts, widths, x + MARGIN

    def wide(self, name: str) -> float:
        """How wide a step is."""
        first = wide(cut(name, LONGEST), LETTER)
        second = wide(cut(self.second[name], LONGEST_SAID), SMALL_LETTER)
        return max(NARROWEST, INSET + max(first, second) + 14)

    def part(self) -> str:
        """An element of a page."""
        width, height = f"{self.width:.0f}", f"{self.height:.0f}"
        label = quoteattr(plain(self.graph.title))
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        kind = "graph wide" if self.width > WIDE else "graph"
        return "\n".join(
            [
                f'<svg class="{kind}" role="group" aria-label={label} {size}>',
                *self.edges(),
                *(self.node(node) for node in self.net.nodes.values()),
                "</svg>",
            ]
        )

    def file(self) -> str:
        """The whole file."""
        width, height = max(self.width, 320.0), self.height
        label = quoteattr(plain(self.graph.title))
        size = (
            f'viewBox="0 0 {width:.0f} {height:.0f}" width="100%"'
            f' style="max-width:{width:.0f}px;height:auto"'
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label={label} {size}>',
                f"<title>{xml(self.graph.title)}</title>",
                f"<style>{STYLE}</style>",
                '<rect class="ground" width="100%" height="100%"/>',
                self.head(),
                *self.edges(),
                *(self.node(node) for node in self.net.nodes.values()),
                "</svg>",
                "",
            ]
        )

    def head(self) -> str:
        """The title, with how many steps stand how."""
        counts = "".join(
            f'<tspan dx="10" class="word {look}">{xml(text)}</tspan>'
            for text, look in summary(self.graph)
        )
        return f'<text x="{MARGIN:.0f}" y="30" class="head">{xml(self.graph.title)}{counts}</text>'

    def middle(self, name: str) -> float:
        """The height of a step's middle in the picture."""
        return self.down(self.layout.middles[name])

    def down(self, y: float) -> float:
        """A height of the layout in the picture."""
        return y - self.layout.top + self.above

    def edges(self) -> Iterable[str]:
        """Lines first, so that steps lie over them; then their labels."""
        labelled = []
        for edge in self.net.edges.values():
            yield self.edge(edge)
            if edge.label:
                labelled.append(edge)
        for edge in labelled:
            x = self.lefts[self.net.levels[edge.target]] - 14
            y = self.middle(edge.target) - 7
            shown = cut(edge.label, LONGEST)
            width = wide(shown, SMALL_LETTER) + 6
            yield (
                f'<rect class="ground" x="{x - width + 3:.1f}" y="{y - 11:.1f}"'
                f' width="{width:.1f}" height="15"/>'
                f'<text x="{x:.1f}" y="{y:.1f}" class="label">{xml(shown)}</text>'
            )

    def edge(self, edge: Edge) -> str:
        """The curve of an edge, through the layers between."""
        level, y = self.net.levels[edge.source], self.middle(edge.source)
        x = self.lefts[level] + self.widths[level]
        path = f"M{x:.1f} {y:.1f}"
        for step, bend in enumerate(self.layout.bends[edge.source, edge.target], level + 1):
            path += self.curve(x, y, self.lefts[step], self.down(bend))
            x, y = self.lefts[step] + self.widths[step], self.down(bend)
            path += f"H{x:.1f}"
        end = self.lefts[self.net.levels[edge.target]] - 6
        path += self.curve(x, y, end, self.middle(edge.target))
        label = f": {edge.label}" if edge.label else ""
        kind = "edge" if edge.hard else "edge soft"
        return (
            f'<path class="{kind}" d="{path}"><title>'
            f"{xml(f'{edge.source} → {edge.target}{label}')}</title></path>"
            f'<path class="tip" d="M{end + 5:.1f} {self.middle(edge.target):.1f}l-6 -3.5v7z"/>'
        )

    def curve(self, x: float, y: float, to_x: float, to_y: float) -> str:
        """From one place to the next, level at both ends."""
        if abs(y - to_y) < 0.5:
            return f"L{to_x:.1f} {to_y:.1f}"
        half = (x + to_x) / 2
        return f"C{half:.1f} {y:.1f} {half:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"

    def node(self, node: Node) -> str:
        """A step: its glyph, its name, and how it stands."""
        level = self.net.levels[node.name]
        x, y, width = self.lefts[level], self.middle(node.name) - HIGH / 2, self.widths[level]
        second = self.second[node.name]
        told = " · ".join(text for text in (node.name, second, node.reason) if text)
        stack = (
            f'<rect class="box behind" x="4" y="4" width="{width:.1f}" height="{HIGH:.0f}" rx="7"/>'
            if node.items or node.spreads or node.tally
            else ""
        )
        first = 28 if not second else 20
        step = (
            f'<g class="step {node.mark.look}" transform="translate({x:.1f} {y:.1f})">'
            f"<title>{xml(told)}</title>{stack}"
            f'<rect class="box" width="{width:.1f}" height="{HIGH:.0f}" rx="7"/>'
            f'<text class="glyph" x="18" y="29">{xml(node.mark.glyph)}</text>'
            f'<text class="name" x="{INSET:.0f}" y="{first}">{xml(cut(node.name, LONGEST))}</text>'
            f'<text class="said" x="{INSET:.0f}" y="36">{xml(cut(second, LONGEST_SAID))}</text></g>'
        )
        leads = self.leads(node) if self.leads is not None else ""
        return f"<a href={quoteattr(leads)}>{step}</a>" if leads else step
