"""One job as it is declared now, and as it stands in a workspace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.errors import NotFound
from koken.model import fields
from koken.model.schedule import Schedule
from koken.store.database import Database
from koken.views.reading import rows

FACTS = """
select j.id, j.name, j.app, j.retired_at, v.number as version, v.published_at, v.published_by,
       v.spec::text as spec, v.argument_names, q.name as queue, q.paused_at as queue_paused_at,
       q.paused_by as queue_paused_by,
       exists (select from koken.star t where t.owner = $3 and t.workspace_id = w.id
                  and t.job_id = j.id) as starred,
       (select count(*) from (
          select from koken.run r
           where r.workspace_id = w.id and r.job_id = j.id and r.parent_id is null
             and r.state = 'failed' and r.acknowledged_at is null
           limit 1001) x) as open_failures
  from koken.job j
  join koken.job_version v on v.id = j.version_id
  join koken.queue q on q.id = v.queue_id
  join koken.workspace w on w.name = $1
 where j.name = $2 and j.workspace_id in (2, w.id)
 order by j.workspace_id = 2 limit 1
"""
OF_RUN = """
select (v.spec -> 'parameters')::text as form, v.argument_names as names
  from koken.run r join koken.job_version v on v.id = r.version_id
 where r.id = $1 and r.step_no is null
"""
DECLARED = """
select s.id, s.declared::text as declared
  from koken.schedule s join koken.workspace w on w.id = s.workspace_id
 where w.name = $1 and s.job_id = $2 and s.retired_at is null
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """What is declared of a job, and what stands in its way."""

    id: int
    name: str
    app: str
    version: int
    published_at: datetime
    published_by: str
    spec: Mapping[str, Any]
    """As ``JobSpec.to_json`` has it."""
    argument_names: list[str] | None
    """In the order of declaration; None: any."""
    queue: str
    queue_paused_at: datetime | None
    queue_paused_by: str | None
    retired_at: datetime | None
    starred: bool
    open_failures: int
    """Its runs that failed and that nobody has acknowledged, up to 1,000."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Its arguments as a JSON Schema, in the order of declaration."""
        return declared_form(self.spec["parameters"], self.argument_names)


def declared_form(stored: Mapping[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    """A job's arguments as a JSON Schema, in the order of declaration; ``names``: those of it."""
    found = fields.restored(stored)
    if "properties" in found:
        ordered = fields.in_order(found["properties"], names or ())
        found["properties"] = {name: settled(part, found) for name, part in ordered.items()}
    return found


def settled(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an argument, its default in the order of declaration too."""
    if "default" not in part:
        return part
    return {**part, "default": fields.arranged(part["default"], part, root)}


async def form_of_run(db: Database, run_id: int) -> Mapping[str, Any]:
    """What the job of a run takes as arguments, as it was when the run was made.

    Empty for a step, which takes others.
    """
    found = await rows(db, OF_RUN, run_id)
    return declared_form(json.loads(found[0]["form"]), found[0]["names"]) if found else {}


async def job_facts(db: Database, job: str, *, workspace: str, owner: str = "") -> JobFacts:
    """A job; ``owner`` is whose star counts. Raises ``NotFound``."""
    found = await rows(db, FACTS, workspace, job, owner)
    if not found:
        raise NotFound(f"there is no job {job!r} in workspace {workspace!r}")
    values = dict(found[0])
    return JobFacts(**(values | {"spec": json.loads(values["spec"])}))


async def declared(db: Database, job: int, *, workspace: str) -> dict[int, Schedule]:
    """The schedules of a job by their numbers, as they are declared."""
    return {
        row["id"]: Schedule.from_json(json.loads(row["declared"]))
        for row in await rows(db, DECLARED, workspace, job)
    }
