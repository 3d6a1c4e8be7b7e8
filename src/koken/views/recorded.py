"""What the body of a durable function has recorded: its steps, maps, operations and children."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from koken.model.durable import CHILD, FAILED, MAP, OPERATION, STEP
from koken.model.run import Run
from koken.model.runparts import Children, Failure, Wait
from koken.model.states import State, WaitCause
from koken.store.database import Row, Transaction

BRIEF = 200
"""Characters of a result."""
STARTED = re.compile(r"(?P<job>.+) [0-9a-f]{32}")
"""The key of a child that nobody waits for."""
RECORDS = f"""
select c.key, c.at,
       case when c.key not like 'step:%' then c.value::text end as value,
       case when jsonb_typeof(c.value) = 'array' then jsonb_array_length(c.value) end as length,
       case when c.key like 'step:%' and jsonb_typeof(c.value) not in ('array', 'null')
            then left(c.value::text, {BRIEF}) end as result
  from koken.checkpoint c
 where c.run_id = $1 and c.key !~ '\\[[0-9]+\\]$'
   and (starts_with(c.key, 'step:') or starts_with(c.key, 'map:')
        or starts_with(c.key, 'operation:') or starts_with(c.key, 'child:')
        or starts_with(c.key, 'failed:step:'))
 order by nullif(c.ordinal, 0) nulls last, c.at, c.key
"""
LEDGER = """
select l.key, count(*) filter (where l.state = 'done') as done,
       count(*) filter (where l.state in ('skipped', 'failed', 'cancelled')) as bad,
       max(l.submits) as submits, count(*) as lines, min(l.handle::text) as handle
  from koken.ledger l where l.run_id = $1 group by l.key
"""
CHILDREN = """
select r.id, j.name as job, r.state, r.step, r.error::text as error
  from koken.run r join koken.job j on j.id = r.job_id where r.id = any($1::bigint[])
