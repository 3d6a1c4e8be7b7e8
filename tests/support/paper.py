"""Workflows on paper: random graphs of steps, and the states in which they must end.

The rules stand here a second time, written from the documentation and not from the engine: over
the states in which a step's needs have *ended*, never over the order in which they did.

Why no order is needed: every rule asks only whether some need ends so (any_succeeded,
any_failed, a skip over a hard edge) or whether all do. What releases or skips a step "at once" is
never taken back by what ends later, and nothing ends a workflow while a step may still move. So
by induction along the edges each step's end follows from its bodies alone. That some step is
released earlier or later changes which of its inputs are there, which is why bodies here never
look at them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil
from typing import Literal, get_args

from hypothesis import strategies as st

from koken.model.states import ENDED, State

JoinName = Literal["all_succeeded", "all_done", "any_succeeded", "any_failed", "none_failed"]
EdgeKind = Literal["order", "optional", "input"]
KINDS: tuple[EdgeKind, ...] = get_args(EdgeKind)
JOINS: tuple[JoinName, ...] = get_args(JoinName)
MOST_STEPS = 40
MOST_ITEMS = 6
PAIRED = ("succeeded", "failed", "cancelled", "skipped", "blocked")
BAD = frozenset({State.FAILED, State.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What a body does: raise in its first attempts, then answer."""

    answer: Literal["succeed", "skip", "cancel"] = "succeed"
    failures: int = 0
    """Attempts that raise."""
    max_attempts: int = 1

    @property
    def attempts(self) -> int:
        """How many attempts it takes."""
        return min(self.failures + 1, self.max_attempts)

    @property
    def end(self) -> State:
        """The state in which its run ends."""
        if self.failures >= self.max_attempts:
            return State.FAILED
        return {
            "succeed": State.SUCCEEDED,
            "skip": State.SKIPPED,
            "cancel": State.CANCELLED,
        }[self.answer]


SUCCEED = Act()
FAIL = Act(failures=1)
SKIP = Act(answer="skip")
CANCEL = Act(answer="cancel")


@dataclass(frozen=True, slots=True)
class Edge:
    """That a step needs another."""

    step: str
    kind: EdgeKind = "order"
    """A parameter without a default; one with a default; no parameter at all."""

    @property
    def hard(self) -> bool:
        """Whether a skip of the other step is passed on."""
        return self.kind == "input"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many items must not fail: ``at_least`` so many; of ``of`` or more also ``share``."""

    share: str
    of: int = 1
    at_least: int = 1

    def tolerated(self, total: int) -> int:
        """How many items may fail."""
        share = ceil(Fraction(self.share) * total) if total >= self.of else 0
        return max(0, total - max(share, self.at_least))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: its needs, their rule, and what its body does, or that of each of its items."""

    name: str
    edges: tuple[Edge, ...] = ()
    join: JoinName = "all_succeeded"
    act: Act = SUCCEED
    items: tuple[Act, ...] | None = None
    """One for each item; None: a step without items. All have the same number of attempts."""
    source: str | None = None
    """The step whose result is the list of items, and which is needed for it; None: an argument."""
    accept: Share | None = None

    @property
    def acts(self) -> tuple[Act, ...]:
        """What its bodies do."""
        return (self.act,) if self.items is None else self.items

    @property
    def end(self) -> State:
        """The state in which it ends once it is released."""
        if self.items is None:
            return self.act.end
        bad = sum(act.end in BAD for act in self.items)
        tolerated = self.accept.tolerated(len(self.items)) if self.accept else 0
        return State.SUCCEEDED if bad <= tolerated else State.FAILED

    @property
    def item_ends(self) -> list[State]:
        """The states of its items when it has succeeded: misses that are borne count as skipped."""
        found = (act.end for act in self.items or ())
        return [State.SKIPPED if state in BAD else state for state in found]

    @property
    def needs(self) -> tuple[Edge, ...]:
        """All needs; that of the list of items comes last."""
        return self.edges if self.source is None else (*self.edges, Edge(self.source, "input"))


@dataclass(frozen=True, slots=True)
class Flow:
    """A workflow on paper; each step stands behind all that it needs."""

    steps: tuple[Step, ...]
    named: Mapping[str, Step] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "named", {step.name: step for step in self.steps})

    def sources(self) -> dict[str, int]:
        """The steps whose results are lists of items, and how long these are."""
        return {
            step.source: len(step.items or ()) for step in self.steps if step.source is not None
        }


def held(step: Step, states: Mapping[str, State]) -> State | None:
    """Where a step stands that its needs, ended so, do not release; None: they do.

    Blocked: it has not begun, and will not. A need that is blocked has not ended.
    """
    needs = [(edge, states[edge.step]) for edge in step.needs]
    good = any(state is State.SUCCEEDED for _, state in needs)
    bad = any(state in BAD for _, state in needs)
    open_ = any(state is State.BLOCKED for _, state in needs)
    lost = any(edge.hard and state is State.SKIPPED for edge, state in needs)
    if not needs:
        return None
    match step.join:
        case "all_succeeded" if lost:
            return State.SKIPPED
        case "all_succeeded" | "none_failed":
            return State.BLOCKED if open_ or bad else None
        case "all_done":
            return State.BLOCKED if open_ else None
        case "any_succeeded" if good:
            return None
        case "any_succeeded":
            return State.BLOCKED if open_ or bad else State.SKIPPED
        case "any_failed" if bad:
            return None
        case "any_failed":
            return State.BLOCKED if open_ else State.SKIPPED


