-- Ends runs whose time in the queue, or as a whole, is over and that no worker carries. What runs is
-- stopped by its worker, which knows the deadline. What has something below it, or to clean up, ends when
-- that is through (to_stop); a step that missed its window is skipped where it says so. What is to end
-- already, or was not begun when its workflow ended, only loses its deadlines.
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
late as materialized (
  select r.id, r.late_skips is not null and r.id in (select id from unstarted) as of_window,
         koken.holds_on(r) as holds_on,
         r.settle in ('failed', 'cancelled') or r.cancel_requested_at is not null or exists (
           select from koken.run p where p.id = r.parent_id and p.finished_at is not null) as passed_by,
         jsonb_build_object('type', case when r.late_skips then 'Skip' else 'Timeout' end, 'message', case
           when r.id not in (select id from unstarted) then 'the run took longer than it may (run_timeout)'
           when r.late_skips is not null then 'its window closed before it could start'
           else 'it was not started in time (start_timeout)' end) as error
    from koken.run r
   where r.id in (select id from unstarted union select id from overlong)),
passed as (
  update koken.run r set deadline_at = null, start_deadline_at = null
    from late where r.id = late.id and late.passed_by is true),
stopping as (
  update koken.run r
     set settle = 'failed', error = late.error, deadline_at = null, start_deadline_at = null, wait_for = null,
         wake_at = null, wake_below = 0,
         wait_cause = case when r.open_children > 0 then 'children' end,
         state = case when r.state = 'waiting' and coalesce(r.open_children, 0) = 0 then 'ready' else r.state end
    from late where r.id = late.id and late.passed_by is not true and late.holds_on
     and r.state in ('blocked', 'ready', 'waiting')
  returning r.id, r.queue_id, r.state),
gone as (
  update koken.run r
     set state = case when late.of_window and r.late_skips then 'skipped' else 'failed' end,
         finished_at = koken.now(), wait_cause = null, wait_for = null, wake_at = null, error = late.error
    from late where r.id = late.id and late.passed_by is not true and not late.holds_on
     and r.state in ('blocked', 'ready', 'waiting')
  returning r.id, r.has_locks, r.parent_id, r.hooks),
h as (
  delete from koken.hold using gone where hold.run_id = gone.id and gone.has_locks returning lock_id)
select (select count(*) from gone) + (select count(*) from stopping) as expired,
       (select array_agg(distinct lock_id) from h) as lock_ids,
       (select array_agg(id) from gone where parent_id is not null or hooks) as followed,
       (select array_agg(id) from stopping) as to_stop,
       (select array_agg(distinct queue_id) from stopping where state = 'ready') as queue_ids
