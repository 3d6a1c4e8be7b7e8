"""What is not legal as things stand, and what is possible instead."""

from __future__ import annotations

from collections.abc import Collection

from koken.engine.ground import Flow, Part
from koken.errors import InvalidArguments, KokenError, Refused
from koken.model.states import BAD, State
from koken.model.steps import Join, StepSpec

SAID = {State.SKIPPED: "skip", State.SUCCEEDED: "resolve"}
"""The verb by which a person says that a step has ended so."""


class Busy(KokenError):
    """A worker has a run in its hands for a moment."""


def check_going(run: Part) -> None:
    """Raise ``Refused`` for a run that goes, but not as one that waits for its parts."""
    if run.cancelling or run.settle is not None:
        doing = "is being cancelled" if run.cancelling else f"is about to end ({run.settle})"
        raise refused(run, f"it {doing}; wait for its end")
    if run.state is State.RUNNING and run.made is not None:
        raise Busy(f"{run.called} is in a worker's hands at this moment; try again")
    if run.made is None or not (run.waits_for_parts or run.state is State.READY):
        raise refused(run, f"it is {run.standing} and has no parts yet")


def refused(part: Part, why: str) -> Refused:
    """The error for a repair that is not legal now."""
    return Refused(f"{part.called}: {why}", what=f"run {part.id}")


def not_ended(run: Part) -> Refused:
    """What is said of a run that nobody can retry."""
    return Refused(
        f"run {run.id} is {run.state}; only a run that failed, was cancelled or was skipped "
        "can be retried",
        what=f"run {run.id}",
    )


def check_needs(flow: Flow, target: Part, going: Collection[str]) -> None:
    """Raise ``Refused`` when a step could not begin, since what it needs has not gone well."""
    spec = flow.specs[target.step or ""]
    if spec.join not in (Join.ALL_SUCCEEDED, Join.NONE_FAILED):
        return
    for need in spec.edges:
        part = flow.steps[need]
        undone = any(row["step"] == need for row in flow.undone)
        bad = part.state in BAD or (part.state is State.BLOCKED and part.held)
        if bad and need not in going and not undone:
            raise refused(
                target, f"it needs {need}, which is {part.standing}; begin there: --from {need}"
            )


def check_declare(flow: Flow, target: Part, state: State) -> None:
    """Raise ``Refused`` when nobody can say so of this part now."""
    run, verb = flow.run, SAID[state]
    if target.state in (State.SUCCEEDED, state):
        raise refused(target, f"it has ended already ({target.standing})")
    if run.state.ended and run.state is not State.FAILED:
        way = (
            f"retry {run.id} --from {target.step}"
            if run.state is State.SUCCEEDED
            else f"retry {run.id}"
        )
        raise refused(target, f"run {run.id} has ended ({run.state}); {way} lets it go again")
    if (
        target.state is State.RUNNING
        or target.open_children > 0
        or (target.unwind and not target.state.ended)
    ):
        raise refused(target, f"it is at work; cancel {target.id}, and {verb} it then")
    if not run.state.ended:
        check_going(run)


def check_result(flow: Flow, target: Part) -> None:
    """Raise ``InvalidArguments`` when a step wants the result of a part that would have none."""
    of_items = flow.specs[target.step or ""].each is not None
    if of_items and target.is_step and target.made is not None:
        return  # it has the results of its items
    way = f"; resolve {flow.run.id} {target.named} --result JSON gives it"
    for spec in flow.specs.values():
        why = wants(spec, target)
        if why:
            raise InvalidArguments(
                f"{target.called} wants a result: {why}{way}. Nothing was done.",
                {"result": f"is missing: {why}"},
            )


def wants(spec: StepSpec, target: Part) -> str:
    """Why a step cannot go without the result of a part; empty when it can."""
    name = target.step or ""
    if spec.each is not None and spec.each.of_step and spec.each.source == name:
        return f"step {spec.name} goes once for each of its items"
    for need in spec.needs:
        if need.step != name or need.parameter is None:
            continue
        if target.is_item:
            return f"step {spec.name} takes it in {need.parameter}; skip leaves the item out"
        if need.hard:
            return f"step {spec.name} takes it as {need.parameter}, which has no default"
    return ""
