-- Fails runs whose time in the queue, or as a whole, is over and that no worker carries. What runs
-- is stopped by its worker, which knows the deadline.
with unstarted as materialized (
  select id from koken.run
   where start_deadline_at <= koken.now() and start_deadline_at is not null
     and finished_at is null and state in ('blocked', 'ready', 'waiting')
   order by start_deadline_at
   limit 250
     for update skip locked),
overlong as materialized (
  select id from koken.run
   where deadline_at <= koken.now() and deadline_at is not null
     and finished_at is null and state in ('blocked', 'ready', 'waiting')
   order by deadline_at
   limit 250
     for update skip locked),
gone as (
  update koken.run r
     set state = 'failed', finished_at = koken.now(), wait_cause = null, wake_at = null,
         error = jsonb_build_object('type', 'Timeout', 'message',
           case when r.id in (select id from unstarted)
                then 'it was not started in time (start_timeout)'
                else 'the run took longer than it may (run_timeout)' end)
   where r.id in (select id from unstarted union select id from overlong)
     and r.state in ('blocked', 'ready', 'waiting')
  returning r.id, r.has_locks),
h as (
  delete from koken.hold using gone where hold.run_id = gone.id and gone.has_locks returning lock_id)
select count(*) as expired, (select array_agg(distinct lock_id) from h) as lock_ids from gone
