-- A clock that only a test moves: what makes a migrated database a test's own.

create table koken.testing_clock (at timestamptz not null);
insert into koken.testing_clock values (clock_timestamp());

create or replace function koken.now() returns timestamptz language sql stable parallel safe
as 'select at from koken.testing_clock';

-- The next moment at which something falls due: a schedule, a wake-up, a deadline, a lock, or the
-- next look at a worker that is silent. p_worker is the one that lives.
create function koken.testing_due(p_worker int, p_lease float8, p_confirm float8)
returns timestamptz language sql stable as $$
  select min(at) from (
    select next_at from koken.schedule where paused_at is null and retired_at is null
    union all
    select wake_at from koken.run where state = 'waiting' and wake_at is not null
    union all
    select start_deadline_at from koken.run
     where start_deadline_at is not null and started_at is null and finished_at is null
    union all
    select deadline_at from koken.run where deadline_at is not null and finished_at is null
    union all
    select not_before from koken.hold where granted_at is null
    union all
    select case when suspect_at is not null then suspect_at + make_interval(secs => p_confirm)
                else beat_at + make_interval(secs => p_lease) + interval '1 microsecond' end
      from koken.worker where lost_at is null and cleared_at is null and id <> p_worker
  ) moment (at)
  where at > koken.now()
$$;

-- The first ready run of each queue that is not paused, by its place; the oldest rank first.
create function koken.testing_ready()
returns table (queue_id int, workspace_id int, rank timestamptz, limited boolean)
language sql stable as $$
  select q.id, r.workspace_id, r.rank, q.max_running is not null or q.rate is not null
    from koken.queue q, lateral (
      select workspace_id, rank, id from koken.run
       where state = 'ready' and queue_id = q.id
       order by rank, id limit 1) r
   where q.paused_at is null
   order by r.rank, r.id
$$;

-- After the clock was set back: what has not been yet is forgotten, and schedules count from here.
create function koken.testing_set_back() returns void language sql as $$
  delete from koken.tick where due_at > koken.now();
  update koken.schedule set cursor_at = koken.now(), tzdata = '';
$$;
