"""What waits for a person or for a signal: all over a workspace, or of some runs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.plain import stamp
from koken.store.database import Database, Row
from koken.views.reading import rows

MOST = 1001
"""Rows at once: a page of the API, and one that tells whether there are more."""
NAMED = 20
"""Of runs that are named, so many are told."""
QUESTION = """
select r.id as run_id, j.name as job, r.step, coalesce(r.root_id, r.id) as root_id, q.key, q.text,
       q.for_whom, q.reason, q.schema::text as schema, q.asked_at, q.until_at
  from koken.question q
  join koken.run r on r.id = q.run_id
  join koken.workspace w on w.id = r.workspace_id
  join koken.job j on j.id = r.job_id
 where q.answered_at is null and q.closed_at is null and r.finished_at is null
"""
QUESTIONS = f"""{QUESTION}
   and w.name = $1 and (q.run_id, q.key) > ($2::bigint, $3)
 order by q.run_id, q.key
 limit $4
"""
QUESTIONS_OF = f"""{QUESTION}
   and q.run_id = any($1::bigint[])
 order by q.asked_at, q.key
 limit $2
"""
AWAITED = """
select r.id as run_id, j.name as job, r.step, coalesce(r.root_id, r.id) as root_id, r.wait_for,
       r.claimed_at as since, r.wake_at as until_at
  from koken.run r
  join koken.workspace w on w.id = r.workspace_id
  join koken.job j on j.id = r.job_id
 where r.state = 'waiting' and r.wait_cause = 'signal'
"""
# The second condition on the cause is true anyway; an index knows the runs by it.
SIGNALS = f"""{AWAITED}
   and w.name = $1 and r.wait_cause in ('signal', 'question') and r.id > $2
 order by r.id
 limit $3
"""
SIGNALS_OF = f"""{AWAITED}
   and r.id = any($1::bigint[])
 order by r.id
 limit $2
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
            "to": self.for_whom or None,
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
    return [question_of(row) for row in found]


async def questions_of(db: Database, ids: Collection[int]) -> list[QuestionRow]:
    """The open questions of these runs, the oldest first."""
    return [question_of(row) for row in await rows(db, QUESTIONS_OF, list(ids), NAMED)]


async def signals(
    db: Database, *, workspace: str, limit: int = 100, after: int = 0
) -> list[AwaitedRow]:
    """Runs that wait for a signal, oldest first; ``after``: the last run of the page before."""
    return [awaited_of(row) for row in await rows(db, SIGNALS, workspace, after, min(limit, MOST))]


async def signals_of(db: Database, ids: Collection[int]) -> list[AwaitedRow]:
    """Those of these runs that wait for a signal."""
    return [awaited_of(row) for row in await rows(db, SIGNALS_OF, list(ids), NAMED)]


def question_of(row: Row) -> QuestionRow:
    """A question from its row."""
    return QuestionRow(**{**dict(row), "schema": json.loads(row["schema"])})


def awaited_of(row: Row) -> AwaitedRow:
    """A run that waits, from its row."""
    values = dict(row)
    return AwaitedRow(names=tuple((values.pop("wait_for") or "").split("\n")), **values)
