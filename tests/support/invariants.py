"""What holds of all runs of a database at any moment, whatever has happened to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import psycopg
from psycopg.rows import dict_row

from koken.testing import TestClient

BROKEN = """
with child as (
  select c.*, p.finished_at is not null as parent_ended,
         c.finished_at is null and c.open_needs is null as open
    from koken.run c join koken.run p on p.id = c.parent_id),
counted as (
  select r.id, coalesce(r.open_children, 0) as said,
         (select count(*) from child c where c.parent_id = r.id and c.open) as open
    from koken.run r),
need as (
  select f.id, f.step, f.need_rule in ('any_succeeded', 'any_failed') as early,
         f.started_at, n.step as needed,
         n.finished_at is null or f.started_at < n.finished_at as went_first
    from koken.run n, unnest(n.frees) x (no), koken.run f
   where f.parent_id = n.parent_id and f.step_no = abs(x.no)
     and f.open_needs is null and f.started_at is not null)

select id, format('counts %s open children, and has %s', said, open) as broken
  from counted where said <> open
union all
select id, format('is %s below run %s, which has ended', state, parent_id)
  from child where parent_ended and open
union all
select id, format('waits (%s) for nothing that could come', concat_ws(' ', wait_cause, wait_for))
  from koken.run r
 where r.state = 'waiting' and r.wake_at is null and not case
         when r.wait_cause = 'children' then
           coalesce(r.open_children, 0) > coalesce(r.wake_below, 0)
           or r.at_once is not null and r.released < r.made and r.settle is null
         when r.wait_cause in ('signal', 'question') then
           not koken.is_there(r.id, r.wait_cause, r.wait_for)
         else false end
union all
select id, format('began (%s) before what it needs had ended: %s', step, string_agg(needed, ', '))
  from need where went_first and not early group by id, step
union all
select id, format('began (%s) before any of what it needs had ended', step)
  from need where early group by id, step having bool_and(went_first)
union all
select id, format('has ended, and waits (%s)', wait_cause)
  from koken.run where finished_at is not null and wait_cause is not null
order by 1, 2
"""
"""One row for each run that stands as none may: its number, and what is wrong."""


def check(client: TestClient) -> None:
    """All runs of a test's database stand as they may."""
    assert broken(client) == []


def broken(client: TestClient) -> list[str]:
    """What stands as it may not, in the database of a test."""
    with psycopg.connect(client.database_url, row_factory=dict_row) as connection:
        return in_words(connection.execute(BROKEN).fetchall())


def assert_sound(found: Iterable[Mapping[str, Any]]) -> None:
    """Nothing was found by ``BROKEN``."""
    assert in_words(found) == []


def in_words(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """What was found by ``BROKEN``."""
    return [f"run {row['id']} {row['broken']}" for row in found]
