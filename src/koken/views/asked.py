"""What waits for a person or for a signal, all over a workspace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.run import stamp
from koken.store.database import Database
from koken.views.reading import rows

MOST = 500
QUESTIONS = """
select r.id as run_id, j.name as job, r.step, coalesce(r.root_id, r.id) as root_id, q.key, q.text,
       q.for_whom, q.reason, q.schema::text as schema, q.asked_at, q.until_at
  from koken.question q
  join koken.run r on r.id = q.run_id
  join koken.workspace w on w.id = r.workspace_id
  join koken.job j on j.id = r.job_id
 where w.name = $1 and q.answered_at is null and q.closed_at is null and r.finished_at is null
   and (q.run_id, q.key) > ($2::bigint, $3)
 order by q.run_id, q.key
 limit $4
"""
SIGNALS = """
select r.id as run_id, j.name as job, r.step, coalesce(r.root_id, r.id) as root_id, r.wait_for,
       r.claimed_at as since, r.wake_at as until_at
  from koken.run r
  join koken.workspace w on w.id = r.workspace_id
  join koken.job j on j.id = r.job_id
 where w.name = $1 and r.state = 'waiting' and r.wait_cause in ('signal', 'question')
   and r.wait_cause = 'signal' and r.id > $2
 order by r.id
 limit $3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow:
    """A question that is open."""

    run_id: int
    root_id: int
    job: str
    step: str | None
    key: str
    text: str
    for_whom: str
    reason: str
    """Why it is asked again."""
    schema: Mapping[str, Any]
    """The answer as a JSON Schema."""
    asked_at: datetime
    until_at: datetime | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "run": str(self.run_id),
            "root": str(self.root_id),
            "job": self.job,
            "step": self.step,
            "key": self.key,
            "text": self.text,
            "for": self.for_whom or None,
            "reason": self.reason or None,
            "schema": dict(self.schema),
            "asked_at": stamp(self.asked_at),
            "until": stamp(self.until_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedRow:
    """A run that waits for a signal."""

    run_id: int
    root_id: int
    job: str
    step: str | None
    names: tuple[str, ...]
    """The signals of which one lets it go on."""
    since: datetime | None
    until_at: datetime | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "run": str(self.run_id),
            "root": str(self.root_id),
            "job": self.job,
            "step": self.step,
            "names": list(self.names),
            "since": stamp(self.since),
            "until": stamp(self.until_at),
        }


async def questions(
    db: Database, *, workspace: str, limit: int = 100, after: tuple[int, str] = (0, "")
) -> list[QuestionRow]:
    """Open questions, oldest run first; ``after``: run and key of the last of the page before."""
    found = await rows(db, QUESTIONS, workspace, *after, min(limit, MOST))
    return [QuestionRow(**{**dict(row), "schema": json.loads(row["schema"])}) for row in found]


async def signals(
    db: Database, *, workspace: str, limit: int = 100, after: int = 0
) -> list[AwaitedRow]:
    """Runs that wait for a signal, oldest first; ``after``: the last run of the page before."""
    return [
        AwaitedRow(
            run_id=row["run_id"],
            root_id=row["root_id"],
            job=row["job"],
            step=row["step"],
            names=tuple((row["wait_for"] or "").split("\n")),
            since=row["since"],
            until_at=row["until_at"],
        )
        for row in await rows(db, SIGNALS, workspace, after, min(limit, MOST))
    ]
