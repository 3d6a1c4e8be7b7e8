"""A backfill: for which due times of the past runs are started, and which are left as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from koken.model.firing import INSTANT, MOST_COUNTED, stretch
from koken.model.plain import stamp
from koken.model.schedule import Schedule

MOST_RUNS = 1000
"""Runs that one backfill starts."""
MOST_LOOKED_AT = 10_000
"""Due times that one backfill looks at."""
RAN = "already run"
STOOD_FOR = "one run of the catch-up stood for it"
PAUSED = "of the pause, which decides when it ends"
AHEAD = "still the schedule's own"
STARTED = "started"
RULES = {
    "skip_if_running": "until they are through, new due times are skipped (overlap {})",
    "skip_if_running_or_failed": "until they are through, new due times are skipped (overlap {})",
    "refuse": "until they are through, new due times are skipped (overlap {})",
    "replace": "a new due time replaces those that have not begun (overlap {})",
    "queue_one": "new due times stand in line behind them (overlap {})",
    "queue_all": "new due times stand in line behind them (overlap {})",
}
"""What a backlog does to the due times to come, by the job's overlap rule."""

Tick = Mapping[str, Any]
"""A tick's row, with the ``since_at`` of its run."""
Rest = tuple[datetime, datetime, datetime, int, str | None]
"""Of which tick something is left, its due time, its last, how many, and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """What a backfill will do: one run for each time in ``due``, none for those in ``kept``."""

    job: str
    schedule_id: int
    schedule: str
    words: str
    timezone: str
    since: datetime
    until: datetime
    at_once: int
    due: tuple[datetime, ...]
    kept: Mapping[str, int]
    """Why due times are left as they are → how many."""
    notes: tuple[str, ...]
    """What to know before it goes."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "job": self.job,
            "schedule": str(self.schedule_id),
            "name": self.schedule,
            "words": self.words,
            "timezone": self.timezone,
            "from": stamp(self.since),
            "to": stamp(self.until),
            "at_once": self.at_once,
            "runs": len(self.due),
            "first": stamp(self.due[0]) if self.due else None,
            "last": stamp(self.due[-1]) if self.due else None,
            "due": [stamp(each) for each in self.due],
            "kept": [{"why": why, "count": count} for why, count in self.kept.items()],
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> BackfillPlan:
        """What ``to_json`` gave."""
        return cls(
            job=plain["job"],
            schedule_id=int(plain["schedule"]),
            schedule=plain["name"],
            words=plain["words"],
            timezone=plain["timezone"],
            since=datetime.fromisoformat(plain["from"]),
            until=datetime.fromisoformat(plain["to"]),
            at_once=plain["at_once"],
            due=tuple(map(datetime.fromisoformat, plain["due"])),
            kept={each["why"]: each["count"] for each in plain["kept"]},
            notes=tuple(plain["notes"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """What a backfill came to: its plan, and which runs it has started."""

    plan: BackfillPlan
    runs: tuple[int, ...]
    existed: tuple[datetime, ...] = ()
    """Due times of the plan to which somebody else has given a run meanwhile."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            **self.plan.to_json(),
            "started": [str(run) for run in self.runs],
            "existed": [stamp(each) for each in self.existed],
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Backfilled:
        """What ``to_json`` gave."""
        return cls(
            plan=BackfillPlan.from_json(plain),
            runs=tuple(map(int, plain["started"])),
            existed=tuple(map(datetime.fromisoformat, plain["existed"])),
        )


def sorted_out(
    due: Sequence[datetime], ticks: Sequence[Tick], row: Mapping[str, Any]
) -> tuple[list[datetime], dict[str, int]]:
    """The due times that have no run, and how many are left as they are, by the reason why."""
    ran = {tick["due_at"] for tick in ticks if tick["verdict"] == STARTED}
    spans = coalesced(ticks)
    after = PAUSED if row["paused_at"] is not None else AHEAD
    wanted: list[datetime] = []
    kept: Counter[str] = Counter()
    for each in due:
        if each in ran:
            kept[RAN] += 1
        elif any(start < each <= end for start, end in spans):
            kept[STOOD_FOR] += 1
        elif each > row["cursor_at"]:
            kept[after] += 1
        else:
            wanted.append(each)
    return wanted, dict(kept)


def coalesced(ticks: Sequence[Tick]) -> list[tuple[datetime, datetime]]:
    """After when and up to when one run stood for several due times.

    Where that run is gone, all counts that follows the tick before.
    """
    spans = []
    before = datetime.min.replace(tzinfo=UTC)
    for tick in ticks:
        if tick["verdict"] == STARTED and tick["count"] > 1:
            spans.append((tick["since_at"] or before, tick["due_at"]))
        before = tick["until_at"]
    return spans


def notes(
    wanted: Sequence[datetime], row: Mapping[str, Any], remembered: datetime
) -> tuple[str, ...]:
    """What to know before it goes."""
    if not wanted:
        return ()
    told = []
    forgotten = sum(each < remembered for each in wanted)
    if forgotten:
        told.append(
            f"{forgotten:,} of them {'are' if forgotten > 1 else 'is'} from before "
            f"{remembered:%Y-%m-%d}: whether they have run is not remembered for so long"
        )
    if row["overlap"] in RULES and row["paused_at"] is None:
        told.append(RULES[row["overlap"]].format(row["overlap"]))
    return tuple(told)


def taken_out(
    schedule: Schedule, ticks: Sequence[Tick], wanted: Sequence[datetime]
) -> tuple[list[datetime], list[Rest]]:
    """The ticks of a stretch that have wanted due times inside, and what of each is left."""
    gone: list[datetime] = []
    rests: list[Rest] = []
    for tick in ticks:
        begin, end = tick["due_at"], tick["until_at"]
        inside = [each for each in wanted if begin <= each <= end]
        if tick["verdict"] == STARTED or tick["count"] == 1 or not inside:
            continue
        gone.append(begin)
        reason = plain_reason(tick)
        for after, until in ((begin - INSTANT, inside[0] - INSTANT), (inside[-1], end)):
            rests += [
                (begin, rest.due_at, rest.until_at, rest.count, rest.reason)
                for rest in stretch(schedule, after, until, tick["verdict"], reason)
            ]
    return gone, rests


def plain_reason(tick: Mapping[str, Any]) -> str:
    """The reason of a tick without the count that may stand before it."""
    return str(tick["reason"] or "").removeprefix(f"at least {MOST_COUNTED:,} due times: ")
