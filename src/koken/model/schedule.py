"""When a job runs: an expression with its zone, its window and its rules.

Pure: every answer follows from the schedule, the instants given and the time zone database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from koken.errors import DeclarationError
from koken.model import duration, expression, zones
from koken.model import scheduleoptions as options
from koken.model.duration import Duration
from koken.model.expression import Expression
from koken.model.wallclock import TICK

SEARCH = 10_000
"""Suspended pieces in a row, each a minute, an hour or a day, that are looked past at most."""

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Catchup(StrEnum):
    """What becomes of due times that were missed while no scheduler ran."""

    NONE = "none"
    """None of them runs."""
    LATEST = "latest"
    """The last of them runs."""
    ALL = "all"
    """Each of them runs, oldest first, up to ``catchup_limit``."""
    COALESCE = "coalesce"
    """One run stands for all of them."""


@dataclass(frozen=True, slots=True, init=False)
class Schedule:
    """When a job runs, and with which arguments.

    ``expression``: cron, English, an interval, or EventBridge's ``cron(…)``, ``rate(…)``,
    ``at(…)``. ``timezone``: an IANA name; without one the job's zone, or the one that the
    expression names. ``args``: JSON values for the job's arguments. ``catchup``: what becomes of
    missed times, at most ``catchup_limit`` of them. ``starts_at`` and ``ends_at``: the window, the
    start in it and the end not; intervals count from its start. ``jitter``: runs start up to that
    much later. ``suspend``: expressions whose times are taken out, minute by minute.

    Raises ``DeclarationError`` that says what is wrong with which option.
    """

    expression: str
    timezone: str | None
    args: Mapping[str, Any] = field(hash=False)
    name: str
    catchup: Catchup
    catchup_limit: int
    starts_at: datetime | None
    ends_at: datetime | None
    jitter: float
    suspend: tuple[str, ...]

    def __init__(
        self,
        expression: str,
        *,
        timezone: str | None = None,
        args: Mapping[str, Any] | None = None,
        name: str = "",
        catchup: Catchup | str = Catchup.LATEST,
        catchup_limit: int = 100,
        starts_at: datetime | None = None,
        ends_at: datetime | None = None,
        jitter: Duration = 0,
        suspend: Sequence[str] = (),
    ) -> None:
        values = {
            "expression": expression,
            "timezone": timezone,
            "args": options.args(args or {}),
            "name": options.name(name),
            "catchup": checked_catchup(catchup),
            "catchup_limit": options.limit(catchup_limit),
            "starts_at": options.instant(starts_at, name="starts_at"),
            "ends_at": options.instant(ends_at, name="ends_at"),
            "jitter": options.jitter(jitter),
            "suspend": (suspend,) if isinstance(suspend, str) else tuple(suspend),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        check_together(self)

    @property
    def times(self) -> Expression:
        """The expression, understood."""
        return expression.parse(self.expression, self.timezone or "UTC", anchor=self.starts_at)

    @property
    def suspensions(self) -> list[Expression]:
        """The expressions whose times are taken out, understood in the schedule's zone."""
        return [expression.parse(text, self.zone, anchor=self.starts_at) for text in self.suspend]

    @property
    def zone(self) -> str:
        """The IANA name of the zone that holds: its own, the expression's, or UTC."""
        return self.times.timezone

    def in_zone(self, timezone: str) -> Schedule:
        """The same with a zone for the case that neither it nor its expression names one."""
        if self.timezone is not None or self.times.names_zone:
            return self
        return replace(self, timezone=timezone)

    def next_after(self, instant: datetime) -> datetime | None:
        """The first due time after ``instant``, in the schedule's zone, or ``None``.

        Within the window and without suspended times; jitter is no part of a due time.
        Raises ``ValueError`` when ``instant`` is naive, ``DeclarationError`` when suspensions
        leave no time within reach.
        """
        after = zones.in_utc(instant, name="instant")
        if self.starts_at is not None:
            after = max(after, self.starts_at - TICK)
        found = first_left(self.times, self.suspensions, after, before=self.ends_at)
        return None if found is None else found.astimezone(zones.named(self.zone))

    def due_between(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """The due times after ``after`` and up to ``until``, oldest first, at most ``limit``."""
        last = zones.in_utc(until, name="until")
        found: list[datetime] = []
        while len(found) < limit:
            due = self.next_after(found[-1] if found else after)
            if due is None or due.astimezone(UTC) > last:
                break
            found.append(due)
        return found

    def latest_due(self, after: datetime, until: datetime) -> datetime | None:
        """The last due time after ``after`` and up to ``until``, found without counting them all.

        Halves the stretch until it is shorter than the shortest distance of two due times.
        """
        low, high = zones.in_utc(after, name="after"), zones.in_utc(until, name="until")
        best = self.next_after(low)
        if best is None or best.astimezone(UTC) > high:
            return None
        last = high
        while high - low > zones.SECOND / 2:
            middle = low + (high - low) / 2
            due = self.next_after(middle)
            if due is None or due.astimezone(UTC) > last:
                high = middle
            else:
                low, best = middle, due
        return best

    def missing_between(self, after: datetime, until: datetime) -> list[datetime]:
        """Naive wall-clock times between two instants that the clock jumped over and that are
        therefore left out, for the record; empty where they come after the jump instead.
        """
        return self.times.missing(after, until)

    def jitter_offset(self, due: datetime, *, key: str = "") -> timedelta:
        """How much after its due time a run starts: at least 0, less than ``jitter``.

        The same for the same ``key`` (the job), schedule and due time, on every machine.
        """
        at = zones.in_utc(due, name="due").isoformat()
        seed = "\n".join((key, self.name, self.expression, self.zone, at))
        drawn = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:6])
        return timedelta(seconds=self.jitter * (drawn / 2**48))

    def in_words(self) -> str:
        """The schedule as people say it: ``At 02:00 every day, Asia/Tokyo``."""
        parts = [self.times.in_words()]
        if self.starts_at is not None:
            parts.append(f"from {shown(self.starts_at, self.zone)}")
        if self.ends_at is not None:
            parts.append(f"until {shown(self.ends_at, self.zone)}")
        if self.jitter:
            parts.append(f"up to {duration.in_words(self.jitter)} later")
        parts += [f"except {text}" for text in self.suspend]
        return ", ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """A plain dict of JSON values, from which ``from_json`` makes the same schedule."""
        return {
            "expression": self.expression,
            "timezone": self.timezone,
            "args": dict(self.args),
            "name": self.name,
            "catchup": self.catchup.value,
            "catchup_limit": self.catchup_limit,
            "starts_at": None if self.starts_at is None else self.starts_at.isoformat(),
            "ends_at": None if self.ends_at is None else self.ends_at.isoformat(),
            "jitter": self.jitter,
            "suspend": list(self.suspend),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Schedule:
        """The schedule that ``value`` describes; what it leaves out has its default.

        Raises ``DeclarationError`` for an unknown option and whatever the constructor refuses.
        """
        unknown = sorted(set(value) - set(cls.__slots__))
        if unknown:
            raise DeclarationError(f"schedule has no option {unknown[0]!r}; it has {OPTIONS}.")
        if "expression" not in value:
            raise DeclarationError("schedule has no expression. Write expression: '0 2 * * *'.")
        given = dict(value)
        for name in ("starts_at", "ends_at"):
            if isinstance(given.get(name), str):
                given[name] = options.parsed_instant(given[name], name=name)
        return cls(given.pop("expression"), **given)


OPTIONS = ", ".join(Schedule.__slots__)


def first_left(
    times: Expression,
    suspensions: Sequence[Expression],
    after: datetime,
    *,
    before: datetime | None = None,
) -> datetime | None:
    """The first due time after ``after`` and before ``before`` that is not taken out, in UTC.

    Raises ``DeclarationError`` when so many in a row are taken out that none may ever be left.
    """
    for _ in range(SEARCH):
        due = times.next(after)
        if due is None:
            return None
        due = due.astimezone(UTC)
        if before is not None and due >= before:
            return None
        ends = [end for one in suspensions if (end := one.taken_until(due)) is not None]
        if not ends:
            return due
        after = max(ends) - TICK
    raise nothing_left(times, suspensions)


def nothing_left(times: Expression, suspensions: Sequence[Expression]) -> DeclarationError:
    """The refusal of a suspension of everything."""
    taken = ", ".join(repr(one.text) for one in suspensions)
    return DeclarationError(
        f"suspend {taken} takes out every time of {times.text!r}. To stop a schedule, pause it."
    )


def check_together(schedule: Schedule) -> None:
    """Refuses options that are right alone and wrong together."""
    times = schedule.times
    if schedule.timezone is not None and times.names_zone and times.timezone != schedule.timezone:
        raise DeclarationError(
            f"{schedule.expression!r} names {times.timezone}, and timezone is "
            f"{schedule.timezone!r}. Keep one of them."
        )
    start, end = schedule.starts_at or LONG_AGO, schedule.ends_at
    if schedule.starts_at is not None and end is not None and start >= end:
        raise DeclarationError(f"ends_at {end.isoformat()} is not after starts_at.")
    if not schedule.suspend:
        return
    everywhere = replace(times, timezone="UTC")
    taken = [replace(one, timezone="UTC") for one in schedule.suspensions]
    if everywhere.next(start - TICK) and not first_left(everywhere, taken, start - TICK):
        raise nothing_left(times, taken)


def checked_catchup(catchup: Catchup | str) -> Catchup:
    """The catch-up rule with that name."""
    try:
        return Catchup(catchup)
    except ValueError:
        rules = ", ".join(Catchup)
        raise DeclarationError(f"catchup {catchup!r} is none of {rules}.") from None


def shown(instant: datetime, zone: str) -> str:
    """An instant as its zone's clock shows it: ``2026-12-01 02:00``."""
    return f"{instant.astimezone(zones.named(zone)):%Y-%m-%d %H:%M}"
