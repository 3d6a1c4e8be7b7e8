"""Graphs: order, cycles, what comes after, levels; as deep as they are large."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from koken.model import graph

DIAMOND = {"end": ["left", "right"], "left": ["begin"], "right": ["begin"], "begin": []}
DEEP = {str(n): [str(n - 1)] if n else [] for n in range(20_000)}


def test_order() -> None:
    assert graph.order(DIAMOND) == ["begin", "left", "right", "end"]
    assert graph.order({"b": [], "a": [], "c": ["a", "a"]}) == ["b", "a", "c"]
    assert graph.order({}) == []


def test_order_leaves_out_what_cannot_begin() -> None:
    assert graph.order({"a": [], "b": ["c"], "c": ["b"], "d": ["c", "a"]}) == ["a"]


def test_cycle_is_the_way_that_work_would_go() -> None:
    assert graph.cycle({"load": ["clean"], "clean": ["load"]}) == ["load", "clean", "load"]
    assert graph.cycle({"a": ["c"], "b": ["a"], "c": ["b"]}) == ["a", "b", "c", "a"]
    assert graph.cycle({"a": ["a"]}) == ["a", "a"]
    assert graph.cycle(DIAMOND) == []


def test_cycle_without_what_leads_to_it_or_follows() -> None:
    needs = {"last": ["c"], "first": [], "b": ["c", "first"], "c": ["b"]}
    assert graph.cycle(needs) == ["b", "c", "b"]


def test_downstream() -> None:
    assert graph.downstream(DIAMOND, ["left"]) == {"left", "end"}
    assert graph.downstream(DIAMOND, ["begin"]) == {"begin", "left", "right", "end"}
    assert graph.downstream(DIAMOND, []) == set()


def test_levels() -> None:
    assert graph.levels(DIAMOND) == [["begin"], ["left", "right"], ["end"]]
    assert graph.levels({"a": [], "c": ["b", "a"], "b": ["a"], "d": []}) == [
        ["a", "d"],
        ["b"],
        ["c"],
    ]
    assert graph.levels({}) == []


def test_deep_graphs() -> None:
    assert graph.order(DEEP) == list(DEEP)
    assert graph.cycle(DEEP) == []
    assert len(graph.downstream(DEEP, ["10000"])) == 10_000
    assert len(graph.levels(DEEP)) == 20_000
    ring = graph.cycle(DEEP | {"0": ["19999"]})
    assert (len(ring), ring[:2], ring[-2:]) == (20_001, ["0", "1"], ["19999", "0"])


@given(st.dictionaries(st.integers(0, 9), st.sets(st.integers(0, 9))))
def test_either_all_is_in_order_or_there_is_a_cycle(wild: dict[int, set[int]]) -> None:
    needs = {
        str(name): [str(each) for each in sorted(before) if each in wild]
        for name, before in wild.items()
    }
    found, way = graph.order(needs), graph.cycle(needs)
    place = {name: number for number, name in enumerate(found)}
    assert all(place[each] < place[name] for name in found for each in needs[name])
    assert (len(found) == len(needs)) == (way == [])
    assert all(before in needs[name] for before, name in itertools.pairwise(way))
    if way:
        assert way[0] == way[-1]
        assert len(set(way)) == len(way) - 1
