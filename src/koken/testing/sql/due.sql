-- The next moment at which something falls due: a schedule, a wake-up, a deadline, a lock, or the
-- next look at a worker that is silent.
-- $1 the worker that lives  $2 lease (s)  $3 confirm (s)
select min(at) as at from (
  select next_at from koken.schedule where paused_at is null and retired_at is null
  union all
  select wake_at from koken.run where state = 'waiting' and wake_at is not null
  union all
  select start_deadline_at from koken.run
   where start_deadline_at is not null and started_at is null and finished_at is null
  union all
  select deadline_at from koken.run where deadline_at is not null and finished_at is null
  union all
  select next_at from koken.bulk where state = 'running'
  union all
  select not_before from koken.hold where granted_at is null and isfinite(not_before)
  union all
  select case when suspect_at is not null then suspect_at + make_interval(secs => $3::float8)
              else beat_at + make_interval(secs => $2::float8) + interval '1 microsecond' end
    from koken.worker where lost_at is null and cleared_at is null and id <> $1::int
) moment (at)
 where at > (select at from koken.testing_clock)
