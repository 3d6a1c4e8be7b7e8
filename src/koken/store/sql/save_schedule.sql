-- A schedule is new, or says something else than before: it counts from now, nothing due before is
-- made up for.
-- $1 job  $2 name  $3 declared  $4 expression  $5 timezone  $6 catchup  $7 tzdata  $8 next_at
insert into koken.schedule as s (
  workspace_id, job_id, name, declared, expression, timezone, catchup, tzdata, next_at, cursor_at)
values (1, $1, $2, $3::jsonb, $4, $5, $6, $7, $8, koken.now())
on conflict (workspace_id, job_id, name) do update
   set declared = excluded.declared, expression = excluded.expression, timezone = excluded.timezone,
       catchup = excluded.catchup, tzdata = excluded.tzdata, next_at = excluded.next_at,
       cursor_at = koken.now(), revision = s.revision + 1, retired_at = null, problem = null
returning id
