"""Workflows on paper, made into programs whose bodies tell when they begin and end."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import koken
from koken import Accept, App, AsyncContext, Context, Workflow
from koken.model.states import State
from koken.store.database import Database
from tests.support.paper import BAD, Act, Flow, Step, ends, held

NAME = "flow"
STANDING = """
select s.step, s.state, p.open_children, coalesce(s.open_children, 0) as open_items, array(
         select i.state from koken.run i where i.parent_id = s.id order by i.step_no) as items
  from koken.run s join koken.run p on p.id = s.parent_id
 where p.id = $1
 order by s.step_no
"""
Chance = Callable[[], None]
"""What may happen to a body before it does anything, and before it answers."""


@dataclass(frozen=True, slots=True)
class Moment:
    """That a body has begun, or is about to answer."""

    step: str
    item: int
    begins: bool


@dataclass(slots=True)
class Show:
    """What went on, in its order."""

    moments: list[Moment] = field(default_factory=list)

    def first(self, step: str) -> int | None:
        """When the first body of a step began."""
        places = [at for at, each in enumerate(self.moments) if each.step == step]
        return places[0] if places else None

    def last(self, step: str) -> int:
        """When the last body of a step answered; before everything for one without bodies."""
        places = [at for at, each in enumerate(self.moments) if each.step == step]
        return places[-1] if places else -1

    def begun(self, step: str) -> int:
        """How many bodies of a step have begun."""
        return sum(each.begins for each in self.moments if each.step == step)


def check_order(flow: Flow, show: Show) -> None:
    """No body ran before its step's needs let it, and none that its step was not to have."""
    states = ends(flow)
    for step in flow.steps:
        began = show.first(step.name)
        if held(step, states) is not None:
            assert began is None, f"{step.name} ran, and its needs do not allow it"
        elif began is not None:
            check_needs(step, states, show, began)


def check_needs(step: Step, states: Mapping[str, State], show: Show, began: int) -> None:
    """Those needs had ended that the step's rule asks for."""
    over = {edge.step for edge in step.needs if show.last(edge.step) < began}
    if step.needs and step.join == "any_succeeded":
        enough = any(states[need] is State.SUCCEEDED for need in over)
    elif step.needs and step.join == "any_failed":
        enough = any(states[need] in BAD for need in over)
    else:
        enough = over == {edge.step for edge in step.needs}
    assert enough, f"{step.name} ran after {sorted(over)} alone"


async def standing(db: Database, run_id: int, flow: Flow) -> dict[str, State]:
    """The states of the steps of a run that has ended; nothing below it goes on."""
    rows = await db.run(lambda tx: tx.fetch_text(STANDING, run_id))
    assert [row["step"] for row in rows] == [step.name for step in flow.steps]
    assert {(row["open_children"], row["open_items"]) for row in rows} == {(0, 0)}
    states = {row["step"]: State(row["state"]) for row in rows}
    for step, row in zip(flow.steps, rows, strict=True):
        items = [State(state) for state in row["items"]]
        if states[step.name] is State.SUCCEEDED:
            assert items == step.item_ends
        else:
            assert all(state.ended or state is State.BLOCKED for state in items)
    live = {*states.values()} & {State.READY, State.RUNNING, State.WAITING}
    assert live == set()
    return states


def stage(
    app: App,
    flow: Flow,
    show: Show,
    *,
    chance: Chance = lambda: None,
    dice: random.Random,
    is_async: bool = False,
    fail_fast: bool = False,
) -> Workflow[...]:
    """The workflow of ``app`` that does what stands on paper. ``dice`` mix up the order."""
    parameters = {
        f"items_{step.name}": list[int]
        for step in flow.steps
        if step.items is not None and step.source is None
    }
    head = shaped(nothing, parameters, type(None))
    made = app.workflow(head, name=NAME, fail_fast=fail_fast)
    play = Play(flow, show, chance, dice, is_async)
    for step in flow.steps:
        declare(made, step, play)
    return made


