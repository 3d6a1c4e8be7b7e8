-- Ends what no worker carries at once, and asks the worker of what runs; it confirms the end.
-- $1 ids  $2 by  $3 reason
with wanted as materialized (
  select id from koken.run where id = any($1::bigint[]) order by id for update),
ended as (
  update koken.run r
     set state = 'cancelled', finished_at = koken.now(), wait_cause = null, wake_at = null,
         cancel_requested_at = koken.now(),
         error = jsonb_build_object('type', 'Cancel', 'message', coalesce($3, 'cancelled by ' || $2))
    from wanted where r.id = wanted.id and r.state in ('blocked', 'ready', 'waiting')
  returning r.id, r.workspace_id, r.job_id),
asked as (
  update koken.run r
     set cancel_requested_at = coalesce(r.cancel_requested_at, koken.now()),
         error = coalesce(r.error, jsonb_build_object(
           'type', 'Cancel', 'message', coalesce($3, 'cancelled by ' || $2)))
    from wanted where r.id = wanted.id and r.state = 'running'
  returning r.id, r.workspace_id, r.job_id, r.worker_id),
told as (
  select pg_notify('koken', 'cancel ' || worker_id) from asked),
h as (
  delete from koken.hold using ended where hold.run_id = ended.id returning lock_id),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, run_id, job_id)
  select workspace_id, 'cancel', $2, $3, id, job_id from ended
  union all
  select workspace_id, 'cancel', $2, $3, id, job_id from asked)
select (select array_agg(id) from ended) as ended, (select array_agg(id) from asked) as asked,
       (select array_agg(distinct lock_id) from h) as lock_ids, (select count(*) from told) as told
