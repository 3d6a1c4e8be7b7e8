-- A run of the job's current version with the arguments of another run.
-- $1 run  $2 by
select s.run_id, s.verdict, s.in_line
  from koken.run r
  join koken.job j on j.id = r.job_id
  join koken.workspace w on w.id = r.workspace_id,
       lateral koken.start_run(
         j.name, coalesce(r.args, (select a.args from koken.run_args a where a.run_id = r.id)), w.name, null, null,
         null, null, null, null, r.logical_at, 'user', $2, null, null, true, null, null) s
 where r.id = $1::bigint