def arguments(flow: Flow) -> dict[str, list[int]]:
    """The arguments of a run: the lists of items that come from no step."""
    return {
        f"items_{step.name}": list(range(len(step.items)))
        for step in flow.steps
        if step.items is not None and step.source is None
    }


@dataclass(frozen=True, slots=True)
class Play:
    """How the steps of one workflow are played."""

    flow: Flow
    show: Show
    chance: Chance
    dice: random.Random
    is_async: bool

    def result(self, name: str) -> Any:
        """The type of what the body of a step returns."""
        return list[int] if name in self.flow.sources() else int

    def input(self, name: str) -> Any:
        """The type of what a step gives to others."""
        return self.result(name) if self.flow.named[name].items is None else list[int]

    def body(self, step: Step) -> Callable[..., Any]:
        """The function of a step."""
        answer = list(range(self.flow.sources().get(step.name, 0)))
        plain = self.result(step.name) is int

        def begin(given: Mapping[str, Any]) -> int:
            item: int = given.get("item", 0)
            self.happens(step, item, begins=True)
            return item

        def end(item: int, attempt: int) -> Any:
            self.happens(step, item, begins=False)
            if attempt <= step.acts[item].failures:
                raise RuntimeError(f"attempt {attempt}")
            return answered(step.acts[item], item if plain else answer)

        def body(ctx: Context, **given: Any) -> Any:
            return end(begin(given), ctx.attempt)

        async def async_body(ctx: AsyncContext, **given: Any) -> Any:
            item = begin(given)
            await asyncio.sleep(self.dice.choice([0, 0, 0.001, 0.01]))
            return end(item, ctx.attempt)

        return async_body if self.is_async else body

    def happens(self, step: Step, item: int, *, begins: bool) -> None:
        """A body begins, or is about to answer."""
        self.show.moments.append(Moment(step.name, item, begins))
        self.chance()


def declare(made: Workflow[...], step: Step, play: Play) -> None:
    """One step."""
    parameters: dict[str, Any] = {"ctx": AsyncContext if play.is_async else Context}
    for edge in step.edges:
        if edge.kind == "input":
            parameters[edge.step] = play.input(edge.step)
    if step.items is not None:
        parameters["item"] = int
    optional = {
        edge.step: play.input(edge.step) | None for edge in step.edges if edge.kind == "optional"
    }
    options: dict[str, Any] = {}
    if step.items is not None:
        options["each"] = {"item": step.source or f"items_{step.name}"}
        options["at_once"] = 3
    if step.accept is not None:
        options["accept"] = Accept(
            float(step.accept.share), of=step.accept.of, at_least=step.accept.at_least
        )
    made.step(
        shaped(play.body(step), parameters, play.result(step.name), optional),
        name=step.name,
        after=[edge.step for edge in step.edges if edge.kind == "order"],
        join=step.join,
        max_attempts=max((act.max_attempts for act in step.acts), default=1),
        backoff=koken.Backoff("fixed", base=0.01),
        priority=play.dice.randrange(5),
        **options,
    )


def nothing() -> None:
    """A workflow on paper."""


def shaped(
    fn: Callable[..., Any],
    parameters: Mapping[str, Any],
    result: Any,
    optional: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """``fn`` with a signature as if it had been written so. ``optional`` have the default None."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    every = [inspect.Parameter(name, kind, annotation=hint) for name, hint in parameters.items()]
    every += [
        inspect.Parameter(name, kind, annotation=hint, default=None)
        for name, hint in (optional or {}).items()
    ]
    vars(fn)["__signature__"] = inspect.Signature(every, return_annotation=result)
    fn.__annotations__ = {each.name: each.annotation for each in every} | {"return": result}
    return fn


def answered(act: Act, result: Any) -> Any:
    """What a body does in the end."""
    match act.answer:
        case "succeed":
            return result
        case "skip":
            raise koken.Skip("on paper")
        case "cancel":
            raise koken.Cancel("on paper")
