-- $1 workspace  $2 verb  $3 by  $4 reason  $5 run  $6 job  $7 detail
insert into koken.event (workspace_id, verb, by, reason, run_id, job_id, detail)
values ($1, $2, $3, $4, $5, $6, $7::jsonb)
