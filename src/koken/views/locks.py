"""Locks: who has them, since when, and who waits; and keys that one run keeps for itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from koken.errors import InvalidArguments, NotFound
from koken.model.plain import stamp
from koken.model.states import State
from koken.store.database import Database, Row
from koken.views.reading import reading, rows
from koken.views.standings import STANDING

Kind = Literal["lock", "subject", "overlap", "backfill"]
"""A job's or a step's lock, a subject, a queueing overlap rule, the pace of a backfill."""
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST = 1001
"""Rows at once: a page of the API, and one that tells whether there are more."""
FIRST = 5
"""Of those in line, so many are named."""
HOLDERS = 20
"""Of those that have it, so many are named."""
# From the holds, of which there are as many as runs that have or want something now: locks stay
# when nobody holds them. A line may be long: of each its lock alone is read, from one to the next.
LOCKS = """
with recursive here as materialized (select id from koken.workspace where name = $1),
lines as (
  (select lock_id from koken.hold where granted_at is null order by lock_id limit 1)
  union all
  select (select h.lock_id from koken.hold h
           where h.granted_at is null and h.lock_id > l.lock_id order by h.lock_id limit 1)
    from lines l where l.lock_id is not null),
granted as materialized (
  select lock_id, min(granted_at) as since, count(*) as held
    from koken.hold where granted_at is not null group by lock_id),
page as materialized (
  select k.id, k.kind, k.key, k.max_holders, g.since, coalesce(g.held, 0) as held
    from granted g
    full join (select lock_id from lines where lock_id is not null) l using (lock_id)
   cross join lateral (
     select * from koken.lock o where o.id = lock_id and o.workspace_id = (select id from here)
     offset 0) k
   where ($2::text is null or k.kind = $2) and ($3::text is null or k.key = $3)
     and (coalesce(g.since, 'infinity'), k.id) > (
       coalesce($4, case when $5::bigint = 0 then timestamptz '-infinity' else 'infinity' end), $5)
     and ($7::float8 is null
          or (l.lock_id is not null and g.since < koken.now() - make_interval(secs => $7)))
   order by coalesce(g.since, 'infinity'), k.id
   limit $6)
select p.*, (select count(*) from (
         select from koken.hold
          where lock_id = p.id and granted_at is null limit 1001) x) as waiting
  from page p
 order by coalesce(p.since, 'infinity'), p.id
"""
HOLDS = f"""
select k.id as lock_id, h.granted_at, h.mode, r.id as run_id, r.state, r.step, j.name as job,
       {STANDING} as standing, m.transition as operation, coalesce(r.root_id, r.id) as root_id,
       coalesce(w.id, r.id) as flow_id, coalesce(wj.name, j.name) as flow
  from unnest($1::bigint[]) k (id)
 cross join lateral (
   (select run_id, mode, granted_at, rank from koken.hold
     where lock_id = k.id and granted_at is not null order by granted_at, run_id limit $2)
   union all
   (select run_id, mode, granted_at, rank from koken.hold
     where lock_id = k.id and granted_at is null order by rank, run_id limit $3)) h
  join koken.run r on r.id = h.run_id
  join koken.job j on j.id = r.job_id
  left join koken.moving m on m.run_id = r.id
  left join koken.run p on p.id = r.parent_id and r.step_no is not null
  left join koken.run w
    on w.id = case when p.step_no is null or r.need_rule is not null then p.id else p.parent_id end
  left join koken.job wj on wj.id = w.job_id
 order by k.id, h.granted_at, h.rank, h.run_id
"""
# Rules that skip or refuse keep no lock: the run itself stands under the key.
KEYS = """
select r.overlap_key as key, r.id as run_id, j.name as job, r.state, r.overlap as rule,
       coalesce(r.started_at, r.created_at) as since
  from koken.run r
  join koken.job j on j.id = r.job_id
 where r.workspace_id = (select id from koken.workspace where name = $1)
   and r.overlap_scope = 'live' and r.overlap_key is not null
   and r.state in ('blocked', 'ready', 'running', 'waiting')
   and coalesce(r.started_at, r.created_at) <= koken.now() - make_interval(secs => $2::float8)
   and ($4::timestamptz is null or (coalesce(r.started_at, r.created_at), r.id) > ($4, $5::bigint))
