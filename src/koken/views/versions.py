"""The versions of a job, and what differs between two of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.errors import NotFound
from koken.model.plain import stamp
from koken.store.database import Database
from koken.views.reading import rows

VERSIONS = """
select v.number, v.published_at, v.published_by, v.id = j.version_id as current
  from koken.job j
  join koken.workspace w on w.name = $2
  join koken.job_version v on v.job_id = j.id
 where j.name = $1 and j.workspace_id in (2, w.id) and ($3::int is null or v.number < $3)
 order by v.number desc
 limit $4
"""
SPECS = """
select v.number, v.spec::text as spec
  from koken.job j
  join koken.workspace w on w.name = $2
  join koken.job_version v on v.job_id = j.id
 where j.name = $1 and j.workspace_id in (2, w.id) and v.number = any($3::int[])
"""
HIGHEST = 2**31 - 1
ABSENT = object()
"""Stands where one of two versions has nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    """A version of a job."""

    number: int
    published_at: datetime
    published_by: str
    current: bool
    """Whether starts take it; an earlier one may be current again."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "number": self.number,
            "published_at": stamp(self.published_at),
            "published_by": self.published_by,
            "current": self.current,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place in which two versions differ; steps and schedules are called by their names."""

    path: str
    """``max_attempts``, ``steps.crunch.timeout``, ``parameters.properties.day.default``."""
    change: str
    """added, removed or changed."""
    before: Any
    after: Any

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "path": self.path,
            "change": self.change,
            "before": self.before,
            "after": self.after,
        }


async def versions(
    db: Database, job: str, *, workspace: str, limit: int = 50, before: int | None = None
) -> list[VersionRow]:
    """The versions of a job, newest first; ``before``: where the last page ended.

    Raises ``NotFound`` for a job that there is not.
    """
    end = None if before is None else min(max(before, 0), HIGHEST)
    found = await rows(db, VERSIONS, job, workspace, end, limit)
    if not found and before is None:
        raise NotFound(f"there is no job {job!r}; `koken jobs` lists them")
    return [VersionRow(**dict(row)) for row in found]


async def spec(
    db: Database, job: str, *, workspace: str, number: int | None = None
) -> tuple[int, dict[str, Any]]:
    """A version's number and what it says of the job; None is the current one.

    Raises ``NotFound``.
    """
    if number is None:
        known = await versions(db, job, workspace=workspace, limit=1000)
        number = next(each.number for each in known if each.current)
    found = await rows(db, SPECS, job, workspace, [number] if 0 < number <= HIGHEST else [])
    if not found:
        raise NotFound(f"job {job!r} has no version {number}")
    return number, json.loads(found[0]["spec"])


def compared(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """What differs between two specs."""
    return list(differing("", by_name(old), by_name(new)))


def differing(path: str, old: Any, new: Any) -> Iterator[Difference]:
    """The differences below a path."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            below = f"{path}.{key}" if path else key
            yield from differing(below, old.get(key, ABSENT), new.get(key, ABSENT))
    elif old is ABSENT:
        yield Difference(path=path, change="added", before=None, after=new)
    elif new is ABSENT:
        yield Difference(path=path, change="removed", before=old, after=None)
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield Difference(path=path, change="changed", before=old, after=new)


def by_name(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec whose steps and schedules are found by their names."""
    return {
        **spec,
        "steps": {step["name"]: step for step in spec["steps"]},
        "schedules": {each["name"] or each["expression"]: each for each in spec["schedules"]},
    }
