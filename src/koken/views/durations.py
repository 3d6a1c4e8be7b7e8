"""How long a job's latest runs took, what they needed, and what is to be expected of the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.plain import stamp
from koken.model.states import State
from koken.store.database import Database
from koken.views.reading import rows

FEWEST = 5
"""Successes from which on there is an expectation."""
DURATIONS = """
select r.id, r.state, r.began_at, r.finished_at, u.peak_bytes, u.cpu_seconds
  from (
    select r.id, r.state, r.finished_at,
           case when r.made is null then coalesce(r.claimed_at, r.started_at)
                else r.started_at + coalesce(r.idle, interval '0') end as began_at
      from koken.run r
     where r.workspace_id = (select w.id from koken.workspace w where w.name = $1)
       and r.job_id = $2 and r.job_id between $2 and $2 and r.parent_id is null
     order by r.id desc limit $3) r
  left join lateral (
    select max(u.peak_bytes) as peak_bytes, sum(u.cpu_seconds) as cpu_seconds
      from koken.usage u where u.run_id = r.id) u on true
 where r.state in ('succeeded', 'failed') and r.began_at is not null
 order by r.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one run took: a moment in time, seconds, bytes at its worst."""

    id: int
    state: State
    at: datetime
    seconds: float
    peak_bytes: int | None
    cpu_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """What the latest runs took, the oldest first, and what the next is expected to take.

    The expectation comes from those that succeeded; None where there are too few of them.
    """

    runs: Sequence[Taken]
    median: float | None
    p95: float | None
    median_bytes: float | None
    p95_bytes: float | None

    @property
    def last(self) -> Taken | None:
        """The latest of them."""
        return self.runs[-1] if self.runs else None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "runs": [
                {
                    "id": str(each.id),
                    "state": each.state.value,
                    "at": stamp(each.at),
                    "seconds": each.seconds,
                    "peak_bytes": each.peak_bytes,
                    "cpu_seconds": each.cpu_seconds,
                }
                for each in self.runs
            ],
            "median": self.median,
            "p95": self.p95,
            "median_bytes": self.median_bytes,
            "p95_bytes": self.p95_bytes,
        }


async def durations(db: Database, job: int, *, workspace: str, limit: int = 200) -> Durations:
    """What those of a job's latest ``limit`` runs took that have ended."""
    found = [
        Taken(
            id=row["id"],
            state=State(row["state"]),
            at=row["finished_at"],
            seconds=max((row["finished_at"] - row["began_at"]).total_seconds(), 0.0),
            peak_bytes=row["peak_bytes"],
            cpu_seconds=row["cpu_seconds"],
        )
        for row in await rows(db, DURATIONS, workspace, job, limit)
    ]
    good = [each for each in found if each.state is State.SUCCEEDED]
    lengths = [each.seconds for each in good]
    sizes = [float(each.peak_bytes) for each in good if each.peak_bytes is not None]
    return Durations(
        runs=found,
        median=quantile(lengths, 0.5),
        p95=quantile(lengths, 0.95),
        median_bytes=quantile(sizes, 0.5),
        p95_bytes=quantile(sizes, 0.95),
    )


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest of the values that at least that share of them does not exceed."""
    if len(values) < FEWEST:
        return None
    return sorted(values)[math.ceil(share * len(values)) - 1]
