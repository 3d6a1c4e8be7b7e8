"""What may be done with a run now, and each plan in words before anything is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any
from urllib.parse import urlencode

from koken.client.results import NO_RESULT
from koken.errors import InvalidArguments, KokenError, Refused
from koken.model import codec
from koken.model.plan import Again, Plan
from koken.model.policy import Effect
from koken.model.run import Run
from koken.model.states import State
from koken.views import plans, runwords, words
from koken.views.sentence import failures
from koken.views.steprows import StepRow
from koken.web.console.otherargs import changed, present
from koken.web.masking import without_values
from koken.web.visit import Visit

VERBS = ("cancel", "retry", "skip", "resolve", "rerun", "fork", "acknowledge")
FROM = ("retry", "fork")
"""Verbs that go from a step on; ``skip`` and ``resolve`` are about one."""
PLAIN = ("cancel", "acknowledge")
"""Verbs that repeat nothing."""
TOLD = 2
"""Failed steps that have buttons of their own."""
CHOICES = 300
EFFECTS = {
    Effect.ONCE: "sends its key with it, so that it happens once",
    Effect.UNSAFE: "unsafe to repeat",
    None: "does not say what it does outside",
}
DONE = {
    "cancel": "Asked to stop.",
    "retry": "It goes again.",
    "skip": "Skipped; what follows goes on.",
    "resolve": "Marked as done; what follows goes on.",
    "rerun": "Started anew: this is the new run.",
    "fork": "Forked: this is the new run.",
    "acknowledge": "Acknowledged.",
    "answer": "Answered.",
    "signal": "Sent.",
}
"""What is said once it is done."""
PASSING = ("cancel", "retry", "skip", "resolve", "signal")
"""Verbs of which that is true only until the run has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A button that opens a plan."""

    run_id: int
    verb: str
    label: str
    step: str = ""

    @property
    def url(self) -> str:
        """Where its plan is told."""
        query = f"?{urlencode({'step': self.step})}" if self.step else ""
        return f"/runs/{self.run_id}/plan/{self.verb}{query}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a form says of a repair."""

    step: str = ""
    reason: str = ""
    force: bool = False
    args: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A plan as a page tells it."""

    run: Run[Any]
    verb: str
    given: Given
    title: str
    button: str
    lines: Sequence[tuple[str, Sequence[str]]] = ()
    held: Sequence[tuple[str, int]] = ()
    """Locks that others hold, and the runs that do."""
    needs_force: bool = False
    choices: Sequence[str] = ()
    """Steps to choose from."""
    takes_args: bool = False
    args: str = ""
    """Those of its arguments that may be shown, as JSON."""
    unshown: Sequence[str] = ()
    """Those that may not."""
    problem: str = ""
    refused: bool = False
    """Whether it cannot be done as things stand."""


def done(run: Run[Any], verb: str) -> str:
    """What is said of a verb that was just carried out, as long as it is true."""
    return "" if run.state.ended and verb in PASSING else DONE.get(verb, "")


def acts_of(run: Run[Any], rows: Sequence[StepRow]) -> list[Act]:
    """What may be done now by who has the right, the safest first."""
    failed = failures(rows) if not run.of_step else []
    found = [act for verb in run.actions for act in of_verb(run, verb, failed)]
    if failed and not run.state.ended:
        found = [*of_failed(run, failed), *found]
    return found


def of_failed(run: Run[Any], failed: Sequence[StepRow]) -> list[Act]:
    """The buttons for steps that failed while others go on."""
    found = [
        Act(run_id=row.run_id, verb="retry", label=f"Run {short(row.name)} again")
        for row in failed[:TOLD]
        if row.run_id is not None
    ]
    return found + of_steps(run, "skip", failed) + of_steps(run, "resolve", failed)


def of_verb(run: Run[Any], verb: str, failed: Sequence[StepRow]) -> list[Act]:
    """The buttons of a verb."""
    if verb in ("skip", "resolve") and run.is_workflow:
        return of_steps(run, verb, failed)
    step = failed[0].name if len(failed) == 1 and verb == "retry" else ""
    return [Act(run_id=run.id, verb=verb, label=label(run, verb, step), step=step)]


def of_steps(run: Run[Any], verb: str, failed: Sequence[StepRow]) -> list[Act]:
    """A button for each of the first steps that failed."""
    return [
        Act(run_id=run.id, verb=verb, label=label(run, verb, row.name), step=row.name)
        for row in failed[:TOLD]
    ]


def label(run: Run[Any], verb: str, step: str) -> str:
    """What a button says that it does."""
    name = short(step or (run.step or "" if run.of_step else ""))
    match verb:
        case "retry":
            if step and not run.of_step:
                return f"Run again from {name}"
            if run.of_step:
                return f"Run {name} again"
            return "Run again what failed" if run.is_workflow else "Run again"
        case "skip":
            return f"Skip {name}" if name else "Skip a step"
        case "resolve":
            return f"Mark {name} as done" if name else "Mark a step as done"
        case "fork":
            return f"Fork from {name}" if name else "Fork"
        case "rerun":
            return "Start anew"
        case "cancel":
            return f"Cancel {run.job}"
        case _:
            return "Acknowledge"


def short(name: str) -> str:
    """A step's name in a button."""
    plain = words.plain(name)
    return plain if len(plain) <= 40 else f"{plain[:39]}…"


def wanted(given: Given, verb: str, run: Run[Any]) -> dict[str, Any]:
    """The arguments of a verb of the client. Raises ``InvalidArguments``."""
    found: dict[str, Any] = {}
    if verb == "fork" or (given.step and not run.of_step and verb in (*FROM, "skip", "resolve")):
        found["from_step" if verb in FROM else "step"] = given.step or None
    if given.args and verb == "retry":
        found |= changed(value(given.args, "the arguments"), run)
    if verb == "resolve":
        found["result"] = value(given.result, "the result") if given.result else NO_RESULT
    return found


