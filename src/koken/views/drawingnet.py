"""What every picture of a graph asks first: who needs whom, and in which layer a step stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from koken.views.graph import Edge, Graph, Node


@dataclass(frozen=True, slots=True)
class Net:
    """A graph with its neighbourhoods at hand. Names stand for steps."""

    graph: Graph
    nodes: Mapping[str, Node]
    needs: Mapping[str, list[str]]
    followers: Mapping[str, list[str]]
    edges: Mapping[tuple[str, str], Edge]
    levels: dict[str, int] = field(default_factory=dict)
    """The longest way to a step from those that need nothing."""

    @property
    def layers(self) -> list[list[str]]:
        """The steps of each level, in the order of declaration."""
        found: list[list[str]] = [[] for _ in range(1 + max(self.levels.values(), default=-1))]
        for name in self.nodes:
            found[self.levels[name]].append(name)
        return found


def net_of(graph: Graph) -> Net:
    """The neighbourhoods and layers of a graph."""
    nodes = {node.name: node for node in graph.nodes}
    needs: dict[str, list[str]] = {name: [] for name in nodes}
    followers: dict[str, list[str]] = {name: [] for name in nodes}
    for edge in graph.edges:
        needs[edge.target].append(edge.source)
        followers[edge.source].append(edge.target)
    edges = {(edge.source, edge.target): edge for edge in graph.edges}
    net = Net(graph, nodes, needs, followers, edges)
    for name in by_needs(net, nodes):
        net.levels[name] = 1 + max((net.levels[need] for need in needs[name]), default=-1)
    return net


def by_needs(net: Net, names: Iterable[str]) -> list[str]:
    """The steps so that each comes after its needs, and soon after the last of them."""
    left = {name: len(net.needs[name]) for name in names}
    stack = [name for name in reversed(left) if not left[name]]
    found = []
    while stack:
        name = stack.pop()
        found.append(name)
        for follower in reversed(net.followers[name]):
            left[follower] -= 1
            if not left[follower]:
                stack.append(follower)
    return found
