"""What can be wrong with an installation, as facts; ``koken doctor`` says what to do about them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from koken.store.database import Database
from koken.views.reading import reading, rows

SERVER = """
select current_setting('server_version') as version,
       current_setting('server_version_num')::int as number, clock_timestamp() as now,
       current_setting('max_connections')::int as most,
       (select count(*) from pg_stat_activity where backend_type = 'client backend') as used,
       current_setting('autovacuum')::boolean as autovacuum,
       pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all,
       pg_is_in_recovery() as standby, pg_backend_pid() as pid
"""
HOLDERS = """
select 'transaction' as kind, pid::text as name, coalesce(usename, '?') as owner,
       coalesce(application_name, '') as program, coalesce(state, '?') as state,
       extract(epoch from clock_timestamp() - xact_start)::float8 as seconds, 0 as age
  from pg_stat_activity
 where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
   and xact_start < clock_timestamp() - make_interval(secs => $1::float8)
   and backend_type <> 'autovacuum worker'
union all
select 'prepared', gid, owner, '', 'prepared',
       extract(epoch from clock_timestamp() - prepared)::float8, age(transaction)
  from pg_prepared_xacts
 where database = current_database()
   and prepared < clock_timestamp() - make_interval(secs => $1::float8)
union all
select 'slot', slot_name, '', coalesce(plugin, ''),
       case when active then 'active' else 'inactive' end, null,
       greatest(age(xmin), age(catalog_xmin))
  from pg_replication_slots
 where greatest(age(xmin), age(catalog_xmin)) > $2 or (not active and xmin is not null)
union all
select 'standby', coalesce(application_name, pid::text), coalesce(usename, '?'),
       coalesce(client_addr::text, ''), coalesce(state, '?'), null, age(backend_xmin)
  from pg_stat_replication
 where age(backend_xmin) > $2
 order by seconds desc nulls last
"""
LOG = """
select array(
         select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
          where i.inhparent = 'koken.log_line'::regclass) as partitions,
       koken.now() as now,
       (select count(*) from (select from koken.log_line_other limit 1001) x) as strays
"""
RUNS = """
select coalesce(s.n_live_tup, 0) as live, coalesce(s.n_dead_tup, 0) as dead, s.last_autovacuum,
       coalesce('autovacuum_enabled=false' = any(c.reloptions), false) as switched_off,
       (select count(*) from (select from koken.run r
          where r.state = 'running' and not exists (
            select from koken.worker w where w.id = r.worker_id and w.cleared_at is null)
          limit 1001) x) as orphans
  from pg_class c left join pg_stat_user_tables s on s.relid = c.oid
 where c.oid = 'koken.run'::regclass
"""
UNSERVED = """
select q.name
  from koken.queue q
 where exists (select from koken.run r where r.queue_id = q.id and r.state = 'ready')
   and not exists (select from koken.worker k where k.lost_at is null and k.cleared_at is null
                      and k.draining_at is null and k.queues ? q.name)
 order by q.name
"""
PROBLEMS = """
select j.name as job, s.problem
  from koken.schedule s join koken.job j on j.id = s.job_id
 where s.problem is not null and s.retired_at is null and s.paused_at is null
 order by j.name
"""
LATE = """
select j.name as job, extract(epoch from koken.now() - s.next_at)::float8 as seconds
  from koken.schedule s join koken.job j on j.id = s.job_id
 where s.retired_at is null and s.paused_at is null
   and s.next_at < koken.now() - make_interval(secs => $1::float8)
 order by s.next_at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """The server, and the way to it."""

    version: str
    number: int
    answered_in: float
    """Seconds."""
    ahead: float
    """Seconds by which its clock is ahead of this machine's."""
    connections: int
    most_connections: int
    autovacuum: bool
    sees_all: bool
    """Whether this user may see what other users' sessions do."""
    standby: bool
    pooler: bool
    """Whether somebody stands between who hands connections out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """What keeps PostgreSQL from tidying up: an old transaction, a slot, a standby."""

    kind: str
    """transaction, prepared, slot, standby."""
    name: str
    owner: str
    program: str
    state: str
    seconds: float | None
    age: int
    """In transactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """The log's partitions."""

    partitions: frozenset[str]
    now: datetime
    strays: int
    """Lines in the default partition; 1,001 stands for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The table of runs."""

    live: int
    dead: int
    last_autovacuum: datetime | None
    switched_off: bool
    orphans: int
    """Running, with a worker that is gone; 1,001 stands for more."""


async def server(db: Database) -> ServerFacts:
    """Ask the server about itself."""
    async with reading(db) as session:
        await session.execute("select 1")
        asked, asked_at = time.monotonic(), time.time()
        (row,) = await session.fetch_text(SERVER)
        took = time.monotonic() - asked
        # A pooler makes up the number that it tells when a client connects.
        pooler = session.connection.get_server_pid() != row["pid"]
    return ServerFacts(
        version=row["version"],
        number=row["number"],
        answered_in=took,
        ahead=row["now"].timestamp() - (asked_at + took / 2),
        connections=row["used"],
        most_connections=row["most"],
        autovacuum=row["autovacuum"],
        sees_all=row["sees_all"],
        standby=row["standby"],
        pooler=pooler,
    )


async def holders(db: Database, *, seconds: float, transactions: int) -> list[Holder]:
    """What is open for longer than ``seconds``, or holds back so many ``transactions``."""
    return [Holder(**dict(row)) for row in await rows(db, HOLDERS, seconds, transactions)]


async def log(db: Database) -> LogFacts:
    """The log's partitions."""
    (row,) = await rows(db, LOG)
    return LogFacts(partitions=frozenset(row["partitions"]), now=row["now"], strays=row["strays"])


async def runs(db: Database) -> RunFacts:
    """The table of runs."""
    (row,) = await rows(db, RUNS)
    return RunFacts(**dict(row))


async def unserved(db: Database) -> list[str]:
    """Queues with something ready that no live worker serves."""
    return [row["name"] for row in await rows(db, UNSERVED)]


async def problems(db: Database) -> list[tuple[str, str]]:
    """Jobs with a schedule whose next time cannot be computed, and why."""
    return [(row["job"], row["problem"]) for row in await rows(db, PROBLEMS)]


async def late(db: Database, *, seconds: float) -> list[tuple[str, float]]:
    """Jobs whose schedule should have fired so long ago."""
    return [(row["job"], row["seconds"]) for row in await rows(db, LATE, seconds)]