union all
select k.key, r.id, j.name, r.state, r.overlap, h.granted_at
  from koken.lock k
  join koken.hold h on h.lock_id = k.id and h.granted_at is not null
  join koken.run r on r.id = h.run_id
  join koken.job j on j.id = r.job_id
 where k.workspace_id = (select id from koken.workspace where name = $1) and k.kind = 'overlap'
   and h.granted_at <= koken.now() - make_interval(secs => $2::float8)
   and ($4::timestamptz is null or (h.granted_at, r.id) > ($4, $5::bigint))
 order by since, run_id
 limit $3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A run that has a lock, or waits for it."""

    run_id: int
    root_id: int
    """The run that it belongs to; the run itself, where it belongs to none."""
    job: str
    flow_id: int
    """The run of the workflow whose step or item it is; the run itself, where it is none."""
    flow: str
    """That one's job."""
    step: str | None
    operation: str | None
    """The transition that it carries out on its subject."""
    state: str
    standing: str
    """Where it stands, in a word."""
    mode: str
    since: datetime | None
    """None for one that waits."""

    @property
    def called(self) -> str:
        """``nightly 47, step crunch``."""
        step = f", step {self.step}" if self.step and self.flow_id != self.run_id else ""
        return f"{self.flow} {self.flow_id}{step}"

    @property
    def goes(self) -> bool:
        """Whether it has not ended: a lock is taken from it by force only."""
        return not State(self.state).ended

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "run": str(self.run_id),
            "root": str(self.root_id),
            "job": self.job,
            "step": self.step,
            "operation": self.operation,
            "state": self.state,
            "mode": self.mode,
            "since": stamp(self.since),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRow:
    """A lock that somebody has or wants."""

    id: int
    kind: Kind
    key: str
    limit: int
    since: datetime | None
    """From when the first of its holders has it."""
    held: int
    waiting: int
    """Up to 1,000; 1,001 stands for more."""
    holders: tuple[Holder, ...] = ()
    """The first of them."""
    next: tuple[Holder, ...] = ()
    """The first of those that wait."""

    @property
    def mode(self) -> str | None:
        """How it is held: exclusive or shared; None while nobody has it."""
        return self.holders[0].mode if self.holders else None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "id": str(self.id),
            "kind": self.kind,
            "key": self.key,
            "limit": self.limit,
            "mode": self.mode,
            "since": stamp(self.since),
            "held": self.held,
            "holders": [each.to_json() for each in self.holders],
            "waiting": self.waiting,
            "next": [each.to_json() for each in self.next],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """An overlap key that a live run keeps for itself."""

    key: str
    run_id: int
    job: str
    state: str
    rule: str
    since: datetime

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "key": self.key,
            "run": str(self.run_id),
            "job": self.job,
            "state": self.state,
            "rule": self.rule,
            "since": stamp(self.since),
        }


async def locks(
    db: Database,
    *,
    workspace: str,
    kind: str | None = None,
    key: str | None = None,
    limit: int = 100,
    after: tuple[datetime | None, int] | None = None,
    in_the_way: float | None = None,
) -> list[LockRow]:
    """Locks that somebody has or wants, those held longest first.

    ``in_the_way``: only those held for longer than so many seconds while others wait. ``after``:
    the instant and the number of the last one of the page before. Raises ``InvalidArguments`` for
    a kind that there is not.
    """
    if kind is not None and kind not in KINDS:
        raise InvalidArguments(f"kind is {kind!r}; there are {', '.join(KINDS)}", {"kind": "odd"})
    since, number = (None, 0) if after is None else after
    async with reading(db) as session:
        found = await session.fetch_text(
            LOCKS, workspace, kind, key, since, number, min(limit, MOST), in_the_way
        )
        ids = [row["id"] for row in found]
        holds = await session.fetch_text(HOLDS, ids, HOLDERS, FIRST) if ids else []
    return [lock_of(row, [hold for hold in holds if hold["lock_id"] == row["id"]]) for row in found]


async def named(
    db: Database, key: str, *, workspace: str, kind: str | None = None
) -> Sequence[LockRow]:
    """The locks of that key: one, or one of each kind. Raises ``NotFound``."""
    found = await locks(db, workspace=workspace, kind=kind, key=key)
    if not found:
        raise NotFound(f"nobody holds a lock {key!r} or waits for it; `koken locks` lists them")
    return found


async def keys(
    db: Database,
    *,
    workspace: str,
    longer_than: float = 0.0,
    limit: int = 100,
    after: tuple[datetime | None, int] = (None, 0),
) -> list[KeyRow]:
    """Overlap keys that a run has had for longer than so many seconds, the longest first.

    ``after``: the instant and the run of the last one of the page before.
    """
    found = await rows(db, KEYS, workspace, longer_than, min(limit, MOST), *after)
    return [KeyRow(**dict(row)) for row in found]


async def operation_of(db: Database, run_id: int) -> str | None:
    """The transition that a run carries out on its subject; None where it carries out none."""
    found = await rows(db, "select transition from koken.moving where run_id = $1", run_id)
    return found[0]["transition"] if found else None


def lock_of(row: Row, holds: Iterable[Row]) -> LockRow:
    """A lock with those who have it and wait for it."""
    both = [(holder_of(hold), hold["granted_at"] is not None) for hold in holds]
    return LockRow(
        id=row["id"],
        kind=row["kind"],
        key=row["key"],
        limit=row["max_holders"],
        since=row["since"],
        held=row["held"],
        waiting=row["waiting"],
        holders=tuple(each for each, has in both if has),
        next=tuple(each for each, has in both if not has),
    )


def holder_of(row: Row) -> Holder:
    """One run."""
    return Holder(
        run_id=row["run_id"],
        root_id=row["root_id"],
        flow_id=row["flow_id"],
        flow=row["flow"],
        job=row["job"],
        step=row["step"],
        operation=row["operation"],
        state=row["state"],
        standing=row["standing"],
        mode=row["mode"],
        since=row["granted_at"],
    )
