-- $1 schedule  $2 workspace
select s.id, s.name, s.declared, s.revision, s.timezone, s.cursor_at, s.paused_at, s.paused_by,
       s.retired_at, s.workspace_id, s.job_id, j.name as job, w.name as workspace, koken.now() as now,
       coalesce(v.overlap, case when s.catchup = 'all' then 'queue_all' else 'skip_if_running' end) as overlap
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.job_version v on v.id = j.version_id
  join koken.workspace w on w.id = s.workspace_id
 where s.id = $1 and w.name = $2
