"""The runs to which a run belongs, and those that it has started."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from koken.model.run import Run
from koken.store.database import Database
from koken.views.reading import rows
from koken.views.runs import COLUMNS, TABLES, get_many, run_of

MOST = 20
STARTED = f"""
select {COLUMNS} from {TABLES}
 where r.parent_id = $1 and r.step_no is null order by r.id desc limit {MOST + 1}
"""
LABELS = """
select coalesce(v.spec -> 'tags', '[]')::text as tags, v.spec ->> 'owner' as owner,
       j.retired_at is not null as retired, r.overlap, r.overlap_key,
       (select coalesce(json_agg(json_build_array(k.key, h.granted_at is not null) order by h.id),
                        '[]')::text
          from koken.hold h join koken.lock k on k.id = h.lock_id
         where h.run_id = r.id and k.kind <> 'overlap') as locks
  from koken.run r
  join koken.job_version v on v.id = r.version_id
  join koken.job j on j.id = r.job_id
 where r.id = $1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relatives:
    """Runs around a run."""

    parent: Run[Any] | None
    root: Run[Any] | None
    origin: Run[Any] | None
    undoes: Run[Any] | None
    started: Sequence[Run[Any]]
    """What its body has started, the last first."""
    more: bool
    """Whether there are more of those."""
    tags: Sequence[str]
    """Of the version of its job, as the owner is."""
    owner: str
    retired: bool
    """Whether no program declares its job any more."""
    overlap: str
    """Its rule about others that go at the same time, with the key by which it counts; empty: it
    minds none."""
    locks: Sequence[tuple[str, bool]]
    """The locks that it has or wants, and whether it has them."""


async def relatives(db: Database, run: Run[Any]) -> Relatives:
    """The runs around ``run``."""
    origin = run.origin.id if run.origin else None
    ids = [each for each in (run.parent_id, run.root_id, origin, run.undoes_id) if each]
    found = await get_many(db, ids)
    (labels,) = await rows(db, LABELS, run.id)
    started = [run_of(row) for row in await rows(db, STARTED, run.id)]
    return Relatives(
        parent=found.get(run.parent_id or 0),
        root=found.get(run.root_id) if run.root_id not in (run.id, run.parent_id) else None,
        origin=found.get(origin or 0),
        undoes=found.get(run.undoes_id or 0),
        started=started[:MOST],
        more=len(started) > MOST,
        tags=tuple(json.loads(labels["tags"])),
        owner=labels["owner"] or "",
        retired=labels["retired"],
        overlap=overlap(labels["overlap"], labels["overlap_key"]),
        locks=[(key, has) for key, has in json.loads(labels["locks"])],
    )


def overlap(rule: str | None, key: str | None) -> str:
    """``queue_one, import-orders:wien``."""
    return "" if rule in (None, "allow") else ", ".join(filter(None, (rule, key)))
