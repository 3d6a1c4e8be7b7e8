-- $1 job name  $2 workspace  $3 schedule; null: all of the job
select s.id, s.workspace_id, s.job_id, s.name, s.declared, s.cursor_at, s.paused_at, s.paused_by,
       j.name as job, w.name as workspace
  from koken.schedule s join koken.job j on j.id = s.job_id join koken.workspace w on w.id = s.workspace_id
 where j.name = $1 and w.name = $2 and s.retired_at is null and s.paused_at is not null
   and ($3::int is null or s.id = $3)
   for update of s
