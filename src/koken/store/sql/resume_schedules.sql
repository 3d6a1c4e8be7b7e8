-- $1 schedules  $2 by  $3 reason
with s as (
  update koken.schedule s
     set paused_at = null, paused_by = null, pause_reason = null, revision = revision + 1
   where s.id = any($1::int[])
  returning s.id, s.workspace_id, s.job_id, s.name)
insert into koken.event (workspace_id, verb, by, reason, job_id, detail)
select workspace_id, 'resume', $2, $3, job_id, jsonb_build_object('schedule', id::text, 'name', name) from s