def ends(flow: Flow) -> dict[str, State]:
    """The state in which each step ends; blocked: it has not begun."""
    found: dict[str, State] = {}
    for step in flow.steps:
        found[step.name] = held(step, found) or step.end
    return found


def end_of(states: Mapping[str, State]) -> State:
    """The state in which the workflow ends: failed as soon as one step is, whatever follows it."""
    return State.FAILED if BAD & {*states.values()} else State.SUCCEEDED


def legal(flow: Flow, *, fail_fast: bool) -> dict[str, frozenset[State]]:
    """The states in which each step may end.

    A workflow that stops at the first failure ends as any other, but which steps still come to
    their end, are cancelled, or do not begin, is a matter of time. Those that are there for a
    failure are spared, and meet needs that were cancelled: they, and what comes after them, may
    come to any end.
    """
    states = ends(flow)
    stopped = fail_fast and end_of(states) is State.FAILED
    others = {State.CANCELLED, State.BLOCKED} if stopped else set()
    found: dict[str, frozenset[State]] = {}
    open_ended: set[str] = set()
    for step in flow.steps:
        after = {edge.step for edge in step.edges}
        if stopped and (step.join in ("any_failed", "all_done") or after & open_ended):
            open_ended.add(step.name)
            found[step.name] = frozenset({*ENDED, State.BLOCKED})
        else:
            found[step.name] = frozenset({states[step.name]} | others)
    return found


def bodies(flow: Flow) -> dict[str, int]:
    """How many bodies each released step carries out, retries included.

    Of a step that fails by its items it is the most: what is left over may be given up.
    """
    states = ends(flow)
    return {
        step.name: sum(act.attempts for act in step.acts)
        for step in flow.steps
        if held(step, states) is None
    }


def every_pair() -> Flow:
    """A step for each rule and kind of edge behind each pair of ends that two needs may come to."""
    steps = [Step(name="broken", act=FAIL)]
    for number in (0, 1):
        steps += [
            Step(name=f"succeeded{number}"),
            Step(name=f"failed{number}", act=FAIL),
            Step(name=f"cancelled{number}", act=CANCEL),
            Step(name=f"skipped{number}", act=SKIP),
            Step(name=f"blocked{number}", edges=(Edge("broken"),)),
        ]
    ways = [(join, "order") for join in JOINS] + [("all_succeeded", kind) for kind in KINDS[1:]]
    for first, second in combinations_with_replacement(PAIRED, 2):
        for join, kind in ways:
            edges = (Edge(f"{first}0", kind), Edge(f"{second}1", kind))
            steps.append(Step(name=f"{first}-{second}-{join}-{kind}", edges=edges, join=join))
    return Flow(tuple(steps))


def random_flow(dice: random.Random, most: int = MOST_STEPS) -> Flow:
    """A graph of 1 to ``most`` steps; the same one for the same dice."""
    steps: list[Step] = []
    lists: set[str] = set()
    width = dice.choice([1, 3, 10, most])
    for number in range(dice.randint(1, most)):
        reach = steps[-width:] if dice.randrange(5) else steps
        steps.append(random_step(dice, f"s{number}", reach, lists))
    return Flow(tuple(steps))


def random_step(dice: random.Random, name: str, before: list[Step], lists: set[str]) -> Step:
    """A step that needs some of those before it. ``lists``: those whose result is a list by now."""
    needed = dice.sample(before, min(len(before), dice.choice([0, 1, 1, 1, 2, 2, 3, 6])))
    join: JoinName = dice.choice(JOINS) if dice.randrange(2) else "all_succeeded"
    kinds = KINDS if join == "all_succeeded" else KINDS[:2]
    edges = [Edge(step.name, dice.choice(kinds)) for step in needed]
    if dice.randrange(100) < 85:
        return Step(name=name, edges=tuple(edges), join=join, act=random_act(dice))
    source = next(
        (
            step.name
            for step in needed
            if join == "all_succeeded" and step.items is None and step.name not in lists
        ),
        None,
    )
    if source is not None:
        lists.add(source)
    attempts = dice.randint(1, 3)
    return Step(
        name=name,
        edges=tuple(edge for edge in edges if edge.step != source),
        join=join,
        items=tuple(random_act(dice, attempts) for _ in range(dice.randint(0, MOST_ITEMS))),
        source=source,
        accept=dice.choice([None, Share(share="0.5"), Share(share="0.75", of=4)]),
    )


def random_act(dice: random.Random, max_attempts: int | None = None) -> Act:
    """What a body does; most succeed, some of them late."""
    attempts = max_attempts or dice.choice([1, 1, 2, 3])
    fate = dice.randrange(100)
    if fate < 78 or (fate < 80 and max_attempts is not None):
        late = dice.randrange(attempts) if fate >= 45 else 0
        return Act(failures=late, max_attempts=attempts)
    if fate < 80:
        return Act(answer="cancel", max_attempts=attempts)
    if fate < 90:
        return Act(answer="skip", max_attempts=attempts)
    return Act(failures=attempts, max_attempts=attempts)


def flows(most: int = MOST_STEPS) -> st.SearchStrategy[Flow]:
    """Graphs for property tests: such as shrink to few steps that succeed, and of random seeds."""
    shrinking = st.randoms(use_true_random=False)
    seeded = st.integers(0, 2**32).map(random.Random)
    return (shrinking | seeded).map(lambda dice: random_flow(dice, most))
