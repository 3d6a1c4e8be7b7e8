"""The events of a workspace for somebody who goes away and comes back: none is lost.

Events are numbered before they are committed, so a lower number may come after a higher one. A
listener keeps a number up to which nothing can come any more, and which later ones it has heard.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

from koken.errors import InvalidArguments
from koken.store.database import Database
from koken.views.events import SHARED, PlacedEvent
from koken.views.reading import reading, rows

PAGE = 500
LATELY = 100
"""Events before the first that count as heard; one that is committed late among them is told."""
MOST_NAMED = 200
"""Numbers in a mark; where there are more, the first of them are told twice."""
MARK = re.compile(r"\d{1,18}(\.\d{1,18})*")
NOW = """
select coalesce((select max(e.id) from koken.event e), 0) as newest,
       pg_snapshot_xmin(s)::text::bigint as low, pg_snapshot_xmax(s)::text::bigint as high
  from pg_current_snapshot() s
"""
LAST = f"""
select x.id from koken.workspace w cross join lateral (
  (select e.id from koken.event e where e.workspace_id = w.id and w.id <> 2
    order by e.id desc limit $3)
  union all
  (select e.id from koken.event e where e.workspace_id = 2 and ($2::boolean or {SHARED})
    order by e.id desc limit $3)) x
 where w.name = $1 order by x.id desc limit $3
"""
AFTER = f"""
select x.id, x.at, x.verb, x.by, x.reason, x.detail::text as detail, x.run_id,
       n.name as workspace, j.name as job
  from koken.workspace w cross join lateral (
    (select e.* from koken.event e
      where e.workspace_id = w.id and w.id <> 2 and e.id > $3 and e.id <> all($4::bigint[])
      order by e.id limit $5)
    union all
    (select e.* from koken.event e
      where e.workspace_id = 2 and e.id > $3 and e.id <> all($4::bigint[])
        and ($2::boolean or {SHARED}) order by e.id limit $5)) x
  join koken.workspace n on n.id = x.workspace_id
  left join koken.job j on j.id = x.job_id
 where w.name = $1 order by x.id limit $5
"""


@dataclass(frozen=True, slots=True)
class Heard:
    """Everything up to a number, and some beyond it."""

    below: int
    beyond: frozenset[int] = frozenset()
    newest: int | None = None
    """The newest number at an earlier look: soon nothing up to it can come any more."""
    horizon: int | None = None
    """The transactions that may still bring such a number are older than this one."""

    @classmethod
    def read(cls, text: str) -> Heard:
        """From ``900`` or ``900.905.907``. Raises ``InvalidArguments``."""
        if not MARK.fullmatch(text):
            raise InvalidArguments(f"{text[:40]!r} is not the id of an event of a stream")
        below, *beyond = map(int, text.split("."))
        return cls(below, frozenset(beyond))

    def __str__(self) -> str:
        """As a text."""
        return ".".join(map(str, [self.below, *sorted(self.beyond)[-MOST_NAMED:]]))

    def of(self, event: PlacedEvent) -> Heard:
        """With one more."""
        return replace(self, beyond=self.beyond | {event.id}).closed()

    def closed(self) -> Heard:
        """The same, with what joins on to the number up to which all is heard counted to it."""
        below = self.below
        while below + 1 in self.beyond:
            below += 1
        beyond = frozenset(each for each in self.beyond if each > below)
        return replace(self, below=below, beyond=beyond)

    def settled(self, newest: int, low: int, high: int) -> Heard:
        """With what a look says: up to which number nothing can come any more.

        A number is taken a moment before its transaction can be seen to go. So what is waited
        for are the transactions that go at the look after the one that saw the number.
        """
        if self.newest is None:
            return replace(self, newest=newest)
        if self.horizon is None:
            return replace(self, horizon=high)
        if low < self.horizon:
            return self
        return Heard(max(self.below, self.newest), self.beyond, newest).closed()


async def anew(db: Database, workspace: str, *, common: bool) -> Heard:
    """Somebody who wants to hear what comes from now on."""
    found = [row["id"] for row in await rows(db, LAST, workspace, common, LATELY)]
    return Heard(found[-1] - 1 if len(found) == LATELY else 0, frozenset(found)).closed()


async def after(
    db: Database, workspace: str, heard: Heard, *, common: bool
) -> tuple[list[tuple[PlacedEvent, Heard]], Heard]:
    """Some events that have come since, each with what one has heard then; none: those are all."""
    async with reading(db) as session:
        (now,) = await session.fetch_text(NOW)
        found = await session.fetch_text(
            AFTER, workspace, common, heard.below, list(heard.beyond), PAGE
        )
    told = []
    for row in found:
        event = PlacedEvent(**{**dict(row), "detail": json.loads(row["detail"])})
        heard = heard.of(event)
        told.append((event, heard))
    if not found:
        heard = heard.settled(now["newest"], now["low"], now["high"])
    return told, heard
