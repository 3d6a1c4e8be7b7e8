"""A page of the lines of a run and of the runs below it: by number, never all that there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from koken.store.database import Database
from koken.views.reading import rows
from koken.views.treelogs import Said, said

SCANNED = 20_000
"""Lines that are looked through at once, where only some are wanted."""
FIRST_ERROR = 2_000
"""Lines from the end among which the beginning of an error is looked for."""
FEW = 50
"""Runs whose lines are looked at all at once."""
LAST_ID = 2**63 - 1
Level = Literal["debug", "info", "warning", "error", "critical"]
LEVELS: tuple[Level, ...] = get_args(Level)
Stream = Literal["log", "stdout", "stderr"]
STREAMS: tuple[Stream, ...] = get_args(Stream)
WANTED = """
  ($4::text = '' or strpos(lower(l.text), lower($4)) > 0)
  and ($5::text[] is null or l.level = any($5)) and ($6::text = '' or l.stream = $6)
"""
PAGE = """
with scanned as materialized (
  select x.* from unnest($1::bigint[]) t (id)
   cross join lateral (
     select l.id, l.run_id, l.at, l.level, l.stream, l.lease, l.text
       from koken.log_line l where l.run_id = t.id and l.id {beyond} $2
      order by l.id {way} limit $3) x
   order by x.id {way} limit $3),
wanted as (select l.* from scanned l where {wanted} order by l.id {way} limit $7)
select w.*, (select count(*) from koken.attempt a where a.run_id = w.run_id
                and a.lease < w.lease) as tries,
       s.looked, s.far
  from (select count(*) as looked, {farthest}(id) as far from scanned) s
  left join wanted w on true
 order by w.id
"""
BEFORE = PAGE.format(beyond="<", way="desc", farthest="min", wanted=WANTED)
AFTER = PAGE.format(beyond=">", way="asc", farthest="max", wanted=WANTED)
NEAREST = """
select t.id from unnest($1::bigint[]) t (id)
 cross join lateral (
   select l.id from koken.log_line l where l.run_id = t.id and l.id {beyond} $2
    order by l.id {way} limit 1) l
 order by l.id {way} limit $3
"""
LAST_BEFORE = NEAREST.format(beyond="<", way="desc")
FIRST_AFTER = NEAREST.format(beyond=">", way="asc")
ERROR = f"""
select min(x.id) as id from (
  select l.id, l.level, l.lease, max(l.lease) over () as last
    from koken.log_line l where l.run_id = $1 order by l.id desc limit {FIRST_ERROR}) x
 where x.lease = x.last and x.level in ('error', 'critical')
"""
FAILED_BELOW = """
select r.id from koken.run r
 where r.parent_id = $1 and r.state = 'failed' order by r.step_no limit 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sieve:
    """Which lines are wanted."""

    text: str = ""
    level: str = ""
    """This or worse; empty: all."""
    stream: str = ""

    @property
    def levels(self) -> list[str] | None:
        """The levels that pass; None: all."""
        return list(LEVELS[LEVELS.index(self.level) :]) if self.level in LEVELS else None

    @property
    def open(self) -> bool:
        """Whether all lines pass."""
        return not self.text and self.levels is None and not self.stream


ALL = Sieve()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Lines, oldest first."""

    lines: Sequence[Said]
    older: int | None = None
    """There are more before this number; None: these are the first."""
    newer: int | None = None
    """There are more after this number; None: these are the last."""
    looked: int = 0
    """How many lines were looked through."""


async def before(
    db: Database, names: Mapping[int, str], number: int, *, limit: int, sieve: Sieve = ALL
) -> LogPage:
    """The last lines before one. ``names`` are the runs, as ``treelogs.tree`` gives them."""
    scan = limit if sieve.open else SCANNED
    names = await near(db, LAST_BEFORE, names, number, scan + 1)
    lines, looked, beyond = await page(db, BEFORE, names, number, scan, limit, sieve)
    older = None if beyond is None else beyond + 1
    if len(lines) > limit:
        lines = lines[-limit:]
        older = lines[0].line.id
    newer = None if number == LAST_ID else lines[-1].line.id if lines else number - 1
    return LogPage(lines=lines, older=older, newer=newer, looked=looked)


async def after(
    db: Database, names: Mapping[int, str], number: int, *, limit: int, sieve: Sieve = ALL
) -> LogPage:
    """The first lines after one."""
    scan = limit if sieve.open else SCANNED
    runs = list(names)
    names = await near(db, FIRST_AFTER, names, number, scan + 1)
    lines, looked, beyond = await page(db, AFTER, names, number, scan, limit, sieve)
    newer = None if beyond is None else beyond - 1
    if len(lines) > limit:
        lines = lines[:limit]
        newer = lines[-1].line.id
    first = lines[0].line.id if lines else number + 1
    older = first if await rows(db, LAST_BEFORE, runs, number + 1, 1) else None
    return LogPage(lines=lines, older=older, newer=newer, looked=looked)


async def near(
    db: Database, text: str, names: Mapping[int, str], number: int, most: int
) -> Mapping[int, str]:
    """Of many runs those that can have one of the ``most`` lines next to a number."""
    if len(names) <= FEW:
        return names
    found = await rows(db, text, list(names), number, most)
    return {row["id"]: names[row["id"]] for row in found}


async def page(
    db: Database,
    text: str,
    names: Mapping[int, str],
    number: int,
    scan: int,
    limit: int,
    sieve: Sieve,
) -> tuple[list[Said], int, int | None]:
    """Lines, how many were looked through, and the one at which that has stopped, if it has.

    There may be one line more than ``limit``, which tells that there are more.
    """
    args = (list(names), number, scan + 1, sieve.text, sieve.levels, sieve.stream, limit + 1)
    lines, looked, far = [], 0, None
    for row in await rows(db, text, *args):
        plain = dict(row)
        looked, far = plain.pop("looked"), plain.pop("far")
        if plain["id"] is not None:
            lines.append(said(plain, names))
    if looked <= scan:
        return lines, looked, None
    return [each for each in lines if each.line.id != far], scan, far


async def error_of(db: Database, run_id: int) -> int | None:
    """The line with which the error of the last attempt begins, if it is among the last ones.

    Of a run that has none, that of the first item or step that failed.
    """
    (row,) = await rows(db, ERROR, run_id)
    if row["id"] is not None:
        return int(row["id"])
    below = await rows(db, FAILED_BELOW, run_id)
    return await error_of(db, below[0]["id"]) if below else None
