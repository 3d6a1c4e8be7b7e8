"""Graphs of steps: order, cycles, what comes after, levels to draw them by.

A graph is a mapping: each name with the names that it needs, in the order of declaration. Each
function goes over it once and without recursion, so it may be as deep as it is large.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

Needs = Mapping[str, Iterable[str]]


def order(needs: Needs) -> list[str]:
    """The names, each after all that it needs; what is in a cycle, or after one, is left out."""
    waits = {name: len(set(before)) for name, before in needs.items()}
    after = followers(needs)
    free = deque(name for name, number in waits.items() if number == 0)
    found = []
    while free:
        name = free.popleft()
        found.append(name)
        for each in after[name]:
            waits[each] -= 1
            if waits[each] == 0:
                free.append(each)
    return found


def cycle(needs: Needs) -> list[str]:
    """A way from a name back to itself, each name needed by the next; empty when there is none.

    It begins with the name in it that was declared first.
    """
    stuck = set(needs) - set(order(needs))
    if not stuck:
        return []
    name = next(each for each in needs if each in stuck)
    path: dict[str, None] = {}
    while name not in path:
        path[name] = None
        name = next(each for each in needs[name] if each in stuck)
    way = list(path)
    ring = way[way.index(name) :][::-1]
    members = set(ring)
    first = ring.index(next(each for each in needs if each in members))
    turned = ring[first:] + ring[:first]
    return [*turned, turned[0]]


def followers(needs: Needs) -> dict[str, list[str]]:
    """Each name with those that need it."""
    after: dict[str, list[str]] = {name: [] for name in needs}
    for name, before in needs.items():
        for each in dict.fromkeys(before):
            after[each].append(name)
    return after


def downstream(needs: Needs, names: Iterable[str]) -> set[str]:
    """``names`` and all that come after any of them, near or far."""
    after = followers(needs)
    found = set(names)
    left = list(found)
    while left:
        new = set(after[left.pop()]) - found
        found |= new
        left += new
    return found


def levels(needs: Needs) -> list[list[str]]:
    """The names in rows: each stands in the first row below all that it needs."""
    depth: dict[str, int] = {}
    for name in order(needs):
        depth[name] = max((depth[each] + 1 for each in needs[name]), default=0)
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in needs:
        if name in depth:
            rows[depth[name]].append(name)
    return rows
