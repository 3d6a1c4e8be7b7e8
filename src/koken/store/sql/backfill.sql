-- A run for each due time, and its tick. They stand in line, one after the other, whatever the job's rule.
-- $1 schedule  $2 job  $3 workspace  $4 due times  $5 args  $6 by  $7 reason
with started as materialized (
  select t.due_at, s.run_id
    from unnest($4::timestamptz[], $5::jsonb[]) with ordinality as t (due_at, args, n),
         lateral koken.start_run($2, t.args, $3, null, null, null, null, null, 'queue_all', t.due_at,
                                 'schedule', $6, $1, null, false, null, null) s
   order by t.n)
insert into koken.tick (schedule_id, due_at, until_at, verdict, reason, run_id)
select $1, due_at, due_at, 'started', $7, run_id from started order by run_id
on conflict (schedule_id, due_at) do update
   set until_at = excluded.until_at, count = 1, verdict = 'started', reason = excluded.reason,
       run_id = excluded.run_id, blocker_id = null, fired_at = excluded.fired_at
returning run_id
