"""How a repair is told: what goes again, what follows, what stays. Pure; the time is given."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from koken.model.plan import Again, Plan, Then
from koken.model.policy import Effect

MOST = 20
"""Steps that go again which are told one by one."""
NAMED = 12
"""Steps that follow or stay which are told by their names."""
EFFECTS = {
    Effect.ONCE: "once, under its key",
    Effect.UNSAFE: "unsafe: wants --force",
    None: "not declared",
}


def called(each: Again, plan: Plan) -> str:
    """``reserve (undone)``."""
    return f"{each.step} (undone)" if each.step in plan.undone else each.step


def effect(each: Again | Then) -> str:
    """What a step says that it does outside."""
    return each.effect.value if each.effect else "not declared"


def about(each: Again, now: datetime, reader: tzinfo | None) -> str:
    """``inputs as recorded at 23:58: table (209); window until 06:00``."""
    only = "only if one before it fails" if each.for_failure else ""
    return "; ".join(filter(None, [inputs(each, now, reader), window(each, now, reader), only]))


def window(each: Again | Then, now: datetime, reader: tzinfo | None) -> str:
    """``window until 06:00``, or that it has closed."""
    if each.closes is None:
        return ""
    at = clock(each.closes, now, reader)
    return f"window until {at}" if each.closes > now else f"its window closed {at}; goes now"


def inputs(each: Again, now: datetime, reader: tzinfo | None) -> str:
    """``inputs as recorded at 23:58: table (209)``."""
    if each.items is not None:
        return f"{each.items:,} of its items"
    if not each.inputs:
        return ""
    names = [
        one.step if one.items is None else f"{one.step} ({one.items:,})" for one in each.inputs
    ]
    latest = max((one.at for one in each.inputs if one.at is not None), default=None)
    at = f" at {clock(latest, now, reader)}" if latest else ""
    return f"inputs as recorded{at}: {', '.join(names)}"


def waiting(each: Then, now: datetime, reader: tzinfo | None) -> str:
    """``not begun yet; gate 04:30``."""
    return "; ".join(["not begun yet", *more(each, now, reader)])


def following(rest: Sequence[Then], now: datetime, reader: tzinfo | None) -> str:
    """The other steps that follow, in short."""
    told = [
        each.step + (f": {'; '.join(said)}" if (said := more(each, now, reader)) else "")
        for each in rest[:NAMED]
    ]
    return few(told, len(rest), " · ")


def few(told: Sequence[str], total: int, between: str) -> str:
    """Names, and how many more there are."""
    rest = [f"and {total - len(told):,} more"] if total > len(told) else []
    return between.join([*told, *rest])


def more(each: Then, now: datetime, reader: tzinfo | None) -> list[str]:
    """What else there is to say of a step that follows."""
    said = []
    opens = each.not_before if each.not_before is not None and each.not_before > now else None
    if opens is not None and each.closes is not None:
        said.append(f"window {clock(opens, now, reader)} to {clock(each.closes, now, reader)}")
    elif opens is not None:
        said.append(f"gate {clock(opens, now, reader)}")
    else:
        said += filter(None, [window(each, now, reader)])
    if each.starts:
        said.append(f"starts job {each.starts}")
    return said


def locks(plan: Plan) -> str:
    """``lock cluster: free``."""
    return " · ".join(
        f"lock {lock.key}: {'free' if lock.held_by is None else f'held by run {lock.held_by}'}"
        for lock in plan.locks
    )


def staying(plan: Plan) -> list[str]:
    """What stays, what may repeat, and how attempts count."""
    said = [few(plan.keeps[:NAMED], len(plan.keeps), ", ")] if plan.keeps else []
    said += [f"{name} stays {state}" for name, state in list(plan.stays.items())[:NAMED]]
    if len(plan.stays) > NAMED:
        said.append(f"{len(plan.stays) - NAMED:,} more stay as they ended")
    effects = {each.step: each.effect for each in plan.again}
    repeats = [f"{name} ({EFFECTS[effects[name]]})" for name in plan.may_repeat[:NAMED]]
    told = few(repeats, len(plan.may_repeat), ", ")
    said.append(f"may repeat: {told}" if repeats else "no outside effect may repeat")
    if plan.max_attempts is not None:
        said.append(f"attempts count from 1 of {plan.max_attempts} again")
    return said


def clock(instant: datetime, now: datetime, reader: tzinfo | None) -> str:
    """A time of day in the zone of ``reader``, which is this machine's for None; with its date when
    that is another."""
    wall, today = instant.astimezone(reader), now.astimezone(reader)
    near = abs((wall - today).total_seconds()) < 86400
    return f"{wall:%H:%M}" if near else f"{wall:%Y-%m-%d %H:%M}"
