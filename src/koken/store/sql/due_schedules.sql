select s.id, s.declared, s.revision, s.cursor_at, s.next_at, s.timezone, j.name as job,
       w.name as workspace
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.workspace w on w.id = s.workspace_id
 where s.paused_at is null and s.retired_at is null and s.next_at <= koken.now()
 order by s.next_at
 limit 200
   for update of s skip locked
