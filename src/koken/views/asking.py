"""What a run and the runs below it ask people, and which signals they await."""

from __future__ import annotations

import json
from collections.abc import Collection

from koken.store.database import Database
from koken.views.asked import AwaitedRow, QuestionRow
from koken.views.reading import rows

MOST = 20
QUESTIONS = """
select r.id as run_id, j.name as job, r.step, coalesce(r.root_id, r.id) as root_id, q.key, q.text,
       q.for_whom, q.reason, q.schema::text as schema, q.asked_at, q.until_at
  from koken.question q
  join koken.run r on r.id = q.run_id
  join koken.job j on j.id = r.job_id
 where q.run_id = any($1::bigint[]) and q.answered_at is null and q.closed_at is null
   and r.finished_at is null
 order by q.asked_at, q.key
 limit $2
"""
SIGNALS = """
select r.id as run_id, j.name as job, r.step, coalesce(r.root_id, r.id) as root_id, r.wait_for,
       r.claimed_at as since, r.wake_at as until_at
  from koken.run r
  join koken.job j on j.id = r.job_id
 where r.id = any($1::bigint[]) and r.state = 'waiting' and r.wait_cause = 'signal'
 order by r.id
 limit $2
"""


async def questions(db: Database, ids: Collection[int]) -> list[QuestionRow]:
    """The open questions of these runs, oldest first."""
    found = await rows(db, QUESTIONS, list(ids), MOST)
    return [QuestionRow(**{**dict(row), "schema": json.loads(row["schema"])}) for row in found]


async def signals(db: Database, ids: Collection[int]) -> list[AwaitedRow]:
    """Those of these runs that wait for a signal."""
    found = []
    for row in await rows(db, SIGNALS, list(ids), MOST):
        plain = dict(row)
        names = (plain.pop("wait_for") or "").split("\n")
        found.append(AwaitedRow(names=tuple(names), **plain))
    return found
