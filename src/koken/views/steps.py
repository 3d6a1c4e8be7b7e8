"""The steps of a run, as they are read: by name, in the order of declaration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from koken.errors import NotFound
from koken.model.run import Run
from koken.model.steps import ITEM, StepSpec
from koken.store.database import Database, Row, Transaction
from koken.views.reading import reading
from koken.views.recorded import last_children, recorded_in
from koken.views.stepqueries import DECLARED, NAMED, NUMBERED, STEPS, UNDONE
from koken.views.steprows import StepRow, not_begun, of_record, of_row


async def steps(
    db: Database, run: Run[Any], *, after: int = 0, limit: int | None = None
) -> list[StepRow]:
    """The steps of a workflow's run, those without a run yet included; or the items of a step's, or
    what the body of a durable function has recorded. A page of them begins ``after`` a place."""
    async with reading(db) as session:
        declared = await declared_in(session, run)
        return await rows_in(session, run, declared, after=after, limit=limit)


async def rows_in(
    session: Transaction,
    run: Run[Any],
    declared: Sequence[StepSpec],
    *,
    after: int = 0,
    limit: int | None = None,
) -> list[StepRow]:
    """The steps of a run that ``declared`` describes; where it describes none, its items, or what
    it has recorded."""
    found = await session.fetch_text(STEPS, run.id, after, limit)
    over = run.state.ended
    by_no = {spec.no: spec for spec in declared}
    children = await last_children(session, [row["id"] for row in found if starts(row)])
    if not declared and found:
        return [of_row(row, over=over, item=True, child=children.get(row["id"])) for row in found]
    if not declared:
        records = await recorded_in(session, run)
        end = None if limit is None else after + limit
        return [of_record(record, no, run) for no, record in enumerate(records, 1)][after:end]
    begun = {
        row["step_no"]: of_row(
            row, over=over, spec=by_no.get(row["step_no"]), child=children.get(row["id"])
        )
        for row in found
    }
    shown = [spec for spec in declared if spec.no > after][:limit]
    return [begun[spec.no] if spec.no in begun else not_begun(spec, over=over) for spec in shown]


def starts(row: Row) -> bool:
    """Whether a step has runs below it that are no items."""
    return row["made"] is not None and row["at_once"] is None and row["released"] is None


async def declared_in(session: Transaction, run: Run[Any]) -> Sequence[StepSpec]:
    """The steps that the job's version declares which ``run`` began with."""
    found = await session.fetch_text(DECLARED, run.id)
    return specs(found[0]["steps"]) if found else ()


@lru_cache(maxsize=64)
def specs(text: str | None) -> Sequence[StepSpec]:
    """The steps of a version, as it is stored; of those that are asked for often read once."""
    return tuple(StepSpec.from_json(plain) for plain in json.loads(text or "[]"))


async def undone(db: Database, run: Run[Any]) -> list[StepRow]:
    """The runs that undo what the steps of ``run`` did, in their order."""
    async with reading(db) as session:
        return await undone_in(session, run)


async def undone_in(session: Transaction, run: Run[Any]) -> list[StepRow]:
    """As ``undone``."""
    found = await session.fetch_text(UNDONE, run.id)
    return [of_row(row, over=run.state.ended) for row in found]


async def step_id(db: Database, run: Run[Any], name: str) -> int:
    """The number of a step's run; ``table[0]`` is the first item of a step. Raises ``NotFound``."""
    async with reading(db) as session:
        found = await session.fetch_text(NAMED, run.id, name)
        if not found and (item := ITEM.fullmatch(name)):
            of: int | None = run.id
            if run.step != item["step"]:
                found = await session.fetch_text(NAMED, run.id, item["step"])
                of = found[0]["id"] if found else None
            found = await session.fetch_text(NUMBERED, of, int(item["no"]) + 1)
    if not found:
        raise NotFound(
            f"run {run.id} has no step {name!r} that has a run; `koken steps {run.id}` lists them"
        )
    return int(found[0]["id"])
