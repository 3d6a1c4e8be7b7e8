from __future__ import annotations

import random

import pytest
from hypothesis import given, settings

from koken.model.states import State
from tests.support.paper import (
    CANCEL,
    FAIL,
    JOINS,
    SKIP,
    SUCCEED,
    Act,
    Edge,
    Flow,
    JoinName,
    Share,
    Step,
    bodies,
    end_of,
    ends,
    every_pair,
    flows,
    legal,
    random_flow,
)

S, F, K, B, C = State.SUCCEEDED, State.FAILED, State.SKIPPED, State.BLOCKED, State.CANCELLED
ACTS = {"S": SUCCEED, "F": FAIL, "K": SKIP, "C": CANCEL}


def joined(needs: str, join: JoinName, kind: str = "order") -> State:
    """Where a step that succeeds ends behind needs that end so. B: blocked behind a failed step."""
    steps = [Step(name="broken", act=FAIL)] if "B" in needs else []
    for number, letter in enumerate(needs):
        edges = (Edge("broken"),) if letter == "B" else ()
        steps.append(Step(name=f"n{number}", edges=edges, act=ACTS.get(letter, SUCCEED)))
    edges = tuple(Edge(f"n{number}", kind) for number in range(len(needs)))
    return ends(Flow((*steps, Step(name="it", edges=edges, join=join))))["it"]


@pytest.mark.parametrize(
    ("needs", "all_succeeded", "all_done", "any_succeeded", "any_failed", "none_failed"),
    [
        ("", S, S, S, S, S),
        ("S", S, S, S, K, S),
        ("F", B, S, B, S, B),
        ("C", B, S, B, S, B),
        ("K", S, S, K, K, S),
        ("B", B, B, B, B, B),
        ("SS", S, S, S, K, S),
        ("SF", B, S, S, S, B),
        ("SK", S, S, S, K, S),
        ("SB", B, B, S, B, B),
        ("FK", B, S, B, S, B),
        ("FB", B, B, B, S, B),
        ("KK", S, S, K, K, S),
        ("KB", B, B, B, B, B),
    ],
)
def test_what_each_rule_makes_of_needs_by_order(
    needs: str,
    all_succeeded: State,
    all_done: State,
    any_succeeded: State,
    any_failed: State,
    none_failed: State,
) -> None:
    assert {join: joined(needs, join) for join in JOINS} == {
        "all_succeeded": all_succeeded,
        "all_done": all_done,
        "any_succeeded": any_succeeded,
        "any_failed": any_failed,
        "none_failed": none_failed,
    }


@pytest.mark.parametrize(
    ("needs", "end"),
    [("S", S), ("K", K), ("F", B), ("B", B), ("SK", K), ("FK", K), ("KB", K), ("FB", B)],
)
def test_a_skip_goes_over_a_hard_edge_whatever_the_others_do(needs: str, end: State) -> None:
    assert joined(needs, "all_succeeded", "input") == end
    assert joined(needs, "all_succeeded", "optional") == joined(needs, "all_succeeded")


def test_a_skip_is_passed_on_as_far_as_edges_are_hard() -> None:
    flow = Flow(
        (
            Step(name="a", act=SKIP),
            Step(name="b", edges=(Edge("a", "input"),)),
            Step(name="c", edges=(Edge("b", "input"),)),
            Step(name="d", edges=(Edge("c", "optional"),)),
        )
    )
    assert ends(flow) == {"a": K, "b": K, "c": K, "d": S}
    assert end_of(ends(flow)) is S
    assert bodies(flow) == {"a": 1, "d": 1}


def test_what_follows_a_step_that_never_began_does_not_begin() -> None:
    flow = Flow(
        (
            Step(name="crunch", act=FAIL),
            Step(name="publish", edges=(Edge("crunch", "input"),)),
            Step(name="site", edges=(Edge("publish"),), join="all_done"),
            Step(name="apologise", edges=(Edge("site"),), join="any_failed"),
            Step(name="page", edges=(Edge("crunch"),), join="any_failed"),
        )
    )
    assert ends(flow) == {"crunch": F, "publish": B, "site": B, "apologise": B, "page": S}
    assert end_of(ends(flow)) is F


def test_what_a_failure_stops_is_a_matter_of_time() -> None:
    fails = Flow((Step(name="a", act=FAIL), Step(name="b"), Step(name="c", act=SKIP)))
    assert legal(fails, fail_fast=False) == {"a": {F}, "b": {S}, "c": {K}}
    assert legal(fails, fail_fast=True) == {"a": {F, C, B}, "b": {S, C, B}, "c": {K, C, B}}
    goes = Flow((Step(name="b"), Step(name="c", act=SKIP)))
    assert legal(goes, fail_fast=True) == {"b": {S}, "c": {K}}