def value(text: str, what: str) -> Any:
    """A value from JSON text. Raises ``InvalidArguments``."""
    try:
        return codec.decode(text)
    except ValueError as error:
        raise InvalidArguments(f"{what} cannot be read as JSON: {error}") from None


async def tell(
    visit: Visit, run: Run[Any], rows: Sequence[StepRow], verb: str, given: Given, now: datetime
) -> Told:
    """The plan of a verb in words; what cannot be done says why.

    ``now`` is in the reader's zone.
    """
    if verb == "fork" and not given.step:
        failed = failures(rows)
        given = replace(given, step=(failed or rows)[0].name if rows else "")
    button = label(run, verb, given.step)
    told = Told(
        run=run,
        verb=verb,
        given=given,
        title=button,
        button=button,
        choices=choices(run, rows, verb),
    )
    if verb == "retry" and not run.is_workflow and run.parent_id is None:
        args, unshown = await present(visit, run)
        told = replace(told, takes_args=True, args=args, unshown=unshown)
    if verb not in run.actions and not (verb in ("skip", "resolve") and run.is_workflow):
        state = f"it is {run.state}" if not run.state.ended else f"it has ended ({run.state})"
        return replace(told, problem=f"{runwords.called(run)}: {state}", refused=True)
    if verb in PLAIN:
        return replace(told, lines=plainly(run, verb))
    try:
        plan = await visit.client.plan(verb, run, **wanted(given, verb, run))
    except InvalidArguments as error:
        return replace(told, problem=str(without_values(error, visit.house.web.mask)))
    except Refused as error:
        return replace(told, problem=str(error), refused=True)
    except KokenError as error:
        return replace(told, problem=str(error), refused=True)
    held = [(lock.key, lock.held_by) for lock in plan.locks if lock.held_by is not None]
    return replace(
        told, lines=lines(plan, now, now.tzinfo), held=held, needs_force=plan.needs_force
    )


def choices(run: Run[Any], rows: Sequence[StepRow], verb: str) -> list[str]:
    """The steps that a verb may be about."""
    own = [row for row in rows if not row.undoing]
    if run.of_step or verb not in (*FROM, "skip", "resolve"):
        return []
    if verb in ("skip", "resolve"):
        own = [row for row in own if row.state not in (State.SUCCEEDED, State.RUNNING)]
    return [row.name for row in own[:CHOICES]]


def plainly(run: Run[Any], verb: str) -> list[tuple[str, Sequence[str]]]:
    """What a verb does that repeats nothing."""
    if verb == "acknowledge":
        said = "nothing runs; the failure no longer counts as open, and its schedule may go on"
        return [("does", [said])]
    if run.state is State.RUNNING:
        first = f"asks {words.plain(run.worker or 'its worker')} to stop it now"
    elif run.children is not None:
        first = f"stops what goes of it: {words.counted(run.children.going, 'run')}"
    else:
        first = "ends it for good, before it has begun" if run.attempt == 0 else "ends it for good"
    then = "what its steps have done is undone where they say how" if run.is_workflow else ""
    return [("does", [first]), *([("then", [then])] if then else []),
            ("keeps", ["what it has done outside stays as it is"])]  # fmt: skip


def lines(plan: Plan, now: datetime, zone: tzinfo | None) -> list[tuple[str, Sequence[str]]]:
    """A plan, line by line with its labels."""
    found: list[tuple[str, Sequence[str]]] = []
    again = [once_more(each, plan, now, zone) for each in plan.again[: plans.MOST]]
    if len(plan.again) > plans.MOST:
        again.append(f"and {len(plan.again) - plans.MOST:,} more")
    found.append(("runs again", again))
    then = [": ".join(filter(None, [each.step, "; ".join(plans.more(each, now, zone))]))
            for each in plan.then[: plans.NAMED]]  # fmt: skip
    found.append(("then", [plans.few(then, len(plan.then), ", ")] if then else []))
    keeps = plans.few(plan.keeps[: plans.NAMED], len(plan.keeps), ", ")
    found.append(("keeps", [keeps] if keeps else []))
    stays = [f"{name} stays {state}" for name, state in list(plan.stays.items())[: plans.NAMED]]
    found.append(("stays", [plans.few(stays, len(plan.stays), ", ")] if stays else []))
    effects = {each.step: each.effect for each in plan.again}
    repeats = [f"{name}: {EFFECTS[effects[name]]}" for name in plan.may_repeat[: plans.NAMED]]
    if len(plan.may_repeat) > plans.NAMED:
        repeats.append(f"and {len(plan.may_repeat) - plans.NAMED:,} more")
    found.append(("may repeat outside", repeats or ["nothing"]))
    if plan.max_attempts is not None:
        found.append(("tries", [f"count from 1 of {plan.max_attempts} again"]))
    free = [lock.key for lock in plan.locks if lock.held_by is None]
    found.append(("locks", [f"{key} is free" for key in free]))
    return [(name, [words.plain(each) for each in texts]) for name, texts in found if texts]


def once_more(each: Again, plan: Plan, now: datetime, zone: tzinfo | None) -> str:
    """``load: idempotent; inputs as recorded at 23:58: files (209)``."""
    said = [each.effect.value if each.effect else "", plans.about(each, now, zone)]
    told = "; ".join(text for text in said if text)
    return f"{plans.called(each, plan)}: {told}" if told else plans.called(each, plan)