"""
LAST_CHILDREN = """
select distinct on (r.parent_id) r.parent_id, r.id, j.name as job, r.state, r.step,
       r.error::text as error
  from koken.run r join koken.job j on j.id = r.job_id
 where r.parent_id = any($1::bigint[]) and r.step_no is null
 order by r.parent_id, r.id desc
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRow:
    """A run of its own that a step, or a body, has started."""

    id: int
    job: str
    state: State
    error: Failure | None = None

    @property
    def called(self) -> str:
        """``inner 7``."""
        return f"{self.job} {self.id}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"run": str(self.id), "job": self.job, "state": self.state.value}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> ChildRow:
        """What ``to_json`` gave."""
        return cls(id=int(plain["run"]), job=plain["job"], state=State(plain["state"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A step of a body as it is on record."""

    name: str
    state: State
    ended_at: datetime | None = None
    tries: int = 0
    wait: Wait | None = None
    error: Failure | None = None
    result: str = ""
    length: int | None = None
    """Of a list."""
    items: Children | None = None
    detail: str = ""
    """Of an operation: its handle, and how often it was submitted."""
    child: ChildRow | None = None


async def recorded_in(session: Transaction, run: Run[Any]) -> list[Record]:
    """The records of a run, each step once, in the order of the body."""
    found = {row["key"]: row for row in await session.fetch_text(RECORDS, run.id)}
    if not found:
        return []
    lines = {row["key"]: row for row in await session.fetch_text(LEDGER, run.id)}
    ids = {
        key: json.loads(row["value"])["run"] for key, row in found.items() if key.startswith(CHILD)
    }
    children = {}
    if ids:
        rows = await session.fetch_text(CHILDREN, list(set(ids.values())))
        children = {row["id"]: child_of(row) for row in rows}
    known = {key: children[of] for key, of in ids.items() if of in children}
    records: dict[str, Record] = {}
    for key, row in found.items():
        record = record_of(key, row, run, lines, known)
        if record is None:
            continue
        place = key if key.startswith(CHILD) else f"{STEP}{record.name}"
        own = f"{STEP}{key.removeprefix(CHILD)}"
        if key.startswith(CHILD) and (own in found or FAILED + own in found):
            continue
        if place not in records or key.startswith(STEP):
            records[place] = record
    return list(records.values())


def record_of(
    key: str,
    row: Row,
    run: Run[Any],
    lines: Mapping[str, Row],
    children: Mapping[str, ChildRow],
) -> Record | None:
    """One record; None where it tells nothing, or where its run is gone."""
    if key.startswith(STEP):
        name = key.removeprefix(STEP)
        return Record(
            name=name, state=State.SUCCEEDED, ended_at=row["at"], result=row["result"] or "",
            length=row["length"], detail=detail(lines.get(name)), child=children.get(CHILD + name),
        )  # fmt: skip
    if key.startswith(CHILD):
        return of_child(key.removeprefix(CHILD), children.get(key))
    stands = json.loads(row["value"])
    if key.startswith(MAP):
        return of_map(key.removeprefix(MAP), stands, row["at"], run, lines)
    if key.startswith(OPERATION):
        return of_operation(key.removeprefix(OPERATION), stands, row["at"], run, lines)
    name = key.removeprefix(FAILED + STEP)
    found = Record(
        name=name, state=State.FAILED, ended_at=row["at"], tries=stands["tries"],
        error=Failure.from_json(stands["failure"]), child=children.get(CHILD + name),
    )  # fmt: skip
    if stands["after"] is None or run.state.ended:
        return found
    until = row["at"] + timedelta(seconds=stands["after"])
    wait = Wait(cause=WaitCause.RETRY, until=until)
    return replace(found, state=State.WAITING, ended_at=None, wait=wait)


def of_child(name: str, child: ChildRow | None) -> Record | None:
    """A run that the body has started; what ``ctx.start`` has started is called by its job."""
    if child is None or name == str(child.id):
        return None
    started = STARTED.fullmatch(name)
    called = child.job if started and started["job"] == child.job else name
    return Record(name=called, state=child.state, error=child.error, child=child)


def of_map(
    name: str, stands: Mapping[str, Any], at: datetime, run: Run[Any], lines: Mapping[str, Row]
) -> Record:
    """A step for each item of a list."""
    total = stands["items"]
    line = lines.get(name)
    done, bad = (line["done"], line["bad"]) if line else (0, 0)
    items = Children(made=total, going=max(total - done - bad, 0), bad=bad)
    if done == total or "misses" in stands:
        skipped = f", {bad:,} skipped" if bad else ""
        text = f"{done:,} of {total:,}{skipped}" if bad else ""
        return Record(name=name, state=State.SUCCEEDED, ended_at=at, items=items, result=text)
    state = run.state
    if state.ended:
        state = State.FAILED if bad else State.CANCELLED
    return Record(name=name, state=state, items=items, wait=run.wait)


def of_operation(
    name: str, stands: Mapping[str, Any], at: datetime, run: Run[Any], lines: Mapping[str, Row]
) -> Record:
    """Work elsewhere that is not done."""
    told = detail(lines.get(name))
    if stands["state"] in ("failed", "cancelled"):
        error = Failure(type="", message=stands["error"]) if stands["error"] else None
        return Record(
            name=name, state=State(stands["state"]), ended_at=at, error=error, detail=told
        )
    if run.state.ended:
        error = Failure(type="", message="it may be in flight elsewhere")
        return Record(name=name, state=run.state, ended_at=at, error=error, detail=told)
    wait = Wait(cause=WaitCause.OPERATION, until=at + timedelta(seconds=stands["due"]))
    return Record(name=name, state=State.WAITING, wait=wait, detail=told)


def detail(line: Row | None) -> str:
    """``handle "b-7", submitted 2 times``; nothing for what is no operation.

    Only a handle that is one value is told: what has names inside may have secrets among them.
    """
    if line is None or line["lines"] != 1 or not line["submits"]:
        return ""
    times = "once" if line["submits"] == 1 else f"{line['submits']:,} times"
    told = line["handle"] or ""
    handle = "" if told.startswith(("{", "[")) else f"handle {told}, " if told else ""
    return f"{handle}submitted {times}"


async def last_children(session: Transaction, ids: Sequence[int]) -> dict[int, ChildRow]:
    """The last run that each of these has started."""
    if not ids:
        return {}
    found = await session.fetch_text(LAST_CHILDREN, list(ids))
    return {row["parent_id"]: child_of(row) for row in found}


def child_of(row: Row) -> ChildRow:
    """A row as a child."""
    state = State(row["state"])
    error = json.loads(row["error"]) if row["error"] and state is not State.SUCCEEDED else None
    failure = Failure.from_json(error) if error else None
    return ChildRow(id=row["id"], job=row["job"], state=state, error=failure)
