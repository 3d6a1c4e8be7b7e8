"""Graphs that are too large to look at: what is alike becomes one, what tells something stays."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from koken.views.drawingnet import Net, by_needs, net_of
from koken.views.graph import Edge, Node
from koken.views.marks import Mark

TELLING = (
    "failed", "compensating", "cancelling", "retry", "running", "waiting", "ready", "acknowledged",
    "cancelled", "blocked", "idle", "planned", "skipped", "succeeded",
)  # fmt: skip
"""Looks, the one that people look for first in front."""
QUIET = TELLING.index("ready")
"""From here on a look is nothing to look for."""
MORE = " more like "
STEM = re.compile(r"[\W_]*\d+$")
Groups = Mapping[str, Sequence[str]]
"""What a group is called, and the names of its steps."""
Fold = Callable[[Net, int], Net]


def telling(node: Node) -> int:
    """How early a step is to be looked at."""
    return TELLING.index(node.mark.look)


def tally(nodes: Iterable[Node]) -> tuple[tuple[Mark, int], ...]:
    """How many are marked how; the most first."""
    counts: Counter[tuple[str, str]] = Counter()
    for node in nodes:
        for mark, number in node.tally or ((node.mark, 1),):
            counts[mark.glyph, mark.look] += number
    return tuple((Mark(glyph, "", look), number) for (glyph, look), number in counts.most_common())


def size(node: Node) -> int:
    """How many steps a node stands for."""
    return sum(number for _, number in node.tally) or 1


def merged(net: Net, groups: Groups) -> Net:
    """The graph with one node for each group, in the place of its first step.

    Groups that somebody has unfolded stay as they are, and so do their steps in other groups.
    """
    if not groups:
        return net
    graph = net.graph
    kept = graph.kept.union(*(groups[name] for name in graph.unfolded if name in groups))
    groups = {name: found for name, found in groups.items() if kept.isdisjoint(found)}
    group_of = {name: group for group, members in groups.items() for name in members}
    nodes: dict[str, Node] = {}
    members: dict[str, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        name = group_of.get(node.name, node.name)
        members[name].append(node)
        nodes.setdefault(name, node)
    for group in groups:
        worst = min(members[group], key=telling)
        nodes[group] = Node(
            name=group, mark=replace(worst.mark, word=""), tally=tally(members[group])
        )
    edges: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        source = group_of.get(edge.source, edge.source)
        target = group_of.get(edge.target, edge.target)
        if source == target:
            continue
        if source == edge.source and target == edge.target:
            edges[source, target] = edge
            continue
        before = edges.get((source, target))
        hard = edge.hard or (before is not None and before.hard)
        label = edge.label if before is None or before.label == edge.label else ""
        edges[source, target] = Edge(source=source, target=target, label=label, hard=hard)
    return net_of(
        replace(graph, nodes=tuple(nodes.values()), edges=tuple(edges.values()), kept=kept)
    )


def more(net: Net, members: Sequence[str]) -> str:
    """``… 93 more like resize_4``."""
    number = sum(size(net.nodes[name]) for name in members)
    return f"… {number:,}{MORE}{members[0].partition(MORE)[2] or members[0]}"


def twins(net: Net, keep: int) -> Net:
    """Of steps with the same needs and followers ``keep`` stay, the telling ones first."""
    alike: dict[tuple[frozenset[str], frozenset[str]], list[str]] = defaultdict(list)
    for name in net.nodes:
        alike[frozenset(net.needs[name]), frozenset(net.followers[name])].append(name)
    groups = {}
    for names in alike.values():
        if len(names) > keep + 1:
            order = sorted(names, key=lambda name: telling(net.nodes[name]))
            left = set(order[keep:])
            members = [name for name in names if name in left]
            groups[more(net, members)] = members
    return merged(net, groups)


def chains(net: Net, keep: int) -> Net:
    """Of steps that follow one another the first and last ``keep`` stay, and the telling ones."""
    groups: dict[str, list[str]] = {}
    for chain in chains_of(net):
        if len(chain) <= 2 * keep + 1:
            continue
        part: list[str] = []
        for place, name in enumerate([*chain, ""]):
            inner = keep <= place < len(chain) - keep
            if inner and telling(net.nodes[name]) >= QUIET:
                part.append(name)
                continue
            if len(part) > 1:
                groups[more(net, part)] = part
            part = []
    return merged(net, groups)


def chains_of(net: Net) -> list[list[str]]:
    """The longest rows of steps of which each has but one need and one follower in between."""
    found: list[list[str]] = []
    last: dict[str, list[str]] = {}
    for name in by_needs(net, net.nodes):
        needs = net.needs[name]
        if len(needs) == 1 and len(net.followers[needs[0]]) == 1:
            chain = last.pop(needs[0])
        else:
            chain = []
            found.append(chain)
        chain.append(name)
        last[name] = chain
    return found


def stems(net: Net, keep: int) -> Net:
    """More than ``keep`` steps of a layer whose names differ by a number at the end become one."""
    return by_layer(net, keep, lambda name: STEM.sub("", name) or name, "{stem} × {number:,}")


def layers(net: Net, keep: int) -> Net:
    """More than ``keep`` steps of a layer become one."""
    return by_layer(net, keep, lambda _: "", "{number:,} steps")


def by_layer(net: Net, keep: int, stem_of: Callable[[str], str], called: str) -> Net:
    """Steps of one layer and one stem as one."""
    groups: dict[str, list[str]] = {}
    for level, layer in enumerate(net.layers):
        alike: dict[str, list[str]] = defaultdict(list)
        for name in layer:
            alike[stem_of(name)].append(name)
        for stem, members in alike.items():
            if len(members) > max(keep, 1):
                number = sum(size(net.nodes[name]) for name in members)
                name = called.format(stem=stem, number=number)
                groups[f"{name}, layer {level + 1}" if name in groups or not stem else name] = (
                    members
                )
    return merged(net, groups)
