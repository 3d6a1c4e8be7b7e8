"""The lines of a run and of all runs below it, each with whose it is, as they came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from koken.store.database import Database
from koken.views.logs import LogLine
from koken.views.reading import rows

TREE = """
with recursive tree as (
  select r.id, ''::text as who from koken.run r where r.id = $1
  union all
  select c.id,
         case when c.step is null and t.who <> '' then t.who
              when c.step is null then j.name || ' ' || c.id
              when c.undoes_id is null and c.need_rule is null and c.step_no is not null
                then case t.who when '' then c.step else t.who end || '[' || c.step_no - 1 || ']'
              when t.who = '' then c.step
              else t.who || ' → ' || c.step end
    from tree t join koken.run c on c.parent_id = t.id join koken.job j on j.id = c.job_id
)
select id, who from tree
"""
LAST = """
select t.id, l.id as last
  from unnest($1::bigint[]) t (id)
  cross join lateral (
    select x.id from koken.log_line x where x.run_id = t.id order by x.id desc limit 1) l
"""
TAIL = """
select l.run_id, l.id, l.at, l.level, l.stream, l.lease, l.text,
       (select count(*) from koken.attempt a where a.run_id = l.run_id
           and a.lease < l.lease) as tries
  from unnest($1::bigint[], $2::bigint[]) t (id, last)
  join koken.log_line l on l.run_id = t.id and l.id <= t.last
 order by l.id desc
 limit $3
"""
AFTER = """
select l.run_id, l.id, l.at, l.level, l.stream, l.lease, l.text,
       (select count(*) from koken.attempt a where a.run_id = l.run_id
           and a.lease < l.lease) as tries
  from unnest($1::bigint[], $2::bigint[]) t (id, last)
  join koken.log_line l on l.run_id = t.id and l.id > t.last
 order by l.id
 limit $3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A line, and who has said it; ``who`` is empty for the run itself."""

    run_id: int
    who: str
    line: LogLine
    tries: int
    """How many attempts at the run had ended before."""

    def to_json(self) -> dict[str, Any]:
        """As plain values; a line of the run itself is as it is elsewhere."""
        of = {"run": str(self.run_id), "step": self.who} if self.who else {}
        return {**self.line.to_json(), **of}


@dataclass(frozen=True, slots=True)
class Place:
    """Up to where the lines of a tree are read: of each run its last line."""

    root: int
    names: Mapping[int, str]
    last: Mapping[int, int]
    since: int = 0
    """Of a run that is not among these: the lines after this one are to be read."""


async def tail(db: Database, root: int, *, limit: int) -> tuple[list[Said], Place]:
    """The last lines of a tree, oldest first, and up to where they go."""
    names = await tree(db, root)
    ends = {row["id"]: row["last"] for row in await rows(db, LAST, list(names))}
    found = await rows(db, TAIL, list(ends), list(ends.values()), limit)
    return [said(row, names) for row in reversed(found)], Place(root, names, ends)


async def after(db: Database, place: Place, *, limit: int) -> tuple[list[Said], Place]:
    """What has come since, of runs too that have begun since."""
    names = await tree(db, place.root)
    ids = list(names)
    found = await rows(db, AFTER, ids, [place.last.get(each, place.since) for each in ids], limit)
    last = {**place.last, **{row["run_id"]: row["id"] for row in found}}
    return [said(row, names) for row in found], replace(place, names=names, last=last)


async def tree(db: Database, root: int) -> dict[int, str]:
    """A run and all below it, and what each is called."""
    return {row["id"]: row["who"] for row in await rows(db, TREE, root)}


def said(row: Mapping[str, Any], names: Mapping[int, str]) -> Said:
    """A row as a line."""
    plain = dict(row)
    run_id, tries = plain.pop("run_id"), plain.pop("tries")
    return Said(run_id=run_id, who=names[run_id], line=LogLine(**plain), tries=tries)
