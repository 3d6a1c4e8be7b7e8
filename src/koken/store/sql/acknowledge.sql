-- $1 run  $2 by  $3 reason
with done as (
  update koken.run set acknowledged_at = koken.now(), acknowledged_by = $2
   where id = $1::bigint and state in ('failed', 'cancelled') and acknowledged_at is null
  returning id, workspace_id, job_id),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, run_id, job_id)
  select workspace_id, 'acknowledge', $2, $3, id, job_id from done)
select id from done
