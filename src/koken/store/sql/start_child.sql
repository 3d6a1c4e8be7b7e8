-- A run that belongs to another: its end is told to that one.
-- $1 parent  $2 job  $3 args  $4 step that it is, or null  $5 key that makes it once
select s.run_id, s.verdict, s.in_line
  from koken.run p join koken.workspace w on w.id = p.workspace_id,
       lateral koken.start_run($2, $3::jsonb, w.name, null, null, null, null, $5, null, p.logical_at, 'run',
                               p.id::text, null, null, true, p.id, $4) s
 where p.id = $1::bigint
