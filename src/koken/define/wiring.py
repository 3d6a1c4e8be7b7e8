"""The edges of a workflow: names become needs, and what cannot work is refused.

Goes over all steps once, however many there are; a message of an error may cost more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from koken.define import condition, edges
from koken.define.body import Body
from koken.define.draft import Draft, Sketch
from koken.define.function import TypedBody
from koken.define.signature import EMPTY, Parameter
from koken.define.spelling import nearest
from koken.errors import DeclarationError
from koken.model import graph
from koken.model.steps import Each, Join, Need, StepSpec

EARLY = (Join.ANY_SUCCEEDED, Join.ANY_FAILED)
"""Rules by which a step begins while others that it needs still go."""


def wired(sketch: Sketch) -> dict[str, StepSpec]:
    """The steps as data, by name, in the order of declaration.

    Raises ``DeclarationError`` when they do not fit together.
    """
    if sketch.specs is None:
        specs = {
            draft.name: Wires(sketch, draft).spec(no)
            for no, draft in enumerate(sketch.drafts.values(), 1)
        }
        refuse_cycle(sketch.name, specs)
        sketch.specs = specs
    return sketch.specs


def refuse_cycle(workflow: str, specs: Mapping[str, StepSpec]) -> None:
    """Refuse steps of which each waits for the other."""
    way = graph.cycle({name: spec.edges for name, spec in specs.items()})
    if way:
        raise DeclarationError(
            f"{workflow} has a cycle: {' → '.join(way)}. "
            "Break it with after=, or make one of them a job of its own."
        )


class Wires:
    """One step while its names are looked up."""

    def __init__(self, sketch: Sketch, draft: Draft) -> None:
        self.sketch = sketch
        self.draft = draft
        self.label = draft.job.name
        self.needs: list[Need] = []
        self.arguments: list[str] = []
        self.asks: list[str] = []
        self.each: Each | None = None

    def spec(self, no: int) -> StepSpec:
        """The step as data; ``no`` is its number."""
        draft, declared = self.draft, self.draft.job.declared
        parameters = parameters_of(draft.job.body)
        self.look_up_each(parameters)
        self.look_up_inputs(parameters)
        self.look_up_parameters(parameters or {})
        self.look_up_condition()
        self.look_up_order()
        self.refuse_missing_results()
        self.look_up_undo()
        return StepSpec(
            name=draft.name,
            no=no,
            kind=draft.kind,
            job=draft.target.name if draft.target else None,
            description=declared.description,
            queue=declared.queue,
            priority=declared.priority,
            max_attempts=declared.max_attempts,
            backoff=declared.backoff,
            never_retry=declared.never_retry,
            max_infra_attempts=declared.max_infra_attempts,
            timeout=declared.timeout,
            executor=declared.executor,
            lock=declared.lock,
            effect=declared.effect,
            needs=tuple(self.needs),
            join=draft.join,
            when=condition.in_words(draft.condition),
            asks=tuple(self.asks),
            each=self.each,
            at_once=draft.at_once,
            accept=draft.accept,
            gate=draft.gate,
            window=draft.window,
            window_missed=draft.window_missed,
            compensates=draft.undo is not None,
            arguments=tuple(self.arguments),
        )

    def look_up_each(self, parameters: Mapping[str, Parameter] | None) -> None:
        """The list that the step goes over."""
        if self.draft.each is None:
            return
        name, source = self.draft.each
        parameter = self.parameter("each", name, parameters)
        self.each = Each(name, source, of_step=source in self.sketch.drafts)
        if self.each.of_step:
            self.needs.append(Need(source, None, hard=True))
        elif source not in self.sketch.arguments:
            raise self.unknown(f": each[{name!r}] names {source!r}", source)
        edges.check_each(self.sketch, self.draft, parameter, source)

    def look_up_inputs(self, parameters: Mapping[str, Parameter] | None) -> None:
        """The results that go to parameters of other names."""
        for name, source in self.draft.inputs.items():
            if source not in self.sketch.drafts:
                raise self.no_step(f"inputs[{name!r}] names {source!r}", source)
            self.receive(self.parameter("inputs", name, parameters), source)

    def look_up_parameters(self, parameters: Mapping[str, Parameter]) -> None:
        """The parameters that are named like a step or an argument."""
        for name, parameter in parameters.items():
            if name in self.draft.inputs or (self.each and name == self.each.parameter):
                continue
            if name in self.sketch.drafts:
                self.receive(parameter, name)
            elif name in self.sketch.arguments:
                self.arguments.append(name)
            elif parameter.required or self.draft.target is None:
                raise self.unknown(f" asks for {name!r}", name)

    def receive(self, parameter: Parameter, source: str) -> None:
        """An edge along which a result goes."""
        self.needs.append(Need(source, parameter.name, hard=parameter.required))
        edges.check(self.sketch, self.draft, parameter, source)

    def look_up_condition(self) -> None:
        """The steps and arguments that the condition looks at."""
        if self.draft.condition is None:
            return
        if self.draft.join in EARLY and any(
            name in self.sketch.drafts for name in condition.asked(self.draft.condition)
        ):
            raise DeclarationError(
                f"{self.label} joins by {self.draft.join}, so it may begin before what its when "
                "looks at has ended. Put the condition into the step itself: raise koken.Skip."
            )
        firm = self.draft.join is Join.ALL_SUCCEEDED or callable(self.draft.condition)
        for name, required in condition.asked(self.draft.condition).items():
            if name in self.sketch.drafts:
                self.needs.append(Need(name, None, hard=required and firm))
            elif name not in self.sketch.arguments:
                raise self.unknown(f": when names {name!r}", name)
            self.asks.append(name)
            edges.check_choice(self.sketch, self.draft, name)

    def look_up_order(self) -> None:
        """The steps after which it comes, without a result."""
        needed = {need.step for need in self.needs}
        for name in dict.fromkeys(self.draft.after):
            if name not in self.sketch.drafts:
                raise self.no_step(f"after names {name!r}", name)
            if name not in needed:
                self.needs.append(Need(name))

    def refuse_missing_results(self) -> None:
        """Refuse a step that begins without results which it must have."""
        if self.draft.join is Join.ALL_SUCCEEDED:
            return
        for need in self.needs:
            if need.hard:
                raise DeclarationError(
                    f"{self.label} joins by {self.draft.join}, so {need.step!r} may have no result "
                    f"when it begins. Give {need.parameter or need.step} a default."
                )

    def look_up_undo(self) -> None:
        """What the undo asks for."""
        undo = self.draft.undo
        for name, parameter in (parameters_of(undo.body) or {} if undo else {}).items():
            if self.each and name == self.each.parameter:
                continue
            if name in self.sketch.drafts:
                edges.check_undo(self.sketch, self.draft, parameter)
            elif name not in self.sketch.arguments:
                raise self.unknown(f".undo asks for {name!r}", name)

    def parameter(
        self, option: str, name: str, parameters: Mapping[str, Parameter] | None
    ) -> Parameter:
        """The parameter of that name, which an option speaks of."""
        if parameters is None:
            return Parameter(name=name, hint=Any)
        if name not in parameters:
            raise DeclarationError(
                f"{self.label}: {option} names {name!r}, which is none of its arguments."
                f"{meant(name, parameters)}"
            )
        return parameters[name]

    def unknown(self, says: str, name: str) -> DeclarationError:
        """The error for a name that nothing has."""
        workflow = self.sketch.name
        return DeclarationError(
            f"{self.label}{says}, which is neither a step nor an argument of {workflow}."
            f"{meant(name, [*self.sketch.drafts, *self.sketch.arguments])}"
        )

    def no_step(self, says: str, name: str) -> DeclarationError:
        """The error for a name that no step has."""
        return DeclarationError(
            f"{self.label}: {says}, which is no step of {self.sketch.name}."
            f"{meant(name, self.sketch.drafts)}"
        )


def parameters_of(body: Body) -> Mapping[str, Parameter] | None:
    """The parameters of a body; None when they are free."""
    if isinstance(body, TypedBody):
        return body.call.parameters
    if body.argument_names is None:
        return None
    return {each.name: each for each in plain_parameters(body)}


def plain_parameters(body: Body) -> Iterator[Parameter]:
    """The parameters of a body of whose types nothing is known here."""
    for name in body.argument_names or ():
        default = EMPTY if name in body.required else body.defaults.get(name)
        yield Parameter(name=name, hint=Any, default=default)


def meant(name: str, known: Any) -> str:
    """``" Did you mean 'crunch'?"``, or nothing."""
    found = nearest(name, known)
    return f" Did you mean {found!r}?" if found else ""
