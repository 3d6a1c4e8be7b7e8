-- $1 job name  $2 workspace  $3 by  $4 reason  $5 schedule; null: all of the job
with s as (
  update koken.schedule s
     set paused_at = koken.now(), paused_by = $3, pause_reason = $4, revision = revision + 1
    from koken.job j, koken.workspace w
   where j.id = s.job_id and j.name = $1 and w.id = s.workspace_id and w.name = $2
     and s.retired_at is null and s.paused_at is null and ($5::int is null or s.id = $5)
  returning s.id, s.workspace_id, s.job_id, s.name),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, job_id, detail)
  select workspace_id, 'pause', $3, $4, job_id, jsonb_build_object('schedule', id::text, 'name', name) from s)
select id from s
