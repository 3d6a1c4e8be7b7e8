"""How people are told what a backfill will do, and what it came to. Pure."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from koken.model.backfill import Backfilled, BackfillPlan
from koken.views import words


def sentence(plan: BackfillPlan) -> str:
    """What will be done: how many runs, for when, and how fast."""
    if not plan.due:
        return f"{plan.job}: no due time in this stretch wants a run; nothing will be started."
    pace = "one at a time" if plan.at_once == 1 else f"{plan.at_once} at once"
    return f"{plan.job}: {runs(plan)} will be started, the oldest first, {pace}."


def runs(plan: BackfillPlan) -> str:
    """``7 runs, for 2026-03-01 02:00 to 2026-03-07 02:00 (Asia/Tokyo)``."""
    first, last = (clock(plan, each) for each in (plan.due[0], plan.due[-1]))
    stretch = first if first == last else f"{first} to {last}"
    return f"{words.counted(len(plan.due), 'run')}, for {stretch} ({plan.timezone}),"


def clock(plan: BackfillPlan, instant: datetime) -> str:
    """A due time as its schedule's clock shows it."""
    local = instant.astimezone(ZoneInfo(plan.timezone))
    return f"{local:%Y-%m-%d %H:%M:%S}" if local.second else f"{local:%Y-%m-%d %H:%M}"


def left(plan: BackfillPlan) -> list[str]:
    """Which due times are left as they are, and why."""
    return [f"{words.counted(count, 'due time')}: {why}" for why, count in plan.kept.items()]


def told(done: Backfilled) -> str:
    """What was done."""
    plan = done.plan
    if not done.runs and not done.existed:
        return f"{plan.job}: no due time in this stretch wanted a run; nothing was started."
    others = len(done.existed)
    if not done.runs:
        return (
            f"{plan.job}: nothing was started; somebody else had meanwhile started "
            f"{words.counted(others, 'run')}."
        )
    meanwhile = f"; {others:,} had meanwhile been started by somebody else" if others else ""
    numbers = f"{done.runs[0]} to {done.runs[-1]}" if len(done.runs) > 1 else f"{done.runs[0]}"
    return f"{plan.job}: {words.counted(len(done.runs), 'run')} started ({numbers}){meanwhile}."