@pytest.mark.parametrize(
    ("act", "end", "attempts"),
    [
        (Act(max_attempts=3), S, 1),
        (Act(failures=2, max_attempts=3), S, 3),
        (Act(failures=3, max_attempts=3), F, 3),
        (Act(failures=9, max_attempts=2), F, 2),
        (Act(failures=1, max_attempts=2, answer="skip"), K, 2),
        (Act(failures=1, max_attempts=2, answer="cancel"), C, 2),
        (Act(failures=1, max_attempts=1, answer="skip"), F, 1),
    ],
)
def test_a_body_has_so_many_attempts(act: Act, end: State, attempts: int) -> None:
    flow = Flow((Step(name="a", act=act),))
    assert (ends(flow), bodies(flow)) == ({"a": end}, {"a": attempts})
    assert end_of(ends(flow)) is (S if end in (S, K) else F)


@pytest.mark.parametrize(
    ("items", "accept", "end"),
    [
        ("", None, S),
        ("SSK", None, S),
        ("SSF", None, F),
        ("KKK", None, S),
        ("", Share(share="0.5"), S),
        ("SF", Share(share="0.5"), S),
        ("SFF", Share(share="0.5"), F),
        ("FFS", Share(share="0.75", of=4), S),
        ("FFF", Share(share="0.75", of=4), F),
        ("SSSF", Share(share="0.75", of=4), S),
        ("SSFF", Share(share="0.75", of=4), F),
    ],
)
def test_so_many_items_may_fail(items: str, accept: Share | None, end: State) -> None:
    step = Step(name="each", items=tuple(ACTS[item] for item in items), accept=accept)
    assert ends(Flow((step,))) == {"each": end}


@pytest.mark.parametrize(
    ("accept", "total", "tolerated"),
    [
        (Share(share="0.95", of=20), 19, 18),
        (Share(share="0.95", of=20), 20, 1),
        (Share(share="0.95", of=20), 214, 10),
        (Share(share="0.07"), 100, 93),
        (Share(share="0.95", of=20, at_least=3), 2, 0),
        (Share(share="0.95", of=20, at_least=3), 5, 2),
        (Share(share="0.1", at_least=3), 20, 17),
        (Share(share="0.5"), 0, 0),
    ],
)
def test_shares_are_exact(accept: Share, total: int, tolerated: int) -> None:
    assert accept.tolerated(total) == tolerated


def test_the_list_of_items_is_a_hard_need() -> None:
    flow = Flow(
        (
            Step(name="files", act=SKIP),
            Step(name="table", items=(SUCCEED, SUCCEED), source="files"),
        )
    )
    assert ends(flow) == {"files": K, "table": K}
    assert flow.sources() == {"files": 2}


def test_there_is_a_step_for_each_rule_and_pair() -> None:
    states = ends(every_pair())
    assert len(states) == 1 + 10 + 15 * 7
    assert states["failed-blocked-any_failed-order"] is S
    assert states["failed-blocked-all_done-order"] is B
    assert states["failed-skipped-all_succeeded-input"] is K
    assert states["failed-skipped-all_succeeded-optional"] is B


@given(flow=flows())
@settings(deadline=None, max_examples=200)
def test_steps_are_left_over_only_where_something_failed(flow: Flow) -> None:
    states = ends(flow)
    for step in flow.steps:
        if states[step.name] is B:
            assert {F, C, B} & {states[edge.step] for edge in step.needs}
    assert B not in states.values() or end_of(states) is F


@given(flow=flows())
@settings(deadline=None, max_examples=200)
def test_graphs_are_such_as_can_be_declared(flow: Flow) -> None:
    """Needs stand before; a hard edge goes with all_succeeded; a list is one step's."""
    assert 1 <= len(flow.steps) <= 40
    sources = [step.source for step in flow.steps if step.source]
    assert len(sources) == len({*sources})
    for number, step in enumerate(flow.steps):
        before = {each.name for each in flow.steps[:number]}
        needed = [edge.step for edge in step.needs]
        assert before >= {*needed}
        assert len(needed) == len({*needed})
        assert step.join == "all_succeeded" or not any(edge.hard for edge in step.needs)
        assert len({act.max_attempts for act in step.acts}) <= 1


def test_a_seed_gives_one_graph() -> None:
    first, again, other = (random_flow(random.Random(seed)) for seed in (7, 7, 8))
    assert first == again != other


def test_graphs_have_everything() -> None:
    """Otherwise the properties would hold of nothing."""
    made = [random_flow(random.Random(seed)) for seed in range(200)]
    steps = [step for flow in made for step in flow.steps]
    assert {step.join for step in steps} == {*JOINS}
    assert {edge.kind for step in steps for edge in step.edges} == {"order", "optional", "input"}
    assert {state for flow in made for state in ends(flow).values()} == {S, F, K, B, C}
    assert {end_of(ends(flow)) for flow in made} == {S, F}
    assert any(step.source for step in steps)
    assert any(step.accept for step in steps)
    assert {len(step.items) for step in steps if step.items is not None} == {*range(7)}
