"""What flows through a workspace: what has ended in the last day, a quarter of an hour each.

The runs of a day are counted where there are few, and sampled where there are many: rows at even
distances by number, each of which stands for several. So it costs the same however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from koken.store.database import Database, Transaction
from koken.views.pages import BACKWARDS, border
from koken.views.reading import reading

QUARTER = 900
"""Seconds in a quarter of an hour."""
QUARTERS = 96
EXACT = 12_000
"""Rows that are counted one by one; of more a sample is taken that is as large."""
CHUNK = 60
"""Rows of a sample that stand beside each other."""
COUNTED = """
select extract(epoch from r.finished_at)::bigint / {quarter} as quarter, r.state,
       r.created_at >= $2 as today, count(*) as n
  from {source}
 where r.workspace_id = (select w.id from koken.workspace w where w.name = $1)
   and r.parent_id is null and r.created_at >= $3
 group by 1, 2, 3
"""
ALL = "koken.run r where r.id > {low} and r.id < {high}"
SAMPLE = """generate_series(0, {chunks} - 1) c (n) cross join lateral (
       select * from koken.run o
        where o.id > {low} + (c.n * {step})::bigint
          and o.id <= {low} + (c.n * {step})::bigint + {chunk}) r"""
HEAD = "select koken.now() as now, coalesce(max(id), 0) as newest from koken.run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarter:
    """A quarter of an hour, and how many runs ended in it."""

    at: datetime
    succeeded: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The last 24 hours."""

    quarters: Sequence[Quarter]
    """The oldest first; the last one still goes on."""
    today: int
    """Runs that were started since the day began."""
    sampled: bool
    """Whether these numbers are estimates."""

    @property
    def succeeded(self) -> int:
        """Of all quarters."""
        return sum(each.succeeded for each in self.quarters)

    @property
    def failed(self) -> int:
        """Of all quarters."""
        return sum(each.failed for each in self.quarters)

    @property
    def failure_rate(self) -> float | None:
        """Which share of what ended by itself failed; None where nothing did."""
        ended = self.succeeded + self.failed
        return self.failed / ended if ended else None

    @property
    def most(self) -> int:
        """Of the fullest quarter."""
        return max((each.succeeded + each.failed for each in self.quarters), default=0)


async def flow(db: Database, *, workspace: str, midnight: datetime) -> Flow:
    """The last 24 hours of a workspace; ``midnight`` is when the reader's day began."""
    async with reading(db) as session:
        return await flow_in(session, workspace=workspace, midnight=midnight)


async def flow_in(session: Transaction, *, workspace: str, midnight: datetime) -> Flow:
    """As ``flow``."""
    (head,) = await session.fetch_text(HEAD)
    now: datetime = head["now"]
    last = int(now.timestamp()) // QUARTER
    since = datetime.fromtimestamp((last - QUARTERS + 1) * QUARTER, now.tzinfo)
    low, _ = await border(session, min(since, midnight), -BACKWARDS)
    span = max(head["newest"] - low, 0)
    sampled = span > EXACT
    if sampled:
        chunks = EXACT // CHUNK
        source = SAMPLE.format(low=low, chunks=chunks, step=span / chunks, chunk=CHUNK)
    else:
        source = f"(select * from {ALL.format(low=low, high=head['newest'] + 1)}) r"
    text = COUNTED.format(quarter=QUARTER, source=source)
    found = await session.fetch_text(text, workspace, midnight, min(since, midnight))
    weight = span / EXACT if sampled else 1.0
    counts: dict[tuple[int, str], float] = {}
    today = 0.0
    for row in found:
        today += row["n"] * weight if row["today"] else 0
        key = (row["quarter"], row["state"])
        counts[key] = counts.get(key, 0.0) + row["n"] * weight
    quarters = [
        Quarter(
            at=datetime.fromtimestamp(number * QUARTER, now.tzinfo),
            succeeded=round(counts.get((number, "succeeded"), 0)),
            failed=round(counts.get((number, "failed"), 0)),
        )
        for number in range(last - QUARTERS + 1, last + 1)
    ]
    return Flow(quarters=quarters, today=round(today), sampled=sampled)
