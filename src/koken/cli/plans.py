"""Plans of repairs in the terminal, and what a repair came to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any

from koken.cli import output
from koken.cli.output import DIM
from koken.model.plan import Plan
from koken.model.run import Run
from koken.views import runwords, words
from koken.views.plans import (
    MOST,
    about,
    called,
    effect,
    few,
    following,
    locks,
    staying,
    waiting,
)  # fmt: skip

LABEL = 8


def draw(plan: Plan, now: datetime) -> None:
    """Print a plan, one line for each step that goes again."""
    for label, line in lines(plan, now):
        output.say((f"  {label:<{LABEL}}", DIM), line)


def lines(plan: Plan, now: datetime, reader: tzinfo | None = None) -> list[tuple[str, str]]:
    """A plan in lines, each with its label, told in the zone ``reader``; None: this machine's."""
    again = [(called(each, plan), effect(each), about(each, now, reader)) for each in plan.again]
    del again[MOST:]
    then = [(each.step, effect(each), waiting(each, now, reader)) for each in plan.then[:1]]
    rows = [*again, *then]
    widths = [max((len(row[place]) for row in rows), default=0) for place in range(3)]
    found = []
    for place, (name, what, text) in enumerate(rows):
        label = "" if place not in (0, len(again)) else "again" if place < len(again) else "then"
        last = locks(plan) if place == 0 else ""
        if place == len(again):
            last = " · ".join(filter(None, [last, following(plan.then[1:], now, reader)]))
        line = (
            f"{name:<{widths[0] + 3}}{what:<{widths[1] + 3}}{text:<{widths[2] + 7}}{last}"
        ).rstrip()
        found.append((label, line))
    if len(plan.again) > MOST:
        found.insert(MOST, ("", f"and {len(plan.again) - MOST:,} more"))
    found.append(("keeps" if plan.keeps or plan.stays else "", " · ".join(staying(plan))))
    return found


def done(
    before: Run[Any], plan: Plan, after: Run[Any], who: str
) -> Sequence[str | tuple[str, str]]:
    """What a repair came to, in a line."""
    name = (runwords.called(before), "bold")
    if plan.verb in ("rerun", "fork"):
        return (
            (runwords.called(after), "bold"),
            f" is a {plan.verb} of run {before.id}; follow it: koken watch {after.id}",
        )
    if plan.verb == "retry" and not (before.is_workflow or before.of_step):
        again = f" is ready again (was {before.state}); follow it: koken watch {before.id}"
        return name, again
    ready = [each.step for each in plan.again if not each.follows]
    moved = {
        "retry": few(ready[:5], len(ready), ", ") or "what has not begun",
        "skip": plan.from_step or before.step or "",
        "resolve": plan.from_step or before.step or "",
    }[plan.verb]
    state = {"retry": "ready", "skip": "skipped", "resolve": "done"}[plan.verb]
    later = [each for each in plan.again if each.follows and not each.for_failure]
    count = len(plan.then) + len(later)
    follow = f"; {words.counted(count, 'step')} follow{'s' if count == 1 else ''}" if count else ""
    at = f"{datetime.now().astimezone():%H:%M}"
    return (f"{words.plain(moved)} {state}{follow}. Recorded: {who}, {at}.",)
