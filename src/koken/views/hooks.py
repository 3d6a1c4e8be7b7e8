"""Hooks: addresses under which other systems start a job."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from koken.model.plain import stamp
from koken.store.database import Database
from koken.views.reading import rows

HOOKS = """
select h.id, h.name, w.name as workspace, h.job, h.scheme, h.argument, h.salt, h.created_at,
       h.created_by, h.last_used_at
  from koken.hook h join koken.workspace w on w.id = h.workspace_id
 where h.removed_at is null and ($1::text[] is null or w.name = any($1))
   and ($2::text is null or h.name = $2)
   and h.name > $3
 order by h.name
 limit $4
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRow:
    """A hook; its secret is made from the door key, its number and its salt."""

    id: int
    name: str
    workspace: str
    job: str
    scheme: str
    """standard or github."""
    argument: str | None
    """The argument that gets the whole body; None: its fields are the arguments."""
    salt: UUID
    created_at: datetime
    created_by: str
    last_used_at: datetime | None
    """To the minute."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "id": str(self.id),
            "name": self.name,
            "workspace": self.workspace,
            "job": self.job,
            "scheme": self.scheme,
            "argument": self.argument,
            "created_at": stamp(self.created_at),
            "created_by": self.created_by,
            "last_used_at": stamp(self.last_used_at),
        }


async def hooks(
    db: Database, workspaces: Collection[str] | None = None, *, after: str = "", limit: int = 1000
) -> list[HookRow]:
    """Hooks by name, of these workspaces; None: of all. A page begins ``after`` a name."""
    names = None if workspaces is None else list(workspaces)
    return [HookRow(**dict(row)) for row in await rows(db, HOOKS, names, None, after, limit)]


async def hook(db: Database, name: str) -> HookRow | None:
    """The hook of that name, if there is one."""
    for row in await rows(db, HOOKS, None, name, "", 1):
        return HookRow(**dict(row))
    return None
